//! Invariants of a usage meter, for any bytes at all that it is fed: no chunking changes what it reads, and
//! where every event is sound JSON it reads what a plain reading with `serde_json` finds.
//!
//! Shared by the integration tests and the fuzz target, each of which includes this file.
#![allow(
    dead_code,
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::field_reassign_with_default,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]

use core::cell::Cell;
use core::fmt;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use trilane::usage::{Call, Kind, Meter, Passed, Reading, Usage, Wire};

/// Feeds a meter in chunks and returns its reading.
pub fn read<'a>(wire: Wire, chunks: impl IntoIterator<Item = &'a [u8]>) -> Reading {
    let mut meter = Meter::new(wire);
    for chunk in chunks {
        meter.feed(chunk);
    }
    let reading = meter.finish();
    assert_eq!(meter.finish(), reading, "the end is final");
    reading
}

/// Checks one answer in every form it could be taken for; whether usage was found and judged in any.
pub fn answer(body: &[u8]) -> bool {
    let judged = Wire::ALL.map(|wire| answer_as(wire, body));
    judged
        .iter()
        .flatten()
        .any(|reading| reading.usage.is_some())
}

/// Checks one answer; gives what was read, if that could be judged in full.
pub fn answer_as(wire: Wire, body: &[u8]) -> Option<Reading> {
    let reading = read(wire, [body]);
    let context = || format!("{wire:?} on {}", body.escape_ascii());
    for size in [1, 2, 3, 7, 8, 13, 64] {
        let other = read(wire, body.chunks(size));
        assert_eq!(other, reading, "chunks of {size}: {}", context());
    }
    // One cut, which depends on the body so that many inputs try many places.
    let sum = body.iter().fold(body.len(), |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(usize::from(*byte))
    });
    let (head, tail) = body.split_at(sum % (body.len() + 1));
    assert_eq!(read(wire, [head, b"", tail]), reading, "{}", context());
    assert!(!(reading.finished && reading.error.is_some()));

    let mut want = plain_reading(wire, body)?;
    want.reported.sort_unstable();
    let mut got = reading.clone();
    got.reported.sort_unstable();
    // Which numbers contradict each other is for the meter's own tests.
    got.doubt = None;
    assert_eq!(got, want, "{}", context());
    Some(reading)
}

// === The plain reading ===

/// Returns the expected reading; `None` where the plain reading cannot decide.
fn plain_reading(wire: Wire, body: &[u8]) -> Option<Reading> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let mut plain = Plain::new(wire);
    match body.trim_ascii_start().first() {
        Some(b'{' | b'[') if !starts_with_form_feed(body) => {
            let Unique(document) = serde_json::from_slice(body).ok()?;
            let raw = Raw::of(body);
            if let (Value::Array(elements), Raw::Array(_, raws)) = (&document, &raw) {
                for (element, raw) in elements.iter().zip(raws) {
                    plain.part(element, "", wire)?;
                    plain.document(element, raw);
                    plain.commit();
                }
            } else {
                plain.part(&document, "", wire)?;
                plain.document(&document, &raw);
                plain.images += objects(&document, "/data", wire == Wire::Images);
                if wire == Wire::Images {
                    plain.passed.picture_bytes += texts(&raw, "data/*/", &["b64_json", "url"]);
                }
                plain.commit();
                plain.ended = true;
                plain.streams = false;
            }
        }
        _ => {
            let (events, last, any) = events(body);
            for data in events {
                plain.event(&data)?;
            }
            if let Some(last) = last.filter(|_| !plain.done) {
                let parsed = serde_json::from_slice::<Unique>(last.trim_ascii());
                // Of one that is cut inside its JSON what the model wrote counts.
                if !last.trim_ascii().is_empty() && parsed.is_err_and(|err| err.is_eof()) {
                    return None;
                }
                plain.event(&last)?;
            }
            plain.unreadable = !any && !begins_as_stream(body);
        }
    }
    let doubted = plain.excess;
    let reading = plain.reading();
    reading.filter(|_| !doubted)
}

/// `trim_ascii_start` takes one character more for whitespace than JSON does.
fn starts_with_form_feed(body: &[u8]) -> bool {
    let space = body.len() - body.trim_ascii_start().len();
    body[..space].contains(&0x0C)
}

fn objects(document: &Value, path: &str, wanted: bool) -> u64 {
    let items = document.pointer(path).and_then(Value::as_array);
    let items = items.filter(|_| wanted).into_iter().flatten();
    items.filter(|item| item.is_object()).count() as u64
}

/// Whether the first line is one of a stream, as far as it goes.
fn begins_as_stream(body: &[u8]) -> bool {
    let space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let start = body.iter().take_while(|byte| space(byte)).count();
    let line = &body[start..];
    if line.is_empty() || b"\xEF\xBB\xBF".starts_with(body) {
        return true;
    }
    let indented = start > 0 && matches!(body[start - 1], b' ' | b'\t');
    let fields = [":", "data:", "event:", "id:", "retry:"];
    !indented
        && fields.iter().any(|field| {
            let length = field.len().min(line.len());
            field.as_bytes()[..length] == line[..length]
        })
}

/// The data of every whole event, that of a last one without its blank line, and whether any line was one of data.
fn events(body: &[u8]) -> (Vec<Vec<u8>>, Option<Vec<u8>>, bool) {
    let mut unix = Vec::new();
    for (index, byte) in body.iter().enumerate() {
        match (byte, body.get(index + 1)) {
            (b'\r', Some(b'\n')) => {}
            (b'\r', _) => unix.push(b'\n'),
            _ => unix.push(*byte),
        }
    }
    let mut events = Vec::new();
    let mut data: Vec<&[u8]> = Vec::new();
    let mut lines: Vec<_> = unix.split(|byte| *byte == b'\n').collect();
    let unended = lines.pop().unwrap();
    let mut any = false;
    for line in lines {
        if line.is_empty() && !data.is_empty() {
            events.push(data.join(&b'\n'));
            data.clear();
        } else if line == b"data" {
            data.push(b"");
        } else if let Some(value) = line.strip_prefix(b"data:") {
            data.push(value.strip_prefix(b" ").unwrap_or(value));
        }
        any |= !data.is_empty();
    }
    if let Some(value) = unended.strip_prefix(b"data:")
        && !value.is_empty()
    {
        data.push(value.strip_prefix(b" ").unwrap_or(value));
        any = true;
    }
    let last = (!data.is_empty()).then(|| data.join(&b'\n'));
    (events, last, any)
}

/// A value with the text of its strings, and what stands between its brackets, as they are written.
enum Raw<'a> {
    Text(&'a [u8]),
    Object(&'a [u8], Vec<(String, Raw<'a>)>),
    Array(&'a [u8], Vec<Raw<'a>>),
    Other,
}

impl<'a> Raw<'a> {
    /// Of sound JSON.
    fn of(json: &'a [u8]) -> Self {
        Self::value(&mut &json[..])
    }

