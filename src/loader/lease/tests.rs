use super::*;
use crate::shared_data::fake::FakeSharedData;

const TICK: u64 = 500;
const DURATION: u64 = 2000;

fn root(role: LoaderRole, configuration: &str, id: u64, shared: &FakeSharedData) -> Candidate {
    Candidate::enter(role, configuration.as_bytes(), id, DURATION, shared)
}

fn filter(configuration: &str, id: u64, shared: &FakeSharedData) -> Candidate {
    root(LoaderRole::Fallback, configuration, id, shared)
}

/// After how many ticks a root that is alone from now on acquires the lease, if it ever does.
fn ticks_until_acquired(
    root: &mut Candidate,
    now: &mut u64,
    shared: &FakeSharedData,
) -> Option<u64> {
    (1..100).find(|_| {
        *now += TICK;
        root.acquire_or_renew(*now, shared) == Acquisition::Acquired
    })
}

#[test]
fn one_of_several_peers_loads() {
    let shared = FakeSharedData::default();
    let mut peers = [1, 2, 3].map(|id| filter("x", id, &shared));
    for tick in 0..50 {
        let acquisitions = peers
            .each_mut()
            .map(|peer| peer.acquire_or_renew(tick * TICK, &shared));
        let first = if tick == 0 {
            Acquisition::Acquired
        } else {
            Acquisition::Renewed
        };
        assert_eq!(
            acquisitions,
            [first, Acquisition::Denied, Acquisition::Denied],
            "tick {tick}"
        );
    }
}

#[test]
fn two_that_find_it_free_at_the_same_moment() {
    struct Late<'a>(&'a FakeSharedData);
    impl SharedData for Late<'_> {
        fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
            let found = self.0.get(name);
            if name == LOADER {
                // The other one is faster.
                let mut other = filter("x", 2, self.0);
                assert_eq!(other.acquire_or_renew(0, self.0), Acquisition::Acquired);
            }
            found
        }
        fn set(
            &self,
            name: &str,
            value: &[u8],
            version: Option<u32>,
        ) -> Result<(), crate::shared_data::Conflict> {
            self.0.set(name, value, version)
        }
    }
    let shared = FakeSharedData::default();
    let mut one = filter("x", 1, &shared);
    assert_eq!(one.acquire_or_renew(0, &Late(&shared)), Acquisition::Denied);
}

#[test]
fn a_peer_takes_over_when_the_loader_is_gone() {
    let shared = FakeSharedData::default();
    let [mut gone, mut peer] = [1, 2].map(|id| filter("x", id, &shared));
    let mut now = 0;
    for _ in 0..10 {
        gone.acquire_or_renew(now, &shared);
        assert_eq!(peer.acquire_or_renew(now, &shared), Acquisition::Denied);
        now += TICK;
    }
    let ticks = ticks_until_acquired(&mut peer, &mut now, &shared);
    assert_eq!(ticks, Some(DURATION / TICK));
    assert_eq!(
        gone.acquire_or_renew(now, &shared),
        Acquisition::Denied,
        "it was not gone"
    );
}

/// A replaced root lives as long as its streams do, and goes on ticking.
#[test]
fn a_root_that_was_replaced_is_a_follower() {
    for (case, old_first) in [("it ticks first", true), ("it ticks second", false)] {
        let shared = FakeSharedData::default();
        let mut old = filter("x", 1, &shared);
        assert_eq!(
            old.acquire_or_renew(0, &shared),
            Acquisition::Acquired,
            "{case}"
        );
        let mut new = filter("y", 2, &shared);
        for tick in 1..200 {
            let now = tick * TICK;
            let mut acquisitions = [Acquisition::Denied; 2];
            let order = if old_first { [0, 1] } else { [1, 0] };
            for who in order {
                let root = if who == 0 { &mut old } else { &mut new };
                acquisitions[who] = root.acquire_or_renew(now, &shared);
            }
            let want = match (tick, old_first) {
                // Until the new one has had a tick.
                (1, true) => [Acquisition::Renewed, Acquisition::Acquired],
                (1, false) => [Acquisition::Denied, Acquisition::Acquired],
                _ => [Acquisition::Denied, Acquisition::Renewed],
            };
            assert_eq!(acquisitions, want, "{case}, tick {tick}");
        }
    }
}

#[test]
fn one_that_comes_again_is_newer() {
    let shared = FakeSharedData::default();
    let mut first = filter("x", 1, &shared);
    let mut second = filter("y", 2, &shared);
    assert_eq!(second.acquire_or_renew(0, &shared), Acquisition::Acquired);
    assert_eq!(first.acquire_or_renew(0, &shared), Acquisition::Denied);
    let mut again = filter("x", 3, &shared);
    assert_eq!(again.acquire_or_renew(TICK, &shared), Acquisition::Acquired);
    assert_eq!(second.acquire_or_renew(TICK, &shared), Acquisition::Denied);
    // Envoy may keep a root, and then tells it nothing.
    drop(again);
    let mut now = TICK;
    let ticks = ticks_until_acquired(&mut first, &mut now, &shared);
    assert!(
        ticks.is_some_and(|ticks| ticks <= DURATION / TICK + 1),
        "a peer: {ticks:?}"
    );
    assert_eq!(second.acquire_or_renew(now, &shared), Acquisition::Denied);
}

