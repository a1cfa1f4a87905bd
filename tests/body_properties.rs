//! Generated bodies: however a document is spelled and cut, the scanners read what it says.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unwrap_used
)]

#[path = "fuzz/checks.rs"]
mod checks;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Characters of every kind that JSON text treats differently.
fn text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => prop::char::range(' ', '~'),
        1 => prop::char::range('\0', '\u{1f}'),
        1 => prop::sample::select(vec!['"', '\\', '/', '\u{7f}', '\u{80}', '\u{7ff}', '\u{800}', '\u{ffff}', '\u{10000}', '\u{10ffff}']),
        2 => any::<char>(),
    ];
    vec(character, 0..40).prop_map(String::from_iter)
}

fn key() -> impl Strategy<Value = String> {
    // Those that the scanner must tell from the fields, at any depth.
    let near = vec![
        "model",
        "stream",
        "stream_options",
        "include_usage",
        "mode",
        "modelled",
        "metadata",
        "",
        "model\u{e9}",
    ];
    prop_oneof![text(), prop::sample::select(near).prop_map(str::to_owned)]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((key(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A value of `stream_options`: mostly an object, with `include_usage` where it falls.
fn stream_options() -> impl Strategy<Value = Value> {
    let flag = prop_oneof![
        2 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    let object = (vec((key(), value()), 0..4), prop::option::of(flag));
    let object = object.prop_map(|(members, flag)| {
        let mut members: Map<String, Value> = members.into_iter().collect();
        members.retain(|key, _| folded(key) != "include_usage" && !key.contains('\0'));
        members.extend(flag.map(|flag| ("include_usage".to_owned(), flag)));
        Value::Object(members)
    });
    prop_oneof![6 => object, 1 => Just(Value::Null)]
}

/// A key as a parser reads it that ignores case.
fn folded(key: &str) -> String {
    key.to_lowercase().replace('\u{17f}', "s")
}

/// A request: some fields, with the model, the stream flag and its options where they fall.
fn request() -> impl Strategy<Value = (Vec<(String, Value)>, Option<String>, Option<bool>)> {
    let name = "[ -~\u{e9}\u{20ac}\u{1f600}]{1,300}";
    let fields = vec((key(), value()), 0..6);
    (
        fields,
        prop::option::of(name),
        prop::option::of(any::<bool>()),
        prop::option::of(stream_options()),
        any::<[prop::sample::Index; 3]>(),
    )
        .prop_map(
            |(mut fields, model, stream, options, [model_at, stream_at, options_at])| {
                // One letter is soon drawn.
                let read = ["model", "stream", "stream_options", "n"];
                let is_read = |key: &str| read.contains(&folded(key).as_str());
                fields.retain(|(key, _)| !is_read(key) && !key.contains('\0'));
                if let Some(model) = &model {
                    fields.insert(
                        model_at.index(fields.len() + 1),
                        ("model".to_owned(), json!(model)),
                    );
                }
                if let Some(stream) = stream {
                    fields.insert(
                        stream_at.index(fields.len() + 1),
                        ("stream".to_owned(), json!(stream)),
                    );
                }
                if let Some(options) = options {
                    fields.insert(
                        options_at.index(fields.len() + 1),
                        ("stream_options".to_owned(), options),
                    );
                }
                (fields, model, stream)
            },
        )
}

/// Writes JSON in one of the many ways it can be written: `choices` decides, over and over.
struct Writer<'a> {
    out: String,
    choices: core::iter::Cycle<core::slice::Iter<'a, u8>>,
}

impl Writer<'_> {
    fn choose(&mut self, among: u8) -> u8 {
        self.choices.next().unwrap() % among
    }

    fn space(&mut self) {
        let space = ["", "", "", " ", "\n", "\r\n", "\t", "           "];
        let choice = self.choose(8);
        self.out += space[usize::from(choice)];
    }

    fn text(&mut self, text: &str) {
        self.out.push('"');
        for character in text.chars() {
            match (self.choose(6), character) {
                (0, _) => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        self.out += &format!("\\u{unit:04x}");
                    }
                }
                (1, _) => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        self.out += &format!("\\u{unit:04X}");
                    }
                }
                (2, '/') => self.out += "\\/",
                (_, '"' | '\\' | '\0'..='\u{1f}') => {
                    let quoted = Value::from(character.to_string()).to_string();
                    self.out += &quoted[1..quoted.len() - 1];
                }
                _ => self.out.push(character),
            }
        }
        self.out.push('"');
    }

    fn members<'v>(&mut self, members: impl IntoIterator<Item = (&'v String, &'v Value)>) {
        self.out.push('{');
        self.space();
        for (index, (key, value)) in members.into_iter().enumerate() {
            if index > 0 {
                self.out.push(',');
                self.space();
            }
            self.text(key);
            self.space();
            self.out.push(':');
            self.value(value);
        }
        self.out.push('}');
    }

    fn value(&mut self, value: &Value) {
        self.space();
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                self.out.push('[');
                self.space();
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.out.push(',');
                    }
                    self.value(item);
                }
                self.out.push(']');
            }
            Value::Object(members) => self.members(members),
            plain => self.out += &plain.to_string(),
        }
        self.space();
    }
}

