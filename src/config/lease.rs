//! Who loads the configuration, where several VMs of one Envoy could.
//!
//! The lease is a value in shared data: the holder's id and when it ends. It is taken and renewed
//! by compare-and-swap, so of several VMs that find it free one gets it. The singleton loader takes
//! it unasked: where there is one, the filters' own loaders stand back.

use super::snapshot::LEASE;
use crate::shared_data::SharedData;

/// A claim to the lease.
#[derive(Debug, Clone, Copy)]
pub struct Lease {
    /// The claimant, unlike any other VM's.
    pub holder: u64,
    /// How long it holds without renewal, in milliseconds: several ticks.
    pub duration_ms: u64,
}

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Another VM holds the lease.
    Denied,
    /// We hold it, as before.
    Renewed,
    /// We hold it now. Another VM may have published since we last did.
    Taken,
}

impl Lease {
    /// Takes or renews the lease if it is free or ours.
    pub fn claim(&self, now_ms: u64, shared: &impl SharedData) -> Claim {
        let (value, version) = shared.get(LEASE);
        let current = value.as_deref().and_then(decode);
        let ours = current.is_some_and(|(holder, _)| holder == self.holder);
        let free = current.is_none_or(|(_, end)| ours || end <= now_ms);
        // Without a version, setting would be unconditional and two VMs could both think they won;
        // a version that no value has is the one to give for a name never set.
        let version = Some(version.unwrap_or(u32::MAX));
        if !free || shared.set(LEASE, &self.encode(now_ms), version).is_err() || !self.holds(shared)
        {
            Claim::Denied
        } else if ours {
            Claim::Renewed
        } else {
            Claim::Taken
        }
    }

    /// Takes the lease whoever has it.
    pub fn seize(&self, now_ms: u64, shared: &impl SharedData) {
        let _ = shared.set(LEASE, &self.encode(now_ms), None);
    }

    fn holds(&self, shared: &impl SharedData) -> bool {
        let value = shared.get(LEASE).0;
        value
            .as_deref()
            .and_then(decode)
            .is_some_and(|(holder, _)| holder == self.holder)
    }

    fn encode(&self, now_ms: u64) -> Vec<u8> {
        let end = now_ms.saturating_add(self.duration_ms);
        [self.holder.to_le_bytes(), end.to_le_bytes()].concat()
    }
}

fn decode(bytes: &[u8]) -> Option<(u64, u64)> {
    let (holder, end) = bytes.split_first_chunk::<8>()?;
    let end: [u8; 8] = end.try_into().ok()?;
    Some((u64::from_le_bytes(*holder), u64::from_le_bytes(end)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_data::fake::FakeSharedData;

    #[test]
    fn one_holder_at_a_time() {
        let shared = FakeSharedData::default();
        let lease = |holder| Lease {
            holder,
            duration_ms: 1000,
        };
        let (a, b) = (lease(1), lease(2));
        let steps = [
            ("free", a, 0, Claim::Taken),
            ("taken", b, 10, Claim::Denied),
            ("renewed", a, 900, Claim::Renewed),
            ("still taken", b, 1500, Claim::Denied),
            ("run out", b, 1900, Claim::Taken),
            ("lost", a, 2000, Claim::Denied),
        ];
        for (case, claimant, now, want) in steps {
            assert_eq!(claimant.claim(now, &shared), want, "{case}");
        }
        a.seize(2100, &shared);
        assert_eq!(b.claim(2200, &shared), Claim::Denied, "seized");
    }
}
