//! Checks of all that a JSON body asks for beside its model, and of the size of its input, against a plain
//! reading of the body: every object is taken apart, none is streamed.

use super::{Form, Verdict};
use trilane::body::{InputSize, ModelRole, OtherModel};

/// The fields that a body sets beside its model.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct BodyFields {
    pub candidates: Option<u64>,
    pub service_tier: Option<String>,
    pub speed: Option<String>,
    pub inference_geo: Option<String>,
    pub background: Option<bool>,
    pub image_tool: bool,
    pub others: Vec<(String, bool)>,
}

/// The fields of a body, as a scanner reports them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ScannedFields {
    pub candidates: Option<u64>,
    pub service_tier: Option<String>,
    pub speed: Option<String>,
    pub inference_geo: Option<String>,
    pub background: Option<bool>,
    pub image_tool: bool,
    pub others: Vec<OtherModel>,
    pub size: InputSize,
}

/// The maximum number of open objects and arrays in which keys are compared.
const MAX_WATCHED: usize = 8;

/// Refused.
#[derive(Debug)]
struct Refused;

/// Refuses what is not `good`.
fn demand(good: bool) -> Result<(), Refused> {
    if good { Ok(()) } else { Err(Refused) }
}

/// Returns the fields of a well-formed body; `None` if it is to be rejected.
pub fn expected(text: &str) -> Option<BodyFields> {
    let mut reader = Reader::default();
    reader.object(Place::Top, text.trim_ascii(), 1).ok()?;
    Some(reader.asked)
}

/// Checks what the scanner told against what it should.
pub fn check(body: &[u8], verdict: &Verdict) {
    let text = core::str::from_utf8(body).expect("accepted");
    let want = expected(text).expect("accepted");
    let told = &verdict.told;
    let got = BodyFields {
        candidates: told.candidates,
        service_tier: told.service_tier.clone(),
        speed: told.speed.clone(),
        inference_geo: told.inference_geo.clone(),
        background: told.background,
        image_tool: told.image_tool,
        others: told
            .others
            .iter()
            .map(|other| (other.found.name.clone(), other.role == ModelRole::OfPath))
            .collect(),
    };
    assert_eq!(got, want, "{}", body.escape_ascii());
    for other in told.others.iter().filter(|other| !other.found.truncated) {
        let literal = &body[super::range(&other.found.span)];
        let name: String = serde_json::from_slice(literal).expect("the span is a literal");
        assert_eq!(name, other.found.name);
    }
    assert_eq!(told.size, size(text), "{}", body.escape_ascii());
    held(body, told);
}

/// Inside the name of the path's model all of it is held, but no more of one than can be one.
fn held(body: &[u8], told: &ScannedFields) {
    let mut scanner = Form::Json.scanner();
    for (index, byte) in body.iter().enumerate() {
        scanner.feed(&[*byte]).expect("accepted");
        let at = index as u64 + 1;
        let inside = told.others.iter().any(|other| {
            let span = &other.found.span;
            other.role == ModelRole::OfPath && span.start < at && at < span.end
        });
        assert!(
            inside || scanner.inside_other().is_none(),
            "after byte {index}"
        );
        let long = told.others.iter().any(|other| other.found.truncated);
        assert!(
            long || inside == scanner.inside_other().is_some(),
            "after byte {index}"
        );
    }
}

// === Taking apart ===

/// Finds the end of a value that begins at the start of `text`.
fn end_of(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0usize, 0usize);
    loop {
        match bytes[at] {
            b'"' => {
                at += 1;
                while bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'[' | b'{' => {
                depth += 1;
                at += 1;
            }
            b']' | b'}' => {
                depth -= 1;
                at += 1;
            }
            _ if depth > 0 => at += 1,
            _ => {
                let end = |byte: &u8| b",]} \t\r\n".contains(byte);
                return at + bytes[at..].iter().position(end).unwrap_or(bytes.len() - at);
            }
        }
        if depth == 0 {
            return at;
        }
    }
}

