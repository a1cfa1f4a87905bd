//! Checks of `stream_options.include_usage` in any JSON body that is accepted, against a
//! plain reading of the body with `serde_json`.

use super::{Form, Text, Verdict, range, scan};
use core::fmt;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use trilane::body::{UsageEdit, UsageOption};

/// The members of an object in their order: each key, and the value's own bytes.
pub type Members<'a> = Vec<(Vec<u8>, &'a str)>;

/// Checks what the scanner says of the option, when it says so, and what its edit makes of the body.
pub fn check(body: &[u8], verdict: &Verdict) {
    let text = core::str::from_utf8(body).expect("accepted");
    let want = expected(text);
    assert_eq!(verdict.usage, want, "{}", body.escape_ascii());
    assert_eq!(verdict.object_end, Some(end(text) as u64));
    for size in [1, 2, 5] {
        relayed(body, verdict, size);
    }
    match &verdict.edit {
        None => assert_eq!(want, UsageOption::Asked),
        Some(edit) => edited(text, verdict, edit),
    }
}

/// Finds the offset of the brace that closes a text.
pub fn end(text: &str) -> usize {
    text.trim_ascii_end().len() - 1
}

/// Returns the option as a plain reading of the body finds it.
fn expected(text: &str) -> UsageOption {
    let offset = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    let otherwise = |part: &str, whole| {
        let start = offset(part) as u64;
        UsageOption::Otherwise {
            span: start..start + part.len() as u64,
            whole,
        }
    };
    let Some(options) = find(&members(text), b"stream_options") else {
        return UsageOption::Absent;
    };
    if options == "null" {
        return otherwise(options, true);
    }
    let inner = members(options);
    match find(&inner, b"include_usage") {
        None => UsageOption::Lacking {
            at: (offset(options) + end(options)) as u64,
            empty: inner.is_empty(),
        },
        Some("true") => UsageOption::Asked,
        Some(literal) => otherwise(literal, false),
    }
}

/// A caller that looks after every chunk, and lets go of what it need not hold, can still make the edit.
fn relayed(body: &[u8], verdict: &Verdict, size: usize) {
    let mut scanner = Form::Json.scanner();
    let (mut seen, mut released) = (0, 0);
    let mut edit: Option<UsageEdit> = None;
    for chunk in body.chunks(size) {
        scanner.feed(chunk).expect("accepted");
        seen += chunk.len() as u64;
        match (&edit, scanner.usage_edit()) {
            (Some(_), now) => assert_eq!(edit, now, "an edit that is found stays"),
            (None, Some(now)) => {
                assert!(released <= now.span.start && now.span.end <= seen);
                edit = Some(now);
            }
            (None, None) => {}
        }
        let inside = scanner.inside_usage_option().is_some();
        let literal = match &verdict.usage {
            UsageOption::Otherwise { span, .. } => span.start < seen && seen < span.end,
            _ => false,
        };
        assert_eq!(inside, literal, "after {seen} bytes");
        if !inside {
            released = seen;
        }
    }
    assert_eq!(edit, verdict.edit, "in chunks of {size}");
}

/// The edit adds or changes the option, and nothing else.
fn edited(text: &str, verdict: &Verdict, edit: &UsageEdit) {
    let span = range(&edit.span);
    let bytes = core::str::from_utf8(edit.bytes).expect("text");
    assert!(["", "false", "null"].contains(&&text[span.clone()]));
    let after = [&text[..span.start], bytes, &text[span.end..]].concat();

    let other = scan(Form::Json, [after.as_bytes()]);
    assert_eq!(other.result, Ok(()), "asking: {after}");
    assert_eq!(other.usage, UsageOption::Asked, "asking: {after}");
    assert_eq!(other.name(), verdict.name(), "asking: {after}");
    assert_eq!(other.stream, verdict.stream, "asking: {after}");

    // Of all values but the two, the bytes themselves are compared.
    let (before, after) = (members(text), members(&after));
    let options = find(&after, b"stream_options").expect("stream_options");
    let inner_before = match find(&before, b"stream_options") {
        Some(options) if options != "null" => members(options),
        _ => Members::new(),
    };
    assert_eq!(
        members(options),
        with(inner_before, b"include_usage", "true")
    );
    assert_eq!(after, with(before, b"stream_options", options));
}

/// The members with one of them set, where it is or else at the end.
fn with<'a>(mut members: Members<'a>, key: &[u8], value: &'a str) -> Members<'a> {
    match members.iter_mut().find(|(found, _)| found == key) {
        Some((_, old)) => *old = value,
        None => members.push((key.to_vec(), value)),
    }
    members
}

fn find<'a>(members: &Members<'a>, key: &[u8]) -> Option<&'a str> {
    members
        .iter()
        .find_map(|(found, value)| (found == key).then_some(*value))
}

/// Reads one object, and of its values no more than where they are.
pub fn members(text: &str) -> Members<'_> {
    serde_json::Deserializer::from_str(text)
        .deserialize_map(Object)
        .expect("an object")
}

struct Object;

impl<'de> Visitor<'de> for Object {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Members::new();
        while let Some(key) = map.next_key_seed(Text)? {
            members.push((key, map.next_value::<&RawValue>()?.get()));
        }
        Ok(members)
    }
}
