//! Changes of keys that a copy of a feed could not be given, because its disk is full or fails: they are told from memory.
//!
//! Each page of the copy that is its last one for now gets some of them, in turn, with versions above the copy's own: a gateway
//! that is told one again passes it over. Versions follow the clock, as those of the copy do. So what the copy is given later has
//! greater ones, if it is [given them](UnwrittenKeys::may_be_written) in a later second.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use time::OffsetDateTime;

/// The most that are kept: a full sync with a disk that fails would take all memory.
const MOST: usize = 100_000;

/// Changes that are only in memory.
#[derive(Debug, Default)]
pub struct UnwrittenKeys(Mutex<UnwrittenState>);

#[derive(Debug, Default)]
struct UnwrittenState {
    /// By the key's digest.
    changes: BTreeMap<String, Map<String, Value>>,
    /// The greatest version that one of them has.
    last: u64,
    /// The digest after which the next page goes on.
    told: String,
}

/// A page of a feed.
#[derive(Debug, Serialize, Deserialize)]
struct WrittenPage {
    feed: String,
    version: u64,
    cursor: String,
    more: bool,
    changes: Vec<Box<RawValue>>,
}

impl UnwrittenKeys {
    fn state(&self) -> MutexGuard<'_, UnwrittenState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds changes, each with the digest of its key. `head`: the greatest version of the copy.
    ///
    /// # Errors
    /// The changes are too many; none is added.
    pub fn add(&self, changes: Vec<(String, Map<String, Value>)>, head: u64) -> Result<(), String> {
        let mut state = self.state();
        let all = state.changes.len().saturating_add(changes.len());
        if all > MOST {
            return Err(format!(
                "{all} changes of keys are more than memory is taken for"
            ));
        }
        for (digest, mut change) in changes {
            let next = state.last.max(head).saturating_add(1);
            state.last = next.max(this_second());
            change.insert("version".to_owned(), state.last.into());
            state.changes.insert(digest, change);
        }
        Ok(())
    }

    /// Whether what the copy is given now has greater versions than these.
    pub fn may_be_written(&self) -> bool {
        let state = self.state();
        state.changes.is_empty() || state.last < this_second()
    }

    /// The copy has them all.
    pub fn clear(&self) {
        self.state().changes.clear();
    }

    /// A page of the copy with what fits of them behind it.
    pub fn behind(&self, page: Vec<u8>, limit: u32) -> Vec<u8> {
        let mut state = self.state();
        if state.changes.is_empty() {
            return page;
        }
        let Ok(mut written) = serde_json::from_slice::<WrittenPage>(&page) else {
            return page;
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        if written.more || written.changes.len() >= limit {
            return page;
        }
        let room = limit.saturating_sub(written.changes.len());
        let after = state.told.clone();
        let later = state.changes.iter().filter(|(digest, _)| **digest > after);
        let earlier = state.changes.iter().filter(|(digest, _)| **digest <= after);
        let mut last = String::new();
        for (digest, change) in later.chain(earlier).take(room) {
            let Ok(change) = serde_json::value::to_raw_value(change) else {
                return page;
            };
            written.changes.push(change);
            last.clone_from(digest);
        }
        written.version = written.version.max(state.last);
        state.told = last;
        serde_json::to_vec(&written).unwrap_or(page)
    }
}

/// The first version of this second.
fn this_second() -> u64 {
    let seconds = u64::try_from(OffsetDateTime::now_utc().unix_timestamp()).unwrap_or_default();
    seconds.saturating_mul(1_000_000)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(digest: &str) -> (String, Map<String, Value>) {
        let change = json!({"sha256": digest, "removed": true});
        (digest.to_owned(), change.as_object().unwrap().clone())
    }

    fn page(more: bool, changes: &Value) -> Vec<u8> {
        let page =
            json!({"feed": "f", "version": 5, "cursor": "c", "more": more, "changes": changes});
        page.to_string().into_bytes()
    }

    fn digests(page: &[u8]) -> Vec<String> {
        let page: Value = serde_json::from_slice(page).unwrap();
        let changes = page["changes"].as_array().unwrap().iter();
        changes
            .map(|change| change["sha256"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn pages_have_them_in_turn() {
        let unwritten = UnwrittenKeys::default();
        let empty = page(false, &json!([]));
        assert_eq!(unwritten.behind(empty.clone(), 2), empty);
        assert!(unwritten.may_be_written());
        let head = this_second() + 40;
        unwritten
            .add(vec![change("a"), change("b"), change("c")], head)
            .unwrap();
        assert!(!unwritten.may_be_written(), "in the same second");
        for want in [["a", "b"], ["c", "a"], ["b", "c"]] {
            assert_eq!(digests(&unwritten.behind(empty.clone(), 2)), want);
        }
        let full = page(
            false,
            &json!([{"sha256": "x", "version": 1}, {"sha256": "y", "version": 2}]),
        );
        let more = page(true, &json!([{"sha256": "x", "version": 1}]));
        for other in [full, more] {
            assert_eq!(
                unwritten.behind(other.clone(), 2),
                other,
                "it has no room, or goes on"
            );
        }
        let one = page(false, &json!([{"sha256": "x", "version": 1}]));
        let one = unwritten.behind(one, 2);
        assert_eq!(digests(&one), ["x", "a"]);
        let one: Value = serde_json::from_slice(&one).unwrap();
        let version = one["changes"][1]["version"].as_u64().unwrap();
        assert!(
            version > head && one["version"].as_u64().unwrap() >= version,
            "{one}"
        );
        // A later change of a key is told with a greater version.
        unwritten.add(vec![change("a")], head).unwrap();
        let again: Value = serde_json::from_slice(&unwritten.behind(empty.clone(), 9)).unwrap();
        let a = again["changes"]
            .as_array()
            .unwrap()
            .iter()
            .find(|of| of["sha256"] == "a")
            .unwrap();
        assert!(a["version"].as_u64().unwrap() > version);
        unwritten.clear();
        assert_eq!(unwritten.behind(empty.clone(), 2), empty);
        let many = (0..=MOST).map(|n| change(&n.to_string())).collect();
        assert!(unwritten.add(many, head).is_err());
    }
}