/// The members of an object as they stand: keys with their quotes.
fn members(text: &str) -> Vec<(&str, &str)> {
    let mut rest = text[1..].trim_ascii_start();
    let mut members = Vec::new();
    while !rest.starts_with('}') {
        rest = rest.trim_start_matches(',').trim_ascii_start();
        let (key, tail) = rest.split_at(end_of(rest));
        let tail = tail.trim_ascii_start()[1..].trim_ascii_start();
        let (value, tail) = tail.split_at(end_of(tail));
        members.push((key, value));
        rest = tail.trim_ascii_start();
    }
    members
}

/// The items of an array as they stand.
fn items(text: &str) -> Vec<&str> {
    let mut rest = text[1..].trim_ascii_start();
    let mut items = Vec::new();
    while !rest.starts_with(']') {
        rest = rest.trim_start_matches(',').trim_ascii_start();
        let (item, tail) = rest.split_at(end_of(rest));
        items.push(item);
        rest = tail.trim_ascii_start();
    }
    items
}

/// A string's text; half a surrogate pair becomes bytes that are no text.
fn text_of(literal: &str) -> Vec<u8> {
    let mut json = serde_json::Deserializer::from_str(literal);
    serde::de::DeserializeSeed::deserialize(super::Text, &mut json).expect("a string")
}

fn folded(key: &[u8]) -> String {
    String::from_utf8_lossy(key)
        .replace('\u{17f}', "s")
        .replace('\u{212a}', "k")
        .to_ascii_lowercase()
}

// === Members ===

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Top,
    Options,
    Config,
    Tool,
    Runner,
    Fallback,
    Request,
}

#[derive(Debug, Default)]
struct Reader {
    asked: BodyFields,
    seen: Vec<&'static str>,
}

impl Reader {
    fn once(&mut self, name: &'static str) -> Result<(), Refused> {
        if self.seen.contains(&name) {
            return Err(Refused);
        }
        self.seen.push(name);
        Ok(())
    }

    /// A value at a key that leads to `place`, under `depth` watched ones.
    fn value(&mut self, place: Place, value: &str, depth: usize) -> Result<(), Refused> {
        let listed = matches!(place, Place::Tool | Place::Fallback | Place::Request);
        if value.starts_with('{') {
            return self.object(place, value, depth + 1);
        }
        if listed && value.starts_with('[') {
            if depth + 1 > MAX_WATCHED {
                return Err(Refused);
            }
            for item in items(value) {
                if item.starts_with('{') {
                    self.object(place, item, depth + 2)?;
                } else if place == Place::Fallback {
                    demand(item.starts_with('"'))?;
                    self.model(item, false)?;
                }
            }
        }
        Ok(())
    }

