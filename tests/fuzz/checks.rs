//! Invariants of a body scanner, for any bytes at all that it is fed.
//!
//! Shared by the integration tests and the fuzz targets, each of which includes this file.
#![allow(
    dead_code,
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used
)]

use core::fmt;
use core::ops::Range;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use trilane::body::{
    BodyError, BodyScanner, FoundModel, MAX_DEPTH, MAX_MODEL_BYTES, UsageEdit, UsageOption,
};

#[path = "asked.rs"]
mod asked;
#[path = "output_cap.rs"]
mod output_cap;
#[path = "usage_option.rs"]
mod usage_option;

/// The content type of every form that is checked here.
pub const FORM_TYPE: &[u8] = b"multipart/form-data; boundary=----B";
const DELIMITER: &[u8] = b"------B";

/// The result of a scanner for a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub result: Result<(), BodyError>,
    pub model: Option<FoundModel>,
    pub stream: Option<bool>,
    pub usage: UsageOption,
    pub edit: Option<UsageEdit>,
    pub object_end: Option<u64>,
    pub cap: Option<u64>,
    pub told: asked::ScannedFields,
}

impl Verdict {
    pub fn name(&self) -> Option<&str> {
        self.model.as_ref().map(|model| model.name.as_str())
    }
}

/// The scanner to use, by the form of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Json,
    Multipart,
}

impl Form {
    pub fn scanner(self) -> BodyScanner {
        match self {
            Self::Json => BodyScanner::json(),
            Self::Multipart => BodyScanner::multipart(FORM_TYPE).unwrap(),
        }
    }
}

/// Feeds a body in the chunks given, and checks on the way what must hold after every one.
pub fn scan<'a>(form: Form, chunks: impl IntoIterator<Item = &'a [u8]>) -> Verdict {
    let mut scanner = form.scanner();
    let mut model: Option<FoundModel> = None;
    let mut usage = UsageOption::Absent;
    let mut cap = None;
    let mut others = Vec::new();
    for chunk in chunks {
        let fed = scanner.feed(chunk);
        others.extend(scanner.take_others());
        if usage != UsageOption::Absent {
            assert_eq!(
                scanner.usage_option(),
                &usage,
                "an option that is found stays"
            );
        }
        usage = scanner.usage_option().clone();
        assert!(scanner.output_cap() >= cap, "a cap only grows");
        cap = scanner.output_cap();
        if let Some(model) = &model {
            assert_eq!(scanner.model(), Some(model), "a model that is found stays");
        }
        model = scanner.model().cloned();
        assert!(
            !(scanner.inside_model().is_some() && model.is_some()),
            "inside a model that is found"
        );
        if fed.is_err() {
            assert!(
                scanner.inside_model().is_none()
                    && scanner.inside_other().is_none()
                    && scanner.inside_usage_option().is_none()
                    && !scanner.complete(),
                "after {fed:?}"
            );
            assert_eq!(scanner.feed(b"{}"), fed, "an error is final");
            assert_eq!(scanner.finish(), fed, "an error is final");
            break;
        }
    }
    let complete = scanner.complete();
    let result = scanner.finish();
    assert_eq!(complete, result.is_ok(), "complete, and {result:?}");
    assert_eq!(scanner.finish(), result, "the end is final");
    Verdict {
        result,
        model: scanner.model().cloned(),
        stream: scanner.stream(),
        usage,
        edit: scanner.usage_edit(),
        object_end: scanner.object_end(),
        cap: scanner.output_cap(),
        told: asked::ScannedFields {
            candidates: scanner.candidates(),
            service_tier: scanner.service_tier().map(str::to_owned),
            speed: scanner.speed().map(str::to_owned),
            inference_geo: scanner.inference_geo().map(str::to_owned),
            background: scanner.background(),
            image_tool: scanner.image_tool(),
            others,
            size: scanner.input_size(),
        },
    }
}

