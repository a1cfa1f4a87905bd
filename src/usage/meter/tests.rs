use super::*;
use crate::usage::Kind::{
    CacheRead, CacheWrite1h, CacheWrite5m, Input, InputAudio, InputImage, Output, OutputAudio,
    OutputImage, Reasoning, ToolUse,
};
use crate::usage::model_sums::{MAX_OTHERS, ModelSum};
use crate::usage::queries::MAX_QUERIES;
use crate::usage::short_text::MAX_TEXT;
use crate::usage::{Kind, Wire};

mod alike;
mod properties;
mod shortcuts;
mod told;
mod vendors;

fn read<'a>(wire: Wire, chunks: impl IntoIterator<Item = &'a [u8]>) -> Reading {
    let mut meter = Meter::new(wire);
    for chunk in chunks {
        meter.feed(chunk);
    }
    meter.finish()
}

/// Reads an answer, with the same result at every cut.
fn read_any(wire: Wire, answer: &str) -> Reading {
    let answer = answer.as_bytes();
    let whole = read(wire, [answer]);
    for cut in 0..=answer.len() {
        let (head, tail) = answer.split_at(cut);
        let context = || format!("cut at {cut}: {}", answer.escape_ascii());
        assert_eq!(read(wire, [head, tail]), whole, "{}", context());
    }
    assert_eq!(read(wire, answer.chunks(1)), whole, "by bytes");
    whole
}

fn tokens(reading: &Reading) -> Option<Vec<(Kind, u64)>> {
    let usage = reading.usage?;
    let all = Kind::ALL.map(|kind| (kind, usage.tokens(kind)));
    Some(all.into_iter().filter(|(_, tokens)| *tokens > 0).collect())
}

fn some(list: &[(Kind, u64)]) -> Option<Vec<(Kind, u64)>> {
    Some(list.to_vec())
}

