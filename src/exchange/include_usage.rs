//! Usage of a Chat Completions stream that the gateway asks for and the client did not: whether it does, and the event that is
//! taken out again.
//!
//! A stream that is asked to report its usage ends with an event of empty `choices` and a `usage`. Clients that
//! did not ask read `choices[0]` of every event, so for them this one event is taken out again. Nothing else of a
//! stream is ever taken out or held.
//!
//! An event is known when its blank line has come. Until then its bytes are held only while it may still be that one:
//! while it is the beginning of a JSON object without an item in `choices`, and at most [`MAX_HELD`] bytes long.

use memchr::{memchr_iter, memchr2, memmem};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::environment::AccountStates;
use super::outcome::{BodyEdit, Edits, HeaderEdit};
use super::route::Route;
use crate::body::UsageEdit;
use crate::config::policy::Source;
use crate::failover::WayMark;
use crate::text::is_whitespace;
use crate::usage::Wire;

/// Whether the account that a request is sent to may refuse to be asked for the usage of its stream, so that it would be asked
/// once more without that. Only Envoy's own accounts can be.
pub(super) fn may_be_refused(
    route: &Route,
    wire: Option<Wire>,
    accounts: &impl AccountStates,
) -> bool {
    let is_unknown = |source: &Source| {
        let marks = source.accounts.iter().flat_map(|it| &it.marks);
        let mut ways = marks.map(WayMark::of_account);
        IncludeUsage::of(source, wire).is_wanted()
            && ways.any(|way| accounts.takes_usage_option(way).is_none())
    };
    wire == Some(Wire::Chat) && accounts.has_hop() && route.candidates().any(is_unknown)
}

/// Whether a body is to be made to ask for the usage of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum IncludeUsage {
    /// It goes as it is; also where all has been done.
    #[default]
    No,
    /// If its model has prices, or is not known when the bytes must be released.
    IfPriced,
    /// For any model.
    Always,
}

impl IncludeUsage {
    /// Returns the choice of the source's group, for a response that reports usage in the form `wire`; without one, the choice
    /// by whether anything there has a price.
    pub(super) fn of(source: &Source, wire: Option<Wire>) -> Self {
        match source.include_usage {
            _ if wire != Some(Wire::Chat) => Self::No,
            Some(true) => Self::Always,
            None if source.catalog.has_prices() => Self::IfPriced,
            Some(false) | None => Self::No,
        }
    }

    /// Whether the body is still to be made to ask.
    pub(super) fn is_wanted(self) -> bool {
        self != Self::No
    }

    /// The model turned out to have no prices.
    pub(super) fn drop_if_unpriced(&mut self) {
        if *self == Self::IfPriced {
            *self = Self::No;
        }
    }
}

/// The change that makes a body ask for its usage, in the body as it is sent.
#[derive(Debug, Default)]
pub(super) struct AddedUsage {
    /// The change that takes it back, once it was released.
    undone: Option<UsageEdit>,
    /// The number of bytes that changes of released parts have put in.
    put_in: u64,
    /// The number of bytes that they have taken out.
    taken_out: u64,
}

impl AddedUsage {
    /// The change that takes it back, once it was released.
    pub(super) fn undone(&self) -> Option<&UsageEdit> {
        self.undone.as_ref()
    }

    /// Follows where it is in the body as it is sent, once these `changes` are made. `added` is the change of the body as it came,
    /// where that was made to ask.
    pub(super) fn follow(&mut self, changes: &[BodyEdit], added: Option<&UsageEdit>) {
        for change in changes {
            // No name of a model is written like this.
            if let Some(edit) = added.filter(|edit| change.bytes == edit.bytes) {
                let at = edit.span.start.saturating_add(self.put_in);
                self.undone = Some(edit.undone(at.saturating_sub(self.taken_out)));
            }
            let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
            self.put_in = self.put_in.saturating_add(count(change.bytes.len()));
            self.taken_out = self.taken_out.saturating_add(count(change.span.len()));
        }
    }
}

/// Takes the change `added`, which makes a body ask for its usage, out of the `edits` that go with it. Whether it was among them.
pub(super) fn leave_out(edits: &mut Edits, added: &UsageEdit) -> bool {
    // No name of a model is written like this.
    let place = edits
        .body
        .iter()
        .position(|change| change.bytes == added.bytes);
    let Some(change) = place.map(|place| edits.body.remove(place)) else {
        return false;
    };
    let length = edits.headers.iter_mut().find_map(|header| match header {
        HeaderEdit::Set("content-length", length) => Some(length),
        _ => None,
    });
    if let Some(length) = length
        && let Some(known) = str::from_utf8(length).ok().and_then(|it| it.parse().ok())
    {
        let before = usize::saturating_add(known, change.span.len());
        let before = before.saturating_sub(change.bytes.len());
        *length = before.to_string().into_bytes();
    }
    true
}

