//! A request body on its way: what is held, what is released, and when it is rejected.
//!
//! The head is held until the model is known, at most for the policy's inspect window. After that
//! the body streams, and each chunk is still read: it is released only after it was found clean, so
//! the upstream never has the whole of a body that was not approved. What is cut by the end of a chunk and may have to be
//! replaced is withheld, and goes on with the next one.

use core::ops::Range;

use super::environment::{Step, Trace};
use super::include_usage::{AddedUsage, IncludeUsage, leave_out};
use super::model_check::{Expectation, ModelCheck, NamedModel};
use super::outcome::{BodyEdit, Edits, HeaderEdit};
use super::route::Route;
use crate::body::{BodyScanner, CapMembers, UsageEdit, UsageOption};
use crate::config::Policy;
use crate::config::policy::Source;
use crate::protocol::EndpointSpec;
use crate::reply::Rejection;
use crate::usage::Wire;

/// For how many bytes a body is held for the word that it streams, if it is too long to be held whole. Clients say it in front of
/// the messages, or behind all of them, where holding it for longer would not find it either.
const PACE_WINDOW: u64 = 64 * 1024;

/// The most bytes of a body that are held for the model that decides on its source. Envoy holds 16 MiB, and one read may
/// bring some more.
const CHOICE_WINDOW: u64 = 12 << 20;

/// A request body being read.
#[derive(Debug)]
pub(super) struct RequestBody {
    scanner: BodyScanner,
    models: ModelCheck,
    inspect_window: u64,
    max_body: u64,
    content_length: Option<u64>,
    /// Edits that go with the head, while it is held; `None` once it was released.
    head: Option<Edits>,
    /// Bytes read so far.
    seen: u64,
    /// Bytes released so far.
    released: u64,
    /// Whether the body is still to be made to ask for its usage, if it streams.
    include_usage: IncludeUsage,
    /// Whether all of the body is wanted before the request is counted against its limits.
    awaits: bool,
    /// Changes among the bytes held, to be made when they are released.
    changes: Vec<BodyEdit>,
    /// Whether the client asks for a stream.
    pub stream: bool,
    /// Whether the stream was made to report a usage that the client did not ask for.
    pub usage_added: bool,
    /// The change that does this, in the body as it is sent; `None` before a part with a change was released.
    added_usage: Option<Box<AddedUsage>>,
    /// Whether the upstream has been given the whole request.
    pub sent_whole: bool,
    /// Whether it has been given all of the JSON in it, so that it may be at work on it.
    pub sent_json: bool,
}

/// The purpose for which a body is read, and the bounds.
#[derive(Debug)]
pub(super) struct BodyTerms<'a> {
    /// The policy in force.
    pub policy: &'a Policy,
    /// The fixed properties of the endpoint.
    pub spec: &'a EndpointSpec,
    /// The length that the head names, in bytes.
    pub content_length: Option<u64>,
    /// Whether all of the body is wanted for the estimate of the request.
    pub awaits: bool,
    /// Whether the path asks for a stream.
    pub stream: bool,
}

/// The treatment of the bytes just read, and of those held before.
#[derive(Debug)]
pub(super) enum BodyStep {
    /// Hold them.
    Hold,
    /// Release them, with the head if it was held.
    Release(Edits),
}

impl RequestBody {
    /// The body behind a head that is held with its `edits`.
    pub(super) fn new(
        terms: &BodyTerms<'_>,
        route: &Route,
        mut scanner: BodyScanner,
        expects: Expectation,
        named: Option<NamedModel>,
        edits: Edits,
    ) -> Self {
        scanner.expect_caps(match terms.spec.usage {
            Some(Wire::Chat) => CapMembers::Chat,
            Some(Wire::Responses | Wire::Compaction) => CapMembers::Responses,
            Some(Wire::Messages) => CapMembers::Messages,
            Some(Wire::Generate) => CapMembers::Generate,
            Some(Wire::Images | Wire::Embeddings | Wire::CachedContent) => CapMembers::None,
            None => CapMembers::Any,
        });
        Self {
            scanner,
            models: ModelCheck::new(expects, named, terms.spec.usage),
            inspect_window: terms.policy.inspect_window,
            max_body: terms.policy.max_body,
            content_length: terms.content_length,
            head: Some(edits),
            seen: 0,
            released: 0,
            include_usage: IncludeUsage::of(&route.source, terms.spec.usage),
            awaits: terms.awaits,
            changes: Vec::new(),
            stream: terms.stream,
            usage_added: false,
            added_usage: None,
            sent_whole: false,
            sent_json: false,
        }
    }