    fn object(&mut self, place: Place, text: &str, depth: usize) -> Result<(), Refused> {
        if depth > MAX_WATCHED {
            return Err(Refused);
        }
        let mut names_model = place != Place::Fallback;
        for (key, value) in members(text) {
            let key = text_of(key);
            demand(!key.contains(&0))?;
            let fold = folded(&key);
            let exact = fold.as_bytes() == key;
            match (place, fold.as_str()) {
                (
                    Place::Top,
                    "stream" | "background" | "speed" | "inference_geo" | "n" | "service_tier"
                    | "model" | "stream_options",
                )
                | (Place::Options, "include_usage")
                    if !exact =>
                {
                    return Err(Refused);
                }
                (Place::Top, "servicetier") if key != b"serviceTier" => return Err(Refused),
                (Place::Config, "candidatecount") if key != b"candidateCount" => {
                    return Err(Refused);
                }
                (Place::Config, "candidate_count") if !exact => return Err(Refused),
                (Place::Top, "stream") | (Place::Options, "include_usage") => {
                    demand(matches!(value, "true" | "false" | "null"))?;
                }
                (Place::Top, "stream_options") => {
                    if value != "null" && !value.starts_with('{') {
                        return Err(Refused);
                    }
                    self.value(Place::Options, value, depth)?;
                }
                (Place::Top, "background") => {
                    self.once("background")?;
                    match value {
                        "true" => self.asked.background = Some(true),
                        "false" | "null" => self.asked.background = Some(false),
                        _ if value.starts_with('"') => {}
                        _ => return Err(Refused),
                    }
                }
                (Place::Top, "service_tier" | "servicetier") => {
                    self.once("service_tier")?;
                    let tier = word(value)?;
                    self.asked.service_tier = tier.or(self.asked.service_tier.take());
                }
                (Place::Top, "speed") => {
                    self.once("speed")?;
                    self.speed(value)?;
                }
                (Place::Top, "inference_geo") => {
                    self.once("inference_geo")?;
                    self.asked.inference_geo = word(value)?;
                }
                (Place::Fallback, "speed") => self.speed(value)?,
                (Place::Top, "n") => self.count("n", value)?,
                (Place::Config, "candidatecount" | "candidate_count") => {
                    self.count("candidateCount", value)?;
                }
                (
                    Place::Config,
                    "routingconfig" | "routing_config" | "modelconfig" | "model_config",
                ) => {
                    demand(value == "null")?;
                }
                (Place::Top, "generationconfig") if key == b"generationConfig" => {
                    self.value(Place::Config, value, depth)?;
                }
                (Place::Top, "generation_config") if exact => {
                    self.value(Place::Config, value, depth)?;
                }
                (Place::Tool, "type") if value.starts_with('"') => {
                    let kind = text_of(value).to_ascii_lowercase();
                    self.asked.image_tool |= kind.starts_with(b"image_generation");
                }
                (Place::Tool | Place::Runner | Place::Fallback, "model") => {
                    names_model |= value.starts_with('"');
                    self.model(value, false)?;
                }
                (Place::Request, "model") => self.model(value, true)?,
                (Place::Top | Place::Fallback, "fallbacks" | "models" | "fallback_models") => {
                    demand(value == "null" || value.starts_with('['))?;
                    self.value(Place::Fallback, value, depth)?;
                }
                (Place::Top | Place::Fallback, "safety_model") => {
                    names_model |= value.starts_with('"');
                    self.model(value, false)?;
                }
                (Place::Top | Place::Tool, "tools") => self.value(Place::Tool, value, depth)?,
                (Place::Top, "moderation" | "svg") | (Place::Tool, "svg") => {
                    self.value(Place::Runner, value, depth)?;
                }
                (
                    Place::Top,
                    "requests" | "generatecontentrequest" | "generate_content_request",
                ) => {
                    self.value(Place::Request, value, depth)?;
                }
                (Place::Top, _) if has_parts(&fold) => self.content(value, depth)?,
                (Place::Request, _) => self.member(&key, value, depth)?,
                _ => {}
            }
        }
        demand(names_model)
    }

    /// Content, in which there may be tools.
    fn content(&mut self, value: &str, depth: usize) -> Result<(), Refused> {
        if value.starts_with('{') {
            for (key, value) in members(value) {
                self.member(&key.as_bytes()[1..key.len() - 1], value, depth)?;
            }
        } else if value.starts_with('[') {
            for item in items(value) {
                self.content(item, depth)?;
            }
        }
        Ok(())
    }

    fn member(&mut self, key: &[u8], value: &str, depth: usize) -> Result<(), Refused> {
        match hint(key) {
            Hint::Tools => self.value(Place::Tool, value, depth),
            Hint::Text => Ok(()),
            Hint::Other => self.content(value, depth),
        }
    }

    fn speed(&mut self, value: &str) -> Result<(), Refused> {
        if let Some(speed) = word(value)?
            && (speed != "standard" || self.asked.speed.is_none())
        {
            self.asked.speed = Some(speed);
        }
        Ok(())
    }

