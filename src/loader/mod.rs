//! Loading the configuration: poll the source of the document, compile what it serves, publish it. The last valid policy
//! stays in effect on any fault.
//!
//! A [`Loader`] belongs to one root. Its host calls it with ticks and with responses, in any order, and it acts through
//! [`LoaderHost`]; so every order of events can be played natively.
//!
//! | file | what it decides |
//! |---|---|
//! | [`plugin_config`] | where a root's document is |
//! | [`lease`] | which root of an Envoy loads |
//! | `schedule` | when the source is polled, and how often the root ticks |
//! | `document` | what a response of the source says |
//! | `tenure` | what is known while this root loads: what was seen, what is published |
//! | `feed_driver` | when a page of the keys feed is requested, and what its response changes |
//! | `spend_driver` | the same of the spend feed |
//! | `ledger_driver` | when it is asked whether the ledger can be written |
//!
//! # What was published later wins
//!
//! Whatever is in it. So a root that becomes the leader publishes its own document
//! even where it is one that was in effect before; only what it has itself published last, and nobody since, is not
//! published again. And a response counts only where this root has led without a break since the request: what another
//! root has published meanwhile is newer than a document that was fetched before.

use sha2::{Digest, Sha256};

use crate::config::snapshot::GENERATION;
use crate::host::{CallId, Clocks, Entropy, Fetch, FetchRequest, FetchResponse, Log, Stats, Timer};
use crate::metrics::{ConfigStats, LoadFailure};
use crate::shared_data::SharedData;

mod document;
mod feed_driver;
mod leader_term;
pub mod lease;
mod ledger_driver;
mod next_page;
pub mod plugin_config;
pub(crate) mod publisher;
mod schedule;
mod spend_driver;

use document::{DocumentDigest, PollOutcome};
use feed_driver::FeedDriver;
use leader_term::LeaderTerm;
use lease::{Acquisition, Candidate, LoaderRole};
use ledger_driver::LedgerDriver;
use plugin_config::{DocumentSource, HttpSource, PluginConfig};
use publisher::Superseded;
pub use schedule::LONGEST_TICK_MS;
use schedule::PollSchedule;
use spend_driver::SpendDriver;

/// The functions of the host that a loader needs.
pub trait LoaderHost: SharedData + Clocks + Entropy + Fetch + Timer + Stats + Log {}

impl<T: SharedData + Clocks + Entropy + Fetch + Timer + Stats + Log> LoaderHost for T {}

/// A configuration that is rejected; the log has said why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigurationRejected;

/// Whether this root loads now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leadership {
    /// Another root does.
    Follower,
    /// It does from now on, and knows nothing of what is in effect.
    New,
    /// It does, and nobody has published since it last did.
    Continued,
}

/// The loading side of a root.
#[derive(Debug)]
pub struct Loader {
    source: DocumentSource,
    schedule: PollSchedule,
    candidate: Candidate,
    tenure: LeaderTerm,
    /// The keys that the document does not name itself.
    feed: FeedDriver,
    /// The driver of the spend feed.
    spend: SpendDriver,
    /// The questions about the ledger.
    ledger: LedgerDriver,
    stats: ConfigStats,
    /// Whether the source's failure has been logged since it last responded.
    failure_logged: bool,
}

impl Loader {
    /// Reads a root's plugin configuration and begins; `None` where it leaves loading to other roots.
    ///
    /// # Errors
    /// The configuration, or an inline document in it, is rejected, and the log says why; Envoy then
    /// rejects the plugin.
    pub fn configure(
        configuration: &[u8],
        role: LoaderRole,
        host: &impl LoaderHost,
    ) -> Result<Option<Self>, ConfigurationRejected> {
        let rejected = |reason: &str| {
            let line = format_args!("the plugin configuration is refused: {reason}");
            host.log(log::Level::Error, line);
            ConfigurationRejected
        };
        let config = PluginConfig::parse(configuration).map_err(|reason| rejected(&reason))?;
        let Some(source) = config.source else {
            return match role {
                LoaderRole::Singleton => Err(rejected("a loader needs source or inline")),
                LoaderRole::Fallback => Ok(None),
            };
        };
        let tick_ms = u64::try_from(config.tick.as_millis()).unwrap_or(u64::MAX);
        let duration_ms = tick_ms.saturating_mul(3).max(2000);
        // An inline document waits for the first tick, unless it is the first of the process.
        let eager = role == LoaderRole::Singleton || matches!(source, DocumentSource::Inline(_));
        let now = host.steady_ms();
        let mut loader = Self {
            source,
            schedule: PollSchedule::new(config.tick, eager, now),
            candidate: Candidate::enter(role, configuration, host.random(), duration_ms, host),
            tenure: LeaderTerm::begin(now),
            feed: FeedDriver::default(),
            spend: SpendDriver::default(),
            ledger: LedgerDriver::default(),
            stats: ConfigStats::define(host),
            failure_logged: false,
        };
        loader.start(host)?;
        loader.set_period(host);
        Ok(Some(loader))
    }