    /// Returns the reading of the body so far.
    pub(super) fn scanner(&self) -> &BodyScanner {
        &self.scanner
    }

    /// The models that the request names.
    pub(super) fn models(&self) -> &ModelCheck {
        &self.models
    }

    /// The models that the request names, to be taken out at the end.
    pub(super) fn models_mut(&mut self) -> &mut ModelCheck {
        &mut self.models
    }

    /// Returns the number of outputs that the body asks for, as far as it is known.
    pub(super) fn candidates(&self) -> u64 {
        self.scanner.candidates().unwrap_or(1).max(1)
    }

    /// The cap that the body sets to all outputs together, in tokens, as far as it is known. No model writes nothing: a cap of
    /// nought is none.
    pub(super) fn output_cap(&self) -> Option<u64> {
        let each = self.scanner.output_cap().filter(|cap| *cap > 0);
        each.map(|cap| cap.saturating_mul(self.candidates()))
    }

    /// The length of the body, in bytes, as far as it is known.
    pub(super) fn length(&self) -> u64 {
        self.content_length.unwrap_or(self.seen)
    }

    /// Returns the number of bytes of the body read so far.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// Whether the head was released.
    pub(super) fn head_released(&self) -> bool {
        self.head.is_none()
    }

    /// The body has named the model that decides on the source; `edits` of the head lead there.
    pub(super) fn at(&mut self, source: &Source, edits: impl IntoIterator<Item = HeaderEdit>) {
        self.include_usage = IncludeUsage::of(source, self.models.usage());
        if let Some(head) = &mut self.head {
            head.headers.extend(edits);
        }
    }

    /// Whether the body asks for the usage of its stream as it would have to at another source, whose model has prices or
    /// not.
    pub(super) fn asks_usage_as_at(&self, source: &Source, has_prices: bool) -> bool {
        let wanted = match IncludeUsage::of(source, self.models.usage()) {
            IncludeUsage::No => false,
            IncludeUsage::IfPriced => has_prices,
            IncludeUsage::Always => true,
        };
        let is_asked = *self.scanner.usage_option() == UsageOption::Asked;
        !self.stream || is_asked || wanted == self.usage_added
    }

    /// Reads bytes that more follow at once. What is wrong with them, [`read`](Self::read) says.
    pub(super) fn read_ahead(&mut self, bytes: &[u8]) {
        let len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.seen = self.seen.saturating_add(len);
        if self.seen <= self.max_body {
            let _ = self.scanner.feed(bytes);
        }
    }

