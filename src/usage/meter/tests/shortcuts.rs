//! Shortcuts: an answer read in one go reads as it does byte by byte, where no shortcut applies.

use super::*;

/// Whole answers with all that a shortcut is for, and something of every kind close to it.
const ANSWERS: [(Wire, &str); 7] = [
    (
        Wire::Chat,
        r#"{"id":"c1","object":"o","n":1763700000,"x":[1,"a",{"b":null,"c":"d"},12],"model":"m","choices":[{"index":0,"message":{"role":"r","text":"\"","none":[]},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":212,"completion_tokens":98,"prompt_tokens_details":{"cached_tokens":12,"audio_tokens":0},"none":true},"service_tier":"t","last":null}"#,
    ),
    (
        Wire::Messages,
        r#"{"type":"message_delta","id":"c1","usage":{"input_tokens":7,"output_tokens":98,"iterations":[{"type":"compaction","input_tokens":3},{"type":"x"}]},"delta":{"stop_reason":"s"}}"#,
    ),
    (
        Wire::Chat,
        r#"{"choices":[{"message":{"content":"a\u00e9\n","tool_calls":[{"function":{"name":"f","arguments":"{\"a\":1}"}}]},"delta":{"content":[{"text":"b"},{"thinking":[{"x":"\u00e9"}]}]}}]}"#,
    ),
    (
        Wire::Messages,
        r#"{"model":"m","content":[{"text":"a"},{"name":"f","input":{"a":["\u00e9",{"b":"\""}]}}],"type":"content_block_delta","delta":{"text":"c\u00e9"},"usage":{"iterations":[{"type":"y","model":"n","output_tokens":3}]}}"#,
    ),
    (
        Wire::Responses,
        r#"{"type":"response.output_item.done","delta":"d","item":{"type":"web_search_call","action":{"type":"search"}},"output":[{"type":"message","content":[{"text":"t"}]}],"tools":[{"type":"image_generation","model":"g"}],"tool_usage":{"image_gen":{"output_tokens":9},"web_search":{"num_requests":2}},"usage":{"input_tokens":7}}"#,
    ),
    (
        Wire::Images,
        r#"{"data":[{"url":"a"},{}],"type":"x.completed","usage":{"input_tokens":50},"error":{"type":"t","code":5}}"#,
    ),
    (
        Wire::Generate,
        r#"[{"responseId":"r","usageMetadata":{"promptTokenCount":9}},{"candidates":[{"finishReason":"STOP"}]}]"#,
    ),
];

/// The pieces that are put into an answer, or in place of one of its bytes.
const PIECES: [&str; 28] = [
    "", " ", "\t", "\n", "\r\n", "\"", ",", ":", "{", "}", "[", "]", "0", "7", "-", ".", "e",
    "null", "\\", "\\n", "\\u0041", "\\ud83d", "é", "x", "\0", "\"a\":1,", ",\"", ",1 ",
];

fn same_by_bytes(wire: Wire, answer: &str) {
    let answer = answer.as_bytes();
    let whole = read(wire, [answer]);
    let context = answer.escape_ascii();
    assert_eq!(read(wire, answer.chunks(1)), whole, "{wire:?} {context}");
    assert_eq!(read(wire, answer.chunks(19)), whole, "{wire:?} {context}");
}

#[test]
fn any_piece_at_any_place() {
    for (wire, answer) in ANSWERS {
        for at in 0..=answer.len() {
            let (head, tail) = answer.split_at(at);
            for fragment in PIECES {
                let inserted = [head, fragment, tail].concat();
                same_by_bytes(wire, &inserted);
                let replaced = [head, fragment, tail.get(1..).unwrap_or_default()].concat();
                same_by_bytes(wire, &replaced);
                same_by_bytes(wire, &format!("data: {replaced}\n\ndata: {answer}\n\n"));
            }
        }
    }
}

#[test]
fn numbers_and_words_of_every_length() {
    let digits = "1234567890123456789012345678901234567890";
    let words = [
        "null", "nulls", "nul", "true", "false", "0", "00", "01", "-0", "1e5", "DONE",
    ];
    let numbers = (1..digits.len()).map(|length| &digits[..length]);
    for word in numbers.chain(words) {
        for after in ["", ",", "}", " ", "\n", "]", ":", "\"", "x", "_"] {
            for key in ["prompt_tokens", "other"] {
                let usage = format!("{{\"usage\":{{\"{key}\":{word}{after}");
                same_by_bytes(Wire::Chat, &usage);
                same_by_bytes(Wire::Chat, &format!("{usage}\"completion_tokens\":5}}}}"));
                same_by_bytes(Wire::Chat, &format!("data: {usage}}}}}\n\n"));
            }
            same_by_bytes(Wire::Chat, &format!("[{word}{after}"));
        }
    }
}