/// Envoy configures a root once more in a VM that it throws away.
#[test]
fn a_configuration_that_is_refused_takes_nothing() {
    let shared = FakeSharedData::default();
    let mut root = filter("x", 1, &shared);
    assert_eq!(root.acquire_or_renew(0, &shared), Acquisition::Acquired);
    drop(filter("refused", 2, &shared));
    for tick in 1..50 {
        assert_eq!(
            root.acquire_or_renew(tick * TICK, &shared),
            Acquisition::Renewed,
            "tick {tick}"
        );
    }
    let mut newer = filter("y", 3, &shared);
    assert_eq!(
        newer.acquire_or_renew(50 * TICK, &shared),
        Acquisition::Acquired
    );
}

#[test]
fn a_singleton_comes_first() {
    let shared = FakeSharedData::default();
    let mut before = filter("x", 1, &shared);
    assert_eq!(before.acquire_or_renew(0, &shared), Acquisition::Acquired);
    let canary = root(LoaderRole::Singleton, "s", 2, &shared);
    drop(canary);
    let mut singleton = root(LoaderRole::Singleton, "s", 3, &shared);
    let mut after = filter("y", 4, &shared);
    assert_eq!(
        singleton.acquire_or_renew(TICK, &shared),
        Acquisition::Acquired
    );
    for tick in 2..50 {
        let now = tick * TICK;
        assert_eq!(
            after.acquire_or_renew(now, &shared),
            Acquisition::Denied,
            "tick {tick}"
        );
        assert_eq!(
            before.acquire_or_renew(now, &shared),
            Acquisition::Denied,
            "tick {tick}"
        );
        assert_eq!(
            singleton.acquire_or_renew(now, &shared),
            Acquisition::Renewed,
            "tick {tick}"
        );
    }
    // A trap ends it for good; the filters go on without.
    drop(singleton);
    let mut now = 50 * TICK;
    assert!(ticks_until_acquired(&mut after, &mut now, &shared).is_some());
    assert_eq!(before.acquire_or_renew(now, &shared), Acquisition::Denied);
}

/// The newer configuration is gone, such as one whose listener was taken away again.
#[test]
fn an_older_root_loads_again_when_the_newer_one_is_gone() {
    let shared = FakeSharedData::default();
    let mut old = filter("x", 1, &shared);
    let mut new = filter("y", 2, &shared);
    assert_eq!(new.acquire_or_renew(0, &shared), Acquisition::Acquired);
    assert_eq!(old.acquire_or_renew(0, &shared), Acquisition::Denied);
    drop(new);
    let mut now = 0;
    let ticks = ticks_until_acquired(&mut old, &mut now, &shared).unwrap();
    assert_eq!(ticks, 3 * DURATION / TICK, "three times as long as a peer");
    let mut newest = filter("z", 3, &shared);
    assert_eq!(newest.acquire_or_renew(now, &shared), Acquisition::Acquired);
}

/// A peer takes over before the older root once the loader of the newer configuration is gone.
#[test]
fn a_peer_is_there_before_an_older_root() {
    let shared = FakeSharedData::default();
    let mut old = filter("x", 1, &shared);
    let [mut gone, mut peer] = [2, 3].map(|id| filter("y", id, &shared));
    assert_eq!(gone.acquire_or_renew(0, &shared), Acquisition::Acquired);
    drop(gone);
    // The older one observes ten times as often.
    let mut acquired = false;
    for step in 1..1000 {
        let now = step * TICK / 10;
        assert_eq!(
            old.acquire_or_renew(now, &shared),
            Acquisition::Denied,
            "step {step}"
        );
        if step % 10 == 0 {
            acquired |= peer.acquire_or_renew(now, &shared) == Acquisition::Acquired;
        }
    }
    assert!(acquired);
}

/// While the process stood still nobody could tick: that says nothing of who lives.
#[test]
fn a_pause_of_the_process_frees_nothing() {
    let shared = FakeSharedData::default();
    let mut old = filter("x", 1, &shared);
    let [mut loads, mut peer] = [2, 3].map(|id| filter("y", id, &shared));
    let mut now = 0;
    assert_eq!(loads.acquire_or_renew(now, &shared), Acquisition::Acquired);
    for round in 0..50 {
        // Whoever ticks first after it.
        assert_eq!(
            old.acquire_or_renew(now, &shared),
            Acquisition::Denied,
            "round {round}"
        );
        assert_eq!(
            peer.acquire_or_renew(now, &shared),
            Acquisition::Denied,
            "round {round}"
        );
        assert_eq!(
            loads.acquire_or_renew(now, &shared),
            Acquisition::Renewed,
            "round {round}"
        );
        now += 3_600_000;
    }
}

/// No lease lasts longer than three of the longest ticks, whatever it says.
#[test]
fn no_lease_lasts_for_ever() {
    let leases = [
        ("one that says so", {
            let mut eternal = filter("x", 1, &FakeSharedData::default());
            eternal.duration_ms = u64::MAX;
            eternal.lease(1)
        }),
        ("one that cannot be read", vec![9; 20]),
    ];
    for (case, lease) in leases {
        let shared = FakeSharedData::default();
        shared.set(LOADER, &lease, None).unwrap();
        let mut root = filter("x", 2, &shared);
        let mut now = 0;
        let mut ticks = 0;
        while root.acquire_or_renew(now, &shared) != Acquisition::Acquired {
            now += TICK;
            ticks += 1;
            assert!(ticks * TICK < 4 * MAX_DURATION_MS, "{case}");
        }
    }
}
