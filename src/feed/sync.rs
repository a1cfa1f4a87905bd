//! The synchronisation with a feed, as a state machine that knows nothing of Envoy: what to ask, and what to do with
//! an answer.
//!
//! ```text
//!                    last page                      a page behind, first of a full sync
//!   full sync ────────────────► incremental sync        full sync ────────► rollback sync
//!       ▲                              │                    ▲                    │
//!       └──────────────────────────────┘                    └────────────────────┘
//!        410, another identity, a missed key,                a page that is not behind
//!        PATIENCE pages behind, too many tombstones
//! ```
//!
//! # A service that is behind
//!
//! A page whose version is below the greatest one ever told is *behind*. It comes from a replica that lags, from a
//! cache, or from a service that was set back: restored, or started from zero without taking another
//! identity. Of such a page only what is newer than a key's own record counts. In the middle of a full
//! sync it is not used at all, and asked for again. After [`PATIENCE`] of them in a row a full sync
//! begins; if its first page is behind too, the service has been set back, and a rollback sync begins: it takes what is
//! newer there, and makes no record a tombstone. When the service is not behind any more, a full sync
//! begins.

use core::fmt::Write;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest, Sha256};

use super::bucket_writer::BucketWriter;
use super::merge::SyncKind;
use super::page::Page;
use super::state::{FeedState, SyncMode, TOMBSTONES};
use super::{Reading, Reason, SyncEvent, SyncOutcome};
use crate::config::FeedSource;
use crate::keys::{Coverage, FeedStatus};
use crate::shared_data::SharedData;

/// The number of pages in a row that may be behind before a full sync begins.
pub const PATIENCE: u32 = 4;

/// The least time between two full syncs that are begun because a key was missed, in milliseconds: a
/// feed that goes on contradicting itself shall not be read without end.
const MISSED_MS: u64 = 60_000;

