//! The first events of a stream: the preamble, an error of the account, or something else.

use serde_json::Value;

use crate::failover::fault::ToldFailure;

/// An event, as far as the judge is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    /// It says that an answer may follow.
    Preamble,
    /// It says that none follows, for a reason of the account's.
    Failure(ToldFailure),
    /// It is a part of an answer, or an error of the request.
    Other,
}

/// The whole events at the beginning of a stream (HTML standard, 9.2.6); with `end` also one that lacks its blank line.
pub(super) fn events(bytes: &[u8], end: bool) -> impl Iterator<Item = Event> {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').peekable();
    core::iter::from_fn(move || {
        let mut data = Vec::new();
        loop {
            let line = lines.next();
            let last = lines.peek().is_none();
            let Some(line) = line else {
                return (end && !data.is_empty()).then(|| classify(&data));
            };
            if last && !end && line.last() != Some(&b'\n') {
                return None;
            }
            let line = line.trim_ascii_end();
            if let Some(value) = line.strip_prefix(b"data:") {
                data.extend_from_slice(value);
            } else if line.is_empty() && !data.is_empty() {
                return Some(classify(&data));
            }
        }
    })
}

/// Whether an event may be another than a part of an answer, as most are: those need no look at what is in them.
fn may_matter(data: &[u8]) -> bool {
    data.iter().enumerate().any(|(at, byte)| {
        let word: &[u8] = match byte {
            b'e' => b"error",
            b'r' => b"response.",
            b'm' => b"message_start",
            b'p' => b"ping",
            // A letter of these may be written so.
            b'\\' => b"\\u",
            _ => return false,
        };
        data.get(at..).is_some_and(|rest| rest.starts_with(word))
    })
}

/// The kind of event with this data.
fn classify(data: &[u8]) -> Event {
    if !may_matter(data) {
        return Event::Other;
    }
    let Ok(data) = serde_json::from_slice::<Value>(data) else {
        return Event::Other;
    };
    let kind = data.get("type").and_then(Value::as_str);
    let error = match kind {
        Some(
            "response.created"
            | "response.in_progress"
            | "response.queued"
            | "message_start"
            | "ping",
        ) => {
            return Event::Preamble;
        }
        Some("response.failed") => data.get("response"),
        Some("error") => Some(&data),
        _ => data
            .get("error")
            .is_some_and(Value::is_object)
            .then_some(&data),
    };
    match error.and_then(ToldFailure::of_event) {
        Some(told) => Event::Failure(told),
        None => Event::Other,
    }
}
