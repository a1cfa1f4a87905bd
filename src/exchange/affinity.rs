//! Which of a source's accounts a conversation prefers.
//!
//! Upstream prompt caches belong to an account, so requests of one conversation should meet the same
//! one. The accounts are ordered by the number given here; one that fails loses only its own share.

use sha2::{Digest, Sha256};

use crate::head::{Head, Occurrence};

/// Where agents name their session, in the order in which they are looked at.
const SESSION_HEADERS: [&str; 4] = [
    "x-claude-code-session-id",
    "session-id",
    "session_id",
    "x-session-id",
];

/// What a request is hashed by: its key's id and its session, where it names one.
///
/// The key's id is always in it, so that no client can choose the account of another, nor all of
/// them gather on one.
pub(super) fn affinity(key: &str, head: &Head) -> u64 {
    let session = SESSION_HEADERS
        .into_iter()
        .find_map(|name| match head.single(name) {
            Occurrence::Once(value) if !value.is_empty() => Some(value),
            _ => None,
        });
    let mut hasher = Sha256::new();
    hasher.update(key);
    // No id holds this byte, so no id with a session is taken for another id with another one.
    hasher.update([0]);
    hasher.update(session.unwrap_or_default());
    let digest: [u8; 32] = hasher.finalize().into();
    digest
        .first_chunk::<8>()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(key: &str, headers: &[(&str, &str)]) -> u64 {
        let pairs = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        affinity(key, &Head::new(pairs.collect()))
    }

    #[test]
    fn a_conversation_stays_together_and_keys_apart() {
        let plain = of("k1", &[]);
        let session = of("k1", &[("session-id", "s1")]);
        let cases = [
            ("the same again", of("k1", &[("session-id", "s1")]), true),
            (
                "under another name",
                of("k1", &[("x-session-id", "s1")]),
                true,
            ),
            (
                "under an older name",
                of("k1", &[("session_id", "s1")]),
                true,
            ),
            (
                "the agent's own name first",
                of(
                    "k1",
                    &[("session-id", "s2"), ("x-claude-code-session-id", "s1")],
                ),
                true,
            ),
            ("another session", of("k1", &[("session-id", "s2")]), false),
            ("another key", of("k2", &[("session-id", "s1")]), false),
            ("no session", plain, false),
        ];
        for (case, got, same) in cases {
            assert_eq!(got == session, same, "{case}");
        }
        for (case, headers) in [
            ("empty", &[("session-id", "")][..]),
            ("twice", &[("session-id", "a"), ("session-id", "b")]),
        ] {
            assert_eq!(of("k1", headers), plain, "{case}: none is named");
        }
        assert_ne!(of("k1", &[("session-id", "x")]), of("k1x", &[]));
    }
}
