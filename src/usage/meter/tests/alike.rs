//! Streams whose events are much like one another: each is read as if it stood alone.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// Events in which `N` is a number and `T` a text, some read and some not.
const EVENTS: &[&str] = &[
    r#"{"id":"i","choices":[{"index":N,"delta":{"content":"T"},"finish_reason":null}],"usage":null,"x":N}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"T"}]},"index":N}],"usageMetadata":{"promptTokenCount":N,"candidatesTokenCount":N,"details":[{"of":"T","tokenCount":N}]}}"#,
    r#"{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":N,"thoughtsTokenCount":N}}"#,
    r#"{"usage":{"prompt_tokens":N,"completion_tokens":N,"prompt_tokens_details":{"cached_tokens":N}},"model":"m"}"#,
    // One number twice, and a usage object that stands for one before it.
    r#"{"usage":{"prompt_tokens":N,"completion_tokens":N,"prompt_tokens":N}}"#,
    r#"{"usage":{"prompt_tokens":N},"usage":{"completion_tokens":N},"x":"T"}"#,
    r#"{"type":"message_start","message":{"id":"T","usage":{"input_tokens":N,"output_tokens":N}}}"#,
    r#"{"type":"message_delta","usage":{"output_tokens":N,"cache_creation":{"ephemeral_1h_input_tokens":N}}}"#,
    // What is counted or summed up.
    r#"{"type":"message_delta","usage":{"iterations":[{"type":"compaction","output_tokens":N}]}}"#,
    r#"{"type":"image_edit.completed","usage":{"input_tokens":N,"output_tokens":N}}"#,
    r#"{"type":"response.in_progress","sequence_number":N,"response":{"id":"i","usage":{"input_tokens":N}}}"#,
    r#"{"type":"response.output_text.delta","sequence_number":N,"delta":"T","usage":{"input_tokens":N}}"#,
    // What the model wrote, in texts of any length, and what it did.
    r#"{"type":"content_block_delta","index":N,"delta":{"type":"text_delta","text":"T"}}"#,
    r#"{"type":"content_block_delta","delta":{"thinking":"T","text":"T"},"usage":{"output_tokens":N}}"#,
    r#"{"type":"content_block_start","content_block":{"name":"T","input":{"a":["T",N]}}}"#,
    r#"{"choices":[{"delta":{"reasoning":"T","tool_calls":[{"function":{"arguments":"T"}}]}},{"delta":{"content":"T"}}],"usage":{"prompt_tokens":N}}"#,
    r#"{"type":"response.output_item.done","item":{"type":"web_search_call","status":"T","id":"T"}}"#,
    r#"{"candidates":[{"groundingMetadata":{"webSearchQueries":["T","T"]}}],"usageMetadata":{"promptTokenCount":N}}"#,
    r#"{"usageMetadata":{"promptTokenCount":N,"promptTokensDetails":[{"modality":"TEXT","tokenCount":N},{"modality":"AUDIO","tokenCount":N}]}}"#,
    r#"{"usageMetadata":{"candidatesTokensDetails":[{"tokenCount":N,"modality":"TEXT"}],"candidatesTokenCount":N}}"#,
    r#"{"type":"message_delta","usage":{"iterations":[{"type":"advisor_message","model":"T","output_tokens":N}]}}"#,
    r#"{"error":{"code":"T","type":"T","status":"T"},"x":"T"}"#,
    // Pictures, sound, what has begun, and reasoning under several names.
    r#"{"choices":[{"delta":{"reasoning":"T","reasoning_details":[{"text":"T","index":N}],"reasoning_content":"T"}}]}"#,
    r#"{"choices":[{"delta":{"content":"T","audio":{"data":"T","transcript":"T"},"images":[{"image_url":{"url":"T"}}]}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"T","data":"T"}},{"text":"T"}]}}]}"#,
    r#"{"type":"response.output_item.added","item":{"type":"web_search_call","result":"T","id":"T"},"sequence_number":N}"#,
    r#"{"type":"response.x.partial_image","partial_image_b64":"T","sequence_number":N}"#,
    r#"{"type":"response.audio.delta","delta":"T","sequence_number":N}"#,
    r#"{"type":"content_block_start","content_block":{"type":"server_tool_use","name":"web_search","id":"T"}}"#,
    // Broken, after what would count.
    r#"{"usage":{"prompt_tokens":N,"input_tokens":N},"usageMetadata":{"promptTokenCount":N},"x":"T"}}"#,
    r#"{"usage":{"prompt_tokens":N},"x":"T""#,
    // An end of a line within.
    "{\"usage\":{\"prompt_tokens\":N\ndata:,\"completion_tokens\":N},\ndata: \"x\":\"T\"}",
];

