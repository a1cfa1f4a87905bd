//! Reading the feed of keys that the document names: one call at a time, each answer to [`FeedSync`].

use core::time::Duration;

use super::feed_stats::FeedStats;
use super::host::{self, Host};
use crate::config::FeedSource;
use crate::config::source::MAX_BYTES;
use crate::feed::{FORMAT, FORMAT_HEADER, FeedSync, Pace, PageAnswer, Reason, SyncOutcome};
use crate::keys::FeedStatus;

/// The least time between two pages where there is more (the [`Pace`] may want a longer one), and how many changes a
/// page may have: pages are small and come at a distance, so that the requests of an Envoy that has one core only, or
/// of the worker that loads, wait for one page at most, and most of the time for none.
pub(super) const PACE: Duration = Duration::from_millis(5);
const PAGE: u32 = 100;

/// The reading side of a loader.
#[derive(Debug)]
pub(super) struct Feeding {
    /// Whether the feed has said that there is more, and the next page is to be asked for.
    more: bool,
    pace: Pace,
    reading: Option<FeedSync>,
    /// Defined when a feed is first named.
    stats: Option<FeedStats>,
    /// The answer awaited.
    call: Option<u32>,
    /// When the feed last said that there is nothing more, or reading began, by the steady clock.
    confirmed_ms: u64,
    /// Whether a failure has been logged since the feed last answered well.
    failure_logged: bool,
    /// Whether it has been logged that the feed tells less than before.
    behind_logged: bool,
}

impl Feeding {
    pub(super) fn new() -> Self {
        Self {
            more: false,
            pace: Pace::default(),
            reading: None,
            stats: None,
            call: None,
            confirmed_ms: 0,
            failure_logged: false,
            behind_logged: false,
        }
    }

    /// Another VM loads, or has loaded since: what is known here may be old.
    pub(super) fn forget(&mut self) {
        self.reading = None;
        self.more = false;
        self.call = None;
    }

    /// Reads the feed that the document names, from now on. Gives what is to be published with the
    /// document.
    pub(super) fn follow(&mut self, source: Option<&FeedSource>) -> Option<FeedStatus> {
        let Some(source) = source else {
            self.forget();
            FeedSync::end(&Host);
            if let Some(stats) = self.stats.take() {
                stats.stands(0, 0);
                stats.age(0);
            }
            return None;
        };
        let now = host::now_ms();
        let (reading, event) = match self.reading.take() {
            Some(reading) if reading.source() == Some(source) => (reading, None),
            former => {
                // An answer to what was asked before is of no use any more.
                self.call = None;
                self.confirmed_ms = host::steady_ms();
                self.failure_logged = false;
                match former {
                    Some(former) => former.switch_source(source, &Host, now),
                    None => FeedSync::resume(source, &Host, now),
                }
            }
        };
        if let Some(event) = event {
            log::info!("keys feed: {event}");
        }
        let status = reading.status();
        self.reading = Some(reading);
        self.stats.get_or_insert_with(FeedStats::new);
        self.show();
        Some(status)
    }

    /// Asks for the next page, if none is awaited.
    pub(super) fn on_tick(&mut self) {
        let (Some(_), Some(stats)) = (&self.reading, &self.stats) else {
            return;
        };
        stats.age(host::steady_ms().saturating_sub(self.confirmed_ms));
        if self.call.is_none() {
            self.ask();
        }
    }

    /// Whether there is more to read than a page a tick: [`on_pace`](Self::on_pace) is to be called.
    pub(super) fn has_more(&self) -> bool {
        self.more
    }

    /// Asks for the next page where there is more, and it is time.
    pub(super) fn on_pace(&mut self) {
        if self.more && self.call.is_none() && self.pace.lets(host::steady_us()) {
            self.ask();
        }
    }

    /// Whether a page is awaited.
    pub(super) fn is_asking(&self) -> bool {
        self.call.is_some()
    }

    /// Whether this is the answer awaited.
    pub(super) fn awaits(&self, token: u32) -> bool {
        self.call == Some(token)
    }

    /// The answer awaited has come, or its call has failed. Gives what is to be published from now on,
    /// where that has changed.
    pub(super) fn on_answer(&mut self, num_headers: usize, body_size: usize) -> Option<FeedStatus> {
        self.call = None;
        let began_us = host::steady_us();
        // A failed call has no headers, and asking for one would be fatal.
        let outcome = if num_headers == 0 {
            self.take(PageAnswer::None(
                "no answer, or one longer than Envoy takes",
            ))
        } else {
            match host::fetched_header(":status").unwrap_or_default().as_str() {
                "200" if body_size > MAX_BYTES => self.take(PageAnswer::TooLong(body_size)),
                "200" => self.take(PageAnswer::Page(&host::fetched_body(body_size))),
                status => self.take(PageAnswer::Status(status)),
            }
        };
        let status = outcome.status;
        self.more = outcome.at_once;
        self.report(outcome);
        self.pace.read(began_us, host::steady_us());
        status
    }

    /// Awaits no answer any more.
    pub(super) fn forget_call(&mut self) {
        self.call = None;
    }

    fn ask(&mut self) {
        self.more = false;
        let Some(reading) = &self.reading else {
            return;
        };
        let path = reading.next_path(PAGE);
        self.call = reading.source().and_then(|source| {
            // What a cache remembers is not what the feed says.
            let fresh = ("cache-control", "no-cache");
            let format = (FORMAT_HEADER, FORMAT);
            host::fetch(&source.cluster, &source.authority, &path, [fresh, format])
        });
        if self.call.is_none() {
            let outcome = self.take(PageAnswer::None("its cluster is unknown or has no host"));
            self.report(outcome);
        }
    }

    fn take(&mut self, answer: PageAnswer<'_>) -> SyncOutcome {
        match &mut self.reading {
            Some(reading) => reading.on_answer(answer, &Host, host::now_ms()),
            None => SyncOutcome::default(),
        }
    }

    /// Tells of what came: in the log, failures once until it goes well again, and in the stats.
    fn report(&mut self, outcome: SyncOutcome) {
        if outcome.up_to_date {
            self.confirmed_ms = host::steady_ms();
        }
        if let Some(stats) = &self.stats {
            stats.changes(outcome.taken, outcome.stale);
            if let Some((reason, _)) = &outcome.refused {
                stats.rejected(*reason);
            }
        }
        self.complain(outcome.refused);
        if let Some(event) = outcome.event {
            log::info!("keys feed: {event}");
        }
        self.show();
    }

    /// Says what is wrong when it begins to be.
    fn complain(&mut self, refused: Option<(Reason, String)>) {
        let behind = matches!(refused, Some((Reason::Behind, _)));
        match refused {
            None => self.failure_logged = false,
            Some((reason @ Reason::Behind, why)) => {
                if !self.behind_logged {
                    log::warn!("keys feed: {reason}, no key is dropped for it: {why}");
                }
            }
            // The full reading that begins now is told of by itself.
            Some((Reason::Cursor, _)) => return,
            Some((reason, why)) => {
                if !core::mem::replace(&mut self.failure_logged, true) {
                    log::error!("keys feed: {reason}, what is known of keys stays: {why}");
                }
                return;
            }
        }
        self.behind_logged = behind;
    }

    fn show(&self) {
        if let (Some(reading), Some(stats)) = (&self.reading, &self.stats) {
            stats.stands(reading.state().head, reading.state().keys);
        }
    }
}