    fn count(&mut self, name: &'static str, value: &str) -> Result<(), Refused> {
        self.once(name)?;
        if value == "null" {
            return Ok(());
        }
        if !value.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Refused);
        }
        let count = value.parse().unwrap_or(u64::MAX);
        self.asked.candidates = self.asked.candidates.max(Some(count));
        Ok(())
    }

    fn model(&mut self, value: &str, of_path: bool) -> Result<(), Refused> {
        if value == "null" {
            return Ok(());
        }
        if !value.starts_with('"') {
            return Err(Refused);
        }
        let name = String::from_utf8(text_of(value)).map_err(|_| Refused)?;
        if name.is_empty() || name.bytes().any(|byte| byte.is_ascii_control()) {
            return Err(Refused);
        }
        self.asked.others.push((super::kept(&name), of_path));
        Ok(())
    }
}

/// A word as it is kept, or `null`.
fn word(value: &str) -> Result<Option<String>, Refused> {
    match value {
        "null" => Ok(None),
        _ if !value.starts_with('"') => Err(Refused),
        _ => {
            // What comes of half a surrogate pair is one byte to the scanner, and three here.
            let units = serde_json::from_str::<String>(value);
            let text = units.map_err(|_| ()).map(String::into_bytes);
            let text = text.unwrap_or_else(|()| lone(value));
            let kept = &text[..text.len().min(32)];
            Ok(Some(String::from_utf8_lossy(kept).into_owned()))
        }
    }
}

/// A string with half a surrogate pair in it, each as one byte that no text has.
fn lone(literal: &str) -> Vec<u8> {
    let mut bytes = text_of(literal);
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == 0xED && bytes.get(at + 1).is_some_and(|byte| *byte >= 0xA0) {
            bytes.splice(at..at + 3, [0xFF]);
        }
        at += 1;
    }
    bytes
}

/// The kind of value that a key of the content announces.
#[derive(Debug, PartialEq, Eq)]
enum Hint {
    Tools,
    Text,
    Other,
}

fn hint(key: &[u8]) -> Hint {
    if key.len() > 31 || !key.iter().all(|byte| byte.is_ascii() && *byte != b'\\') {
        return Hint::Tools;
    }
    match folded(key).as_str() {
        "tools" | "definition" => Hint::Tools,
        "input" | "args" | "response" | "arguments" | "parameters" | "schema" => Hint::Text,
        _ => Hint::Other,
    }
}

fn has_parts(folded: &str) -> bool {
    let names = [
        "messages",
        "input",
        "contents",
        "content",
        "requests",
        "system",
        "systeminstruction",
        "system_instruction",
        "instructions",
        "prompt",
        "image",
        "images",
        "mask",
        "instances",
        "generatecontentrequest",
        "generate_content_request",
    ];
    names.contains(&folded)
}

// === The input's size ===

/// Returns the size of the input.
pub fn size(text: &str) -> InputSize {
    let mut size = InputSize::default();
    let mut data = 0;
    for (key, value) in members(text.trim_ascii()) {
        let key = folded(&text_of(key));
        let watched = matches!(
            key.as_str(),
            "requests" | "generatecontentrequest" | "generate_content_request"
        );
        if has_parts(&key) {
            parts(value, watched, false, &mut size, &mut data);
        }
    }
    let escapes = unicode_escapes(text);
    size.text_bytes = text.len() as u64 - data - 3 * escapes;
    size
}

fn unicode_escapes(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let (mut at, mut count) = (0, 0);
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            at += 1;
            count += u64::from(bytes[at] == b'u');
        }
        at += 1;
    }
    count
}

/// Adds the parts within a value. `watched`: the keys in it are compared.
fn parts(value: &str, watched: bool, holder: bool, size: &mut InputSize, data: &mut u64) {
    if value.starts_with('[') {
        for item in items(value) {
            parts(item, watched && item.starts_with('{'), false, size, data);
        }
    }
    if !value.starts_with('{') {
        return;
    }
    // An object that was opened since is the last one.
    let mut holder = holder;
    for (raw, value) in members(value) {
        let raw = &raw[1..raw.len() - 1];
        let key = match watched {
            // Compared keys are read, others as they stand.
            true => text_of(&format!("\"{raw}\"")),
            false => raw.as_bytes().to_vec(),
        };
        if hint(&key) == Hint::Other {
            let key = core::str::from_utf8(&key).expect("plain");
            if value.starts_with('"') {
                part(key, &value[1..value.len() - 1], holder, size, data);
            }
            let holds = [
                "source",
                "input_audio",
                "inlineData",
                "inline_data",
                "image_url",
            ];
            parts(value, false, holds.contains(&key), size, data);
        }
        if value.starts_with('{') || (value.starts_with('[') && contains_object(value)) {
            holder = false;
        }
    }
}