fn written(fields: &[(String, Value)], choices: &[u8]) -> String {
    let mut writer = Writer {
        out: String::new(),
        choices: choices.iter().cycle(),
    };
    writer.space();
    writer.members(fields.iter().map(|(key, value)| (key, value)));
    writer.space();
    writer.out
}

fn choices() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 1..200)
}

/// One way to damage a body.
#[derive(Debug, Clone)]
enum Damage {
    Flip(u8),
    Set(u8),
    Insert(u8),
    Delete,
    Truncate,
}

fn damage() -> impl Strategy<Value = (prop::sample::Index, Damage)> {
    let byte = || {
        prop_oneof![
            any::<u8>(),
            prop::sample::select(b"\"\\{}[]:,-0.e u".to_vec())
        ]
    };
    let damage = prop_oneof![
        (0..8u8).prop_map(Damage::Flip),
        byte().prop_map(Damage::Set),
        byte().prop_map(Damage::Insert),
        Just(Damage::Delete),
        Just(Damage::Truncate),
    ];
    (any::<prop::sample::Index>(), damage)
}

fn damaged(mut body: Vec<u8>, (place, damage): &(prop::sample::Index, Damage)) -> Vec<u8> {
    let at = place.index(body.len());
    match damage {
        Damage::Flip(bit) => body[at] ^= 1 << bit,
        Damage::Set(byte) => body[at] = *byte,
        Damage::Insert(byte) => body.insert(at, *byte),
        Damage::Delete => drop(body.remove(at)),
        Damage::Truncate => body.truncate(at),
    }
    body
}

/// Whether `serde_json` takes a body for an object when it builds all of it, other than by skipping as
/// in [`checks`].
fn is_object(body: &[u8]) -> bool {
    serde_json::from_slice::<Map<String, Value>>(body).is_ok()
}

/// The content of a file: any bytes, often near a delimiter, but none that begins a line. Whoever writes a
/// form chooses a boundary that its parts do not hold (RFC 2046, 5.1.1).
fn file() -> impl Strategy<Value = Vec<u8>> {
    let near = vec!["\r\n-----B", "\r\n------b", "x------B", "\r\n ------B"];
    let piece = prop_oneof![
        4 => any::<u8>().prop_map(|byte| vec![byte]),
        4 => prop::sample::select(b"\r\n-B".to_vec()).prop_map(|byte| vec![byte]),
        1 => prop::sample::select(near).prop_map(|near| near.as_bytes().to_vec()),
    ];
    vec(piece, 0..200)
        .prop_map(|pieces| pieces.concat())
        .prop_filter("begins a line with a delimiter", |value| !delimits(value))
}

/// Whether a line of `value`, however it ends, begins with the delimiter.
fn delimits(value: &[u8]) -> bool {
    value
        .split(|byte| matches!(byte, b'\r' | b'\n'))
        .any(|line| line.starts_with(b"------B"))
}

