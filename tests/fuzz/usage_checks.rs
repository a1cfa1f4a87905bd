//! What must hold for any bytes at all that a usage meter is fed: no chunking changes what it reads, and
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

use core::fmt;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::collections::BTreeMap;
use trilane::usage::{Kind, Meter, Reading, Usage, Wire};

/// What a meter reads in chunks.
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
    assert_eq!(got, want, "{}", context());
    Some(reading)
}

// === The plain reading ===

/// What has to come out; nothing where it is not for this reading to say.
fn plain_reading(wire: Wire, body: &[u8]) -> Option<Reading> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let mut plain = Plain::new(wire);
    match body.trim_ascii_start().first() {
        Some(b'{' | b'[') if !starts_with_form_feed(body) => {
            let Unique(document) = serde_json::from_slice(body).ok()?;
            if let Value::Array(elements) = &document {
                for element in elements {
                    plain.part(element, "", wire)?;
                    plain.commit();
                }
            } else {
                plain.part(&document, "", wire)?;
                plain.images += objects(&document, "/data", wire == Wire::Images);
                plain.commit();
                plain.ended = true;
            }
        }
        _ => {
            for data in events(body) {
                plain.event(&data)?;
            }
        }
    }
    Some(plain.reading())
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

/// The data of every whole event.
fn events(body: &[u8]) -> Vec<Vec<u8>> {
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
    lines.pop(); // It has no end.
    for line in lines {
        if line.is_empty() && !data.is_empty() {
            events.push(data.join(&b'\n'));
            data.clear();
        } else if line == b"data" {
            data.push(b"");
        } else if let Some(value) = line.strip_prefix(b"data:") {
            data.push(value.strip_prefix(b" ").unwrap_or(value));
        }
    }
    events
}

