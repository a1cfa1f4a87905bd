//! Loading the document: fetch, compare, compile, publish; the last good policy stays on any fault.
//!
//! What was published later wins, whatever is in it. So a root that begins to load publishes its own document
//! even where it is one that was in force before; only what it has itself published last, and nobody since, is not
//! published again. And an answer counts only where this root has loaded without a break since it asked: what another
//! root has published meanwhile is newer than a document that was fetched before.

use core::time::Duration;

use sha2::{Digest, Sha256};

use super::config_stats::{ConfigStats, Reason};
use super::feeding::Feeding;
use super::host::{self, Host};
use super::ticks::Ticks;
use crate::config::lease::{Claim, Claimant, Role};
use crate::config::publish::{self, Overtaken, Publisher};
use crate::config::snapshot::GENERATION;
use crate::config::source::{HttpSource, PluginConfig, Source};
use crate::config::{Compiled, Document, Problems, compile};
use crate::keys::FeedStatus;
use crate::shared_data::SharedData;

/// A configuration that is refused; the log has said why.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refused;

/// How many problems of a refused document one log line names.
const MAX_LOGGED: usize = 20;

type Sha256Bytes = [u8; 32];

/// Whether this root loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// It does not.
    Others,
    /// It does from now on, and knows nothing of what is in force.
    Begins,
    /// It does, and nobody has published since it last did.
    GoesOn,
}