const NUMBERS: &[&str] = &[
    "0",
    "7",
    "12",
    "12",
    "345",
    "678901",
    "18446744073709551615",
    "18446744073709551616",
    "01",
    "1.5",
    "-1",
    "1e3",
    "null",
    "\"7\"",
    "tru",
    "true",
    "",
];

const TEXTS: &[&str] = &[
    "",
    "a",
    "an",
    "the quick brown fox",
    r#"\"usage\":{\"prompt_tokens\":9}"#,
    r"\\",
    r"\u0041\n",
    "größer als 二",
    "\t",
    r"a\",
    "of more than a few bytes, so that it takes several steps to find where it ends",
    LONG,
    LONGER,
];

/// Not remembered, and with so many numbered characters that they are not.
const LONG: &str = r"\u0041 and so on, for more than the half of what is remembered: \u00e9 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
const LONGER: &str = r"\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c\u4e8c";

/// Choices among what there is; the first few are likelier.
fn choice(among: usize) -> impl Strategy<Value = usize> {
    prop_oneof![0..among.min(6), 0..among]
}

/// Runs of one event with other numbers and texts each time: which event, how its lines end, and what stands in it.
fn runs() -> impl Strategy<Value = Vec<(usize, usize, Vec<Vec<usize>>)>> {
    let fillings = vec(vec(choice(TEXTS.len() * NUMBERS.len()), 1..4), 1..6);
    vec((0..EVENTS.len(), 0..4usize, fillings), 1..6)
}

fn event(of: &str, line_end: &str, filling: &[usize]) -> String {
    let mut choices = filling.iter().cycle();
    let mut pick = |among: &[&str]| {
        let choice = choices.next().unwrap();
        among[choice % among.len()].to_owned()
    };
    let mut json = String::new();
    let mut last = ' ';
    for character in of.chars() {
        let word = last.is_ascii_alphabetic();
        match character {
            'N' if last == ':' => json += &pick(NUMBERS),
            'T' if last == '"' && !word => json += &pick(TEXTS),
            _ => json.push(character),
        }
        last = character;
    }
    format!("data: {json}\n\n").replace('\n', line_end)
}

/// The defect of a broken event counts when it is compared with another.
#[test]
fn an_event_is_not_broken_because_the_one_before_was() {
    let cases = [
        ("a control character", r#""x":"T""#, "\t", ""),
        ("a word", r#""x":T"#, "tru", "true"),
        ("a number", r#""x":T"#, "1x", "1"),
        ("an escape", r#""id":"T""#, r"\x", r"\n"),
    ];
    for (case, member, bad, good) in cases {
        let event = |value: &str| {
            let member = member.replace('T', value);
            format!("data: {{{member},\"usage\":{{\"prompt_tokens\":1}}}}\n\n")
        };
        let stream = [event(bad), event(good), event(bad)].concat();
        let got = read_any(Wire::Chat, &stream);
        assert_eq!(tokens(&got), some(&[(Input, 1)]), "{case}");
    }
}

/// Of a long text less is remembered. An empty one is another nevertheless where the same reasoning has several names.
#[test]
fn empty_reasoning_behind_a_long_one() {
    let event = |reasoning: &str, details: &str| {
        let delta = format!(
            r#"{{"reasoning":"{reasoning}","reasoning_details":[{{"text":"{details}"}}]}}"#
        );
        format!("data: {{\"choices\":[{{\"delta\":{delta}}}]}}\n\n")
    };
    let stream = [event(&"x".repeat(300), ""), event("", "four")].concat();
    assert_eq!(read_any(Wire::Chat, &stream).generated_bytes, 304);
}

proptest! {
    #![proptest_config(crate::seeds_beside_source())]

    #[test]
    fn each_event_is_read_as_if_it_stood_alone(
        wire in prop::sample::select(Wire::ALL.to_vec()),
        runs in runs(),
        sizes in vec(1..300usize, 1..8),
    ) {
        let (mut stream, mut apart) = (String::new(), String::new());
        for (index, line_end, fillings) in &runs {
            let line_end = ["\n", "\n", "\r\n", "\r"][*line_end];
            for filling in fillings {
                let event = event(EVENTS[*index], line_end, filling);
                stream += &event;
                // No two events with comments of their own are alike.
                apart += &format!(": {}\n{event}", "x".repeat(apart.len() % 97));
            }
        }
        let want = read(wire, [apart.as_bytes()]);
        prop_assert_eq!(read(wire, [stream.as_bytes()]), want.clone(), "{}", &stream);
        for size in &sizes {
            let got = read(wire, stream.as_bytes().chunks(*size));
            prop_assert_eq!(got, want.clone(), "by {}: {}", size, &stream);
        }
    }
}