    /// Reads the next bytes; `end` says that the body ends with them.
    ///
    /// # Errors
    /// The reason for the rejection of the request, whatever part of it was released by then.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        end: bool,
        route: &Route,
        trace: &impl Trace,
    ) -> Result<BodyStep, Rejection> {
        trace.begin(Step::Body);
        self.read_ahead(bytes);
        if self.seen > self.max_body {
            return Err(Rejection::TooLarge {
                limit: self.max_body,
            });
        }
        // An error of bytes read ahead is final and comes again.
        self.scanner.feed(&[]).map_err(Rejection::Body)?;
        // To an upstream that knows the length the body ends with its last byte. Envoy may tell of
        // the end later: over HTTP/2 by a frame of its own, and now and then over HTTP/1.
        let end = end
            || self
                .content_length
                .is_some_and(|length| self.seen >= length);
        // An account resource may be asked for with no body at all, and HTTP/2 may say so late.
        let absent = self.seen == 0 && self.models.is_optional();
        if end && !absent {
            self.scanner.finish().map_err(Rejection::Body)?;
        }
        if !self.models.is_optional() {
            trace.begin(Step::Model);
        }
        let renamed = self.models.check_own(&self.scanner, end, route)?;
        if route.is_open() {
            // Whatever else the body asks for, the source must be known first.
            if self.seen > CHOICE_WINDOW {
                return Err(Rejection::ModelTooLate {
                    held: CHOICE_WINDOW,
                });
            }
            return Ok(BodyStep::Hold);
        }
        self.change(renamed);
        if self.models.is_unpriced() {
            self.include_usage.drop_if_unpriced();
        }
        let released = self.head_released().then_some(self.released);
        let renamed = self
            .models
            .check_others(&mut self.scanner, released, route)?;
        for change in renamed {
            self.change(Some(change));
        }
        self.stream |= self.scanner.stream() == Some(true);
        let unfinished = self.unfinished(route).filter(|_| !end);
        if !end && self.holds_head(unfinished, route) {
            return Ok(BodyStep::Hold);
        }
        self.usage_added |= self.add_usage_option();
        let step = BodyStep::Release(self.release(unfinished, route));
        // Its end may never come, and an upstream that reads on its own begins when its JSON is complete.
        self.sent_whole |= end;
        self.sent_json |= end || (self.scanner.complete() && self.released == self.seen);
        Ok(step)
    }

    /// Adds the change that makes the body ask for its usage, if its place is among the bytes that
    /// are about to be released. Whether it was added.
    fn add_usage_option(&mut self) -> bool {
        if !self.include_usage.is_wanted() {
            return false;
        }
        let complete = self.scanner.complete();
        let Some(edit) = self.scanner.usage_edit() else {
            if complete || self.scanner.stream() == Some(false) {
                self.include_usage = IncludeUsage::No;
            }
            return false;
        };
        let wanted = self.scanner.stream().unwrap_or_else(|| {
            // Not known, and these bytes can wait no longer. Whoever sends options means to stream, and
            // would be rejected with them if not; whoever sends null may well mean nothing.
            let null = matches!(
                self.scanner.usage_option(),
                UsageOption::Otherwise { whole: true, .. }
            );
            !complete && !null
        });
        self.include_usage = IncludeUsage::No;
        wanted && self.change(Some((edit.span.clone(), edit.bytes.to_vec())))
    }

    /// Whether the body asks, or may still be made to ask, for a usage that the client did not ask for.
    pub(super) fn may_ask_usage(&self) -> bool {
        self.usage_added || self.include_usage.is_wanted()
    }

    /// Whether the body asks for the usage of its stream.
    pub(super) fn asks_usage(&self) -> bool {
        self.usage_added || *self.scanner.usage_option() == UsageOption::Asked
    }

    /// The change of the body as it is sent that takes back that it asks for its usage; `None` where it was not made to ask.
    pub(super) fn without_usage(&self) -> Option<&UsageEdit> {
        self.added_usage.as_ref()?.undone()
    }

    /// Takes the change that makes the body ask for its usage out of the `edits` that go with it.
    pub(super) fn leave_out_usage(&mut self, edits: &mut Edits) {
        if let Some(added) = self.scanner.usage_edit()
            && leave_out(edits, &added)
        {
            self.usage_added = false;
            self.added_usage = None;
        }
    }

    /// Adds a change of the whole body's bytes, if its place is still held. Whether it was added.
    fn change(&mut self, change: Option<(Range<u64>, Vec<u8>)>) -> bool {
        let change = change.and_then(|(span, bytes)| self.held_edit(&span, bytes));
        let added = change.is_some();
        self.changes.extend(change);
        added
    }

    /// An edit of the whole body's bytes in `span`, in coordinates of the bytes held now.
    fn held_edit(&self, span: &Range<u64>, bytes: Vec<u8>) -> Option<BodyEdit> {
        let held = |at: u64| usize::try_from(at.checked_sub(self.released)?).ok();
        Some(BodyEdit {
            span: held(span.start)?..held(span.end)?,
            bytes,
        })
    }

    /// Returns the offset of bytes that can only be replaced as one piece, and whose end is still to come: a name, or a literal.
    /// They cannot grow beyond bounds: the scanner reports a name that is too long at once.
    fn unfinished(&self, route: &Route) -> Option<u64> {
        let name = || self.scanner.inside_model().or(self.scanner.inside_other());
        let may_rename = self.models.may_rename(&self.scanner, route);
        let name = may_rename.then(name).flatten();
        let option = || self.scanner.inside_usage_option();
        let start = name.or_else(|| self.include_usage.is_wanted().then(option).flatten());
        start.filter(|start| *start >= self.released)
    }

    /// Whether the head is held, for something is missing that must be known before it is released.
    fn holds_head(&self, unfinished: Option<u64>, route: &Route) -> bool {
        let awaits = || {
            self.models.is_awaited()
                || self.models.may_rename(&self.scanner, route)
                || self.awaits_stream()
                || self.awaits_usage_place()
                || self.awaits_pace(route)
                || self.awaits_estimate()
        };
        let in_window = self.seen < self.inspect_window;
        self.head.is_some() && (unfinished.is_some() || (in_window && awaits()))
    }

    /// Whether something is still missing for the estimate.
    fn awaits_estimate(&self) -> bool {
        // Behind one cap a greater one may come, and a picture anywhere.
        self.awaits && !self.scanner.complete()
    }

    /// Whether the place for the usage option is still to come in a body that is held whole before its length is
    /// told: some upstreams take no body without a length.
    fn awaits_usage_place(&self) -> bool {
        self.include_usage.is_wanted()
            && self.fits_window() == Some(true)
            && self.scanner.stream() != Some(false)
            && !self.scanner.complete()
    }

    /// Whether the place for the usage option is known, but not whether the body streams.
    fn awaits_stream(&self) -> bool {
        self.include_usage.is_wanted()
            && self.scanner.stream().is_none()
            && !self.scanner.complete()
            && self.scanner.usage_edit().is_some()
    }

    /// Whether it is not known yet how soon the response must begin.
    fn awaits_pace(&self, route: &Route) -> bool {
        route.source.alternatives().is_some()
            && !self.stream
            && (self.seen < PACE_WINDOW || self.fits_window() != Some(false))
            && self.scanner.stream().is_none()
            && !self.scanner.complete()
    }

    /// Whether the body can be held whole; `None` where its length is not known.
    fn fits_window(&self) -> Option<bool> {
        self.content_length
            .map(|length| length <= self.inspect_window)
    }

    /// Releases all that is held but what is `unfinished`.
    fn release(&mut self, unfinished: Option<u64>, route: &Route) -> Edits {
        self.released = unfinished.unwrap_or(self.seen);
        let withheld = usize::try_from(self.seen.saturating_sub(self.released));
        let mut changes = core::mem::take(&mut self.changes);
        changes.sort_by_key(|change| change.span.start);
        if !changes.is_empty() && self.may_ask_usage() {
            let added = self.scanner.usage_edit().filter(|_| self.usage_added);
            let followed = self.added_usage.get_or_insert_default();
            followed.follow(&changes, added.as_ref());
        }
        let mut edits = self.head.take().map_or_else(Edits::default, |mut head| {
            head.headers.extend(self.length_edit(&changes, route));
            head
        });
        edits.body = changes;
        edits.withheld = withheld.unwrap_or_default();
        edits
    }

    /// The length that the head must name, given what happens to the body.
    fn length_edit(&self, changes: &[BodyEdit], route: &Route) -> Option<HeaderEdit> {
        let length = self.content_length?;
        if self.models.may_rename(&self.scanner, route) || self.include_usage.is_wanted() {
            // A change is still to come and may change the length: the body goes chunked.
            return Some(HeaderEdit::Remove("content-length".into()));
        }
        if changes.is_empty() {
            return None;
        }
        let count = |n: usize| u64::try_from(n).ok();
        let length = changes.iter().try_fold(length, |length, change| {
            length
                .checked_sub(count(change.span.len())?)?
                .checked_add(count(change.bytes.len())?)
        })?;
        Some(HeaderEdit::Set(
            "content-length",
            length.to_string().into_bytes(),
        ))
    }
}
