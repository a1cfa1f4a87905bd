//! The judged answers of `tests/fixtures/responses`, and those of `tests/fixtures/told`, which tell more than tokens: whole, cut
//! at any byte, and broken off at any byte.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

#[path = "fuzz/usage_checks.rs"]
mod checks;

use checks::{answer, answer_as, read};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use trilane::model::catalog::ModelKind;
use trilane::model::name::NameRule;
use trilane::model::{AnsweredModel, Catalog, Model};
use trilane::usage::{Call, Kind, Reading, Usage, Wire};

/// One entry of the manifest.
#[derive(serde::Deserialize)]
struct Case {
    file: String,
    proto: String,
    endpoint: Value,
    expect: Option<ExpectedUsage>,
}

/// The usage that a case expects.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedUsage {
    input_total: Option<u64>,
    input_uncached: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    cache_write_1h: Option<u64>,
    tool_use_prompt: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
    /// The output that is images.
    image_output: Option<u64>,
    images: Option<u64>,
    web_search: Option<u64>,
    complete: bool,
    error: Option<String>,
    /// Null where there is none.
    #[serde(default, rename = "usage")]
    _usage: Option<()>,
    #[serde(default = "yes")]
    billable: bool,
}

fn yes() -> bool {
    true
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/responses")
}

impl Case {
    fn body(&self) -> Vec<u8> {
        std::fs::read(directory().join(&self.file)).expect(&self.file)
    }

    fn wire(&self) -> Wire {
        match (self.proto.as_str(), self.endpoint.as_u64()) {
            ("A", Some(5)) => Wire::Chat,
            ("A", Some(3)) => Wire::Responses,
            ("A", Some(7 | 8)) => Wire::Images,
            ("B", Some(9)) => Wire::Messages,
            ("C", _) => Wire::Generate,
            other => panic!("{}: {other:?}", self.file),
        }
    }

    fn judge(&self, got: &Reading, how: &str) {
        let want = self.expect.as_ref().unwrap();
        let context = format!("{} {how}: {got:?}", self.file);
        assert_eq!(got.finished, want.complete, "{context}");
        assert_eq!(
            got.error,
            want.error.as_deref().map(Into::into),
            "{context}"
        );
        let Some(total) = want.input_total.filter(|_| want.billable) else {
            assert_eq!(got.usage, None, "{context}");
            assert_eq!(got.reported, [], "{context}");
            return;
        };
        let usage = got.usage.expect(&context);
        let sum = |kinds: &[Kind]| kinds.iter().map(|kind| usage.tokens(*kind)).sum::<u64>();
        let reported = |name: &str| {
            let mut found = got.reported.iter().filter(|(path, _)| *path == name);
            found.next().map(|(_, value)| *value)
        };
        assert_eq!(usage.input_tokens(), total, "{context}");
        let uncached = [Kind::Input, Kind::InputImage, Kind::ToolUse];
        assert_eq!(Some(sum(&uncached)), want.input_uncached, "{context}");
        assert_eq!(
            sum(&[Kind::ToolUse]),
            want.tool_use_prompt.unwrap_or(0),
            "{context}"
        );
        assert_eq!(Some(sum(&[Kind::CacheRead])), want.cache_read, "{context}");
        let written = [Kind::CacheWrite5m, Kind::CacheWrite1h];
        assert_eq!(Some(sum(&written)), want.cache_write, "{context}");
        let hour = want.cache_write_1h.unwrap_or(0);
        assert_eq!(sum(&[Kind::CacheWrite1h]), hour, "{context}");
        assert_eq!(Some(usage.output_tokens()), want.output, "{context}");
        assert_eq!(
            sum(&[Kind::Reasoning]),
            want.reasoning.unwrap_or(0),
            "{context}"
        );
        assert_eq!(usage.images, want.images.unwrap_or(0), "{context}");
        if want.image_output.is_some() {
            assert_eq!(Some(usage.output_tokens()), want.image_output, "{context}");
        }
        if want.web_search.is_some() {
            let searches = reported("server_tool_use.web_search_requests");
            assert_eq!(searches, want.web_search, "{context}");
        }
        // Raw numbers are those of the wire, so they too sum up.
        let wire_total = reported("total_tokens").or(reported("totalTokenCount"));
        if let Some(wire_total) = wire_total {
            let all = usage.input_tokens() + usage.output_tokens();
            assert_eq!(all, wire_total, "{context}");
        }
        assert!(!got.reported.is_empty(), "{context}");
        if self.wire() != Wire::Images {
            assert!(got.response_id.is_some(), "{context}");
            assert!(got.response_model.is_some(), "{context}");
        }
        if want.complete && self.wire() != Wire::Images {
            assert!(got.finish_reason.is_some(), "{context}");
        }
    }
}

