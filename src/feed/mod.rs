//! The feed: API keys that an HTTP service gives, in pages of changes.
//!
//! A loader synchronises the [key store](crate::keys) with it ([`sync`]): first a *full sync* of every key there is,
//! then *incremental syncs* of what changes. How far it is stands in shared data too ([`state`]), so that any loader
//! can resume it.
//!
//! Two numbers in each record decide. Its *version* is the feed's own: the greatest version of a key wins, in whatever
//! order pages come. Its *epoch* is that of the full sync that wrote or confirmed it: when a full sync is complete, its
//! epoch becomes the *watermark*, and records of an older epoch are tombstones from then on, not one moment before.
//!
//! # Guarantees
//!
//! | case | what holds | test |
//! |---|---|---|
//! | pages get lost, damaged, repeated, reordered, come from a cache, in any history of service and loaders | no valid key is refused, no removed one comes back, in the end the keys are the feed's | `nothing_is_lost_and_nothing_returns` |
//! | the first full sync is not complete | a key that was given is valid; an unknown one is undecided (503) | `the_first_reading` |
//! | a later full sync is under way | keys of before are valid until it is complete; an unknown one is invalid (401) | `a_cursor_that_is_not_known` |
//! | a key is removed or disabled | it is invalid with that page, also during a full sync that is due for compaction | `changes_do_not_wait_for_a_due_full_sync` |
//! | the feed has another identity | keys that it does not list are invalid when its full sync is complete | `another_identity` |
//! | a replica lags now and then | nothing changes, and no full sync begins | `a_replica_that_lags` |
//! | the service is set back under its identity | no key is lost, no removed one comes back, changes from then on count | `a_service_set_back_under_its_identity` |
//! | the same, after tombstones were dropped | the same, but for changes up to the version that was compacted: they are refused | `a_rollback_after_a_compaction_brings_nothing_back` |
//! | the feed contradicts itself | a full sync, at most one a minute for it | `a_key_that_should_have_been_given_before` |
//! | another loader takes over | it resumes where the one before was | `another_loader_goes_on` |
//! | a loader is held up in the middle of a page, and others go on | what it writes then brings nothing back | `a_loader_that_lost_its_lease_brings_nothing_back` |
//! | the state is lost, damaged, or of another release | a full sync; nothing is refused meanwhile | `a_state_that_cannot_be_read` |
//! | the document names another source | keys of the former one are valid until its first full sync is complete | `another_source` |
//! | the document names no feed, and then one again | no key is valid; then every key is undecided until it is given | `no_feed_and_one_again` |
//! | keys come and go for as long as Envoy runs | what is stored is bounded by the keys there are at a time | `thirty_days_of_short_lived_keys_leave_the_store_as_it_was` |

mod apply;
mod bucket_writer;
mod compact;
mod merge;
mod outcome;
mod pace;
pub mod page;
mod resume;
pub mod state;
pub mod sync;

pub use outcome::{Reason, SyncEvent, SyncOutcome};
pub use pace::{Pace, Reading};
pub use sync::{ESCAPED, FeedSync, PageAnswer};

/// The header by which a loader announces to a feed which members of a page it knows.
pub const FORMAT_HEADER: &str = "x-trilane-feed-format";
/// The format that this release announces.
pub const FORMAT: &str = "2";

#[cfg(test)]
mod tests {
    /// The table above names a test for each guarantee.
    #[test]
    fn every_guarantee_has_its_test() {
        let tests = [
            include_str!("sync/tests/cases.rs"),
            include_str!("sync/tests/compaction.rs"),
            include_str!("sync/tests/histories.rs"),
            include_str!("sync/tests/resume.rs"),
        ]
        .concat();
        let page = include_str!("mod.rs");
        let rows = page.lines().filter_map(|line| line.strip_prefix("//! | "));
        let names: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
        assert_eq!(names.len(), 15);
        for name in names {
            assert!(tests.contains(&format!("fn {name}(")), "{name}");
        }
    }
}
