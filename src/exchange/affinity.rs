//! Preference of a conversation among a source's accounts.
//!
//! Upstream prompt caches belong to an account, so requests of one conversation should meet the same
//! one. The accounts are ordered by the number given here; one that fails loses only its own share.

use std::hash::{DefaultHasher, Hasher};

use crate::head::{Head, Occurrence};

/// The headers in which agents name their session, in the order in which they are looked at.
const SESSION_HEADERS: [&str; 4] = [
    "x-claude-code-session-id",
    "session-id",
    "session_id",
    "x-session-id",
];

/// Hashes a request by its key's id and its session, where it names one.
///
/// The key's id is always in it, so that no client can choose the account of another, nor all of
/// them gather on one.
pub(super) fn affinity(key: &str, head: &Head) -> u64 {
    let session = session(head);
    // SipHash with a fixed key: all workers and gateways of a release agree.
    let mut hasher = DefaultHasher::new();
    hasher.write(key.as_bytes());
    // No id holds this byte, so no id with a session is taken for another id with another one.
    hasher.write_u8(0);
    hasher.write(session.unwrap_or_default());
    hasher.finish()
}

/// Whether a request names its session.
pub(super) fn names_session(head: &Head) -> bool {
    session(head).is_some()
}

/// The session that a request names.
pub(super) fn session(head: &Head) -> Option<&[u8]> {
    SESSION_HEADERS
        .into_iter()
        .find_map(|name| match head.single(name) {
            Occurrence::Once(value) if !value.is_empty() => Some(value),
            _ => None,
        })
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
    fn another_release_does_not_move_conversations() {
        assert_eq!(of("k1", &[("session-id", "s1")]), 0x22c2_566e_b9b9_7b9a);
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