/// The longest event that is held, in bytes; what vendors send has about 600.
pub(super) const MAX_HELD: usize = 8 * 1024;

/// Takes the event out of a stream.
#[derive(Debug, Default)]
pub(super) struct UsageEventFilter {
    /// The beginning of an event whose end has not come.
    held: Vec<u8>,
    /// The position in an event that was let go before its end.
    passing: Option<Passing>,
}

/// An event that passes before its end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Passing {
    /// In a line.
    InLine,
    /// After a CR, behind which an LF may come.
    AfterCr,
    /// At the beginning of a line.
    LineStart,
    /// After the CR of its blank line, behind which an LF may come.
    Blank,
}

impl UsageEventFilter {
    /// Returns the bytes that go on in place of `bytes`, the next of the stream; `None` where these go on as they are. `end` says
    /// that nothing follows them.
    pub(super) fn pass(&mut self, bytes: &[u8], end: bool) -> Option<Vec<u8>> {
        let between_events = self.held.is_empty() && self.passing.is_none();
        if between_events && ends_event(bytes) && !has_no_choices(bytes) {
            return None;
        }
        let held = core::mem::take(&mut self.held);
        let joined = (!held.is_empty()).then(|| [held.as_slice(), bytes].concat());
        let all = joined.as_deref().unwrap_or(bytes);
        let mut kept = Filtered::new(all);
        let mut rest = all;
        if let Some(passing) = self.passing.take() {
            match event_end(rest, passing) {
                Ok(end) => rest = kept.keep(rest, end),
                Err(passing) => {
                    self.passing = Some(passing);
                    rest = kept.keep(rest, rest.len());
                }
            }
        }
        while !rest.is_empty() {
            match event_end(rest, Passing::LineStart) {
                Ok(length) => {
                    let event = rest.get(..length).unwrap_or(rest);
                    rest = if is_usage_event(event) {
                        kept.leave_out(rest, length)
                    } else {
                        kept.keep(rest, length)
                    };
                }
                Err(_) if end && is_usage_event(rest) => rest = kept.leave_out(rest, rest.len()),
                Err(_) if !end && rest.len() <= MAX_HELD && may_be_usage_event(rest) => {
                    self.held = rest.to_vec();
                    rest = kept.leave_out(rest, rest.len());
                }
                Err(passing) => {
                    self.passing = Some(passing);
                    rest = kept.keep(rest, rest.len());
                }
            }
        }
        // Bytes that were held go on with these, even where nothing is left out.
        kept.bytes.or(joined)
    }
}

/// Whether an event ends with these bytes. Nearly every chunk ends so.
fn ends_event(bytes: &[u8]) -> bool {
    bytes.ends_with(b"\n\n") || bytes.ends_with(b"\n\r\n")
}

/// Whether an empty `choices` stands somewhere in these bytes, whatever it is part of.
fn has_no_choices(bytes: &[u8]) -> bool {
    const CHOICES: &[u8] = b"\"choices\"";
    memchr_iter(b']', bytes).any(|at| {
        let before = bytes.get(..at).unwrap_or_default().trim_ascii_end();
        let key = before
            .strip_suffix(b"[")
            .map(<[u8]>::trim_ascii_end)
            .and_then(|before| before.strip_suffix(b":"));
        key.is_some_and(|key| key.trim_ascii_end().ends_with(CHOICES))
    })
}

/// The part of some bytes that goes on: copied only once something of them does not.
struct Filtered<'a> {
    all: &'a [u8],
    bytes: Option<Vec<u8>>,
}

impl<'a> Filtered<'a> {
    fn new(all: &'a [u8]) -> Self {
        Self { all, bytes: None }
    }