/// Checks a JSON body: against `serde_json`, in several chunkings, with its model renamed, with its usage
/// asked for, and with another cap on its output.
pub fn json(body: &[u8]) -> Verdict {
    let verdict = any_chunks(Form::Json, body);
    let want = expected_json(body);
    let context = || format!("{:?} on {}", verdict.result, body.escape_ascii());
    assert_eq!(verdict.result.is_ok(), want.is_some(), "{}", context());
    if let Some(want) = want {
        let name = want.model.as_deref().map(kept);
        assert_eq!(verdict.name(), name.as_deref(), "{}", context());
        assert_eq!(verdict.stream, want.stream, "{}", context());
        if let Some(model) = &verdict.model
            && !model.truncated
        {
            let literal = &body[range(&model.span)];
            let name: String = serde_json::from_slice(literal).expect("the span is a literal");
            assert_eq!(name, model.name, "{}", context());
        }
        renamed(Form::Json, body, &verdict);
        usage_option::check(body, &verdict);
        output_cap::check(body, &verdict);
        asked::check(body, &verdict);
    }
    verdict
}

/// Checks a form: against a plain reading of it, in several chunkings, and with its model renamed.
pub fn multipart(body: &[u8]) -> Verdict {
    let verdict = any_chunks(Form::Multipart, body);
    if verdict.result.is_ok() {
        let want = plain_form(body);
        let context = || format!("{want:?} on {}", body.escape_ascii());
        let model = want.model.as_deref().map(kept);
        assert_eq!(verdict.name(), model.as_deref(), "{}", context());
        assert_eq!(verdict.stream, want.stream, "{}", context());
        if let Some(model) = &verdict.model
            && !model.truncated
        {
            let value = &body[range(&model.span)];
            assert_eq!(value, model.name.as_bytes(), "{}", context());
        }
        renamed(Form::Multipart, body, &verdict);
        assert_eq!(verdict.usage, UsageOption::Absent, "{}", context());
        assert_eq!((&verdict.edit, verdict.object_end), (&None, None));
        assert_eq!(verdict.cap, None, "{}", context());
        assert_eq!(verdict.told.candidates, want.candidates, "{}", context());
        let size = verdict.told.size;
        assert_eq!(size.images, want.files, "{}", context());
        assert_eq!(
            size.text_bytes,
            body.len() as u64 - want.file_bytes,
            "{}",
            context()
        );
    }
    verdict
}

/// The verdict on a body, which no chunking may change.
fn any_chunks(form: Form, body: &[u8]) -> Verdict {
    let verdict = scan(form, [body]);
    let check = |how: &str, other: Verdict| {
        assert_eq!(
            verdict.result,
            other.result,
            "{how}: {}",
            body.escape_ascii()
        );
        if verdict.result.is_ok() {
            assert_eq!(verdict.stream, other.stream, "{how}");
            assert_eq!(verdict.usage, other.usage, "{how}");
            assert_eq!(verdict.edit, other.edit, "{how}");
            assert_eq!(verdict.object_end, other.object_end, "{how}");
            assert_eq!(verdict.cap, other.cap, "{how}");
            assert_eq!(verdict.told, other.told, "{how}");
            assert_eq!(verdict.name(), other.name(), "{how}");
            let span = |verdict: &Verdict| {
                let model = verdict.model.clone()?;
                // The end of a name that is too long depends on when that was noticed.
                Some((
                    model.truncated,
                    model.span.start,
                    (!model.truncated).then_some(model.span.end),
                ))
            };
            assert_eq!(span(&verdict), span(&other), "{how}");
        }
    };
    check("byte by byte", scan(form, body.chunks(1)));
    for size in [2, 3, 7, 8, 13, 64] {
        check("in small chunks", scan(form, body.chunks(size)));
    }
    // One cut, which depends on the body so that many inputs try many places.
    let sum = body.iter().fold(body.len(), |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(usize::from(*byte))
    });
    let (head, tail) = body.split_at(sum % (body.len() + 1));
    check("in two", scan(form, [head, b"", tail]));
    held(form, body, &verdict);
    verdict
}

