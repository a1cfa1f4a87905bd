//! Loading the document: fetch, compare, compile, publish; the last good policy stays on any fault.

use core::time::Duration;

use sha2::{Digest, Sha256};

use super::config_stats::{ConfigStats, Reason};
use super::feeding::Feeding;
use super::host::{self, Host};
use super::ticks::Ticks;
use crate::config::feed::Gate;
use crate::config::lease::{Claim, Lease};
use crate::config::publish::Publisher;
use crate::config::snapshot::DOCUMENT;
use crate::config::source::{HttpSource, PluginConfig, Source};
use crate::config::{Document, Problems, compile};
use crate::shared_data::SharedData;

/// Whose job loading is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The singleton's, always.
    Singleton,
    /// A filter's, as long as it holds the lease.
    Fallback,
}

/// A configuration that is refused; the log has said why.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refused;

/// How many problems of a refused document one log line names.
const MAX_LOGGED: usize = 20;

type Sha256Bytes = [u8; 32];

/// The loading side of a root.
#[derive(Debug)]
pub(super) struct Loading {
    source: Source,
    role: Role,
    ticks: Ticks,
    lease: Lease,
    stats: ConfigStats,
    /// `None` while another VM loads.
    publisher: Option<Publisher>,
    /// The keys that the document does not name itself.
    feeding: Feeding,
    /// The answer awaited.
    call: Option<u32>,
    /// The digest of the last document looked at, good or bad: the same again costs nothing.
    last: Option<Sha256Bytes>,
    /// The `etag` that the source gave with it.
    etag: Option<String>,
    /// Whether the last document looked at is in force.
    in_force: bool,
    /// When the source last confirmed what is in force, or loading began.
    confirmed_ms: u64,
    /// Whether the source's failure has been logged since it last answered.
    failure_logged: bool,
}

impl Loading {
    /// Reads a root's plugin configuration and begins; `None` where it leaves loading to others.
    ///
    /// # Errors
    /// The configuration, or an inline document in it, is refused, and the log says why; Envoy then
    /// refuses the plugin.
    pub(super) fn configure(configuration: &[u8], role: Role) -> Result<Option<Self>, Refused> {
        let config = PluginConfig::parse(configuration).map_err(|reason| {
            log::error!("the plugin configuration is refused: {reason}");
            Refused
        })?;
        let Some(source) = config.source else {
            if role == Role::Singleton {
                log::error!("the plugin configuration is refused: a loader needs source or inline");
                return Err(Refused);
            }
            return Ok(None);
        };
        let mut loading = Self::new(source, config.tick, role);
        loading.start()?;
        loading.ticks.begin();
        Ok(Some(loading))
    }

    fn new(source: Source, tick: Duration, role: Role) -> Self {
        let tick_ms = u64::try_from(tick.as_millis()).unwrap_or(u64::MAX);
        let eager = role == Role::Singleton && matches!(source, Source::Http(_));
        Self {
            source,
            role,
            ticks: Ticks::new(tick, eager),
            lease: Lease {
                holder: host::random(),
                duration_ms: tick_ms.saturating_mul(3).max(2000),
            },
            stats: ConfigStats::new(),
            publisher: None,
            feeding: Feeding::new(),
            call: None,
            last: None,
            etag: None,
            in_force: false,
            confirmed_ms: host::now_ms(),
            failure_logged: false,
        }
    }

    /// Publishes an inline document at once, so that no request comes before it. It is never
    /// published later: a filter that is being replaced must not bring an old one back.
    fn start(&mut self) -> Result<(), Refused> {
        let Source::Inline(bytes) = &self.source else {
            return Ok(());
        };
        let bytes = bytes.clone();
        let digest: Sha256Bytes = Sha256::digest(&bytes).into();
        // Every VM that gets this configuration comes by here; the first one publishes.
        if Host.get(DOCUMENT).0.as_deref() == Some(&digest) {
            self.in_force = true;
            return Ok(());
        }
        self.lease.seize(host::now_ms(), &Host);
        self.load(&bytes, digest);
        if self.in_force { Ok(()) } else { Err(Refused) }
    }

    /// Looks whether the document has changed.
    pub(super) fn on_tick(&mut self) {
        let now = host::now_ms();
        if !self.ticks.is_look(now, self.last.is_some()) {
            if self.ticks.is_paced() {
                self.feeding.on_pace();
            }
            return;
        }
        if !self.may_load(now) {
            self.pace();
            return;
        }
        if let Source::Inline(bytes) = &self.source {
            self.confirmed_ms = now;
            if self.last.is_none() {
                self.go_on(&bytes.clone());
            }
        }
        self.stats.age(now.saturating_sub(self.confirmed_ms));
        self.fetch();
        self.feeding.on_tick();
        self.pace();
    }

    /// Lets ticks come as often as there is something to do.
    fn pace(&mut self) {
        let more = self.feeding.has_more();
        // While a page is awaited nothing is known of the next: the pace stays until it says.
        if more || !self.feeding.is_asking() {
            self.ticks.pace(more);
        }
    }

    fn fetch(&mut self) {
        let Source::Http(source) = &self.source else {
            return;
        };
        if self.call.is_some() {
            return;
        }
        let etag = self.etag.as_deref().map(|etag| ("if-none-match", etag));
        self.call = host::fetch(&source.cluster, &source.authority, &source.path, etag);
        if self.call.is_none() {
            self.fail(Reason::Unreachable, "its cluster is unknown or has no host");
        }
    }

