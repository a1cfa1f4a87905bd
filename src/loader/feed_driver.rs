//! Driving the sync of the keys feed that the document names: one page at a time, each response to [`FeedSync`].

use crate::config::FeedSource;
use crate::feed::{
    FORMAT, FORMAT_HEADER, FeedSync, Pace, PageAnswer, Reading, Reason, SyncOutcome,
};
use crate::host::{FetchRequest, FetchResponse};
use crate::keys::FeedStatus;
use crate::metrics::FeedStats;

use super::LoaderHost;
use super::next_page::NextPage;
use super::plugin_config::MAX_BYTES;

/// The feed side of a loader.
#[derive(Debug, Default)]
pub(super) struct FeedDriver {
    pub(super) next: NextPage,
    pace: Pace,
    /// `None` where the document names no feed, or nothing is known of it.
    sync: Option<FeedSync>,
    /// Defined when a feed is first named.
    stats: Option<FeedStats>,
    /// The time at which the feed last said that there is nothing more, or the sync began, in milliseconds of the steady clock.
    confirmed_ms: u64,
    /// Whether a failure has been logged since the feed last responded well.
    failure_logged: bool,
    /// Whether it has been logged that the feed tells less than before.
    behind_logged: bool,
}

impl FeedDriver {
    /// Another VM loads, or has loaded since: what is known here may be old.
    pub(super) fn forget(&mut self) {
        self.sync = None;
        self.next = NextPage::WithPoll;
    }

    /// Syncs the feed that the document names, from now on. Gives what is to be published with the
    /// document.
    pub(super) fn follow(
        &mut self,
        source: Option<&FeedSource>,
        host: &impl LoaderHost,
    ) -> Option<FeedStatus> {
        let Some(source) = source else {
            self.forget();
            FeedSync::end(host);
            if let Some(stats) = self.stats.take() {
                stats.stands(0, 0, host);
                stats.age(0, host);
            }
            return None;
        };
        let now = host.wall_ms();
        let (sync, event) = match self.sync.take() {
            Some(sync) if sync.source() == Some(source) => (sync, None),
            former => {
                // A response of the former source is of no use any more.
                self.next.drop_call();
                self.confirmed_ms = host.steady_ms();
                self.failure_logged = false;
                match former {
                    Some(former) => former.switch_source(source, host, now),
                    None => FeedSync::resume(source, host, now),
                }
            }
        };
        if let Some(event) = event {
            host.log(log::Level::Info, format_args!("keys feed: {event}"));
        }
        let status = sync.status();
        self.sync = Some(sync);
        self.stats.get_or_insert_with(|| FeedStats::define(host));
        self.show(host);
        Some(status)
    }

    /// Requests the next page with a poll of the document, unless one is awaited.
    pub(super) fn poll(&mut self, host: &impl LoaderHost) {
        let (Some(_), Some(stats)) = (&self.sync, &self.stats) else {
            return;
        };
        let age_ms = host.steady_ms().saturating_sub(self.confirmed_ms);
        stats.age(age_ms, host);
        if !self.next.is_awaiting() {
            self.request(host);
        }
    }

    /// Requests the next page between two polls, where the feed has more and the pace lets.
    pub(super) fn request_more(&mut self, host: &impl LoaderHost) {
        if self.next.more() == Some(true) && self.pace.lets(host.steady_us()) {
            self.request(host);
        }
    }

    /// The response awaited has come; `None` for a call that failed. Gives what is to be published from now on,
    /// where that has changed.
    pub(super) fn on_response(
        &mut self,
        response: Option<&impl FetchResponse>,
        host: &impl LoaderHost,
    ) -> Option<FeedStatus> {
        let began_us = host.steady_us();
        let reading = self.sync.as_ref().map_or(Reading::Later, FeedSync::reading);
        let outcome = match response {
            None => {
                let why = "no answer, or one longer than Envoy takes";
                self.read(PageAnswer::None(why), host)
            }
            Some(response) => {
                let status = response.header(":status").unwrap_or_default();
                match status.as_str() {
                    "200" if response.body_size() > MAX_BYTES => {
                        self.read(PageAnswer::TooLong(response.body_size()), host)
                    }
                    "200" => self.read(PageAnswer::Page(&response.body()), host),
                    status => self.read(PageAnswer::Status(status), host),
                }
            }
        };
        let status = outcome.status;
        self.next = if outcome.at_once {
            NextPage::AtPace
        } else {
            NextPage::WithPoll
        };
        self.report(outcome, host);
        self.pace.read(reading, began_us, host.steady_us());
        status
    }

    fn request(&mut self, host: &impl LoaderHost) {
        self.next = NextPage::WithPoll;
        let Some(sync) = &self.sync else {
            return;
        };
        let path = sync.next_path(sync.reading().page());
        let call = sync.source().and_then(|source| {
            host.fetch(FetchRequest {
                cluster: &source.cluster,
                authority: &source.authority,
                path: &path,
                // A cached page is not what the feed says now.
                headers: &[("cache-control", "no-cache"), (FORMAT_HEADER, FORMAT)],
            })
        });
        match call {
            Some(call) => self.next = NextPage::Awaited(call),
            None => {
                let why = "its cluster is unknown or has no host";
                let outcome = self.read(PageAnswer::None(why), host);
                self.report(outcome, host);
            }
        }
    }

    fn read(&mut self, answer: PageAnswer<'_>, host: &impl LoaderHost) -> SyncOutcome {
        match &mut self.sync {
            Some(sync) => sync.on_answer(answer, host, host.wall_ms()),
            None => SyncOutcome::default(),
        }
    }

    /// Logs and counts the outcome of a response; of failures in a row the first one is logged.
    fn report(&mut self, outcome: SyncOutcome, host: &impl LoaderHost) {
        if outcome.up_to_date {
            self.confirmed_ms = host.steady_ms();
        }
        if let Some(stats) = &self.stats {
            stats.changes(outcome.taken, outcome.stale, host);
            if let Some((reason, _)) = &outcome.refused {
                stats.rejected(*reason, host);
            }
        }
        self.log_failure(outcome.refused, host);
        if let Some(event) = outcome.event {
            host.log(log::Level::Info, format_args!("keys feed: {event}"));
        }
        self.show(host);
    }

    /// Logs what is wrong when it begins to be.
    fn log_failure(&mut self, refused: Option<(Reason, String)>, host: &impl LoaderHost) {
        let behind = matches!(refused, Some((Reason::Behind, _)));
        match refused {
            None => self.failure_logged = false,
            Some((reason @ Reason::Behind, why)) => {
                if !self.behind_logged {
                    let line = format_args!("keys feed: {reason}, no key is dropped for it: {why}");
                    host.log(log::Level::Warn, line);
                }
            }
            // The full sync that begins now has a line of its own.
            Some((Reason::Cursor, _)) => return,
            Some((reason, why)) => {
                if !core::mem::replace(&mut self.failure_logged, true) {
                    let line =
                        format_args!("keys feed: {reason}, what is known of keys stays: {why}");
                    host.log(log::Level::Error, line);
                }
                return;
            }
        }
        self.behind_logged = behind;
    }

    fn show(&self, host: &impl LoaderHost) {
        if let (Some(sync), Some(stats)) = (&self.sync, &self.stats) {
            stats.stands(sync.state().head, sync.state().keys, host);
        }
    }
}

#[cfg(test)]
mod tests;