/// All the value but its last byte is held: a caller that releases what it does not hold can still
/// replace the value as one piece.
fn held(form: Form, body: &[u8], verdict: &Verdict) {
    let Some(model) = verdict.model.as_ref().filter(|model| !model.truncated) else {
        return;
    };
    let mut scanner = form.scanner();
    for (index, byte) in body[..range(&model.span).end].iter().enumerate() {
        scanner.feed(&[*byte]).expect("up to the model");
        if model.span.contains(&(index as u64)) {
            let last = index as u64 + 1 == model.span.end && form == Form::Json;
            assert_eq!(
                scanner.inside_model().is_some(),
                !last,
                "after byte {index}"
            );
        }
    }
}

/// Renaming the model changes the name, and nothing else.
fn renamed(form: Form, body: &[u8], verdict: &Verdict) {
    let Some(model) = verdict.model.as_ref().filter(|model| !model.truncated) else {
        return;
    };
    let new = "other \"\u{e9}\u{1f600}\\";
    let span = range(&model.span);
    let bytes = form.scanner().encode_model(new);
    let body = [&body[..span.start], &bytes, &body[span.end..]].concat();
    let other = scan(form, [body.as_slice()]);
    assert_eq!(other.result, Ok(()), "renamed: {}", body.escape_ascii());
    assert_eq!(other.name(), Some(new), "renamed");
    assert_eq!(other.stream, verdict.stream, "renamed");
}

fn range(span: &Range<u64>) -> Range<usize> {
    usize::try_from(span.start).unwrap()..usize::try_from(span.end).unwrap()
}