/// The loading side of a root.
#[derive(Debug)]
pub(super) struct Loading {
    source: Source,
    ticks: Ticks,
    claimant: Claimant,
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
    /// When the source last confirmed what is in force, or loading began, by the steady clock.
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
        let mut loading = Self::new(source, config.tick, role, configuration);
        loading.start()?;
        loading.ticks.begin();
        Ok(Some(loading))
    }

    fn new(source: Source, tick: Duration, role: Role, configuration: &[u8]) -> Self {
        let tick_ms = u64::try_from(tick.as_millis()).unwrap_or(u64::MAX);
        // An inline document waits for the first tick, unless it is the first of the process.
        let eager = role == Role::Singleton || matches!(source, Source::Inline(_));
        let lasts_ms = tick_ms.saturating_mul(3).max(2000);
        let holder = host::random();
        Self {
            source,
            ticks: Ticks::new(tick, eager),
            claimant: Claimant::enter(role, configuration, holder, lasts_ms, &Host),
            stats: ConfigStats::new(),
            publisher: None,
            feeding: Feeding::new(),
            call: None,
            last: None,
            etag: None,
            in_force: false,
            confirmed_ms: host::steady_ms(),
            failure_logged: false,
        }
    }

    /// Publishes an inline document at once where nothing is in force yet, so that no request comes before
    /// it. Where something is, it waits for the first tick: Envoy may yet refuse this configuration, and then the
    /// root is thrown away before it has one.
    fn start(&mut self) -> Result<(), Refused> {
        let Source::Inline(bytes) = &self.source else {
            return Ok(());
        };
        let bytes = bytes.clone();
        let digest: Sha256Bytes = Sha256::digest(&bytes).into();
        if publish::is_published(&digest, &Host) {
            return Ok(());
        }
        if Host.get(GENERATION).0.is_none() && self.turn() != Turn::Others {
            self.load(&bytes, digest);
            return if self.in_force { Ok(()) } else { Err(Refused) };
        }
        self.compile(&bytes).map(|_| ()).ok_or(Refused)
    }

    /// Looks whether the document has changed.
    pub(super) fn on_tick(&mut self) {
        let now = host::steady_ms();
        if !self.ticks.is_look(now, self.last.is_some()) {
            if self.ticks.is_paced() {
                self.feeding.on_pace();
            }
            return;
        }
        if self.turn() == Turn::Others {
            self.pace();
            return;
        }
        if let Source::Inline(bytes) = &self.source {
            self.confirmed_ms = now;
            if self.last.is_none() {
                self.take_up(&bytes.clone());
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
        let Source::Http(HttpSource { max_bytes, .. }) = self.source else {
            return;
        };
        if self.turn() != Turn::GoesOn {
            self.call = None;
            return;
        }
        self.call = None;
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
                } else {
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
        // Where another root has loaded since it was asked for, it is of no use.
        if self.turn() != Turn::GoesOn {
            self.feeding.forget_call();
            return;
        }
        if self.feeding.awaits(token) {
            let gate = self.feeding.on_answer(num_headers, body_size);
            self.open(gate);
            self.pace();
        }
    }

    /// Publishes what is to be known of the feed from now on, if it has changed.
    fn open(&mut self, gate: Option<FeedStatus>) {
        if let (Some(gate), Some(publisher)) = (gate, &mut self.publisher) {
            match publisher.open(gate, &Host) {
                Ok(None) => {}
                Ok(Some(generation)) => self.stats.published(generation, publisher.keys()),
                Err(Overtaken) => self.begin_anew(),
            }
        }
    }

    /// Takes up an inline document: publishes it, unless a root with the same configuration has, and nobody
    /// since. Then only the feed that it names is gone on with.
    fn take_up(&mut self, bytes: &[u8]) {
        let digest: Sha256Bytes = Sha256::digest(bytes).into();
        if !publish::is_published(&digest, &Host) {
            self.load(bytes, digest);
            return;
        }
        let Some((_, compiled)) = self.compile(bytes) else {
            return;
        };
        let source = compiled.policy.keys_feed.clone();
        if let Ok(publisher) = Publisher::go_on(compiled, &Host) {
            self.publisher = Some(publisher);
            self.last = Some(digest);
            self.in_force = true;
            let gate = self.feeding.follow(source.as_ref());
            self.open(gate);
        }
    }

    /// Claims the place of the loader, or keeps it.
    fn turn(&mut self) -> Turn {
        let claim = self.claimant.claim(host::steady_ms(), &Host);
        if claim == Claim::Denied {
            return Turn::Others;
        }
        self.claimant.hold_off_earlier(host::now_ms(), &Host);
        let published = self.publisher.as_ref();
        if claim == Claim::Renewed && published.is_none_or(|publisher| publisher.is_in_force(&Host))
        {
            return Turn::GoesOn;
        }
        self.begin_anew();
        Turn::Begins
    }

    /// What is in force now may be another's, or be another's soon: nothing known here is of use.
    fn begin_anew(&mut self) {
        self.publisher = None;
        self.feeding.forget();
        self.call = None;
        self.last = None;
        self.etag = None;
        self.in_force = false;
        self.confirmed_ms = host::steady_ms();
    }

    /// Compiles a document; `None` where it is refused, and the log says why.
    fn compile(&self, bytes: &[u8]) -> Option<(Document, Compiled)> {
        let loaded = Document::parse(bytes)
            .and_then(|document| compile(&document).map(|compiled| (document, compiled)));
        match loaded {
            Ok(loaded) => Some(loaded),
            Err(problems) => {
                self.stats.rejected(Reason::Invalid);
                log::error!(
                    "the configuration document is refused, what was in force stays: {}",
                    listed(&problems)
                );
                None
            }
        }
    }

    /// Brings a document into force, or says why not.
    fn load(&mut self, bytes: &[u8], digest: Sha256Bytes) {
        self.last = Some(digest);
        let Some((document, compiled)) = self.compile(bytes) else {
            self.in_force = false;
            return;
        };
        for warning in &compiled.warnings {
            log::warn!("configuration document: {warning}");
        }
        if self.publish(&document, &compiled, digest) == Err(Overtaken) {
            // Another root publishes at this moment, or has begun to. If this one still loads at the next tick,
            // it does all of it once more.
            self.begin_anew();
        }
    }

    fn publish(
        &mut self,
        document: &Document,
        compiled: &Compiled,
        digest: Sha256Bytes,
    ) -> Result<(), Overtaken> {
        let publisher = match &mut self.publisher {
            Some(publisher) => publisher,
            none => none.insert(Publisher::take_over(&Host)?),
        };
        let gate = self.feeding.follow(compiled.policy.keys_feed.as_ref());
        let published = publisher.publish(document, compiled, gate, &Host)?;
        publisher.sign(&digest, &Host);
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
        Ok(())
    }

    /// The source still gives what was looked at last.
    fn confirm(&mut self) {
        self.failure_logged = false;
        if self.in_force {
            self.confirmed_ms = host::steady_ms();
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