/// Whether an array has an object somewhere in it.
fn contains_object(value: &str) -> bool {
    items(value)
        .iter()
        .any(|item| item.starts_with('{') || (item.starts_with('[') && contains_object(item)))
}

fn part(key: &str, raw: &str, holder: bool, size: &mut InputSize, data: &mut u64) {
    let known = [
        "image_url",
        "file_data",
        "file_url",
        "fileUri",
        "file_uri",
        "file_id",
        "result",
        "b64_json",
    ];
    let is_part = known.contains(&key) || (holder && ["url", "data"].contains(&key));
    if !is_part {
        return;
    }
    let text = raw.replace("\\/", "/");
    let base64 = |text: &str| {
        text.len() >= 1024
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+/-_=".contains(&byte))
    };
    let (media_type, value) = match text
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(','))
    {
        Some((media_type, value)) if media_type.len() < 120 => {
            match media_type.strip_suffix(";base64") {
                Some(media_type) => (Some(media_type.to_ascii_lowercase()), value),
                None => (None, ""),
            }
        }
        _ => (None, text.as_str()),
    };
    let magic = magic(value);
    let kind = match (key, &media_type) {
        ("file_id", _) => None,
        ("result" | "b64_json", _) => magic.filter(|kind| *kind != 'f'),
        (_, Some(media_type)) if media_type.starts_with("image/") => Some('i'),
        (_, Some(media_type)) if media_type.starts_with("audio/") => Some('a'),
        (_, Some(media_type))
            if ["text/", "application/json", "application/xml"]
                .iter()
                .any(|start| media_type.starts_with(start)) =>
        {
            None
        }
        (_, Some(_)) => Some('f'),
        (_, None) => Some(magic.unwrap_or('f')),
    };
    if let Some(kind) = kind.filter(|_| base64(value)) {
        let bytes = raw.len() as u64;
        *data += bytes;
        match kind {
            'i' => size.images += 1,
            'a' => {
                size.audios += 1;
                size.audio_bytes += bytes;
            }
            _ => {
                size.files += 1;
                size.file_bytes += bytes;
            }
        }
        return;
    }
    let lower = text.get(..8).unwrap_or(&text).to_ascii_lowercase();
    let address = ["http://", "https://", "gs://"]
        .iter()
        .any(|start| lower.starts_with(start));
    match key {
        // Up to the first character that is none of a part.
        "file_id"
            if text
                .bytes()
                .next()
                .is_some_and(|byte| (0x20..0x80).contains(&byte) && byte != b'\\') =>
        {
            size.files += 1;
        }
        "image_url" | "url" if address => size.images += 1,
        "file_url" | "fileUri" | "file_uri" if address => size.files += 1,
        _ => {}
    }
}

fn magic(value: &str) -> Option<char> {
    let known = [
        ("iVBORw0KGgo", 'i'),
        ("/9j/", 'i'),
        ("_9j_", 'i'),
        ("R0lGOD", 'i'),
        ("SUQz", 'a'),
        ("//s", 'a'),
        ("//N", 'a'),
        ("T2dnUw", 'a'),
        ("ZkxhQw", 'a'),
        ("JVBERi0", 'f'),
    ];
    if value.starts_with("UklGR") {
        return match value.get(12..16) {
            Some("RUJQ") => Some('i'),
            Some("QVZF") => Some('a'),
            _ => Some('f'),
        };
    }
    known
        .iter()
        .find(|(start, _)| value.starts_with(start))
        .map(|(_, kind)| *kind)
}