struct Plain {
    wire: Wire,
    event: Vec<(&'static str, u64)>,
    texts: Vec<(&'static str, String)>,
    numbers: BTreeMap<&'static str, u64>,
    kept: BTreeMap<&'static str, String>,
    error_here: bool,
    error: Option<String>,
    images: u64,
    ended: bool,
    done: bool,
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
            ended: false,
            done: false,
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
        if event.is_array() {
            return None;
        }
        let kind = event.pointer("/type").and_then(Value::as_str);
        let (mut ends, mut fails, mut image) = (false, false, false);
        match (self.wire, kind) {
            (Wire::Chat | Wire::Generate, _) | (_, None) => {}
            (_, Some("error")) => fails = true,
            (Wire::Responses, Some("response.failed")) => fails = true,
            (Wire::Responses, Some(kind)) => match kind.strip_prefix("response.") {
                Some("completed" | "incomplete" | "cancelled") => ends = true,
                Some("created" | "queued" | "in_progress") => {}
                _ => return Some(()),
            },
            (Wire::Images, Some(kind)) if kind.ends_with(".completed") && kind.len() <= 128 => {
                image = true;
            }
            (Wire::Images, _) => return Some(()),
            (Wire::Messages, Some("message_start" | "message_delta")) => {}
            (Wire::Messages, Some("message_stop")) => ends = true,
            (Wire::Messages, _) => return Some(()),
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
            Wire::Chat | Wire::Responses => {
                self.text(document, "/id", "id");
                self.text(document, "/model", "model");
                self.text(document, "/service_tier", "tier");
                if wire == Wire::Chat {
                    self.each(document, "/choices", "/finish_reason");
                    self.usage(document, "/usage", CHAT);
                } else {
                    self.text(document, "/incomplete_details/reason", "finish");
                    self.text(document, "/status", "status");
                    self.usage(document, "/usage", RESPONSES);
                }
            }
            Wire::Images => self.usage(document, "/usage", IMAGES),
            Wire::Messages => {
                self.text(document, "/id", "id");
                self.text(document, "/model", "model");
                self.text(document, "/stop_reason", "finish");
                self.text(document, "/usage/service_tier", "tier");
                self.usage(document, "/usage", MESSAGES);
                self.iterations(document, "/usage");
            }
            Wire::Generate => {
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
        for name in names {
            let path = format!("{at}/{}", name.replace('.', "/"));
            if let Some(value) = lookup(document, &path).and_then(Value::as_u64) {
                self.event.push((name, value));
            }
        }
    }

    fn iterations(&mut self, document: &Value, at: &str) {
        let list = lookup(document, &format!("{at}/iterations")).and_then(Value::as_array);
        let Some(list) = list else {
            return;
        };
        let mut sums = BTreeMap::from_iter(COMPACTION.iter().map(|name| (*name, 0u64)));
        for entry in list {
            if entry.get("type").and_then(Value::as_str) != Some("compaction") {
                continue;
            }
            let get = |path: &str| lookup(entry, path).and_then(Value::as_u64);
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
            for (name, value) in COMPACTION.iter().zip(values) {
                let sum = sums.get_mut(name).unwrap();
                *sum = sum.saturating_add(value);
            }
        }
        self.event.extend(sums);
    }

    /// The event has ended.
    fn commit(&mut self) {
        if !self.event.is_empty() {
            if matches!(self.wire, Wire::Chat | Wire::Responses | Wire::Images) {
                self.numbers.clear();
            }
            self.numbers.extend(self.event.drain(..));
        }
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
        self.ended |= self.wire == Wire::Generate && self.kept.contains_key("finish");
    }

    fn reading(mut self) -> Reading {
        let usage = self.tokens();
        let status = self.kept.remove("status").filter(|status| {
            ["completed", "incomplete", "failed", "cancelled"].contains(&status.as_str())
        });
        self.numbers
            .retain(|name, value| *value > 0 || !COMPACTION.contains(name));
        Reading {
            usage,
            finished: self.ended && self.error.is_none(),
            error: self.error,
            reported: self.numbers.into_iter().collect(),
            response_id: self.kept.remove("id"),
            response_model: self.kept.remove("model"),
            finish_reason: self.kept.remove("finish").or(status),
            service_tier: self.kept.remove("tier"),
            ..Reading::default()
        }
    }

    fn tokens(&self) -> Option<Usage> {
        let get = |name: &str| self.numbers.get(name).copied();
        let zero = |name: &str| get(name).unwrap_or(0);
        let mut usage = Usage::default();
        usage.images = self.images;
        // What is left of a total, and its parts, none of which goes beyond what the others leave.
        let split = |total: Option<u64>, first: u64, second: u64| {
            let total = total.unwrap_or(first.saturating_add(second));
            let first = first.min(total);
            let second = second.min(total - first);
            (total - first - second, first, second)
        };
        let mut unseen = true;
        let mut seen = |names: &[&str]| unseen &= names.iter().all(|name| get(name).is_none());
        match self.wire {
            Wire::Chat | Wire::Responses => {
                let [input, cached, written, output, reasoning] = if self.wire == Wire::Chat {
                    [
                        "prompt_tokens",
                        "prompt_tokens_details.cached_tokens",
                        "prompt_tokens_details.cache_write_tokens",
                        "completion_tokens",
                        "completion_tokens_details.reasoning_tokens",
                    ]
                } else {
                    [
                        "input_tokens",
                        "input_tokens_details.cached_tokens",
                        "input_tokens_details.cache_write_tokens",
                        "output_tokens",
                        "output_tokens_details.reasoning_tokens",
                    ]
                };
                seen(&[input, cached, written, output, reasoning]);
                let (rest, cached, written) = split(get(input), zero(cached), zero(written));
                usage.set(Kind::Input, rest);
                usage.set(Kind::CacheRead, cached);
                usage.set(Kind::CacheWrite5m, written);
                let (rest, reasoning, _) = split(get(output), zero(reasoning), 0);
                usage.set(Kind::Output, rest);
                usage.set(Kind::Reasoning, reasoning);
            }
            Wire::Images => {
                let image = "input_tokens_details.image_tokens";
                seen(&["input_tokens", image, "output_tokens"]);
                let (rest, image, _) = split(get("input_tokens"), zero(image), 0);
                usage.set(Kind::Input, rest);
                usage.set(Kind::InputImage, image);
                usage.set(Kind::Output, zero("output_tokens"));
                unseen &= self.images == 0;
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
                    let (rest, hour, minutes) = split(written, hour, minutes);
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
                let cached = zero("cachedContentTokenCount");
                let (rest, cached, _) = split(get("promptTokenCount"), cached, 0);
                usage.set(Kind::Input, rest);
                usage.set(Kind::CacheRead, cached);
                usage.set(Kind::ToolUse, zero("toolUsePromptTokenCount"));
                usage.set(Kind::Output, zero("candidatesTokenCount"));
                usage.set(Kind::Reasoning, zero("thoughtsTokenCount"));
            }
        }
        (!unseen).then_some(usage)
    }
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
