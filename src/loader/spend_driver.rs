//! Driving the sync of the spend feed that the document names. Keys come first: a revocation waits for no budget.

use crate::config::policy::Policy;
use crate::feed::{Pace, Reading, Reason};
use crate::host::{FetchRequest, FetchResponse};
use crate::metrics::SpendStats;
use crate::spend::{PAGE, SpendSync};

use super::LoaderHost;
use super::next_page::NextPage;
use super::plugin_config::MAX_BYTES;

/// The spend side of a loader.
#[derive(Debug, Default)]
pub(super) struct SpendDriver {
    pub(super) next: NextPage,
    pace: Pace,
    /// `None` where the document names no spend feed, or nothing is known of it.
    sync: Option<SpendSync>,
    /// Defined when a feed is first named.
    stats: Option<SpendStats>,
    /// The time at which the feed last said that there is nothing more, or the sync began, in milliseconds of the steady clock.
    confirmed_ms: u64,
    /// Whether a failure has been logged since the feed last responded well.
    failure_logged: bool,
}

impl SpendDriver {
    /// Another VM loads, or has loaded since: what is known here may be old.
    pub(super) fn forget(&mut self) {
        self.sync = None;
        self.next = NextPage::WithPoll;
    }

    /// Syncs the feed that a policy names, from now on.
    pub(super) fn follow(&mut self, policy: &Policy, host: &impl LoaderHost) {
        if self.sync.as_ref().is_some_and(|sync| sync.is_of(policy)) {
            return;
        }
        self.forget();
        self.failure_logged = false;
        self.confirmed_ms = host.steady_ms();
        self.sync = SpendSync::begin(policy, host);
        if self.sync.is_some() {
            self.stats.get_or_insert_with(|| SpendStats::define(host));
            // Budgets are not counted before it has told everything.
            self.request(host);
        } else if let Some(stats) = self.stats.take() {
            stats.age(0, host);
        }
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

    /// The response awaited has come; `None` for a call that failed.
    pub(super) fn on_response(
        &mut self,
        response: Option<&impl FetchResponse>,
        host: &impl LoaderHost,
    ) {
        let began_us = host.steady_us();
        self.next = NextPage::WithPoll;
        match page(response) {
            Ok(page) => self.take(&page, host),
            Err((reason, why)) => self.fail(reason, &why, host),
        }
        self.pace.read(Reading::Later, began_us, host.steady_us());
    }

    fn take(&mut self, page: &[u8], host: &impl LoaderHost) {
        let (Some(sync), Some(stats)) = (&mut self.sync, &self.stats) else {
            return;
        };
        match sync.take(page, host) {
            Ok(outcome) => {
                stats.changes(outcome.written, host);
                self.failure_logged = false;
                if outcome.more {
                    self.next = NextPage::AtPace;
                } else {
                    self.confirmed_ms = host.steady_ms();
                }
            }
            Err(why) => self.fail(Reason::Invalid, &why, host),
        }
    }

    fn request(&mut self, host: &impl LoaderHost) {
        let Some(sync) = &self.sync else {
            return;
        };
        let call = host.fetch(FetchRequest {
            cluster: &sync.source().cluster,
            authority: &sync.source().authority,
            path: &sync.next_path(PAGE),
            headers: &[("cache-control", "no-cache")],
        });
        match call {
            Some(call) => self.next = NextPage::Awaited(call),
            None => {
                self.next = NextPage::WithPoll;
                let why = "its cluster is unknown or has no host";
                self.fail(Reason::Unreachable, why, host);
            }
        }
    }

    /// Logs and counts what is wrong; of failures in a row the first one is logged.
    fn fail(&mut self, reason: Reason, why: &str, host: &impl LoaderHost) {
        if let Some(stats) = &self.stats {
            stats.rejected(reason, host);
        }
        if !core::mem::replace(&mut self.failure_logged, true) {
            let line = format_args!("spend feed: {reason}, what is known of spend stays: {why}");
            host.log(log::Level::Error, line);
        }
    }
}

/// The page in a response, or why there is none.
fn page(response: Option<&impl FetchResponse>) -> Result<Vec<u8>, (Reason, String)> {
    let Some(response) = response else {
        let why = "no answer, or one longer than Envoy takes";
        return Err((Reason::Unreachable, why.to_owned()));
    };
    let status = response.header(":status").unwrap_or_default();
    let size = response.body_size();
    match status.as_str() {
        "200" if size > MAX_BYTES => Err((Reason::Oversize, format!("it has {size} bytes"))),
        "200" => Ok(response.body()),
        _ => Err((Reason::Unreachable, format!("status {status}"))),
    }
}

#[cfg(test)]
mod tests;