    /// Publishes an inline document at once where nothing is in effect yet, so that no request comes before
    /// it. Where something is, it waits for the first tick: Envoy may yet reject this configuration, and then the
    /// root is dropped before it has one.
    fn start(&mut self, host: &impl LoaderHost) -> Result<(), ConfigurationRejected> {
        let DocumentSource::Inline(bytes) = &self.source else {
            return Ok(());
        };
        let bytes = bytes.clone();
        let digest = Sha256::digest(&bytes).into();
        if leader_term::is_published(&digest, host) {
            return Ok(());
        }
        if host.get(GENERATION).0.is_none() && self.lead(host) != Leadership::Follower {
            self.load(&bytes, digest, None, host);
            let in_effect = self.tenure.in_effect();
            return in_effect.then_some(()).ok_or(ConfigurationRejected);
        }
        let compiled = document::compile(&bytes, &self.stats, host);
        compiled.map(|_| ()).ok_or(ConfigurationRejected)
    }

    /// A tick has come.
    pub fn on_tick(&mut self, host: &impl LoaderHost) {
        let now = host.steady_ms();
        if self.schedule.poll_due(now, self.tenure.has_seen()) {
            if self.lead(host) != Leadership::Follower {
                self.poll(now, host);
            }
            self.follow_pages();
        } else if self.schedule.reads_pages() {
            self.feed.request_more(host);
            if self.feed.next.more() == Some(false) {
                self.spend.request_more(host);
            }
        }
        self.set_period(host);
    }

    /// A response has come; `None` for a call that failed.
    pub fn on_response(
        &mut self,
        call: CallId,
        response: Option<&impl FetchResponse>,
        host: &impl LoaderHost,
    ) {
        if self.feed.next.awaits(call) {
            self.on_page(response, host);
        } else if self.spend.next.awaits(call) {
            self.on_spend_page(response, host);
        } else if self.ledger.take_call(call) {
            self.on_ledger_answer(response, host);
        } else if self.tenure.take_call(call) {
            self.on_document(response, host);
        }
        self.set_period(host);
    }

    fn poll(&mut self, now_ms: u64, host: &impl LoaderHost) {
        if let DocumentSource::Inline(bytes) = &self.source {
            self.tenure.confirm_inline(now_ms);
            if !self.tenure.has_seen() {
                self.load_inline(&bytes.clone(), host);
            }
        }
        self.stats.age(self.tenure.age_ms(now_ms), host);
        self.fetch(host);
        self.feed.poll(host);
        self.spend.poll(host);
        self.ledger.poll(host);
    }

    fn fetch(&mut self, host: &impl LoaderHost) {
        let DocumentSource::Http(source) = &self.source else {
            return;
        };
        if self.tenure.is_awaiting() {
            return;
        }
        let etag = self.tenure.etag().map(|etag| ("if-none-match", etag));
        let call = host.fetch(FetchRequest {
            cluster: &source.cluster,
            authority: &source.authority,
            path: &source.path,
            headers: etag.as_slice(),
        });
        match call {
            Some(call) => self.tenure.await_call(call),
            None => {
                let why = "its cluster is unknown or has no host";
                self.fail(LoadFailure::Unreachable, why, host);
            }
        }
    }

    fn on_document(&mut self, response: Option<&impl FetchResponse>, host: &impl LoaderHost) {
        let DocumentSource::Http(HttpSource { max_bytes, .. }) = self.source else {
            return;
        };
        if self.lead(host) != Leadership::Continued {
            return;
        }
        match PollOutcome::read(response, self.tenure.seen_digest(), max_bytes) {
            PollOutcome::Unchanged => self.confirm(host),
            PollOutcome::Changed {
                bytes,
                digest,
                etag,
            } => {
                self.failure_logged = false;
                self.load(&bytes, digest, etag, host);
            }
            PollOutcome::Failed(failure, why) => self.fail(failure, &why, host),
        }
    }

    fn on_page(&mut self, response: Option<&impl FetchResponse>, host: &impl LoaderHost) {
        // Where another root has loaded since the request, the page is of no use.
        if self.lead(host) != Leadership::Continued {
            self.feed.next.drop_call();
            return;
        }
        let gate = self.feed.on_response(response, host);
        let opened = self.tenure.open(gate, &self.stats, host);
        self.forget_if_superseded(opened, host);
        self.follow_pages();
    }