    /// The first `length` bytes of what is left go on; gives the others.
    fn keep(&mut self, rest: &'a [u8], length: usize) -> &'a [u8] {
        let (piece, rest) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        if let Some(bytes) = &mut self.bytes {
            bytes.extend_from_slice(piece);
        }
        rest
    }

    /// The first `length` bytes of what is left do not go on; gives the others.
    fn leave_out(&mut self, rest: &'a [u8], length: usize) -> &'a [u8] {
        if self.bytes.is_none() {
            let before = self.all.len().saturating_sub(rest.len());
            self.bytes = Some(self.all.get(..before).unwrap_or_default().to_vec());
        }
        rest.get(length..).unwrap_or_default()
    }
}

/// Returns the length of the event, its blank line included (WHATWG HTML, 9.2.6); without its end, where in it the bytes
/// end.
fn event_end(bytes: &[u8], from: Passing) -> Result<usize, Passing> {
    let mut at = from;
    let mut rest = bytes;
    loop {
        match (at, rest) {
            (_, []) => return Err(at),
            (Passing::Blank, [b'\n', tail @ ..]) => {
                return Ok(bytes.len().saturating_sub(tail.len()));
            }
            (Passing::Blank, _) => return Ok(bytes.len().saturating_sub(rest.len())),
            (Passing::AfterCr, [b'\n', tail @ ..]) => {
                rest = tail;
                at = Passing::LineStart;
            }
            (Passing::AfterCr, _) => at = Passing::LineStart,
            (Passing::LineStart, [b'\n', tail @ ..]) => {
                return Ok(bytes.len().saturating_sub(tail.len()));
            }
            (Passing::LineStart, [b'\r', tail @ ..]) => {
                rest = tail;
                at = Passing::Blank;
            }
            (Passing::LineStart | Passing::InLine, _) => {
                let Some(end) = memchr2(b'\r', b'\n', rest) else {
                    return Err(Passing::InLine);
                };
                at = match rest.get(end) {
                    Some(b'\r') => Passing::AfterCr,
                    _ => Passing::LineStart,
                };
                rest = rest.get(end.saturating_add(1)..).unwrap_or_default();
            }
        }
    }
}

/// The members of a chunk that tell the kind of its event.
#[derive(Deserialize)]
struct CompletionChunk {
    choices: Vec<IgnoredAny>,
    usage: Option<UsageObject>,
    error: Option<IgnoredAny>,
}

/// Some object.
#[derive(Deserialize)]
struct UsageObject {}

/// Whether a whole event has a usage and no choices, and no error.
fn is_usage_event(event: &[u8]) -> bool {
    // Nearly every event has an item in its choices.
    if !has_no_choices(event) || memmem::find(event, b"\"usage\"").is_none() {
        return false;
    }
    let mut data: Vec<u8> = Vec::with_capacity(event.len());
    for line in event.split(|byte| matches!(byte, b'\r' | b'\n')) {
        if let Some(value) = line.strip_prefix(b"data:") {
            data.extend_from_slice(value);
            data.push(b'\n');
        }
    }
    serde_json::from_slice::<CompletionChunk>(&data).is_ok_and(|chunk| {
        chunk.choices.is_empty() && chunk.usage.is_some() && chunk.error.is_none()
    })
}

/// Whether an event that begins like this may have a usage and no choices.
///
/// One with a comment is let go at once: comments tell clients that the stream still lives.
fn may_be_usage_event(beginning: &[u8]) -> bool {
    let mut begun = false;
    for line in beginning.split(|byte| matches!(byte, b'\r' | b'\n')) {
        if !may_be_field(line) {
            return false;
        }
        let value = line.strip_prefix(b"data:").unwrap_or_default();
        let first = value.iter().find(|byte| !is_whitespace(**byte));
        let is_object = begun || first.is_none_or(|byte| *byte == b'{');
        if !is_object || has_choice(value) {
            return false;
        }
        begun |= first.is_some();
    }
    true
}

/// Whether a line is a field of an event (WHATWG HTML, 9.2.6), or may become one. JSON that is no stream is none.
fn may_be_field(line: &[u8]) -> bool {
    let names: [&[u8]; 4] = [b"data:", b"event:", b"id:", b"retry:"];
    names
        .iter()
        .any(|name| line.starts_with(name) || name.starts_with(line))
}

/// Whether `choices` stands there with something in it.
///
/// A text that says so inside a string has its quotes escaped, so it does not look like that.
fn has_choice(json: &[u8]) -> bool {
    const CHOICES: &[u8] = b"\"choices\"";
    let Some(at) = memmem::find(json, CHOICES) else {
        return false;
    };
    let behind = json
        .get(at.saturating_add(CHOICES.len())..)
        .unwrap_or_default();
    let mut structure = behind.iter().filter(|byte| !is_whitespace(**byte));
    structure.next() == Some(&b':')
        && structure.next() == Some(&b'[')
        && structure.next().is_some_and(|byte| *byte != b']')
}

#[cfg(test)]
mod tests;
