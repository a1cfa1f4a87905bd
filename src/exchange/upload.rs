//! A request body on its way: what is held, what is let go, and when it is refused.
//!
//! The head is held until the model is known, at most for the policy's inspect window. After that
//! the body streams, and this guard goes on reading it: each chunk is let go only after it was
//! found clean, so the upstream never has the whole of a body that was not approved.

use core::ops::Range;
use std::rc::Rc;

use super::edits::{BodyEdit, Edits, HeaderEdit};
use super::facts::Facts;
use super::pace;
use super::quota::Needs;
use crate::body::{BodyError, BodyScanner, Field, ModelRole, OtherModel, UsageOption};
use crate::config::Policy;
use crate::config::policy::Source;
use crate::lane::Protocol;
use crate::model::Model;
use crate::reply::Rejection;
use crate::routing::Route;
use crate::usage::Wire;

use super::Asker;

/// What the body must say about the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expectation {
    /// It must name one of the key's list.
    Named,
    /// The path named one already; if the body names one too, it must be the same.
    SameAs {
        /// The catalog id of the path's model.
        id: String,
        /// Its name upstream, where that is another.
        upstream: Option<String>,
    },
    /// It may name one; if so, one of the key's list.
    Any,
    /// It has said what it must.
    Met,
}

// Every stream with a body has one: docs/memory.md says what that comes to.
#[cfg(target_arch = "wasm32")]
const _: () = assert!(size_of::<Upload>() <= 512);

/// A request body being read.
#[derive(Debug)]
pub struct Upload {
    pub(super) asker: Asker,
    route: Route,
    expects: Expectation,
    scanner: BodyScanner,
    inspect_window: u64,
    max_body: u64,
    content_length: Option<u64>,
    /// Edits that go with the head, while it is held; `None` once it has gone.
    head: Option<Edits>,
    /// Bytes read so far.
    seen: u64,
    /// Bytes let go so far.
    released: u64,
    /// Whether the body is still to be made to ask for its usage, if it streams.
    ask_usage: AskUsage,
    /// What must be known before the request can be counted against its limits.
    needs: Needs,
    /// Changes among the bytes held, to be made when they go.
    changes: Vec<BodyEdit>,
}

/// Whether a body is to be made to ask for the usage of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum AskUsage {
    /// It goes as it is; also where all has been done.
    #[default]
    No,
    /// If its model has prices, or is not known when the bytes must go.
    IfPriced,
    /// Whatever its model.
    Always,
}

impl AskUsage {
    /// What the source's group says; where it says nothing, whether anything there has a price.
    pub(super) fn of(source: &Source) -> Self {
        match source.include_usage {
            Some(true) => Self::Always,
            None if source.catalog.has_prices() => Self::IfPriced,
            Some(false) | None => Self::No,
        }
    }
}

/// What is to be done with the bytes just read, and those held before.
#[derive(Debug)]
pub(super) enum Step {
    /// Hold them.
    Hold,
    /// Let them go, with the head if it was held.
    Release(Edits),
}

impl Upload {
    /// Starts to read a body whose head is held with `head` to change in it.
    pub(super) fn new(
        asker: Asker,
        route: Route,
        expects: Expectation,
        scanner: BodyScanner,
        policy: &Policy,
        content_length: Option<u64>,
        head: Edits,
    ) -> Self {
        Self {
            asker,
            route,
            expects,
            scanner,
            inspect_window: policy.inspect_window,
            max_body: policy.max_body,
            content_length,
            head: Some(head),
            seen: 0,
            released: 0,
            ask_usage: AskUsage::No,
            needs: Needs::default(),
            changes: Vec::new(),
        }
    }

    /// Makes a Chat Completions body that streams ask for its usage, which it else would not tell.
    pub(super) fn ask_for_usage(&mut self, ask: AskUsage) {
        self.ask_usage = ask;
    }

    /// Holds the head until what is needed is known, or the inspect window is full.
    pub(super) fn hold_for(&mut self, needs: Needs) {
        self.needs = needs;
    }

    /// The length of the body, in bytes, as far as it is known.
    pub(super) fn length(&self) -> u64 {
        self.content_length.unwrap_or(self.seen)
    }

    /// Whether something is still missing for the estimate.
    fn awaits_estimate(&self) -> bool {
        let length = self.needs.length && self.content_length.is_none();
        // After one cap a greater one may come.
        (length || self.needs.cap) && !self.scanner.complete()
    }

    /// Whether the head has gone upstream.
    pub(super) fn head_gone(&self) -> bool {
        self.head.is_none()
    }