/// Returns the kept beginning of a name.
fn kept(name: &str) -> String {
    let mut end = name.len().min(MAX_MODEL_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_owned()
}

/// The fields of a body that is to be accepted.
#[derive(Debug, Default)]
struct Expected {
    model: Option<String>,
    stream: Option<bool>,
    /// Of a form.
    candidates: Option<u64>,
    files: u64,
    file_bytes: u64,
}

// === JSON: serde_json, and the rules of the gateway on top ===

/// Reads a body as the scanner must read it; `None` if the scanner must reject it.
fn expected_json(body: &[u8]) -> Option<Expected> {
    let text = core::str::from_utf8(body).ok()?;
    // Skipping a value checks the grammar without recursion, and lets huge numbers and half
    // surrogate pairs pass, as the scanner does.
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    if depth(body) > MAX_DEPTH {
        return None;
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let top = json.deserialize_map(Top).ok()?;
    asked::expected(text)?;
    Some(top)
}

/// Returns the nesting depth of a well-formed text.
fn depth(body: &[u8]) -> usize {
    let (mut depth, mut deepest, mut text, mut escaped) = (0usize, 0, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => text = !text,
            b'[' | b'{' if !text => depth += 1,
            b']' | b'}' if !text => depth -= 1,
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Reads the outermost object.
struct Top;

impl<'de> Visitor<'de> for Top {
    type Value = Expected;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Expected, A::Error> {
        let refused = || <A::Error as serde::de::Error>::custom("refused");
        let mut top = Expected::default();
        let mut options_seen = false;
        while let Some(key) = map.next_key_seed(Text)? {
            let folded = folded(&key);
            match folded.as_str() {
                "model" | "stream" | "stream_options" if folded.as_bytes() != key => {
                    return Err(refused());
                }
                "stream_options" if core::mem::replace(&mut options_seen, true) => {
                    return Err(refused());
                }
                "stream_options" => {
                    let options = map.next_value::<&RawValue>()?.get();
                    if options.starts_with('{') {
                        serde_json::Deserializer::from_str(options)
                            .deserialize_map(Options)
                            .map_err(|_| refused())?;
                    }
                }
                "model" if top.model.is_some() => return Err(refused()),
                "stream" if top.stream.is_some() => return Err(refused()),
                "model" => {
                    let name = map.next_value_seed(Text)?;
                    let name = String::from_utf8(name).map_err(|_| refused())?;
                    if name.is_empty() || name.bytes().any(|byte| byte.is_ascii_control()) {
                        return Err(refused());
                    }
                    top.model = Some(name);
                }
                "stream" => top.stream = Some(map.next_value::<Option<bool>>()? == Some(true)),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(top)
    }
}

/// A key as a parser reads it that ignores case.
fn folded(key: &[u8]) -> String {
    core::str::from_utf8(key)
        .unwrap_or_default()
        .replace('\u{17f}', "s")
        .to_ascii_lowercase()
}

/// Reads the object of `stream_options`, where `include_usage` may stand once and only as it is.
struct Options;

impl<'de> Visitor<'de> for Options {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = false;
        while let Some(key) = map.next_key_seed(Text)? {
            map.next_value::<IgnoredAny>()?;
            let usage = folded(&key) == "include_usage";
            if usage && (seen || key != b"include_usage") {
                return Err(<A::Error as serde::de::Error>::custom("refused"));
            }
            seen |= usage;
        }
        Ok(())
    }
}

/// Reads a string as bytes: half a surrogate pair comes out as something that is not UTF-8.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Vec<u8>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Vec<u8>, D::Error> {
        json.deserialize_bytes(self)
    }
}

impl Visitor<'_> for Text {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }
}

// === Forms: cut at every delimiter, as the simplest of parsers would ===

/// The fields of a form that the scanner has accepted.
fn plain_form(body: &[u8]) -> Expected {
    let mut form = Expected::default();
    let mut rest = body;
    while let Some(tail) = rest.strip_prefix(b"\r\n") {
        rest = tail;
    }
    rest = rest
        .strip_prefix(DELIMITER)
        .expect("begins with the delimiter");
    while let Some(part) = rest.strip_prefix(b"\r\n") {
        let delimiter = [b"\r\n", DELIMITER].concat();
        let end = find(part, &delimiter).expect("every part ends");
        let (part, tail) = (&part[..end], &part[end + delimiter.len()..]);
        rest = tail;
        let blank = find(part, b"\r\n\r\n").expect("every part has headers");
        let (headers, value) = (&part[..blank], &part[blank + 4..]);
        let headers = String::from_utf8_lossy(headers).to_ascii_lowercase();
        let disposition = headers
            .split("\r\n")
            .find(|line| line.starts_with("content-disposition:"))
            .expect("every part has a name");
        let named = |name: &str| {
            let parameter = disposition.split(';').map(str::trim);
            let quoted = format!("name=\"{name}\"");
            let token = format!("name={name}");
            parameter
                .into_iter()
                .any(|text| text == quoted || text == token)
        };
        if named("model") {
            let value = String::from_utf8(value.to_vec()).expect("the model is UTF-8");
            assert!(!value.is_empty() && !value.bytes().any(|byte| byte.is_ascii_control()));
            assert!(form.model.replace(value).is_none(), "two models");
        } else if named("stream") {
            assert!(value == b"true" || value == b"false", "a boolean");
            assert!(
                form.stream.replace(value == b"true").is_none(),
                "two streams"
            );
        } else if named("n") {
            assert!(value.iter().all(u8::is_ascii_digit), "an integer");
            let count = core::str::from_utf8(value).expect("digits").parse();
            let count = count.unwrap_or(u64::MAX);
            assert!(form.candidates.replace(count).is_none(), "two numbers");
        }
        let is_file_name = |text: &str| {
            let rest = text.trim().strip_prefix("filename");
            rest.is_some_and(|rest| rest.trim_start().starts_with(['=', '*']))
        };
        if disposition.split(';').skip(1).any(is_file_name) {
            form.files += 1;
            form.file_bytes += value.len() as u64;
        }
    }
    let epilogue = rest.strip_prefix(b"--").expect("the closing delimiter");
    assert!(epilogue.trim_ascii().is_empty(), "epilogue");
    form
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