    fn on_spend_page(&mut self, response: Option<&impl FetchResponse>, host: &impl LoaderHost) {
        if self.lead(host) != Leadership::Continued {
            self.spend.next.drop_call();
            return;
        }
        self.spend.on_response(response, host);
        self.follow_pages();
    }

    fn on_ledger_answer(&mut self, response: Option<&impl FetchResponse>, host: &impl LoaderHost) {
        if self.lead(host) == Leadership::Continued {
            self.ledger.on_response(response, host);
        }
    }

    /// Ticks come at the pace of pages while a feed has more.
    fn follow_pages(&mut self) {
        match (self.feed.next.more(), self.spend.next.more()) {
            (Some(true), _) | (_, Some(true)) => self.schedule.set_pages(true),
            (Some(false), Some(false)) => self.schedule.set_pages(false),
            // While a page is awaited nothing is known of the next one, and the pace stays.
            (None, _) | (_, None) => {}
        }
    }

    fn set_period(&mut self, host: &impl LoaderHost) {
        if let Some(period) = self.schedule.next_period() {
            host.tick_every(period);
        }
    }

    /// Acquires the lease, or renews it.
    fn lead(&mut self, host: &impl LoaderHost) -> Leadership {
        let acquisition = self.candidate.acquire_or_renew(host.steady_ms(), host);
        if acquisition == Acquisition::Denied {
            return Leadership::Follower;
        }
        if acquisition == Acquisition::Renewed && self.tenure.is_current(host) {
            return Leadership::Continued;
        }
        self.forget(host);
        Leadership::New
    }

    /// Discards all that is known here: the state in effect may be another root's, or may be soon.
    fn forget(&mut self, host: &impl LoaderHost) {
        self.tenure = LeaderTerm::begin(host.steady_ms());
        self.feed.forget();
        self.spend.forget();
        self.ledger.forget();
    }

    /// Loads a document: compiles it, and publishes it where it is valid.
    fn load(
        &mut self,
        bytes: &[u8],
        digest: DocumentDigest,
        etag: Option<String>,
        host: &impl LoaderHost,
    ) {
        self.tenure.see(digest, etag);
        let Some(compiled) = document::compile(bytes, &self.stats, host) else {
            return;
        };
        for warning in compiled.warnings() {
            let line = format_args!("configuration document: {warning}");
            host.log(log::Level::Warn, line);
        }
        // First: no request may be counted before this process has a number.
        self.spend.follow(&compiled.compiled.policy, host);
        self.ledger.follow(&compiled.compiled.policy, host);
        let published = self
            .tenure
            .publish(&compiled, &digest, &mut self.feed, &self.stats, host);
        if published.is_ok() {
            self.confirm(host);
        }
        // Another root publishes at this moment, or has begun to. If this one still leads at the next tick,
        // it does all of it once more.
        self.forget_if_superseded(published, host);
    }

    /// Loads the inline document: publishes it, unless a root with the same configuration has, and nobody
    /// since. Then only the sync of its feed continues.
    fn load_inline(&mut self, bytes: &[u8], host: &impl LoaderHost) {
        let digest = Sha256::digest(bytes).into();
        if !leader_term::is_published(&digest, host) {
            self.load(bytes, digest, None, host);
            return;
        }
        if let Some(compiled) = document::compile(bytes, &self.stats, host) {
            self.spend.follow(&compiled.compiled.policy, host);
            self.ledger.follow(&compiled.compiled.policy, host);
            let continued =
                self.tenure
                    .continue_with(&compiled, digest, &mut self.feed, &self.stats, host);
            self.forget_if_superseded(continued, host);
        }
    }

    fn forget_if_superseded(&mut self, result: Result<(), Superseded>, host: &impl LoaderHost) {
        if result == Err(Superseded) {
            self.forget(host);
        }
    }

    /// The source serves what was seen last.
    fn confirm(&mut self, host: &impl LoaderHost) {
        self.failure_logged = false;
        self.tenure.confirm(host.steady_ms());
    }

    /// A poll has failed. Of failures in a row the first one is logged.
    fn fail(&mut self, failure: LoadFailure, why: &str, host: &impl LoaderHost) {
        // The source may be this process itself, which is not open yet.
        if self.schedule.is_eager() && failure == LoadFailure::Unreachable {
            return;
        }
        self.stats.rejected(failure, host);
        if !core::mem::replace(&mut self.failure_logged, true) {
            let line = format_args!(
                "the configuration document cannot be had, what was in force stays: {why}"
            );
            host.log(log::Level::Error, line);
        }
    }
}

#[cfg(test)]
mod tests;