#[test]
fn what_documents_mean() {
    let cases = [
        // Nothing out of nothing.
        (Wire::Chat, "{}", None),
        (Wire::Chat, r#"{"usage":null}"#, None),
        (Wire::Chat, r#"{"usage":{}}"#, None),
        (Wire::Chat, r#"{"usage":{"total_tokens":9}}"#, None),
        (Wire::Chat, r#"{"usage":{"prompt_tokens":0}}"#, some(&[])),
        // Numbers that are no counts.
        (Wire::Chat, r#"{"usage":{"prompt_tokens":-1}}"#, None),
        (
            Wire::Chat,
            r#"{"usage":{"prompt_tokens":1.0,"completion_tokens":"2"}}"#,
            some(&[(Input, 1), (Output, 2)]),
        ),
        (
            Wire::Chat,
            r#"{"usage":{"prompt_tokens":"1\u0032","completion_tokens":"2.0e1","cached_tokens":"x"}}"#,
            some(&[(Input, 12), (Output, 20)]),
        ),
        (
            Wire::Chat,
            r#"{"usage":{"prompt_tokens":1.5,"completion_tokens":-1}}"#,
            None,
        ),
        (
            Wire::Chat,
            r#"{"usage":{"prompt_tokens":1e2}}"#,
            some(&[(Input, 100)]),
        ),
        (
            Wire::Chat,
            r#"{"usage":{"prompt_tokens":"12"}}"#,
            some(&[(Input, 12)]),
        ),
        (Wire::Chat, r#"{"usage":{"prompt_tokens":[12]}}"#, None),
        (
            Wire::Chat,
            r#"{"usage":{"prompt_tokens":18446744073709551616}}"#,
            None,
        ),
        (
            Wire::Chat,
            r#"{"usage":{"prompt_tokens":18446744073709551615}}"#,
            None,
        ),
        // No answer has as many tokens.
        (
            Wire::Chat,
            r#"{"usage":{"prompt_tokens":1000000000,"completion_tokens":1000000001}}"#,
            some(&[(Input, 1_000_000_000)]),
        ),
        // Parts beyond the whole.
        (
            Wire::Chat,
            r#"{"usage":{"prompt_tokens":5,"prompt_tokens_details":{"cached_tokens":7,"cache_write_tokens":7},"completion_tokens":1,"completion_tokens_details":{"reasoning_tokens":2}}}"#,
            some(&[(CacheRead, 5), (Reasoning, 1)]),
        ),
        // Keys are the same however they are spelled, and only where they belong.
        (
            Wire::Chat,
            "\u{feff} { \"us\\u0061ge\" : { \"prompt_tokens\" : 3 , \"x\":{\"prompt_tokens\":9} } }",
            some(&[(Input, 3)]),
        ),
        (
            Wire::Chat,
            r#"{"a":{"usage":{"prompt_tokens":9}},"b":["usage",{"prompt_tokens":9}],"usagé":{"prompt_tokens":9}}"#,
            None,
        ),
        // Each object is a report.
        (
            Wire::Chat,
            r#"{"usage":{"prompt_tokens":3},"usage":{"completion_tokens":4}}"#,
            some(&[(Input, 3), (Output, 4)]),
        ),
        // A document that breaks off or turns to nonsense says what it said before.
        (
            Wire::Responses,
            r#"{"usage":{"input_tokens":3,"output_tokens":45"#,
            None,
        ),
        (
            Wire::Responses,
            r#"{"usage":{"input_tokens":3,!"output_tokens":45}}"#,
            None,
        ),
        (
            Wire::Images,
            r#"{"data":[{"b64_json":"{},{}"},{"url":"x"}],"usage":{"input_tokens":50,"input_tokens_details":{"image_tokens":40,"text_tokens":10},"output_tokens":2}}"#,
            some(&[(Input, 10), (InputImage, 40), (OutputImage, 2)]),
        ),
        // What was written to the cache without a word on how long for.
        (
            Wire::Messages,
            r#"{"usage":{"cache_creation_input_tokens":300}}"#,
            some(&[(CacheWrite5m, 300)]),
        ),
        (
            Wire::Messages,
            r#"{"usage":{"cache_creation_input_tokens":300,"cache_creation":{"ephemeral_1h_input_tokens":100}}}"#,
            some(&[(CacheWrite5m, 200), (CacheWrite1h, 100)]),
        ),
        (
            Wire::Messages,
            r#"{"usage":{"cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":1}}}"#,
            some(&[(CacheWrite5m, 2), (CacheWrite1h, 1)]),
        ),
        // All but messages and what has no type are not in the sums.
        (
            Wire::Messages,
            r#"{"usage":{"input_tokens":1,"output_tokens":2,"iterations":[{"type":"message","input_tokens":9},{"input_tokens":30,"cache_creation":{"ephemeral_1h_input_tokens":5},"type":"compaction","output_tokens":40},{"type":"x","output_tokens":9},{"output_tokens":9},{"type":"fallback_message","model":"n","output_tokens":9},{"type":"compaction","cache_read_input_tokens":6}]}}"#,
            // What the list has of a model without a name is more than the totals say.
            some(&[(Input, 39), (CacheRead, 6), (CacheWrite1h, 5), (Output, 58)]),
        ),
        (
            Wire::Generate,
            r#"{"usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":4,"toolUsePromptTokenCount":3,"candidatesTokenCount":2,"thoughtsTokenCount":1}}"#,
            some(&[
                (Input, 5),
                (CacheRead, 4),
                (ToolUse, 3),
                (Output, 2),
                (Reasoning, 1),
            ]),
        ),
        (
            Wire::Generate,
            r#"{"embedding":{"values":[0.25,-0.5]}}"#,
            None,
        ),
    ];
    for (wire, answer, want) in cases {
        let got = read_any(wire, answer);
        assert_eq!(tokens(&got), want, "{wire:?} {answer}");
        let whole = answer.ends_with('}') && !answer.contains('!');
        assert_eq!(got.finished, whole, "{wire:?} {answer}");
    }
}

#[test]
fn images_are_counted() {
    let cases = [
        (r#"{"data":[{"url":"a"},{"url":"b"}]}"#, Some(2)),
        (r#"{"data":[{"url":"a"},{"url":"b"#, Some(1)),
        (r#"{"data":[]}"#, None),
        (r#"{"created":1}"#, None),
        (
            "data: {\"type\":\"image_edit.partial_image\"}\n\ndata: {\"type\":\"image_edit.completed\"}\n\n",
            Some(1),
        ),
        (
            "data: {\"type\":\"image_generation.completed\"}\n\ndata: {\"type\":\"image_generation.completed\"}\n\n",
            Some(2),
        ),
    ];
    for (answer, want) in cases {
        let got = read_any(Wire::Images, answer);
        assert_eq!(got.usage.map(|usage| usage.images), want, "{answer}");
    }
}

#[test]
fn what_streams_mean() {
    // (form, stream, tokens, finished, error)
    let done = "data: [DONE]\n\n";
    let cases = [
        (
            Wire::Chat,
            "data: {\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\ndata: {\"usage\":{\"prompt_tokens\":2}}\n\ndata: {\"usage\":null}\n\n".to_owned() + done,
            some(&[(Input, 3), (Output, 1)]),
            true,
            None,
        ),
        // A broken event, one that ends within, and what comes after the end count for nothing; one without its blank line
        // does.
        (
            Wire::Chat,
            "data: {\"usage\":{\"prompt_tokens\":3}\n\ndata: {\"usage\":{\"prompt_tokens\":4}}}\n\ndata: {\"usage\":{\"completion_tokens\":5}}\n\ndata: {\"usage\":{\"prompt_tokens\":6}\n".to_owned(),
            some(&[(Output, 5)]),
            false,
            None,
        ),
        (
            Wire::Chat,
            "data: {\"usage\":{\"completion_tokens\":5}}\n\ndata: {\"usage\":{\"prompt_tokens\":6}}\n".to_owned(),
            some(&[(Input, 6), (Output, 5)]),
            false,
            None,
        ),
        (
            Wire::Chat,
            "data: {\"usage\":{\"prompt_tokens\":5}}\n\ndata: {\"usage\":{\"prompt_tokens\":6}}".to_owned(),
            some(&[(Input, 6)]),
            false,
            None,
        ),
        (
            Wire::Messages,
            "event: message_stop\r\ndata: {\"type\":\"message_stop\"}\r".to_owned(),
            None,
            true,
            None,
        ),
        (
            Wire::Chat,
            done.to_owned() + "data: {\"usage\":{\"prompt_tokens\":6}}",
            None,
            true,
            None,
        ),
        (
            Wire::Chat,
            done.to_owned() + "data: {\"usage\":{\"prompt_tokens\":6}}\n\n",
            None,
            true,
            None,
        ),
        (Wire::Chat, "data: [DONE]\n".to_owned(), None, true, None),
        (Wire::Chat, "data: [DONE".to_owned(), None, false, None),
        (Wire::Responses, done.to_owned(), None, false, None),
        // All that the standard allows in an event: comments, other fields, data in fragments, no space.
        (
            Wire::Chat,
            ": hi\r\nid: 1\r\nevent: x\r\ndata:{\"usage\":\r\ndata\r\ndata: {\"prompt_tokens\":\r\nretry: 5\r\ndata:   7\r\ndata: }}\r\n\r\n".to_owned(),
            some(&[(Input, 7)]),
            false,
            None,
        ),
        (
            Wire::Chat,
            "\u{feff}data:{\"usage\":{\"prompt_tokens\":7}}\r\rxdata: [DONE]\r\rdatas: [DONE]\r\r data: [DONE]\r\r".to_owned(),
            some(&[(Input, 7)]),
            false,
            None,
        ),
        // A number and a string do not go on in the next line.
        (
            Wire::Chat,
            "data: {\"usage\":{\"prompt_tokens\":1\ndata: 2}}\n\ndata: {\"usa\ndata: ge\":{\"prompt_tokens\":1}}\n\n".to_owned(),
            None,
            false,
            None,
        ),
        (
            Wire::Messages,
            "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1,\"cache_creation_input_tokens\":9,\"cache_creation\":{\"ephemeral_1h_input_tokens\":9}}}}\n\ndata: {\"type\":\"message_delta\",\"usage\":{\"input_tokens\":null,\"output_tokens\":5,\"iterations\":[{\"type\":\"compaction\",\"output_tokens\":7}]}}\n\ndata: {\"type\":\"message_delta\",\"usage\":{\"iterations\":[{\"type\":\"compaction\",\"output_tokens\":8}]}}\n\ndata: {\"type\":\"message_stop\"}\n\n".to_owned(),
            some(&[(Input, 3), (CacheWrite1h, 9), (Output, 13)]),
            true,
            None,
        ),
        // Usage stands in the events of usage alone.
        (
            Wire::Messages,
            "data: {\"type\":\"content_block_delta\",\"usage\":{\"output_tokens\":5}}\n\ndata: {\"usage\":{\"output_tokens\":6},\"type\":\"ping\"}\n\n".to_owned(),
            None,
            false,
            None,
        ),
        (
            Wire::Generate,
            "data: {\"usageMetadata\":{\"promptTokenCount\":3,\"candidatesTokenCount\":1}}\n\ndata: {\"usageMetadata\":{\"candidatesTokenCount\":4}}\n\ndata: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n".to_owned(),
            some(&[(Input, 3), (Output, 4)]),
            true,
            None,
        ),
        // The same without `alt=sse`: a list of what would be events.
        (
            Wire::Generate,
            "[{\"usageMetadata\":{\"promptTokenCount\":3}}\n,\n{\"candidates\":[{\"finishReason\":\"STOP\"}]},{\"usageMetadata\":{\"promptTokenCount\":4},".to_owned(),
            some(&[(Input, 3)]),
            true,
            None,
        ),
        (
            Wire::Generate,
            "[{\"usageMetadata\":{\"promptTokenCount\":3}},{\"error\":{\"code\":503,\"status\":\"UNAVAILABLE\"}}]".to_owned(),
            some(&[(Input, 3)]),
            false,
            Some("UNAVAILABLE"),
        ),
        // The first error is told, by its type, its code, or as what it is.
        (
            Wire::Responses,
            "data: {\"type\":\"error\",\"code\":\"c\"}\n\ndata: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"d\"}}}\n\n".to_owned(),
            None,
            false,
            Some("c"),
        ),
        (
            Wire::Responses,
            "data: {\"type\":\"error\",\"error\":{\"type\":\"t\",\"code\":\"c\"}}\n\n".to_owned(),
            None,
            false,
            Some("t"),
        ),
        (
            Wire::Chat,
            "data: {\"error\":{\"code\":502,\"message\":\"m\"}}\n\n".to_owned() + done,
            None,
            false,
            Some("error"),
        ),
        (
            Wire::Chat,
            "data: {\"error\":\"overloaded\"}\n\n".to_owned(),
            None,
            false,
            Some("error"),
        ),
        (
            Wire::Chat,
            "data: {\"error\":null}\n\n".to_owned() + done,
            None,
            true,
            None,
        ),
    ];
    for (wire, answer, want, finished, error) in cases {
        let got = read_any(wire, &answer);
        assert_eq!(tokens(&got), want, "{wire:?} {answer}");
        assert_eq!(got.finished, finished, "{wire:?} {answer}");
        assert_eq!(got.error.as_deref(), error, "{wire:?} {answer}");
    }
}

#[test]
fn strings_are_kept_up_to_a_length() {
    let long = "m".repeat(MAX_TEXT);
    let longer = "m".repeat(MAX_TEXT + 1);
    let cases = [
        ("m1".to_owned(), Some("m1".to_owned())),
        (String::new(), None),
        (long.clone(), Some(long.clone())),
        (longer.clone(), None),
        (format!("{long}\\u006d"), None),
        (
            "\\u006d\\n\u{e9}\\ud83d\\ude00/".to_owned(),
            Some("m\n\u{e9}\u{1f600}/".to_owned()),
        ),
        ("a\\ud83d".to_owned(), None),
        ("a\\ud83d\\ud83d\\ude00".to_owned(), None),
        ("a\\ude00b".to_owned(), None),
    ];
    for (text, want) in cases {
        let answer = format!(r#"{{"model":"{text}","usage":{{"prompt_tokens":1}}}}"#);
        let got = read_any(Wire::Chat, &answer);
        assert_eq!(got.response_model, want.map(Into::into), "{text}");
        assert_eq!(tokens(&got), some(&[(Input, 1)]), "{text}");
    }
    let number = "1".repeat(MAX_TEXT + 2);
    for word in [number.as_str(), "007", "12"] {
        let answer = format!(r#"{{"usage":{{"prompt_tokens":{word}}},"model":"m"}}"#);
        let got = read_any(Wire::Chat, &answer);
        let want = (word == "12").then_some(vec![(Input, 12)]);
        assert_eq!(tokens(&got), want, "{word}");
        assert_eq!(got.response_model.as_deref(), Some("m"), "{word}");
    }
}

#[test]
fn what_else_is_told() {
    let cases = [
        (
            Wire::Responses,
            "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"model\":\"m\",\"status\":\"in_progress\",\"service_tier\":\"auto\"}}\n\n".to_owned(),
            [Some("r"), Some("m"), None, Some("auto")],
        ),
        (
            Wire::Responses,
            r#"{"id":"r","status":"completed","incomplete_details":null,"service_tier":"flex"}"#.to_owned(),
            [Some("r"), None, Some("completed"), Some("flex")],
        ),
        (
            Wire::Responses,
            r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}"#.to_owned(),
            [None, None, Some("max_output_tokens"), None],
        ),
        (
            Wire::Messages,
            "data: {\"type\":\"message_start\",\"message\":{\"id\":\"i\",\"model\":\"m\",\"usage\":{\"service_tier\":\"standard\"}}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n".to_owned(),
            [Some("i"), Some("m"), Some("end_turn"), Some("standard")],
        ),
        // Some upstreams begin a stream with empty strings.
        (
            Wire::Chat,
            "data: {\"id\":\"\",\"model\":\"\"}\n\ndata: {\"id\":\"i\",\"model\":\"m\",\"choices\":[{\"finish_reason\":null}]}\n\ndata: {\"id\":\"i\",\"model\":\"\",\"choices\":[{\"index\":0,\"finish_reason\":\"stop\"}]}\n\n".to_owned(),
            [Some("i"), Some("m"), Some("stop"), None],
        ),
        // What is no text stands for none.
        (
            Wire::Chat,
            "data: {\"id\":\"i\",\"model\":\"m\"}\n\ndata: {\"id\":\"\\ud83d\",\"model\":\"a\\ud83db\"}\n\n".to_owned(),
            [Some("i"), Some("m"), None, None],
        ),
    ];
    for (wire, answer, want) in cases {
        let got = read_any(wire, &answer);
        let got = [
            got.response_id.as_deref(),
            got.response_model.as_deref(),
            got.finish_reason.as_deref(),
            got.service_tier.as_deref(),
        ];
        assert_eq!(got, want, "{wire:?} {answer}");
    }
}

#[test]
fn a_meter_is_small_and_brackets_are_free() {
    let lists = MAX_OTHERS * size_of::<ModelSum>() + MAX_QUERIES * size_of::<u64>();
    let bytes = size_of::<Meter>() + size_of::<EventReader>() + 2 * lists;
    assert!(bytes <= Meter::MAX_BYTES, "{bytes} bytes");
    // Nested deeper than any memory there is for it, of interest or not.
    let deep = 1_000_000;
    for (open, close) in [("[", "]"), ("{\"usage\":", "}")] {
        let inner = [open.repeat(deep), "1".to_owned(), close.repeat(deep)].concat();
        let answer = format!(r#"{{"x":{inner},"choices":{inner},"usage":{{"prompt_tokens":1}}}}"#);
        let got = read(Wire::Chat, answer.as_bytes().chunks(4096));
        assert_eq!(tokens(&got), some(&[(Input, 1)]), "{open}");
        assert!(got.finished, "{open}");
    }
}

/// An event like the last one is not read again; it must be the last one, even after one too long to be remembered.
#[test]
fn what_was_known_before_is_news_after_something_else() {
    let long = format!("\"{}\"", "x".repeat(4096));
    let orders = [
        "a",
        "aaa",
        "aaab",
        "aaaba",
        "aabbaabab",
        "aaabbba",
        "aca",
        "aacaa",
        "acbca",
        "ccacc",
    ];
    for order in orders {
        let event = |id| {
            let key = if id == 'c' { &long } else { "\"object\"" };
            let usage = u32::from(id);
            format!(
                "data: {{\"id\":\"{id}\",\"usage\":{{\"prompt_tokens\":{usage},\"completion_tokens\":1}},{key}:\"x\"}}\n\n"
            )
        };
        let stream: String = order.chars().map(event).collect();
        let last = order.chars().last();
        let want = last.map(|id| vec![(Input, u64::from(u32::from(id))), (Output, 1)]);
        for size in [1, 100, 1000, 100_000] {
            let got = read(Wire::Chat, stream.as_bytes().chunks(size));
            let id = last.map(String::from);
            assert_eq!(got.response_id, id.map(Into::into), "{order} by {size}");
            assert_eq!(tokens(&got), want, "{order} by {size}");
        }
    }
}