    /// Reads bytes that more follow at once. What is wrong with them, [`read`](Self::read) will tell.
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
    /// Why the request is refused, whatever of it has gone upstream by then.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        end: bool,
        facts: &mut Facts,
    ) -> Result<Step, Rejection> {
        self.read_ahead(bytes);
        facts.request_bytes = self.seen;
        facts.note_body(&self.scanner);
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
        let absent = self.seen == 0 && self.expects == Expectation::Any;
        if end && !absent {
            self.scanner.finish().map_err(Rejection::Body)?;
        }
        self.judge(end, facts)?;
        let unpriced = |model: &Rc<Model>| model.prices.is_none();
        if self.ask_usage == AskUsage::IfPriced && facts.model.as_ref().is_some_and(unpriced) {
            self.ask_usage = AskUsage::No;
        }
        self.judge_others(facts)?;
        facts.stream |= self.scanner.stream() == Some(true);
        if !end && self.must_hold(facts.stream) {
            return Ok(Step::Hold);
        }
        facts.sent_whole |= end;
        facts.usage_unasked |= self.note_usage_edit();
        Ok(Step::Release(self.release(facts)))
    }

    /// Looks at the model as soon as it is there, and notes the bytes that replace it, if some do.
    fn judge(&mut self, end: bool, facts: &mut Facts) -> Result<(), Rejection> {
        let Some(found) = self.scanner.model() else {
            let can_come = !end && !self.scanner.complete();
            return if self.expects == Expectation::Named && !can_come {
                Err(Rejection::ModelMissing)
            } else {
                Ok(())
            };
        };
        if self.expects == Expectation::Met {
            return Ok(());
        }
        if found.truncated {
            return Err(Rejection::ModelNotFound {
                name: found.name.clone(),
                served_by: None,
            });
        }
        let upstream = match &self.expects {
            Expectation::SameAs { id, upstream } => {
                match self.route.source.catalog.find(&found.name) {
                    Some(model) if model.id == *id => upstream
                        .as_deref()
                        .map(|upstream| spelled_as(&found.name, upstream)),
                    _ => return Err(Rejection::ModelMismatch),
                }
            }
            Expectation::Any => {
                self.route.model(&found.name)?;
                None
            }
            Expectation::Named | Expectation::Met => {
                let model = self.route.model(&found.name)?;
                facts.note_model(&found.name, Some(model));
                model.upstream.clone()
            }
        };
        let rename = upstream
            .filter(|upstream| *upstream != found.name)
            .and_then(|upstream| self.held_edit(&found.span, self.scanner.encode_model(&upstream)));
        self.changes.extend(rename);
        self.expects = Expectation::Met;
        Ok(())
    }

    /// Looks at what else the body asks for: to be answered later, images, other models.
    fn judge_others(&mut self, facts: &mut Facts) -> Result<(), Rejection> {
        if self.scanner.background() == Some(true) {
            return Err(Rejection::BackgroundNotSupported);
        }
        // That of an image is another member of the same name.
        if self.scanner.background_text() && facts.wire() != Some(Wire::Images) {
            let wrong = BodyError::WrongType(Field::Background);
            return Err(Rejection::Body(wrong));
        }
        if self.scanner.image_tool() && !self.route.may_make_images() {
            return Err(Rejection::ImagesNotSupported);
        }
        judge_class(facts)?;
        for other in self.scanner.take_others() {
            self.judge_other(&other, facts)?;
        }
        Ok(())
    }

    /// Looks at a model that the body names beside its own.
    fn judge_other(&mut self, other: &OtherModel, facts: &mut Facts) -> Result<(), Rejection> {
        let OtherModel { role, found } = other;
        let name = &found.name;
        if found.truncated {
            return Err(Rejection::ModelNotFound {
                name: name.clone(),
                served_by: None,
            });
        }
        let model = self.route.model(name)?;
        let upstream = model
            .upstream
            .as_deref()
            .map(|upstream| spelled_as(name, upstream))
            .filter(|upstream| upstream != name);
        let of_path = facts
            .model
            .as_ref()
            .filter(|_| *role == ModelRole::OfPath && self.route.source.protocol == Protocol::C);
        match of_path {
            Some(path) if path.id != model.id => Err(Rejection::ModelMismatch),
            Some(_) => {
                let Some(upstream) = upstream else {
                    return Ok(());
                };
                let change = self.held_edit(&found.span, self.scanner.encode_model(&upstream));
                // A head that went without an eye to this may have named the body's length.
                let foreseen = matches!(self.expects, Expectation::SameAs { .. });
                let too_late = self.head_gone() && !foreseen;
                let change = change.filter(|_| !too_late);
                self.changes.push(change.ok_or(Rejection::ModelMismatch)?);
                Ok(())
            }
            // Only the request's own model is written anew.
            None if upstream.is_some() => Err(Rejection::OtherModelRenamed { name: name.clone() }),
            None => {
                facts.note_tool_model(model);
                Ok(())
            }
        }
    }

    /// Notes the change that makes the body ask for its usage, if its place is among the bytes that
    /// are about to go. Whether it is made.
    fn note_usage_edit(&mut self) -> bool {
        if !self.asks_usage() {
            return false;
        }
        let complete = self.scanner.complete();
        let Some(edit) = self.scanner.usage_edit() else {
            if complete || self.scanner.stream() == Some(false) {
                self.ask_usage = AskUsage::No;
            }
            return false;
        };
        let wanted = self.scanner.stream().unwrap_or_else(|| {
            // Not known, and these bytes can wait no longer. Whoever sends options means to stream, and
            // would be refused with them if not; whoever sends null may well mean nothing.
            let null = matches!(
                self.scanner.usage_option(),
                UsageOption::Otherwise { whole: true, .. }
            );
            !complete && !null
        });
        self.ask_usage = AskUsage::No;
        let change = wanted.then(|| self.held_edit(&edit.span, edit.bytes.to_vec()));
        let change = change.flatten();
        let made = change.is_some();
        self.changes.extend(change);
        made
    }

    /// Whether the body is still to be made to ask for its usage.
    fn asks_usage(&self) -> bool {
        self.ask_usage != AskUsage::No
    }

    /// Whether the place for the usage option is still to come in a body that is held whole before its length is
    /// told: some upstreams take no body without a length.
    fn awaits_usage_place(&self) -> bool {
        let fits = |length| length <= self.inspect_window;
        self.asks_usage()
            && self.content_length.is_some_and(fits)
            && self.scanner.stream() != Some(false)
            && !self.scanner.complete()
    }

    /// Whether the place for the usage option is known, but not whether the body streams.
    fn awaits_stream(&self) -> bool {
        self.asks_usage()
            && self.scanner.stream().is_none()
            && !self.scanner.complete()
            && self.scanner.usage_edit().is_some()
    }

    /// An edit of the whole body's bytes in `span`, in coordinates of the bytes held now.
    fn held_edit(&self, span: &Range<u64>, bytes: Vec<u8>) -> Option<BodyEdit> {
        let held = |at: u64| usize::try_from(at.checked_sub(self.released)?).ok();
        Some(BodyEdit {
            span: held(span.start)?..held(span.end)?,
            bytes,
        })
    }

    /// Whether it is not known yet how soon the answer must begin.
    fn awaits_pace(&self, stream: bool) -> bool {
        self.route.source.alternatives().is_some()
            && !stream
            && self.scanner.stream().is_none()
            && !self.scanner.complete()
    }

    fn must_hold(&self, stream: bool) -> bool {
        let in_window = self.head.is_some() && self.seen < self.inspect_window;
        let awaits_model = self.expects == Expectation::Named || self.may_rename();
        // A name that is cut by the end of a chunk is held whole, so that it can be replaced whole.
        // It cannot grow beyond bounds: the scanner reports a name that is too long at once.
        let inside_name =
            self.may_rename() && (self.scanner.inside_model() || self.scanner.inside_other());
        let inside_option = self.asks_usage() && self.scanner.inside_usage_option();
        let awaits = awaits_model
            || self.awaits_stream()
            || self.awaits_usage_place()
            || self.awaits_pace(stream)
            || self.awaits_estimate();
        (awaits && in_window) || inside_name || inside_option
    }

    /// Whether a model may still come whose name changes.
    fn may_rename(&self) -> bool {
        let renames = match &self.expects {
            Expectation::Named => self.route.source.catalog.renames(),
            Expectation::SameAs { upstream, .. } => upstream.is_some(),
            Expectation::Any | Expectation::Met => false,
        };
        renames && !self.scanner.complete()
    }

    fn release(&mut self, facts: &Facts) -> Edits {
        self.released = self.seen;
        let mut changes = core::mem::take(&mut self.changes);
        changes.sort_by_key(|change| change.span.start);
        let mut edits = self.head.take().map_or_else(Edits::default, |mut head| {
            head.headers.extend(self.length_edit(&changes));
            let accounts = self.route.source.alternatives();
            if let (Some(accounts), Some(began_us)) = (accounts, facts.began_us) {
                let pace = pace::headers(accounts, facts.stream, began_us);
                head.headers.extend(pace);
            }
            head
        });
        edits.body = changes;
        edits
    }

    /// The length that the head must name, given what happens to the body.
    fn length_edit(&self, changes: &[BodyEdit]) -> Option<HeaderEdit> {
        let length = self.content_length?;
        if self.may_rename() || self.asks_usage() {
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

/// Refuses a class of service, or a speed, that is asked for by name and may be dearer or cheaper than the model's own
/// prices say. A model without prices costs nothing at any.
fn judge_class(facts: &Facts) -> Result<(), Rejection> {
    const NAMED: [&str; 3] = ["priority", "flex", "fast"];
    let prices = facts.model.as_ref().and_then(|model| model.prices.as_ref());
    let Some(prices) = prices else { return Ok(()) };
    for (member, class) in [
        ("service_tier", facts.service_tier()),
        ("speed", facts.speed()),
    ] {
        let class = class.unwrap_or_default().to_ascii_lowercase();
        // Protocol C has long words for them.
        let named = NAMED.iter().find(|name| class.ends_with(**name));
        let priced = |name: &&&str| prices.tier(&class).or(prices.tier(name)).is_some();
        if named.is_some_and(|name| !priced(&name)) {
            return Err(Rejection::ClassNotPriced(member));
        }
    }
    Ok(())
}

/// The name upstream, with the prefix that a name in a body of protocol C may have.
fn spelled_as(name: &str, upstream: &str) -> String {
    if name.starts_with("models/") {
        format!("models/{upstream}")
    } else {
        upstream.to_owned()
    }
}