    /// The source has answered, or the call has failed.
    pub(super) fn on_answer(&mut self, token: u32, num_headers: usize, body_size: usize) {
        if self.feeding.awaits(token) {
            self.on_page(token, num_headers, body_size);
            return;
        }
        if self.call != Some(token) {
            return;
        }
        self.call = None;
        let Source::Http(HttpSource { max_bytes, .. }) = self.source else {
            return;
        };
        // A failed call has no headers, and asking for one would be fatal.
        if num_headers == 0 {
            self.fail(
                Reason::Unreachable,
                "no answer, or one longer than Envoy takes",
            );
            return;
        }
        let status = host::fetched_header(":status").unwrap_or_default();
        match status.as_str() {
            "304" if self.last.is_some() => self.confirm(),
            "200" if body_size > max_bytes => self.fail(
                Reason::Oversize,
                &format!("it has {body_size} bytes, {max_bytes} are allowed"),
            ),
            "200" => {
                let bytes = host::fetched_body(body_size);
                let digest: Sha256Bytes = Sha256::digest(&bytes).into();
                if self.last == Some(digest) {
                    self.confirm();
                } else if self.may_load(host::now_ms()) {
                    self.failure_logged = false;
                    self.etag = host::fetched_header("etag");
                    self.load(&bytes, digest);
                }
            }
            _ => self.fail(Reason::Unreachable, &format!("status {status}")),
        }
    }

    /// A page of keys has come, or its call has failed.
    fn on_page(&mut self, token: u32, num_headers: usize, body_size: usize) {
        if !self.may_load(host::now_ms()) {
            self.feeding.forget_call();
        }
        // Where another VM has loaded since it was asked for, all has been forgotten.
        if self.feeding.awaits(token) {
            let gate = self.feeding.on_answer(num_headers, body_size);
            self.open(gate);
            self.pace();
        }
    }

    /// Publishes what is to be known of the feed from now on, if it has changed.
    fn open(&mut self, gate: Option<Gate>) {
        if let (Some(gate), Some(publisher)) = (gate, &mut self.publisher)
            && let Some(generation) = publisher.open(gate, &Host)
        {
            self.stats.published(generation, publisher.keys());
        }
    }

    /// Goes on with an inline document that another VM has published, for the feed that it names.
    fn go_on(&mut self, bytes: &[u8]) {
        let digest: Sha256Bytes = Sha256::digest(bytes).into();
        self.last = Some(digest);
        if Host.get(DOCUMENT).0.as_deref() != Some(&digest) {
            return;
        }
        let compiled = Document::parse(bytes).and_then(|document| compile(&document));
        let Ok(compiled) = compiled else {
            return;
        };
        if let Some(source) = compiled.policy.keys_feed.clone() {
            self.publisher = Publisher::go_on(compiled, &Host);
            let gate = self.feeding.follow(Some(&source));
            self.open(gate);
        }
    }

    fn may_load(&mut self, now: u64) -> bool {
        match self.role {
            Role::Singleton => {
                self.lease.seize(now, &Host);
                true
            }
            Role::Fallback => match self.lease.claim(now, &Host) {
                Claim::Denied => false,
                Claim::Renewed => true,
                // What is in force now may be another's: begin anew.
                Claim::Taken => {
                    self.publisher = None;
                    self.feeding.forget();
                    self.last = None;
                    self.etag = None;
                    self.in_force = false;
                    self.confirmed_ms = now;
                    true
                }
            },
        }
    }

    /// Brings a document into force, or says why not.
    fn load(&mut self, bytes: &[u8], digest: Sha256Bytes) {
        self.last = Some(digest);
        let loaded = Document::parse(bytes)
            .and_then(|document| compile(&document).map(|compiled| (document, compiled)));
        let (document, compiled) = match loaded {
            Ok(loaded) => loaded,
            Err(problems) => {
                self.in_force = false;
                self.stats.rejected(Reason::Invalid);
                log::error!(
                    "the configuration document is refused, what was in force stays: {}",
                    listed(&problems)
                );
                return;
            }
        };
        for warning in &compiled.warnings {
            log::warn!("configuration document: {warning}");
        }
        let publisher = self
            .publisher
            .get_or_insert_with(|| Publisher::take_over(&Host));
        let gate = self.feeding.follow(compiled.policy.keys_feed.as_ref());
        let published = publisher.publish(&document, &compiled, gate, &Host);
        let _ = Host.set(DOCUMENT, &digest, None);
        self.in_force = true;
        self.confirm();
        self.stats
            .published(published.generation, compiled.keys.len());
        log::info!(
            "configuration generation {} is in force: {} groups, {} keys, {} key records written",
            published.generation,
            compiled.policy.groups().len(),
            compiled.keys.len(),
            published.records,
        );
    }

    /// The source still gives what was looked at last.
    fn confirm(&mut self) {
        self.failure_logged = false;
        if self.in_force {
            self.confirmed_ms = host::now_ms();
        }
    }

    fn fail(&mut self, reason: Reason, why: &str) {
        // The source may be this process itself, which is not open yet.
        if self.ticks.is_eager() && reason == Reason::Unreachable {
            return;
        }
        self.stats.rejected(reason);
        // Every tick may fail again; the log says so once.
        if !core::mem::replace(&mut self.failure_logged, true) {
            log::error!("the configuration document cannot be had, what was in force stays: {why}");
        }
    }
}

fn listed(problems: &Problems) -> String {
    let mut first: Vec<String> = problems
        .0
        .iter()
        .take(MAX_LOGGED)
        .map(ToString::to_string)
        .collect();
    let more = problems.0.len().saturating_sub(first.len());
    if more > 0 {
        first.push(format!("and {more} more"));
    }
    first.join("; ")
}