fn manifest() -> Vec<Case> {
    let text = std::fs::read(directory().join("manifest.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// The cases that have an expectation.
fn judged() -> Vec<Case> {
    let cases: Vec<Case> = manifest()
        .into_iter()
        .filter(|case| case.expect.is_some())
        .collect();
    assert!(cases.len() > 20, "only {}", cases.len());
    cases
}

/// A stream with other line ends.
fn respelled(body: &[u8], line_end: &str) -> Vec<u8> {
    let text = core::str::from_utf8(body).unwrap();
    let unix = text.replace("\r\n", "\n");
    unix.replace('\n', line_end).into_bytes()
}

#[test]
fn whole_and_cut_at_any_byte() {
    for case in judged() {
        let wire = case.wire();
        let mut bodies = vec![("as it is", case.body())];
        if case.file.ends_with(".sse") {
            for (name, line_end) in [("with LF", "\n"), ("with CRLF", "\r\n"), ("with CR", "\r")] {
                let body = respelled(&bodies[0].1, line_end);
                if body != bodies[0].1 {
                    bodies.push((name, body));
                }
            }
        }
        for (name, body) in bodies {
            let whole = read(wire, [&body[..]]);
            case.judge(&whole, name);
            let bytes = read(wire, body.chunks(1));
            assert_eq!(bytes, whole, "{} {name}, by bytes", case.file);
            for cut in 0..=body.len() {
                let (head, tail) = body.split_at(cut);
                let cut_in_two = read(wire, [head, tail]);
                assert_eq!(cut_in_two, whole, "{} {name}, cut at {cut}", case.file);
            }
        }
    }
}

#[test]
fn broken_off_at_any_byte() {
    for case in judged() {
        let (wire, body) = (case.wire(), case.body());
        let whole = read(wire, [&body[..]]);
        let final_usage = whole.usage.unwrap_or_default();
        let mut before = read(wire, []);
        let nothing = Reading {
            made_nothing: true,
            ..Reading::default()
        };
        assert_eq!(before, nothing, "{}: of nothing", case.file);
        for end in 0..=body.len() {
            let got = read(wire, [&body[..end]]);
            let context = format!("{} up to {end}: {got:?}", case.file);
            let usage = got.usage.unwrap_or_default();
            let earlier = before.usage.unwrap_or_default();
            assert!(
                earlier.input_tokens() <= usage.input_tokens(),
                "{context}, before {before:?}"
            );
            assert!(
                earlier.output_tokens() <= usage.output_tokens(),
                "{context}"
            );
            assert!(
                usage.input_tokens() <= final_usage.input_tokens(),
                "{context}"
            );
            assert!(
                usage.output_tokens() <= final_usage.output_tokens(),
                "{context}"
            );
            assert!(before.usage.is_none() || got.usage.is_some(), "{context}");
            assert!(usage.images <= final_usage.images, "{context}");
            assert!(got.generated_bytes <= whole.generated_bytes, "{context}");
            assert!(!got.unreadable, "{context}");
            if got.finished {
                let left = body[end..].trim_ascii();
                // Chat Completions may have told all before its last word.
                let is_word = wire == Wire::Chat && b"data: [DONE]".ends_with(left);
                assert!(left.is_empty() || is_word, "too early: {context}");
            }
            before = got;
        }
    }
}

#[test]
fn every_file_is_read_as_serde_json_reads_it() {
    for case in manifest() {
        let body = case.body();
        // Those end within an event.
        if case.expect.is_some() && !case.file.contains("-truncated") {
            let wire = case.wire();
            let judged = answer_as(wire, &body);
            assert!(judged.is_some(), "{} is not judged", case.file);
        }
        answer(&body);
    }
}

/// The length of the text that the model wrote in each response, and the output that was reported.
const GENERATED: &[(&str, u64, u64)] = &[
    ("chat-text.json", 4, 56),
    ("chat-toolcall-decoy-usage.json", 59, 56),
    ("chat-stream-usage.sse", 36, 56),
    ("chat-stream-usage-on-last-choice.sse", 4, 56),
    ("chat-stream-midstream-error.sse", 2, 0),
    ("chat-stream-truncated.sse", 2, 0),
    ("responses-text.json", 4, 56),
    ("responses-incomplete.json", 4, 56),
    ("responses-stream.sse", 36, 56),
    ("responses-stream-incomplete.sse", 36, 56),
    ("responses-stream-failed.sse", 0, 0),
    ("responses-stream-error-event.sse", 0, 0),
    ("responses-stream-truncated.sse", 36, 0),
    ("images-generations.json", 0, 272),
    ("images-edits.json", 0, 272),
    ("images-stream.sse", 0, 272),
    ("messages-stream.sse", 60, 56),
    ("messages-stream-cumulative-delta.sse", 60, 56),
    ("messages-stream-error.sse", 0, 1),
    ("messages-stream-truncated.sse", 2, 1),
    ("generateContent.json", 4, 56),
    ("streamGenerateContent.sse", 47, 56),
    ("streamGenerateContent-usage-only-last.sse", 4, 56),
    ("streamGenerateContent-error.sse", 2, 34),
    ("countTokens.json", 0, 0),
];

#[test]
fn generated_text_is_counted() {
    let got: Vec<_> = judged()
        .iter()
        .map(|case| {
            let reading = read(case.wire(), [&case.body()[..]]);
            let output = reading.usage.unwrap_or_default().output_tokens();
            (case.file.clone(), reading.generated_bytes, output)
        })
        .collect();
    let want = GENERATED
        .iter()
        .map(|(file, bytes, output)| ((*file).to_owned(), *bytes, *output));
    assert_eq!(got, want.collect::<Vec<_>>());
}

/// Each model of these answers is one of those that the requests ask for: none is another model, and none is not listed.
#[test]
fn the_models_of_answers_are_those_that_were_asked_for() {
    let asked: [(&str, NameRule, &[&str]); 3] = [
        (
            "A",
            NameRule::A,
            &["gpt-5.1", "gpt-5.1-codex", "gpt-image-2"],
        ),
        (
            "B",
            NameRule::B,
            &["claude-opus-4-8", "claude-sonnet-4-5", "claude-sonnet-4-6"],
        ),
        ("C", NameRule::C, &["gemini-2.5-flash"]),
    ];
    let mut seen = 0;
    for case in judged() {
        let reading = read(case.wire(), [&case.body()[..]]);
        let Some(name) = reading.response_model else {
            continue;
        };
        let (_, rule, ids) = asked
            .iter()
            .find(|(proto, ..)| *proto == case.proto)
            .unwrap();
        let mut catalog = Catalog::new(*rule);
        for id in *ids {
            let model = Model {
                id: (*id).into(),
                kind: ModelKind::Text,
                display_name: (*id).to_owned(),
                created: 0,
                upstream: None,
                entitled: true,
                merge_dated: false,
                reasoning: false,
                prices: None,
                free: false,
            };
            catalog.add(model, &[]).unwrap();
        }
        let of =
            |model: &&std::rc::Rc<Model>| catalog.answered(model, &name) == AnsweredModel::Asked;
        assert_eq!(
            catalog.models().iter().filter(of).count(),
            1,
            "{}: {name}",
            case.file
        );
        seen += 1;
    }
    assert!(seen > 15, "only {seen}");
}

/// An answer that tells more than tokens.
#[derive(serde::Deserialize)]
struct ToldCase {
    file: String,
    wire: String,
    expect: ExpectedReading,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedReading {
    finished: bool,
    /// By the names of the kinds; null where nothing was reported.
    tokens: Option<BTreeMap<String, u64>>,
    #[serde(default)]
    calls: BTreeMap<String, u64>,
    #[serde(default)]
    images: u64,
    tier: Option<String>,
    speed: Option<String>,
    #[serde(default)]
    generated: u64,
    #[serde(default)]
    others: BTreeMap<String, BTreeMap<String, u64>>,
    #[serde(default)]
    unreadable: bool,
}

fn usage_of(tokens: &BTreeMap<String, u64>) -> Usage {
    let mut usage = Usage::default();
    for (name, tokens) in tokens {
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        usage.set(kind.expect(name), *tokens);
    }
    usage
}

#[test]
fn what_is_told_beside_tokens() {
    let directory = directory().with_file_name("told");
    let manifest = std::fs::read(directory.join("manifest.json")).unwrap();
    let cases: Vec<ToldCase> = serde_json::from_slice(&manifest).unwrap();
    for ToldCase { file, wire, expect } in cases {
        let wire = Wire::ALL
            .into_iter()
            .find(|known| format!("{known:?}") == wire);
        let wire = wire.expect(&file);
        let body = std::fs::read(directory.join(&file)).unwrap();
        let whole = read(wire, [&body[..]]);
        let context = format!("{file}: {whole:?}");
        assert_eq!(whole.finished, expect.finished, "{context}");
        let mut usage = expect.tokens.as_ref().map(usage_of);
        for (name, count) in &expect.calls {
            let call = Call::ALL.into_iter().find(|call| call.name() == name);
            let usage = usage.get_or_insert_default();
            usage.set_calls(call.expect(name), *count);
        }
        if expect.images > 0 {
            usage.get_or_insert_default().images = expect.images;
        }
        assert_eq!(whole.usage, usage, "{context}");
        assert_eq!(whole.service_tier, expect.tier.map(Into::into), "{context}");
        assert_eq!(whole.speed, expect.speed.map(Into::into), "{context}");
        assert_eq!(whole.generated_bytes, expect.generated, "{context}");
        let others = whole.others.iter().cloned().collect::<BTreeMap<_, _>>();
        let want = expect.others.iter();
        let want = want.map(|(name, tokens)| (name.clone(), usage_of(tokens)));
        assert_eq!(others, want.collect(), "{context}");
        assert_eq!(whole.unreadable, expect.unreadable, "{context}");
        assert_eq!(read(wire, body.chunks(1)), whole, "{file} by bytes");
        for cut in 0..=body.len() {
            let (head, tail) = body.split_at(cut);
            assert_eq!(read(wire, [head, tail]), whole, "{file} cut at {cut}");
        }
        if !expect.unreadable {
            assert!(answer_as(wire, &body).is_some(), "{file} is not judged");
        }
        answer(&body);
    }
}

/// A server's error answers name their type; the manifest has them for other tests.
#[test]
fn error_answers_tell_their_type() {
    let mut seen = 0;
    for case in manifest() {
        if !case.file.starts_with("error-") {
            continue;
        }
        seen += 1;
        let (wire, field) = match case.proto.as_str() {
            "A" => (Wire::Chat, "/error/type"),
            "B" => (Wire::Messages, "/error/type"),
            _ => (Wire::Generate, "/error/status"),
        };
        let body = case.body();
        let document: Value = serde_json::from_slice(&body).unwrap();
        let want = document.pointer(field).unwrap().as_str();
        let got = read(wire, [&body[..]]);
        assert_eq!(got.error.as_deref(), want, "{}", case.file);
        assert!(!got.finished && got.usage.is_none(), "{}", case.file);
        let list = [b"[", &body[..], b"]"].concat();
        let got = read(wire, [&list[..]]);
        assert_eq!(got.error.as_deref(), want, "{} in a list", case.file);
    }
    assert!(seen > 20, "only {seen}");
}