/// The characters of a cursor that a query does not hold as they are: all but RFC 3986's `unreserved`.
pub const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The answer to a request for a page.
#[derive(Debug, Clone, Copy)]
pub enum PageAnswer<'a> {
    /// None that could be used, for this reason.
    None(&'a str),
    /// One longer than allowed: so many bytes.
    TooLong(usize),
    /// One of a status other than 200.
    Status(&'a str),
    /// One of status 200, with this body.
    Page(&'a [u8]),
}

/// The synchronisation with one feed.
#[derive(Debug)]
pub struct FeedSync {
    pub(super) state: FeedState,
    /// The number of pages in a row that were behind.
    behind: u32,
    /// Whether the feed has told of a key that it should have given before.
    pub(super) missed: bool,
    /// The time at which a missed key last made a full sync begin, in milliseconds of the wall clock.
    missed_ms: Option<u64>,
    /// The digest of the page refused last: the same again is not looked at.
    refused: Option<[u8; 32]>,
    /// Whether the next page is one of changes, between two pages of a full sync.
    pub(super) in_between: bool,
    /// Up to so many tombstones nothing is compacted.
    pub(super) tombstone_limit: u64,
    pub(super) buckets: BucketWriter,
}

impl FeedSync {
    /// Goes on from here.
    pub(super) fn of(state: FeedState) -> Self {
        Self {
            state,
            behind: 0,
            missed: false,
            missed_ms: None,
            refused: None,
            in_between: false,
            tombstone_limit: TOMBSTONES,
            buckets: BucketWriter::default(),
        }
    }

    pub(super) fn into_state(self) -> FeedState {
        self.state
    }

    /// Returns the state of the synchronisation.
    pub fn state(&self) -> &FeedState {
        &self.state
    }

    /// Returns the status that filters must know.
    pub fn status(&self) -> FeedStatus {
        self.state.status()
    }

    /// The feed.
    pub fn source(&self) -> Option<&FeedSource> {
        self.state.source.as_ref()
    }

    /// The reading that the next page is part of.
    pub fn reading(&self) -> Reading {
        match self.state.coverage {
            Coverage::Nothing => Reading::First,
            Coverage::Former | Coverage::Whole => Reading::Later,
        }
    }

    /// The path to request next: for a page of at most `limit` changes.
    pub fn next_path(&self, limit: u32) -> String {
        let mut path = self.source().map(|s| s.path.clone()).unwrap_or_default();
        path.push(if path.contains('?') { '&' } else { '?' });
        let _ = write!(path, "limit={limit}");
        if let Some(cursor) = self.cursor() {
            path.push_str("&cursor=");
            path.extend(utf8_percent_encode(cursor, ESCAPED));
        }
        path
    }

    /// The cursor to request with.
    fn cursor(&self) -> Option<&str> {
        if self.in_between {
            self.state.changes_cursor.as_deref()
        } else {
            self.state.cursor.as_deref()
        }
    }

    /// Takes the answer to a request for [`next_path`](Self::next_path).
    pub fn on_answer(
        &mut self,
        answer: PageAnswer<'_>,
        shared: &impl SharedData,
        now_ms: u64,
    ) -> SyncOutcome {
        let outcome = match answer {
            PageAnswer::None(why) => refused(Reason::Unreachable, why),
            PageAnswer::TooLong(size) => refused(
                Reason::Oversize,
                format!("it has {size} bytes, which is more than is taken"),
            ),
            PageAnswer::Status("410") if self.in_between => {
                self.state.changes_cursor = None;
                refused(Reason::Cursor, "status 410")
            }
            PageAnswer::Status("410") if self.state.cursor.is_some() => {
                let event = self.begin("the feed does not know how far it was", shared, now_ms);
                SyncOutcome {
                    event: Some(event),
                    ..refused(Reason::Cursor, "status 410")
                }
            }
            PageAnswer::Status(status) => refused(Reason::Unreachable, format!("status {status}")),
            PageAnswer::Page(bytes) => self.body(bytes, shared, now_ms),
        };
        // Also where this one failed, so that neither of the two syncs waits for the other.
        self.in_between = !self.in_between && self.state.changes_cursor.is_some();
        outcome
    }

    fn body(&mut self, bytes: &[u8], shared: &impl SharedData, now_ms: u64) -> SyncOutcome {
        // Naming problems takes long, and a bad page is asked for again at every tick.
        let digest = || <[u8; 32]>::from(Sha256::digest(bytes));
        if self.refused.is_some() && self.refused == Some(digest()) {
            return refused(Reason::Invalid, "it is the same as before");
        }
        match Page::parse(bytes) {
            Err(problems) => {
                self.refused = Some(digest());
                refused(Reason::Invalid, problems.to_string())
            }
            Ok(page) => {
                self.refused = None;
                self.page(&page, shared, now_ms)
            }
        }
    }

    fn page(&mut self, page: &Page<'_>, shared: &impl SharedData, now_ms: u64) -> SyncOutcome {
        let asked = self.cursor();
        if page.more && asked == Some(&*page.cursor) {
            let why = "cursor: is the one asked with, and there is more: that would go on for ever";
            return refused(Reason::Invalid, why);
        }
        if self.state.feed.as_deref() != Some(&*page.feed) {
            // An identity is only ever taken from the first page of a full sync.
            if !self.state.is_listing() || asked.is_some() {
                let event = self.begin("the feed has another identity", shared, now_ms);
                return SyncOutcome {
                    event: Some(event),
                    ..refused(Reason::Cursor, "it is of another identity")
                };
            }
            self.state.adopt(Some(&page.feed));
        }
        let behind = (page.version < self.state.head).then(|| {
            let (version, head) = (page.version, self.state.head);
            (
                Reason::Behind,
                format!("its version is {version}, and it was {head} before"),
            )
        });
        self.compact(shared);
        let (kind, anew) = self.kind(behind.is_some());
        let mut outcome = SyncOutcome {
            refused: behind,
            ..SyncOutcome::default()
        };
        if let Some(kind) = kind {
            self.apply(page, kind, shared, &mut outcome);
        }
        if let Some(why) = anew.or_else(|| self.check_missed(now_ms)) {
            outcome.event = Some(self.begin(why, shared, now_ms));
            outcome.at_once = false;
        } else if let Some(why) = self.compaction_due() {
            // The incremental sync goes on between its pages.
            let cursor = self.state.cursor.take();
            self.state.begin(now_ms);
            self.state.changes_cursor = cursor;
            self.state.store(shared);
            outcome.event = Some(SyncEvent::Begun(why));
            outcome.at_once = false;
        } else if kind.is_some() {
            self.state.store(shared);
        }
        outcome
    }

    /// Returns the kind of sync that a page is part of, `None` where it is not used at all; and why a full sync must begin
    /// after it, where it must.
    fn kind(&mut self, behind: bool) -> (Option<SyncKind>, Option<&'static str>) {
        let first = self.state.cursor.is_none() && !self.in_between;
        match (self.state.mode, behind) {
            (SyncMode::Rollback { .. }, false) => {
                self.state.mode = SyncMode::Full;
                let why = "the feed is where it was before";
                return (Some(SyncKind::Rollback), Some(why));
            }
            (SyncMode::Rollback { .. }, true) => return (Some(SyncKind::Rollback), None),
            (SyncMode::Full, true) if first => {
                self.state.mode = SyncMode::Rollback { listed: false };
                self.state.changes_cursor = None;
                return (Some(SyncKind::Rollback), None);
            }
            (SyncMode::Full | SyncMode::Incremental, _) => {}
        }
        let incremental = self.in_between || self.state.mode == SyncMode::Incremental;
        if !behind {
            self.behind = 0;
            let full = (!incremental).then_some(SyncKind::Full);
            return (full.or(Some(SyncKind::Incremental)), None);
        }
        self.behind = self.behind.saturating_add(1);
        let anew = (self.behind >= PATIENCE).then_some("the feed stays behind what it told before");
        (incremental.then_some(SyncKind::Incremental), anew)
    }

    /// Returns the reason for a full sync, where a key was missed and none has begun for that just now.
    fn check_missed(&mut self, now_ms: u64) -> Option<&'static str> {
        let since = self.missed_ms.map(|then| now_ms.abs_diff(then));
        let due = self.missed && !self.state.is_listing() && since.is_none_or(|ms| ms >= MISSED_MS);
        due.then(|| {
            self.missed = false;
            self.missed_ms = Some(now_ms);
            "the feed names a key that it should have given before"
        })
    }

    fn begin(&mut self, why: &'static str, shared: &impl SharedData, now_ms: u64) -> SyncEvent {
        self.behind = 0;
        self.state.begin(now_ms);
        self.state.store(shared);
        SyncEvent::Begun(why)
    }
}

fn refused(reason: Reason, why: impl Into<String>) -> SyncOutcome {
    SyncOutcome {
        refused: Some((reason, why.into())),
        ..SyncOutcome::default()
    }
}

#[cfg(test)]
mod tests;