    fn space(rest: &mut &'a [u8]) {
        while let [b' ' | b'\t' | b'\r' | b'\n' | b',' | b':', tail @ ..] = rest {
            *rest = tail;
        }
    }

    fn value(rest: &mut &'a [u8]) -> Self {
        Self::space(rest);
        let all = *rest;
        let inner = |left: &[u8]| &all[1..all.len() - left.len() - 1];
        match all[0] {
            b'"' => {
                let mut end = 1;
                while all[end] != b'"' {
                    end += if all[end] == b'\\' { 2 } else { 1 };
                }
                *rest = &all[end + 1..];
                Self::Text(&all[1..end])
            }
            b'{' => {
                *rest = &all[1..];
                let mut members = Vec::new();
                while Self::goes_on(rest, b'}') {
                    let before = *rest;
                    Self::value(rest);
                    let key = &before[..before.len() - rest.len()];
                    let value = Self::value(rest);
                    members.push((serde_json::from_slice(key).unwrap(), value));
                }
                Self::Object(inner(rest), members)
            }
            b'[' => {
                *rest = &all[1..];
                let mut items = Vec::new();
                while Self::goes_on(rest, b']') {
                    items.push(Self::value(rest));
                }
                Self::Array(inner(rest), items)
            }
            _ => {
                let end = all.iter().position(|byte| b",]} \t\r\n".contains(byte));
                *rest = &all[end.unwrap_or(all.len())..];
                Self::Other
            }
        }
    }

    fn goes_on(rest: &mut &'a [u8], close: u8) -> bool {
        Self::space(rest);
        let ends = rest[0] == close;
        if ends {
            *rest = &rest[1..];
        }
        !ends
    }

