//! Whether the ledger can be written, as the program beside this Envoy sees its disk.
//!
//! The loader asks for it where the document wants no request without a line, and publishes the answer to all workers. Where
//! nobody answers nothing is known, and nothing is refused; that the ledger cannot be written holds for a while then.

use serde::{Deserialize, Serialize};

use crate::shared_data::SharedData;

/// The Envoy cluster of the program beside this Envoy that keeps the ledger.
pub const CLUSTER: &str = "trilane_agent";
/// The path at which it says whether the ledger can be written.
pub const PATH: &str = "/ledger";
/// The time for which the ledger is held to be unwritable without a further answer, in milliseconds. A disk that was full is
/// full until somebody makes room; but an answer of long ago refuses nothing for ever.
pub const HOLDS_MS: u64 = 300_000;

/// The name of the moment until which the ledger is held to be unwritable: milliseconds of the steady clock, 8 bytes, little
/// endian. Empty where it can be written.
const UNWRITABLE_UNTIL: &str = "trilane/ledger";

/// The answer to the question. Members of a later release are passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writability {
    /// Whether lines can be written.
    pub writable: bool,
}

impl Writability {
    /// Publishes it to all workers, as what is known at this moment of the steady clock.
    pub fn publish(self, now_ms: u64, shared: &impl SharedData) {
        let until = now_ms.saturating_add(HOLDS_MS).to_le_bytes();
        let value = if self.writable { &[][..] } else { &until };
        // Without a version there is no conflict.
        let _ = shared.set(UNWRITABLE_UNTIL, value, None);
    }
}

/// Whether the ledger is held to be unwritable at this moment of the steady clock.
pub fn is_unwritable(now_ms: u64, shared: &impl SharedData) -> bool {
    let until = shared.get(UNWRITABLE_UNTIL).0;
    let until = until.and_then(|bytes| bytes.try_into().ok());
    until.is_some_and(|bytes| now_ms < u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_data::fake::FakeSharedData;

    #[test]
    fn what_is_known_holds_for_a_while() {
        let shared = FakeSharedData::default();
        let start = 5_000_000;
        let check = |case: &str, now_ms: u64, want: bool| {
            assert_eq!(is_unwritable(now_ms, &shared), want, "{case}");
        };
        check("nothing is known", start, false);
        Writability { writable: true }.publish(start, &shared);
        check("it can be written", start, false);
        Writability { writable: false }.publish(start, &shared);
        check("it cannot", start, true);
        check("nobody says more", start + HOLDS_MS - 1, true);
        check("for too long", start + HOLDS_MS, false);
        Writability { writable: false }.publish(start + HOLDS_MS, &shared);
        check("said again", start + HOLDS_MS, true);
        Writability { writable: true }.publish(start + HOLDS_MS, &shared);
        check("it can again", start + HOLDS_MS, false);
        for value in [&[7; 7][..], &[7; 9]] {
            shared.set(UNWRITABLE_UNTIL, value, None).unwrap();
            check("of another release", 0, false);
        }
    }

    #[test]
    fn members_of_a_later_release_are_passed_over() {
        for (text, want) in [
            (r#"{"writable": true}"#, Some(true)),
            (r#"{"writable": false, "later": [1]}"#, Some(false)),
            (r#"{"writable": 1}"#, None),
            ("{}", None),
            ("", None),
        ] {
            let read = serde_json::from_str::<Writability>(text).ok();
            assert_eq!(read.map(|it| it.writable), want, "{text}");
        }
    }
}
