//! Knowledge of a loader while it holds the lease: the document seen last, and its publications. Nothing of it
//! outlives the lease, for another root may publish then.

use super::LoaderHost;
use super::document::{DocumentDigest, ValidDocument};
use super::feed_driver::FeedDriver;
use super::publisher::{self, Publisher, Superseded};
use crate::host::CallId;
use crate::keys::FeedStatus;
use crate::metrics::ConfigStats;
use crate::shared_data::SharedData;

/// The time for which this root leads without a break.
#[derive(Debug)]
pub(super) struct LeaderTerm {
    /// `None` until it publishes first.
    publisher: Option<Publisher>,
    /// The call whose response is awaited.
    call: Option<CallId>,
    seen: Option<SeenDocument>,
    /// The time at which the source last confirmed the document in effect, or the tenure began, in milliseconds of the steady clock.
    confirmed_ms: u64,
}

/// The document seen last, valid or not. The same again costs nothing.
#[derive(Debug)]
struct SeenDocument {
    digest: DocumentDigest,
    /// The `etag` that the source gave with it.
    etag: Option<String>,
    in_effect: bool,
}

/// Whether the document with this digest is the one that was published last.
pub(super) fn is_published(digest: &DocumentDigest, shared: &impl SharedData) -> bool {
    publisher::is_published(digest, shared)
}

impl LeaderTerm {
    /// Begins now, with nothing seen or published.
    pub(super) fn begin(now_ms: u64) -> Self {
        Self {
            publisher: None,
            call: None,
            seen: None,
            confirmed_ms: now_ms,
        }
    }

    /// Whether nobody else has published since this root last did.
    pub(super) fn is_current(&self, shared: &impl SharedData) -> bool {
        let publisher = self.publisher.as_ref();
        publisher.is_none_or(|publisher| publisher.is_in_force(shared))
    }

    pub(super) fn await_call(&mut self, call: CallId) {
        self.call = Some(call);
    }

    pub(super) fn is_awaiting(&self) -> bool {
        self.call.is_some()
    }

    /// Whether this call is the one awaited; it is not any more then.
    pub(super) fn take_call(&mut self, call: CallId) -> bool {
        self.call.take_if(|awaited| *awaited == call).is_some()
    }

    /// Notes a document that is to be loaded.
    pub(super) fn see(&mut self, digest: DocumentDigest, etag: Option<String>) {
        self.seen = Some(SeenDocument {
            digest,
            etag,
            in_effect: false,
        });
    }

    pub(super) fn has_seen(&self) -> bool {
        self.seen.is_some()
    }

    pub(super) fn seen_digest(&self) -> Option<&DocumentDigest> {
        self.seen.as_ref().map(|seen| &seen.digest)
    }

    pub(super) fn etag(&self) -> Option<&str> {
        self.seen.as_ref()?.etag.as_deref()
    }

    /// Whether the document seen last is in effect.
    pub(super) fn in_effect(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.in_effect)
    }

    /// The source serves what was seen last.
    pub(super) fn confirm(&mut self, now_ms: u64) {
        if self.in_effect() {
            self.confirmed_ms = now_ms;
        }
    }

    /// An inline document confirms itself.
    pub(super) fn confirm_inline(&mut self, now_ms: u64) {
        self.confirmed_ms = now_ms;
    }

    /// Returns the time since the document in effect was confirmed, in milliseconds.
    pub(super) fn age_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.confirmed_ms)
    }

    /// Publishes the document seen last.
    pub(super) fn publish(
        &mut self,
        valid: &ValidDocument,
        digest: &DocumentDigest,
        feed: &mut FeedDriver,
        stats: &ConfigStats,
        host: &impl LoaderHost,
    ) -> Result<(), Superseded> {
        let ValidDocument { document, compiled } = valid;
        let publisher = match &mut self.publisher {
            Some(publisher) => publisher,
            none => none.insert(Publisher::take_over(host)?),
        };
        let gate = feed.follow(compiled.policy.keys_feed.as_ref(), host);
        let published = publisher.publish(document, compiled, digest, gate, host)?;
        self.take_effect();
        stats.published(published.generation, compiled.keys.len(), host);
        stats.in_effect(digest, host);
        let line = format_args!(
            "configuration generation {} is in force: {} groups, {} keys, {} key records changed",
            published.generation,
            compiled.policy.groups().len(),
            compiled.keys.len(),
            published.changes,
        );
        host.log(log::Level::Info, line);
        Ok(())
    }

    /// Continues where a peer has published this very document. Nothing changes where somebody publishes at this moment.
    pub(super) fn continue_with(
        &mut self,
        valid: &ValidDocument,
        digest: DocumentDigest,
        feed: &mut FeedDriver,
        stats: &ConfigStats,
        host: &impl LoaderHost,
    ) -> Result<(), Superseded> {
        let Ok(publisher) = Publisher::go_on(&digest, host) else {
            return Ok(());
        };
        self.publisher = Some(publisher);
        self.see(digest, None);
        self.take_effect();
        stats.in_effect(&digest, host);
        let gate = feed.follow(valid.compiled.policy.keys_feed.as_ref(), host);
        self.open(gate, stats, host)
    }

    /// Publishes what is to be known of the feed from now on, if it has changed.
    pub(super) fn open(
        &mut self,
        gate: Option<FeedStatus>,
        stats: &ConfigStats,
        host: &impl LoaderHost,
    ) -> Result<(), Superseded> {
        if let (Some(gate), Some(publisher)) = (gate, &mut self.publisher)
            && let Some(generation) = publisher.open(gate, host)?
        {
            stats.published(generation, publisher.keys(), host);
        }
        Ok(())
    }

    fn take_effect(&mut self) {
        if let Some(seen) = &mut self.seen {
            seen.in_effect = true;
        }
    }
}