    /// Gives all values at a path.
    fn each(&self, path: &str, visit: &mut dyn FnMut(&Raw<'_>)) {
        let (step, rest) = path.split_once('/').unwrap_or((path, ""));
        match (self, step) {
            (_, "") => visit(self),
            (Self::Array(_, items), "*") => items.iter().for_each(|item| item.each(rest, visit)),
            (Self::Object(_, members), _) => members
                .iter()
                .filter(|(key, _)| key == step)
                .for_each(|(_, value)| value.each(rest, visit)),
            _ => {}
        }
    }

    /// The length of the text in each item of the last list of a path.
    fn lengths(&self, path: &str) -> Vec<u64> {
        let (list, member) = path.rsplit_once("*/").unwrap();
        let mut lengths = Vec::new();
        self.each(&format!("{list}*"), &mut |item| {
            lengths.push(item.length(member))
        });
        lengths
    }

    /// The length of all text at a path: `*` is any item, and a `!` behind it takes objects and arrays too.
    fn length(&self, path: &str) -> u64 {
        let (step, rest) = path.split_once('/').unwrap_or((path, ""));
        match (self, step) {
            (Self::Text(text), "" | "!") => written(text),
            (_, "") => 0,
            (Self::Object(text, _) | Self::Array(text, _), "!") => written(text),
            (Self::Array(_, items), "*") => items.iter().map(|item| item.length(rest)).sum(),
            (Self::Object(_, members), _) => {
                let (step, rest) = match step.strip_suffix('!') {
                    Some(step) if !step.is_empty() => (step, "!"),
                    _ => (step, rest),
                };
                let found = members.iter().filter(|(key, _)| key == step);
                found.map(|(_, value)| value.length(rest)).sum()
            }
            _ => 0,
        }
    }
}

/// Counts the bytes of a text: a character written by number as three bytes.
fn written(text: &[u8]) -> u64 {
    let (mut at, mut count) = (0, 0);
    while at < text.len() {
        let (read, counts) = match text[at..] {
            [b'\\', b'u', ..] => (6, 3),
            [b'\\', ..] => (2, 2),
            _ => (1, 1),
        };
        at += read;
        count += counts;
    }
    count
}

/// The paths of texts that the model writes into a message or delta of Chat Completions.
const CHAT_TEXTS: &[&str] = &[
    "content",
    "content/*/text",
    "content/*/thinking!",
    "content/*/refusal",
    "refusal",
    "tool_calls/*/function/name",
    "tool_calls/*/function/arguments!",
    "tool_calls/*/function/input",
    "tool_calls/*/custom/name",
    "tool_calls/*/custom/arguments!",
    "tool_calls/*/custom/input",
    "function_call/name",
    "function_call/arguments!",
    "function_call/input",
    "audio/transcript",
];
const RESPONSES_TEXTS: &[&str] = &[
    "output/*/content/*/text",
    "output/*/content/*/refusal",
    "output/*/content/*/transcript",
    "output/*/summary/*/text",
    "output/*/summary/*/refusal",
    "output/*/summary/*/transcript",
    "output/*/arguments",
    "output/*/input",
    "output/*/code",
    "output/*/operation/diff",
    "output/*/action/commands!",
    "output/*/action/command!",
];
const BLOCK_TEXTS: &[&str] = &["text", "thinking", "input!"];
const DELTA_TEXTS: &[&str] = &["text", "thinking", "partial_json", "content"];
const PART_TEXTS: &[&str] = &[
    "text",
    "functionCall/name",
    "functionCall/args!",
    "functionCall/partialArgs!",
    "toolCall/name",
    "toolCall/args!",
    "toolCall/partialArgs!",
    "executableCode/code",
];

struct Plain {
    wire: Wire,
    event: Vec<(&'static str, u64)>,
    texts: Vec<(&'static str, String)>,
    numbers: BTreeMap<&'static str, u64>,
    kept: BTreeMap<&'static str, String>,
    error_here: bool,
    error: Option<String>,
    images: u64,
    passed: Passed,
    /// The number of calls that have begun and are not done; pictures are under `None`.
    open: BTreeMap<Option<Call>, u64>,
    /// A number is told that counts as none.
    excess: bool,
    ended: bool,
    done: bool,
    generated: u64,
    calls: BTreeMap<Call, u64>,
    /// Searches, each once.
    queries: BTreeSet<String>,
    event_queries: Vec<String>,
    /// Those of the event.
    listed: BTreeMap<Call, u64>,
    others: Vec<(String, Usage)>,
    /// Of these protocol B says that they are in the totals; the name is empty where there is none.
    in_totals: Vec<(String, [u64; 6])>,
    tool_model: Option<String>,
    unreadable: bool,
    /// It is a stream.
    streams: bool,
    /// A part of it tells nothing that is read.
    untold_part: bool,
    /// The output was told behind some of it.
    output_told: bool,
    /// Reports contradict each other or themselves: how those are read is for the properties of `usage::merge` and
    /// `usage::witness` to say.
    contradicts: Cell<bool>,
}

const CHAT: &[&str] = &[
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "prompt_tokens_details.cached_tokens",
    "prompt_tokens_details.cache_write_tokens",
    "prompt_tokens_details.audio_tokens",
    "prompt_tokens_details.image_tokens",
    "completion_tokens_details.reasoning_tokens",
    "completion_tokens_details.audio_tokens",
    "completion_tokens_details.image_tokens",
    "completion_tokens_details.accepted_prediction_tokens",
    "completion_tokens_details.rejected_prediction_tokens",
];
const RESPONSES: &[&str] = &[
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "input_tokens_details.cached_tokens",
    "input_tokens_details.cache_write_tokens",
    "output_tokens_details.reasoning_tokens",
    "input_tokens_details.audio_tokens",
    "input_tokens_details.image_tokens",
    "output_tokens_details.audio_tokens",
    "output_tokens_details.image_tokens",
];
/// Names and places that only some vendors have; `usage::meter` has cases for each of them.
const OF_VENDORS: &[&str] = &[
    "cached_tokens",
    "prompt_cache_hit_tokens",
    "prompt_cache_miss_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "reasoning_tokens",
    "server_tool_use",
    "server_side_tool_usage_details",
    "extra_properties",
    "cost_in_usd_ticks",
    "cost",
    "prompt_tokens_details.cache_creation",
    "prompt_tokens_details.cached_creation_tokens",
    "prompt_tokens_details.cache_creation_tokens",
    "input_tokens_details.cached_creation_tokens",
    "prompt_token_details",
    "num_cached_tokens",
    "claude_cache_creation_5_m_tokens",
    "claude_cache_creation_1_h_tokens",
    "citation_tokens",
    "num_search_queries",
    "num_sources_used",
    "generated_images",
    "input_tokens",
    "output_tokens",
    "prompt_tokens",
    "completion_tokens",
    "prompt_tokens_details.cache_creation_input_tokens",
    "input_tokens_details.cache_creation_input_tokens",
    "input_tokens_details.cached_tokens",
];
/// Other places of the same vendors.
const BESIDE_USAGE: &[&str] = &[
    "/x_groq/usage",
    "/timings",
    "/amazon-bedrock-invocationMetrics",
    "/base_resp",
];
const TOOL_USAGE: &[&str] = &[
    "tool_usage.web_search.num_requests",
    "tool_usage.image_gen.input_tokens",
    "tool_usage.image_gen.input_tokens_details.image_tokens",
    "tool_usage.image_gen.cached_tokens",
    "tool_usage.image_gen.output_tokens",
    "tool_usage.image_gen.output_tokens_details.image_tokens",
];
const IMAGES: &[&str] = &[
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "input_tokens_details.text_tokens",
    "input_tokens_details.image_tokens",
    "output_tokens_details.text_tokens",
    "output_tokens_details.image_tokens",
];
const MESSAGES: &[&str] = &[
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "cache_creation.ephemeral_5m_input_tokens",
    "cache_creation.ephemeral_1h_input_tokens",
    "server_tool_use.web_search_requests",
    "server_tool_use.web_fetch_requests",
    "server_tool_use.code_execution_requests",
];
const MESSAGES_INPUT: [&str; 3] = [
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
];
/// A list, and the numbers it comes to: audio, then images.
const DETAILS: &[[&str; 3]] = &[
    [
        "promptTokensDetails",
        "promptTokensDetails[AUDIO]",
        "promptTokensDetails[IMAGE]",
    ],
    [
        "cacheTokensDetails",
        "cacheTokensDetails[AUDIO]",
        "cacheTokensDetails[IMAGE]",
    ],
    [
        "candidatesTokensDetails",
        "candidatesTokensDetails[AUDIO]",
        "candidatesTokensDetails[IMAGE]",
    ],
];
const COMPACTION: &[&str] = &[
    "iterations[compaction].input_tokens",
    "iterations[compaction].output_tokens",
    "iterations[compaction].cache_read_input_tokens",
    "iterations[compaction].cache_creation_input_tokens",
    "iterations[compaction].cache_creation.ephemeral_5m_input_tokens",
    "iterations[compaction].cache_creation.ephemeral_1h_input_tokens",
];
const GENERATE: &[&str] = &[
    "promptTokenCount",
    "candidatesTokenCount",
    "totalTokenCount",
    "cachedContentTokenCount",
    "toolUsePromptTokenCount",
    "thoughtsTokenCount",
];

/// The length of all text at these paths behind another.
fn texts(raw: &Raw<'_>, before: &str, paths: &[&str]) -> u64 {
    let lengths = paths
        .iter()
        .map(|path| raw.length(&format!("{before}{path}")));
    lengths.sum()
}

impl Plain {
    fn new(wire: Wire) -> Self {
        Self {
            wire,
            event: Vec::new(),
            texts: Vec::new(),
            numbers: BTreeMap::new(),
            kept: BTreeMap::new(),
            error_here: false,
            error: None,
            images: 0,
            passed: Passed::default(),
            open: BTreeMap::new(),
            excess: false,
            ended: false,
            done: false,
            generated: 0,
            calls: BTreeMap::new(),
            queries: BTreeSet::new(),
            event_queries: Vec::new(),
            listed: BTreeMap::new(),
            others: Vec::new(),
            in_totals: Vec::new(),
            tool_model: None,
            unreadable: false,
            streams: true,
            untold_part: false,
            output_told: false,
            contradicts: Cell::new(false),
        }
    }

    fn event(&mut self, data: &[u8]) -> Option<()> {
        let data = data.trim_ascii();
        if self.done || data.is_empty() {
            return Some(());
        }
        if data == b"[DONE]" && self.wire == Wire::Chat {
            (self.done, self.ended) = (true, true);
            return Some(());
        }
        let Unique(event) = serde_json::from_slice(data).ok()?;
        let raw = Raw::of(data);
        if event.is_array() {
            return None;
        }
        let kind = event.pointer("/type").and_then(Value::as_str);
        let (mut ends, mut fails, mut image, mut piece) = (false, false, false, false);
        let (mut begun, mut partial) = (false, false);
        match (self.wire, kind) {
            // Not checked: these do not answer a prompt.
            (Wire::CachedContent | Wire::Embeddings | Wire::Compaction, _) => {}
            (Wire::Chat | Wire::Generate, _) | (_, None) => {}
            (_, Some("error")) => fails = true,
            (Wire::Responses, Some("response.failed")) => fails = true,
            (Wire::Responses, Some(kind)) => match kind.strip_prefix("response.") {
                Some("completed" | "incomplete" | "cancelled") => ends = true,
                Some("created" | "queued" | "in_progress") => {}
                Some("audio.delta" | "output_audio.delta") => {
                    self.passed.sound_bytes += raw.length("delta");
                    return event.get("item").is_none().then_some(());
                }
                Some("output_item.added") => begun = true,
                Some("output_item.done") => piece = true,
                Some(_) if kind.ends_with(".delta") && kind.len() <= 128 => piece = true,
                None if kind.ends_with(".delta") && kind.len() <= 128 => piece = true,
                _ if kind.ends_with(".partial_image") && kind.len() <= 128 => partial = true,
                _ => return Some(()),
            },
            (Wire::Images, Some(kind)) if kind.ends_with(".completed") && kind.len() <= 128 => {
                image = true;
            }
            (Wire::Images, Some(kind)) if kind.ends_with(".partial_image") && kind.len() <= 128 => {
                partial = true;
            }
            (Wire::Images, Some("image_generation.partial_succeeded")) => return None,
            (Wire::Images, _) => return Some(()),
            (Wire::Messages, Some("message_start" | "message_delta")) => {}
            (Wire::Messages, Some("content_block_delta" | "content_block_start")) => piece = true,
            (Wire::Messages, Some("message_stop")) => {
                event
                    .get(BESIDE_USAGE[2].trim_start_matches('/'))
                    .is_none()
                    .then_some(())?;
                ends = true;
            }
            (Wire::Messages, _) => return Some(()),
        }
        let generated = self.generated;
        self.generated += match self.wire {
            Wire::CachedContent | Wire::Embeddings | Wire::Compaction => 0,
            Wire::Chat => {
                self.chat_media(&raw, "delta");
                texts(&raw, "choices/*/delta/", CHAT_TEXTS) + reasoning(&raw, "delta")
            }
            Wire::Responses => raw.length("delta"),
            Wire::Messages => {
                let block = lookup(&event, "/content_block");
                let name = block.map_or(0, |block| self.block(block, piece));
                texts(&raw, "delta/", DELTA_TEXTS)
                    + texts(&raw, "content_block/", BLOCK_TEXTS)
                    + name
            }
            Wire::Generate => {
                self.blobs(&event, &raw);
                texts(&raw, "candidates/*/content/parts/*/", PART_TEXTS)
            }
            Wire::Images => 0,
        };
        let data = match self.wire {
            Wire::Responses => raw.length("partial_image_b64"),
            Wire::Images => raw.length("b64_json"),
            _ => 0,
        };
        if let (Wire::Responses, Some(item)) = (self.wire, lookup(&event, "/item")) {
            if !item.is_object() {
                return (data == 0).then_some(());
            }
            if data > 0 || partial {
                return None;
            }
            let made = raw.length("item/result");
            self.item(item, made, begun, piece);
        }
        if begun {
            self.commit();
            return Some(());
        }
        if partial || image {
            self.passed.picture_bytes += data;
            let open = self.open.entry(None).or_default();
            *open = if image {
                open.saturating_sub(1)
            } else {
                (*open).max(1)
            };
        }
        if partial {
            self.passed.partial_pictures += 1;
            self.commit();
            return Some(());
        }
        if piece {
            let begins = kind == Some("content_block_start");
            self.untold_part |= !begins && self.generated == generated;
            self.commit();
            return Some(());
        }
        let inner = match self.wire {
            Wire::Responses => Some("/response"),
            Wire::Messages => Some("/message"),
            _ => None,
        };
        // Which of two would come last is a matter of the order of keys, which is not kept here.
        let nested = inner.filter(|path| event.pointer(path).is_some());
        let beside = ["error", "code", "usage", "delta"];
        if nested.is_some() && beside.iter().any(|key| event.get(key).is_some()) {
            return None;
        }
        match (self.wire, nested) {
            (_, Some(path)) => self.part(&event, path, self.wire)?,
            (Wire::Responses, None) => self.errors(&event),
            (Wire::Messages, None) => {
                self.errors(&event);
                self.usage(&event, "/usage", MESSAGES);
                self.iterations(&event, "/usage");
                self.text(&event, "/usage/service_tier", "tier");
                self.text(&event, "/usage/speed", "speed");
                self.text(&event, "/usage/inference_geo", "geo");
                self.text(&event, "/delta/stop_reason", "finish");
            }
            _ => self.part(&event, "", self.wire)?,
        }
        if matches!(self.wire, Wire::Responses | Wire::Images) {
            let error = event.pointer("/error");
            let both = error.and_then(|error| error.get("code")).is_some();
            if both && event.get("code").is_some() {
                return None;
            }
            self.text(&event, "/code", "error code");
        }
        self.error_here |= fails;
        self.images += u64::from(image);
        self.ended |= ends || image;
        self.commit();
        Some(())
    }

    /// Reads the object in which a protocol has its fields.
    fn part(&mut self, document: &Value, at: &str, wire: Wire) -> Option<()> {
        let document = document.pointer(at)?;
        if !document.is_object() {
            return Some(());
        }
        self.errors(document);
        match wire {
            Wire::CachedContent | Wire::Embeddings | Wire::Compaction => {}
            Wire::Chat | Wire::Responses => {
                self.text(document, "/id", "id");
                self.text(document, "/model", "model");
                self.text(document, "/service_tier", "tier");
                if wire == Wire::Chat {
                    self.each(document, "/choices", "/finish_reason");
                    let choices = lookup(document, "/choices").and_then(Value::as_array);
                    let mut choices = choices.into_iter().flatten();
                    let within =
                        choices.any(|choice| choice.get("usage").or(choice.get("error")).is_some());
                    let mut beside = BESIDE_USAGE.iter();
                    if within || beside.any(|path| lookup(document, path).is_some()) {
                        self.contradicts.set(true);
                    }
                    self.usage(document, "/usage", CHAT);
                } else {
                    self.text(document, "/incomplete_details/reason", "finish");
                    self.text(document, "/status", "status");
                    self.usage(document, "/usage", RESPONSES);
                    self.usage(document, "", TOOL_USAGE);
                    self.tools(document);
                }
            }
            Wire::Images => self.usage(document, "/usage", IMAGES),
            Wire::Messages => {
                self.text(document, "/id", "id");
                self.text(document, "/model", "model");
                self.text(document, "/stop_reason", "finish");
                self.text(document, "/usage/service_tier", "tier");
                self.text(document, "/usage/speed", "speed");
                self.text(document, "/usage/inference_geo", "geo");
                self.usage(document, "/usage", MESSAGES);
                self.iterations(document, "/usage");
            }
            Wire::Generate => {
                let tiers = ["/usageMetadata/serviceTier", "/usageMetadata/trafficType"];
                if tiers.iter().all(|tier| lookup(document, tier).is_some()) {
                    return None;
                }
                tiers
                    .iter()
                    .for_each(|tier| self.text(document, tier, "tier"));
                self.details(document);
                self.grounding(document);
                self.text(document, "/responseId", "id");
                self.text(document, "/modelVersion", "model");
                let texts = self.texts.len();
                self.each(document, "/candidates", "/finishReason");
                if self.texts.len() > texts && document.pointer("/promptFeedback").is_some() {
                    return None;
                }
                self.text(document, "/promptFeedback/blockReason", "finish");
                self.usage(document, "/usageMetadata", GENERATE);
            }
        }
        Some(())
    }

    /// Counts the parts that a document alone has: the texts and calls of the model.
    fn document(&mut self, document: &Value, raw: &Raw<'_>) {
        self.generated += match self.wire {
            Wire::CachedContent | Wire::Embeddings | Wire::Compaction => 0,
            Wire::Chat => {
                self.chat_media(raw, "message");
                texts(raw, "choices/*/message/", CHAT_TEXTS) + reasoning(raw, "message")
            }
            Wire::Responses => texts(raw, "", RESPONSES_TEXTS),
            Wire::Messages => {
                let blocks = lookup(document, "/content").and_then(Value::as_array);
                let blocks = blocks.into_iter().flatten();
                let names: u64 = blocks.map(|block| self.block(block, false)).sum();
                texts(raw, "content/*/", BLOCK_TEXTS) + names
            }
            Wire::Generate => {
                self.blobs(document, raw);
                texts(raw, "candidates/*/content/parts/*/", PART_TEXTS)
            }
            Wire::Images => 0,
        };
        if self.wire == Wire::Responses {
            let items = lookup(document, "/output").and_then(Value::as_array);
            let mut made = raw.lengths("output/*/result").into_iter();
            for item in items.into_iter().flatten() {
                self.item(item, made.next().unwrap(), false, false);
            }
        }
    }

    /// A block of Messages that begins, or stands in a document; gives how long the name of its tool is.
    fn block(&mut self, block: &Value, adds: bool) -> u64 {
        let get = |key: &str| block.as_object()?.get(key)?.as_str();
        let name = get("name").filter(|name| name.len() <= 128).unwrap_or("");
        let call = match name {
            "web_search" => Some(Call::WebSearch),
            "code_execution" | "bash_code_execution" | "text_editor_code_execution" => {
                Some(Call::CodeExecution)
            }
            _ => None,
        };
        if let (Some(call), Some("server_tool_use")) = (call, get("type")) {
            let calls = if adds {
                &mut self.calls
            } else {
                &mut self.listed
            };
            *calls.entry(call).or_default() += 1;
        }
        name.len() as u64
    }

    /// Pictures and sound of Chat Completions.
    fn chat_media(&mut self, raw: &Raw<'_>, of: &str) {
        let message = format!("choices/*/{of}");
        self.passed.sound_bytes += raw.length(&format!("{message}/audio/data"));
        let list = [
            (
                "images/*",
                &["image_url", "image_url/url", "url", "b64_json"][..],
            ),
            ("content/*/image_url", &["url"]),
        ];
        for (path, members) in list {
            let mut sums: Vec<u64> = Vec::new();
            for member in members {
                let lengths = raw.lengths(&format!("{message}/{path}/{member}"));
                sums.resize(lengths.len(), 0);
                sums.iter_mut()
                    .zip(lengths)
                    .for_each(|(sum, more)| *sum += more);
            }
            self.passed.pictures += sums.iter().filter(|bytes| **bytes > 0).count() as u64;
            self.passed.picture_bytes += sums.iter().sum::<u64>();
        }
    }

    /// Pictures and sound of generate-content.
    fn blobs(&mut self, document: &Value, raw: &Raw<'_>) {
        let candidates = lookup(document, "/candidates").and_then(Value::as_array);
        let parts = candidates.into_iter().flatten().flat_map(|candidate| {
            let parts = lookup(candidate, "/content/parts").and_then(Value::as_array);
            parts.into_iter().flatten()
        });
        for name in ["inlineData", "inline_data"] {
            let path = format!("candidates/*/content/parts/*/{name}/data");
            for (part, bytes) in parts.clone().zip(raw.lengths(&path)) {
                let get = |key: &str| part.as_object()?.get(name)?.as_object()?.get(key)?.as_str();
                // Of two spellings the last counts, which is not known here.
                self.excess |= get("mimeType").is_some() && get("mime_type").is_some();
                let kind = get("mimeType").or(get("mime_type")).unwrap_or("");
                let kind = if kind.len() <= 128 {
                    kind.to_ascii_lowercase()
                } else {
                    String::new()
                };
                if kind.starts_with("audio/") {
                    let pcm = kind.starts_with("audio/l16") || kind.starts_with("audio/pcm");
                    self.passed.sound_bytes += bytes;
                    self.passed.pcm_bytes += if pcm { bytes } else { 0 };
                } else if bytes > 0 {
                    self.passed.pictures += 1;
                    self.passed.picture_bytes += bytes;
                }
            }
        }
    }

    /// Something that the model did.
    fn item(&mut self, item: &Value, made: u64, begun: bool, piece: bool) {
        let get = |path: &str| lookup(item, path).and_then(Value::as_str).unwrap_or("");
        let undone = [
            "failed",
            "incomplete",
            "in_progress",
            "interpreting",
            "searching",
        ];
        let call = match get("/type") {
            "web_search_call" => Some(Call::WebSearch),
            "code_interpreter_call" => Some(Call::CodeExecution),
            "file_search_call" => Some(Call::FileSearch),
            "image_generation_call" => None,
            _ => return,
        };
        let open = self.open.entry(call).or_default();
        if begun {
            *open += 1;
            return;
        }
        if piece {
            *open = open.saturating_sub(1);
        }
        if call.is_none() {
            self.passed.picture_bytes += made;
        }
        if undone.contains(&get("/status"))
            || ["find_in_page", "open_page"].contains(&get("/action/type"))
        {
            return;
        }
        match call {
            Some(call) => *self.calls.entry(call).or_default() += 1,
            None => self.images += 1,
        }
    }

    fn tools(&mut self, document: &Value) {
        let tools = lookup(document, "/tools").and_then(Value::as_array);
        let mut names = tools.into_iter().flatten().filter_map(|tool| {
            let get = |path: &str| lookup(tool, path).and_then(Value::as_str);
            let of_images = get("/type") == Some("image_generation");
            get("/model").filter(|name| of_images && is_name(name))
        });
        if let Some(name) = names.next() {
            self.tool_model = Some(name.to_owned());
        }
    }

    fn details(&mut self, document: &Value) {
        for [list, audio, image] in DETAILS {
            let path = format!("/usageMetadata/{list}");
            let Some(entries) = lookup(document, &path).and_then(Value::as_array) else {
                continue;
            };
            if !entries.iter().any(Value::is_object) {
                continue;
            }
            for (name, modality) in [(audio, "AUDIO"), (image, "IMAGE")] {
                let of = entries.iter().filter(|entry| {
                    lookup(entry, "/modality").and_then(Value::as_str) == Some(modality)
                });
                let tokens = of.filter_map(|entry| lookup(entry, "/tokenCount")?.as_u64());
                self.event.push((name, tokens.fold(0, u64::saturating_add)));
            }
            for entry in entries {
                let tokens = lookup(entry, "/tokenCount").and_then(Value::as_u64);
                self.excess |= tokens.is_some_and(is_excessive);
            }
        }
    }

    fn grounding(&mut self, document: &Value) {
        let candidates = lookup(document, "/candidates").and_then(Value::as_array);
        for candidate in candidates.into_iter().flatten() {
            let list = |path: &str| {
                let list = lookup(candidate, path).and_then(Value::as_array);
                list.into_iter().flatten()
            };
            for path in [
                "/groundingMetadata/webSearchQueries",
                "/groundingMetadata/imageSearchQueries",
            ] {
                for query in list(path).filter_map(Value::as_str) {
                    if query.len() > 128 {
                        *self.listed.entry(Call::WebSearch).or_default() += 1;
                    } else if !query.is_empty() {
                        self.event_queries.push(query.to_owned());
                    }
                }
            }
            let mut chunks = list("/groundingMetadata/groundingChunks");
            if chunks.any(|chunk| lookup(chunk, "/maps").is_some_and(Value::is_object)) {
                self.listed.insert(Call::MapsSearch, 1);
            }
        }
    }

    fn each(&mut self, document: &Value, list: &str, path: &str) {
        let items = document.pointer(list).and_then(Value::as_array);
        for item in items.into_iter().flatten().filter(|item| item.is_object()) {
            self.text(item, path, "finish");
        }
    }

    fn text(&mut self, document: &Value, path: &str, what: &'static str) {
        if let Some(text) = lookup(document, path).and_then(Value::as_str) {
            self.texts.push((what, text.to_owned()));
        }
    }

    fn errors(&mut self, document: &Value) {
        let Some(error) = document.get("error") else {
            return;
        };
        let generate = self.wire == Wire::Generate;
        let bare = error.as_str().is_some_and(|text| !text.is_empty());
        self.error_here |= error.is_object() || (bare && !generate);
        if generate {
            self.text(document, "/error/status", "error type");
        } else {
            self.text(document, "/error/type", "error type");
            self.text(document, "/error/code", "error code");
        }
    }

    fn usage(&mut self, document: &Value, at: &str, names: &[&'static str]) {
        let own =
            |name: &&&str| names.contains(name) || self.wire == Wire::Messages && **name != "cost";
        for name in OF_VENDORS.iter().filter(|name| !own(name)) {
            let path = format!("{at}/{}", name.replace('.', "/"));
            if lookup(document, &path).is_some() {
                self.contradicts.set(true);
            }
        }
        for name in names {
            let path = format!("{at}/{}", name.replace('.', "/"));
            let value = lookup(document, &path);
            match value.and_then(Value::as_u64) {
                Some(value) => {
                    self.excess |= is_excessive(value);
                    self.event.push((name, value));
                }
                // Other spellings of numbers have tests of their own.
                None if value.is_some_and(|it| it.is_number() || it.is_string()) => {
                    self.contradicts.set(true);
                }
                None => {}
            }
        }
    }

    fn iterations(&mut self, document: &Value, at: &str) {
        let list = lookup(document, &format!("{at}/iterations")).and_then(Value::as_array);
        let Some(list) = list.filter(|list| list.iter().any(Value::is_object)) else {
            return;
        };
        let mut sums = BTreeMap::from_iter(COMPACTION.iter().map(|name| (*name, 0u64)));
        // Both lists have their places in common.
        let mut places: Vec<(String, bool, [u64; 6])> = Vec::new();
        for entry in list {
            let kind = entry.get("type").and_then(Value::as_str);
            let in_totals = matches!(kind, None | Some("message" | "fallback_message"));
            let mut excess = false;
            let mut get = |path: &str| {
                let value = lookup(entry, path).and_then(Value::as_u64);
                excess |= value.is_some_and(is_excessive);
                value
            };
            let hour = get("/cache_creation/ephemeral_1h_input_tokens").unwrap_or(0);
            let minutes = get("/cache_creation/ephemeral_5m_input_tokens").unwrap_or(0);
            let written = get("/cache_creation_input_tokens");
            let written = written.unwrap_or(hour.saturating_add(minutes));
            let hour = hour.min(written);
            let minutes = minutes.min(written - hour);
            let values = [
                get("/input_tokens").unwrap_or(0),
                get("/output_tokens").unwrap_or(0),
                get("/cache_read_input_tokens").unwrap_or(0),
                written,
                minutes,
                hour,
            ];
            self.excess |= excess;
            let model = entry.get("model").and_then(Value::as_str);
            let model = model.filter(|model| is_name(model));
            if in_totals || model.is_some() {
                let key = (model.unwrap_or_default(), in_totals);
                let at = places.iter().position(|place| (&*place.0, place.1) == key);
                match at.or((places.len() == 4).then_some(3)) {
                    Some(at) => {
                        for (sum, more) in places[at].2.iter_mut().zip(values) {
                            *sum = sum.saturating_add(more);
                        }
                    }
                    None => places.push((key.0.to_owned(), in_totals, values)),
                }
                continue;
            }
            for (name, value) in COMPACTION.iter().zip(values) {
                let sum = sums.get_mut(name).unwrap();
                *sum = sum.saturating_add(value);
            }
        }
        self.event.extend(sums);
        self.others.clear();
        self.in_totals.clear();
        for (name, in_totals, values) in places {
            if in_totals {
                self.in_totals.push((name, values));
            } else {
                self.others.push((name, used_by(values)));
            }
        }
    }

    /// The event has ended.
    fn commit(&mut self) {
        let mut outputs = self.event.iter();
        let output = outputs.any(|(name, _)| *name == "output_tokens");
        self.output_told |= output && self.generated > 0;
        let said = |name: &str| {
            self.event
                .iter()
                .any(|(of, value)| *of == name && *value > 0)
        };
        let is_whole = said("prompt_tokens") && said("completion_tokens");
        if !self.event.is_empty() {
            let replaces = self
                .event
                .iter()
                .any(|(name, _)| !TOOL_USAGE.contains(name));
            let event: BTreeMap<_, _> = self.event.iter().copied().collect();
            let mut known = self.numbers.iter();
            let less = known.any(|(name, known)| match event.get(name) {
                Some(now) => now < known,
                None => replaces && name.starts_with("total") && *known > 0,
            });
            if less {
                self.contradicts.set(true);
            }
            self.numbers.extend(self.event.drain(..));
        }
        for (call, count) in core::mem::take(&mut self.listed) {
            let calls = self.calls.entry(call).or_default();
            *calls = count.max(*calls);
        }
        self.queries.extend(self.event_queries.drain(..));
        let mut last = BTreeMap::new();
        for (what, text) in self.texts.drain(..) {
            last.insert(what, text);
        }
        last.retain(|_, text| !text.is_empty() && text.len() <= 128);
        let (kind, code) = (last.remove("error type"), last.remove("error code"));
        if core::mem::take(&mut self.error_here) && self.error.is_none() {
            self.error = kind.or(code).or(Some("error".to_owned()));
        }
        self.kept.extend(last);
        let ends = self.wire == Wire::Generate || (self.wire == Wire::Chat && is_whole);
        self.ended |= ends && self.kept.contains_key("finish");
    }

    fn reading(mut self) -> Option<Reading> {
        let begun = self.open.get(&None).copied().unwrap_or(0);
        let begun = if self.ended { 0 } else { begun };
        let passed = Passed {
            pictures: self.passed.pictures + self.images + begun,
            ..self.passed
        };
        let image_model = self.tool_model.clone();
        let model = self.kept.get("model").cloned();
        let strange = |name: &str| !name.is_empty() && Some(name) != model.as_deref();
        let mut others = core::mem::take(&mut self.others);
        let totals = core::mem::take(&mut self.in_totals);
        let reported = self.numbers.clone();
        if totals.iter().any(|(name, _)| strange(name)) {
            for (at, number) in MESSAGES[..6].iter().enumerate() {
                let sum = |own: bool| {
                    let some = totals.iter().filter(|(name, _)| !own || !strange(name));
                    some.fold(0u64, |sum, (_, values)| sum.saturating_add(values[at]))
                };
                let total = self.numbers.get(number).copied().unwrap_or(0);
                let own = sum(true).saturating_add(total.saturating_sub(sum(false)));
                self.numbers.insert(number, own);
            }
            for (name, values) in &totals {
                if strange(name) {
                    let used = used_by(*values);
                    match others.iter_mut().find(|(known, _)| known == name) {
                        Some((_, sums)) => sums.add(&used),
                        None => others.push((name.clone(), used)),
                    }
                }
            }
        }
        let mut used = self.tokens();
        self.numbers = reported;
        let tool = self.image_tool();
        if tool != Usage::default() {
            let name = self.tool_model.take();
            others.push((name.unwrap_or("image_generation".to_owned()), tool));
        }
        others.retain(|(_, usage)| *usage != Usage::default());
        for (_, own) in others.extract_if(.., |(name, _)| Some(&*name) == model.as_ref()) {
            used.get_or_insert_default().add(&own);
        }
        let status = self.kept.remove("status").filter(|status| {
            ["completed", "incomplete", "failed", "cancelled"].contains(&status.as_str())
        });
        let told: BTreeSet<&str> = self.numbers.keys().copied().collect();
        self.numbers
            .retain(|name, value| *value > 0 || !name.contains('['));
        let contradicts = self.contradicts.get();
        let usage = used.unwrap_or_default();
        let in_place = self.streams || (self.error.is_some() && used.is_none());
        let calls = Call::ALL.iter().any(|call| usage.calls(*call) > 0);
        let output = if self.wire == Wire::Messages {
            0
        } else {
            usage.output_tokens()
        };
        let ended = self.error.is_none() && (self.kept.contains_key("finish") || status.is_some());
        let media = passed != Passed::default();
        let something =
            self.generated > 0 || self.untold_part || usage.images > 0 || calls || media;
        let told = |names: &[&str]| names.iter().any(|name| told.contains(name));
        let (inputs, outputs): (&[&str], &[&str]) = match self.wire {
            Wire::Chat => (&["prompt_tokens"], &["completion_tokens"]),
            Wire::Messages => (&MESSAGES_INPUT, &["output_tokens"]),
            _ => (&["input_tokens"], &["output_tokens"]),
        };
        let leaves_out = matches!(self.wire, Wire::Generate | Wire::CachedContent);
        let no_input = usage.input_tokens() == 0 && !told(inputs);
        let no_output = if self.wire == Wire::Messages {
            !self.output_told
        } else {
            usage.output_tokens() == 0 && !told(outputs)
        };
        let no_output = no_output && self.generated > 0;
        let one_sided = used.is_some() && !leaves_out && (no_input || no_output);
        let made_nothing = in_place && !something && output == 0 && !ended && !self.unreadable;
        let reading = Reading {
            usage: used,
            finished: self.ended && self.error.is_none(),
            error: self.error.map(Into::into),
            reported: self.numbers.into_iter().collect(),
            response_id: self.kept.remove("id").map(Into::into),
            response_model: self.kept.remove("model").map(Into::into),
            finish_reason: self.kept.remove("finish").or(status).map(Into::into),
            service_tier: self.kept.remove("tier").map(Into::into),
            speed: self.kept.remove("speed").map(Into::into),
            inference_geo: self.kept.remove("geo").map(Into::into),
            generated_bytes: self.generated,
            passed,
            image_model: image_model.map(Into::into),
            excessive: false,
            others,
            unreadable: self.unreadable,
            made_nothing,
            one_sided,
            unsplit_total: None,
            unnamed_output: 0,
            doubt: None,
            reported_cost: None,
        };
        (!contradicts).then_some(reading)
    }

    /// Reads the usage of images from `tool_usage`.
    fn image_tool(&self) -> Usage {
        let get = |name: &str| {
            self.numbers
                .get(&*format!("tool_usage.image_gen.{name}"))
                .copied()
        };
        let mut usage = Usage::default();
        let (rest, parts) = split(
            get("input_tokens"),
            &[
                get("cached_tokens"),
                get("input_tokens_details.image_tokens"),
            ],
        );
        usage.set(Kind::Input, rest);
        usage.set(Kind::CacheRead, parts[0]);
        usage.set(Kind::InputImage, parts[1]);
        let image = get("output_tokens_details.image_tokens").or(get("output_tokens"));
        let (rest, parts) = split(get("output_tokens"), &[image]);
        usage.set(Kind::Output, rest);
        usage.set(Kind::OutputImage, parts[0]);
        usage
    }

    fn tokens(&self) -> Option<Usage> {
        let get = |name: &str| self.numbers.get(name).copied();
        let zero = |name: &str| get(name).unwrap_or(0);
        let mut usage = Usage::default();
        usage.images = self.images;
        let mut unseen = true;
        let mut seen = |names: &[&str]| unseen &= names.iter().all(|name| get(name).is_none());
        match self.wire {
            Wire::CachedContent | Wire::Embeddings | Wire::Compaction => {}
            Wire::Chat | Wire::Responses => {
                let (input, output) = match self.wire {
                    Wire::Chat => ("prompt_tokens", "completion_tokens"),
                    _ => ("input_tokens", "output_tokens"),
                };
                for (total, rest, parts) in [
                    (
                        input,
                        Kind::Input,
                        &[
                            ("cached_tokens", Kind::CacheRead),
                            ("cache_write_tokens", Kind::CacheWrite5m),
                            ("audio_tokens", Kind::InputAudio),
                            ("image_tokens", Kind::InputImage),
                        ][..],
                    ),
                    (
                        output,
                        Kind::Output,
                        &[
                            ("reasoning_tokens", Kind::Reasoning),
                            ("audio_tokens", Kind::OutputAudio),
                            ("image_tokens", Kind::OutputImage),
                        ],
                    ),
                ] {
                    let details = parts
                        .iter()
                        .map(|(name, _)| get(&format!("{total}_details.{name}")))
                        .collect::<Vec<_>>();
                    unseen &= get(total).is_none() && details.iter().all(Option::is_none);
                    let (left, split) = self.split(get(total), &details);
                    usage.set(rest, left);
                    for ((_, kind), tokens) in parts.iter().zip(split) {
                        usage.set(*kind, tokens);
                    }
                }
            }
            Wire::Images => {
                for (total, rest, image) in [
                    ("input_tokens", Kind::Input, Kind::InputImage),
                    ("output_tokens", Kind::Output, Kind::OutputImage),
                ] {
                    let images = get(&format!("{total}_details.image_tokens"));
                    unseen &= get(total).or(images).is_none();
                    let text = zero("output_tokens_details.text_tokens");
                    let picture = || Some(get(total)?.saturating_sub(text));
                    let images = images.or(picture().filter(|_| total == "output_tokens"));
                    let (left, split) = self.split(get(total), &[images]);
                    usage.set(rest, left);
                    usage.set(image, split[0]);
                }
            }
            Wire::Messages => {
                seen(&MESSAGES[..6]);
                unseen &= COMPACTION.iter().all(|name| zero(name) == 0);
                for prefix in ["", "iterations[compaction]."] {
                    let get = |name: &str| get(&format!("{prefix}{name}"));
                    let mut add = |kind, more| {
                        usage.set(kind, usage.tokens(kind).saturating_add(more));
                    };
                    let hour = get("cache_creation.ephemeral_1h_input_tokens").unwrap_or(0);
                    let minutes = get("cache_creation.ephemeral_5m_input_tokens").unwrap_or(0);
                    let written = get("cache_creation_input_tokens");
                    let (rest, parts) = self.split(written, &[Some(hour), Some(minutes)]);
                    let (hour, minutes) = (parts[0], parts[1]);
                    add(Kind::Input, get("input_tokens").unwrap_or(0));
                    add(Kind::CacheRead, get("cache_read_input_tokens").unwrap_or(0));
                    add(Kind::CacheWrite1h, hour);
                    add(Kind::CacheWrite5m, minutes + rest);
                    add(Kind::Output, get("output_tokens").unwrap_or(0));
                }
            }
            Wire::Generate => {
                seen(&["promptTokenCount", "cachedContentTokenCount"]);
                seen(&["toolUsePromptTokenCount", "candidatesTokenCount"]);
                seen(&["thoughtsTokenCount"]);
                let fresh = |of: &str| {
                    let cached = zero(&format!("cacheTokensDetails[{of}]"));
                    let all = zero(&format!("promptTokensDetails[{of}]"));
                    if cached > all {
                        self.contradicts.set(true);
                    }
                    Some(all.saturating_sub(cached))
                };
                let cached = get("cachedContentTokenCount");
                let (rest, parts) = self.split(
                    get("promptTokenCount"),
                    &[cached, fresh("AUDIO"), fresh("IMAGE")],
                );
                usage.set(Kind::Input, rest);
                usage.set(Kind::CacheRead, parts[0]);
                usage.set(Kind::InputAudio, parts[1]);
                usage.set(Kind::InputImage, parts[2]);
                usage.set(Kind::ToolUse, zero("toolUsePromptTokenCount"));
                let made = |of: &str| get(&format!("candidatesTokensDetails[{of}]"));
                let (rest, parts) =
                    self.split(get("candidatesTokenCount"), &[made("AUDIO"), made("IMAGE")]);
                usage.set(Kind::Output, rest);
                usage.set(Kind::OutputAudio, parts[0]);
                usage.set(Kind::OutputImage, parts[1]);
                usage.set(Kind::Reasoning, zero("thoughtsTokenCount"));
            }
        }
        let total = get("total_tokens").or(get("totalTokenCount"));
        let sum = usage.input_tokens().saturating_add(usage.output_tokens());
        if total.is_some_and(|total| total > 0 && total != sum) {
            self.contradicts.set(true);
        }
        for call in Call::ALL {
            let counted = self.calls.get(&call).copied().unwrap_or(0);
            let listed = if call == Call::WebSearch {
                self.queries.len().min(32)
            } else {
                0
            };
            let counted = counted + listed as u64;
            let reported = match (self.wire, call) {
                (Wire::Messages, Call::WebSearch) => get("server_tool_use.web_search_requests"),
                (Wire::Messages, Call::CodeExecution) => {
                    get("server_tool_use.code_execution_requests")
                }
                (Wire::Responses, Call::WebSearch) => get("tool_usage.web_search.num_requests"),
                _ => None,
            };
            let open = self.open.get(&Some(call)).copied().unwrap_or(0);
            let calls = match (self.ended, reported) {
                (true, Some(reported)) => reported,
                (true, None) if self.wire == Wire::Messages => 0,
                (true, None) => counted,
                (false, reported) => (counted + open).max(reported.unwrap_or(0)),
            };
            usage.set_calls(call, calls);
            unseen &= usage.calls(call) == 0;
        }
        unseen &= self.images == 0;
        (!unseen).then_some(usage)
    }
}

impl Plain {
    /// Splits a total into a rest and its parts. Parts that exceed it are a contradiction, which is not judged here.
    fn split(&self, total: Option<u64>, parts: &[Option<u64>]) -> (u64, Vec<u64>) {
        let (left, cut) = split(total, parts);
        let whole = parts.iter().map(|part| part.unwrap_or(0));
        if whole.ne(cut.iter().copied()) {
            self.contradicts.set(true);
        }
        (left, cut)
    }
}

/// Whether no answer has as many tokens.
fn is_excessive(value: u64) -> bool {
    value > 1_000_000_000
}

/// The length of the reasoning in messages: that of the first member that has any.
fn reasoning(raw: &Raw<'_>, of: &str) -> u64 {
    let mut sum = 0;
    raw.each(&format!("choices/*/{of}"), &mut |message| {
        let Raw::Object(_, members) = message else {
            return;
        };
        let lengths = members.iter().map(|(key, value)| match key.as_str() {
            "reasoning" | "reasoning_content" => value.length(""),
            "reasoning_details" => value.length("*/text") + value.length("*/summary"),
            _ => 0,
        });
        sum += lengths.into_iter().find(|length| *length > 0).unwrap_or(0);
    });
    sum
}

/// Whether a name is kept.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 128
}

/// Returns the usage of entries of `iterations` with these sums.
fn used_by([input, output, cache_read, written, _, hour]: [u64; 6]) -> Usage {
    let mut used = Usage::default();
    for (kind, tokens) in [
        (Kind::Input, input),
        (Kind::Output, output),
        (Kind::CacheRead, cache_read),
        (Kind::CacheWrite5m, written.saturating_sub(hour)),
        (Kind::CacheWrite1h, hour),
    ] {
        used.set(kind, tokens);
    }
    used
}

/// Splits a total into a rest and its parts, none of which goes beyond what the others leave.
fn split(total: Option<u64>, parts: &[Option<u64>]) -> (u64, Vec<u64>) {
    let parts = parts.iter().map(|part| part.unwrap_or(0));
    let mut left = total.unwrap_or(parts.clone().fold(0, u64::saturating_add));
    let mut cut = Vec::new();
    for part in parts {
        cut.push(part.min(left));
        left -= cut[cut.len() - 1];
    }
    (left, cut)
}

/// The value at a path of object keys: unlike `Value::pointer` it does not look into arrays.
fn lookup<'a>(document: &'a Value, path: &str) -> Option<&'a Value> {
    let keys = path.split('/').skip(1);
    keys.into_iter()
        .try_fold(document, |value, key| value.as_object()?.get(key))
}

/// A value that has no key twice in one object.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(Build).map(Self)
    }
}

struct Build;

impl<'de> Visitor<'de> for Build {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Unique(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = serde_json::Map::new();
        while let Some((key, Unique(value))) = map.next_entry::<String, Unique>()? {
            if members.insert(key, value).is_some() {
                return Err(A::Error::custom("a key twice"));
            }
        }
        Ok(Value::Object(members))
    }
}