proptest! {
    #[test]
    fn a_document_is_read_however_it_is_spelled((fields, model, stream) in request(), choices in choices()) {
        let body = written(&fields, &choices);
        prop_assert!(is_object(body.as_bytes()), "{body}");
        let verdict = checks::json(body.as_bytes());
        prop_assert_eq!(verdict.result, Ok(()));
        prop_assert_eq!(verdict.stream, stream);
        match (&verdict.model, &model) {
            (Some(found), Some(name)) if found.truncated => prop_assert!(name.starts_with(&found.name) && name.len() > 256),
            (found, name) => prop_assert_eq!(found.as_ref().map(|found| &found.name), name.as_ref()),
        }
    }

    #[test]
    fn a_document_that_is_made_to_ask_for_its_usage_says_nothing_else_new((fields, ..) in request(), choices in choices()) {
        let body = written(&fields, &choices);
        let verdict = checks::json(body.as_bytes());
        let before: Map<String, Value> = serde_json::from_str(&body).unwrap();
        let flag = before.get("stream_options").and_then(|options| options.get("include_usage"));
        let Some(edit) = &verdict.edit else {
            prop_assert_eq!(flag, Some(&Value::Bool(true)), "{}", body);
            return Ok(());
        };
        let mut after = body.clone().into_bytes();
        after.splice(edit.span.start as usize..edit.span.end as usize, edit.bytes.iter().copied());
        let mut want = before.clone();
        let options = want.entry("stream_options").or_insert(Value::Null);
        options["include_usage"] = Value::Bool(true);
        prop_assert_eq!(serde_json::from_slice::<Map<String, Value>>(&after).unwrap(), want, "{}", body);
    }

    #[test]
    fn a_damaged_document_is_judged_as_by_serde_json((fields, ..) in request(), choices in choices(), damage in vec(damage(), 1..3)) {
        let body = damage.iter().fold(written(&fields, &choices).into_bytes(), |body, damage| {
            if body.is_empty() { body } else { damaged(body, damage) }
        });
        // All that either may hold against the body is in these checks.
        let verdict = checks::json(&body);
        if is_object(&body) {
            let by_rule = matches!(
                verdict.result,
                Ok(())
                    | Err(trilane::body::BodyError::Duplicate(_)
                        | trilane::body::BodyError::CaseVariant
                        | trilane::body::BodyError::WrongType(_)
                        | trilane::body::BodyError::NotModels
                        | trilane::body::BodyError::NulInName
                        | trilane::body::BodyError::ModelNotString
                        | trilane::body::BodyError::ModelEmpty
                        | trilane::body::BodyError::ModelControlCharacter)
            );
            prop_assert!(by_rule, "{:?}: {}", verdict.result, body.escape_ascii());
        }
    }

    #[test]
    fn a_form_is_read_whatever_its_files_hold(
        parts in vec((0..3usize, file()), 0..4),
        model in prop::option::of(("[ -~\u{e9}\u{1f600}]{1,300}".prop_filter("a delimiter", |name| !delimits(name.as_bytes())), any::<prop::sample::Index>())),
        stream in prop::option::of(any::<bool>()),
        preamble in 0..3usize,
    ) {
        let disposition = [
            "name=\"image[]\"; filename=\"model\"\r\nContent-Type: image/png",
            "name=prompt",
            "filename*=utf-8''%e2%82%ac; name=\"mask\"; x=y\r\nContent-Transfer-Encoding: base64",
        ];
        let mut parts: Vec<(&str, Vec<u8>)> = parts
            .into_iter()
            .map(|(kind, value)| (disposition[kind], value))
            .collect();
        if let Some((name, place)) = &model {
            parts.insert(place.index(parts.len() + 1), ("name=\"model\"", name.as_bytes().to_vec()));
        }
        if let Some(stream) = stream {
            parts.push(("name=\"stream\"\r\nContent-Type: text/plain", stream.to_string().into_bytes()));
        }
        let mut body = b"\r\n".repeat(preamble);
        for (disposition, value) in parts {
            body.extend(b"------B\r\nContent-Disposition: form-data; ");
            body.extend(disposition.as_bytes());
            body.extend(b"\r\n\r\n");
            body.extend(value);
            body.extend(b"\r\n");
        }
        body.extend(b"------B--\r\n");
        let verdict = checks::multipart(&body);
        prop_assert_eq!(verdict.result, Ok(()));
        prop_assert_eq!(verdict.stream, stream);
        match (&verdict.model, &model) {
            (Some(found), Some((name, _))) if found.truncated => prop_assert!(name.starts_with(&found.name) && name.len() > 256),
            (found, name) => prop_assert_eq!(found.as_ref().map(|found| &found.name), name.as_ref().map(|(name, _)| name)),
        }
    }

    #[test]
    fn a_damaged_form_breaks_nothing(value in "[ -~]{1,20}", damage in vec(damage(), 1..3)) {
        let body = format!(
            "------B\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a\"\r\n\r\nx\r\n\
             ------B\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n{value}\r\n------B--\r\n"
        );
        checks::multipart(&damage.iter().fold(body.into_bytes(), |body, damage| {
            if body.is_empty() { body } else { damaged(body, damage) }
        }));
    }
}
