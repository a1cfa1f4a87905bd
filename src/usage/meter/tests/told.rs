//! Facts in an answer beside its tokens and its end.

use super::*;
use crate::usage::{Call, Passed, Usage};

fn event(json: &str) -> String {
    format!("data: {json}\n\n")
}

#[test]
fn what_the_model_wrote() {
    let chunk = |delta: &str| event(&format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#));
    let message = |message: &str| format!(r#"{{"choices":[{{"message":{message}}}]}}"#);
    let part = |part: &str| {
        event(&format!(
            r#"{{"candidates":[{{"content":{{"parts":[{part}]}}}}]}}"#
        ))
    };
    let block = |delta: &str| {
        event(&format!(
            r#"{{"type":"content_block_delta","delta":{delta}}}"#
        ))
    };
    let cases = [
        // Chat Completions.
        (Wire::Chat, chunk(r#"{"content":""}"#), 0),
        (Wire::Chat, chunk(r#"{"role":"assistant","content":null}"#), 0),
        (Wire::Chat, chunk(r#"{"content":"four"}"#), 4),
        (Wire::Chat, chunk(r#"{"content":"four"}"#).repeat(50), 200),
        (Wire::Chat, chunk(r#"{"content":"a\n\"\\"}"#), 7),
        (Wire::Chat, chunk(r#"{"content":"\u4e8c\\u4e8c"}"#), 10),
        (Wire::Chat, chunk("{\"content\":\"二\"}"), 3),
        (Wire::Chat, chunk(r#"{"reasoning_content":"abc","reasoning":"abc","refusal":"d"}"#), 4),
        (
            Wire::Chat,
            chunk(r#"{"tool_calls":[{"id":"x","function":{"name":"f","arguments":"{}"}},{"custom":{"name":"gh","input":"i"}}],"function_call":{"name":"j"}}"#),
            7,
        ),
        (Wire::Chat, chunk(r#"{"audio":{"id":"x","data":"AAAA","transcript":"yes"}}"#), 3),
        (Wire::Chat, chunk(r#"{"content":[{"type":"text","text":"ab"},{"thinking":[{"text":"c"}]}]}"#), 14),
        // All so far, over and over.
        (
            Wire::Chat,
            event(r#"{"choices":[{"delta":{"content":"ab"},"message":{"content":"ab"}}]}"#),
            2,
        ),
        // A broken event, and one that breaks off.
        (Wire::Chat, event(r#"{"choices":[{"delta":{"content":"ab"}]}"#), 0),
        (Wire::Chat, r#"data: {"choices":[{"delta":{"content":"ab"#.to_owned(), 2),
        (Wire::Generate, r#"[{"candidates":[{"content":{"parts":[{"text":"ab"}]}}]},{"candidates":[{"content":{"parts":[{"text":"c"#.to_owned(), 3),
        // The same reasoning under several names.
        (Wire::Chat, chunk(r#"{"content":"","reasoning":"abc","reasoning_details":[{"type":"reasoning.text","text":"abc"}]}"#).repeat(9), 27),
        (Wire::Chat, chunk(r#"{"reasoning_details":[{"type":"reasoning.text","text":"abc"},{"summary":"de"}],"reasoning":"abcde"}"#), 5),
        (Wire::Chat, chunk(r#"{"reasoning":null,"reasoning_details":[{"type":"reasoning.encrypted","data":"abc"},{"type":"reasoning.summary","summary":"de"}]}"#).repeat(3), 6),
        (Wire::Chat, message(r#"{"content":"abc","reasoning":"de","reasoning_content":"de","reasoning_details":[{"text":"de"}]}"#), 5),
        (Wire::Chat, message(r#"{"content":"abc","tool_calls":[{"function":{"name":"f","arguments":"{\"a\":1}"}}]}"#), 13),
        // A document that breaks off: so much passed.
        (Wire::Chat, r#"{"choices":[{"message":{"content":"ab"#.to_owned(), 2),
        // Responses: the deltas of a stream, the output of a document.
        (Wire::Responses, event(r#"{"type":"response.output_text.delta","delta":"abc"}"#), 3),
        (Wire::Responses, event(r#"{"type":"response.function_call_arguments.delta","delta":"{\"a"}"#), 4),
        (Wire::Responses, event(r#"{"delta":"abc","type":"response.reasoning_summary_text.delta"}"#), 3),
        (Wire::Responses, event(r#"{"type":"response.audio.transcript.delta","delta":"abc"}"#), 3),
        (Wire::Responses, event(r#"{"type":"response.audio.delta","delta":"AAAA"}"#), 0),
        (Wire::Responses, event(r#"{"type":"response.shell_call_output_content.delta","delta":{"stdout":"abc"}}"#), 0),
        (Wire::Responses, event(r#"{"type":"response.output_text.done","text":"abc","delta":"abc"}"#), 0),
        (Wire::Responses, event(r#"{"type":"response.completed","response":{"output":[{"type":"message","content":[{"text":"abc"}]}]}}"#), 0),
        (
            Wire::Responses,
            r#"{"output":[{"type":"reasoning","summary":[{"text":"ab"}],"content":[{"text":"c"}],"encrypted_content":"AAAA"},{"type":"message","content":[{"text":"de","annotations":[{"title":"x"}]},{"refusal":"f"}]},{"type":"function_call","name":"n","arguments":"{}"},{"type":"custom_tool_call","input":"gh"},{"type":"code_interpreter_call","code":"i"},{"type":"image_generation_call","result":"AAAA"},{"type":"shell_call","action":{"commands":["ls"]}},{"type":"apply_patch_call","operation":{"diff":"+a"}}],"instructions":"x"}"#.to_owned(),
            17,
        ),
        // Of a compaction what the client wrote is repeated.
        (
            Wire::Compaction,
            r#"{"output":[{"type":"message","role":"user","content":[{"type":"input_text","text":"abc"}]},{"type":"compaction","encrypted_content":"AAAA"}]}"#.to_owned(),
            4,
        ),
        (Wire::Embeddings, r#"{"data":[{"embedding":"AAAA"},{"embedding":[1,2]}]}"#.to_owned(), 0),
        // Messages.
        (Wire::Messages, block(r#"{"type":"text_delta","text":"abc"}"#), 3),
        (Wire::Messages, block(r#"{"type":"thinking_delta","thinking":"abc"}"#), 3),
        (Wire::Messages, block(r#"{"type":"input_json_delta","partial_json":"{\""}"#), 3),
        (Wire::Messages, block(r#"{"type":"signature_delta","signature":"abc"}"#), 0),
        (Wire::Messages, block(r#"{"type":"compaction_delta","content":"abc","encrypted_content":"x"}"#), 3),
        (
            Wire::Messages,
            event(r#"{"type":"content_block_start","content_block":{"type":"text","text":"ab"}}"#)
                + &event(r#"{"type":"content_block_start","content_block":{"type":"tool_use","id":"x","name":"f","input":{}}}"#),
            3,
        ),
        (
            Wire::Messages,
            r#"{"content":[{"type":"thinking","thinking":"ab","signature":"x"},{"type":"text","text":"c"},{"type":"tool_use","name":"f","input": {"a": "\u00e9\u00e9}", "b":[1 ]} },{"type":"web_search_tool_result","content":[{"title":"x"}]}]}"#.to_owned(),
            4 + 24,
        ),
        (Wire::Messages, r#"{"content":[{"name":"f","input":{"a":"b"#.to_owned(), 1 + 6),
        // Generate-content.
        (Wire::Generate, part(r#"{"text":"abc","thought":true},{"text":"d"}"#), 4),
        (Wire::Generate, part(r#"{"inlineData":{"data":"AAAA"}},{"thoughtSignature":"AAAA"}"#), 0),
        (Wire::Generate, part(r#"{"functionCall":{"id":"x","name":"f","args":{"a":1}}},{"executableCode":{"language":"PYTHON","code":"1+1"}}"#), 1 + 5 + 3),
        (Wire::Generate, part(r#"{"codeExecutionResult":{"output":"abc"}}"#), 0),
        (Wire::Generate, r#"[{"candidates":[{"content":{"parts":[{"text":"ab"}]}}]},{"candidates":[{"content":{"parts":[{"text":"c"}]}}]}]"#.to_owned(), 3),
        // Images.
        (Wire::Images, r#"{"data":[{"b64_json":"AAAA","revised_prompt":"x"}]}"#.to_owned(), 0),
    ];
    for (wire, answer, want) in cases {
        let got = read_any(wire, &answer);
        assert_eq!(got.generated_bytes, want, "{wire:?} {answer}");
        assert!(!got.unreadable, "{wire:?} {answer}");
    }
}

/// Texts that follow another in an event like the last one: longer, shorter, with numbered characters, too long to be
/// remembered.
#[test]
fn texts_of_events_that_are_alike() {
    let long = "x".repeat(300);
    let numbered = r"\u00e9".repeat(300);
    let all = [
        "a",
        "bc",
        "",
        &long,
        r"\u00e9",
        "d",
        &numbered,
        &long,
        "",
        r"\u00e9\\u00e9",
        &numbered,
        "e",
    ];
    let counts = [1, 2, 0, 300, 3, 1, 900, 300, 0, 10, 900, 1];
    // Each of them is once the first, which is remembered.
    for first in 0..all.len() {
        let mut texts = all;
        texts.rotate_left(first);
        let events = |form: &dyn Fn(&str) -> String| texts.map(|text| event(&form(text))).concat();
        let cases = [
            (
                Wire::Chat,
                events(&|text| {
                    format!(
                        r#"{{"id":"i","choices":[{{"delta":{{"content":"{text}"}}}}],"usage":null}}"#
                    )
                }),
            ),
            (
                Wire::Messages,
                events(&|text| {
                    format!(
                        r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
                    )
                }),
            ),
            (
                Wire::Responses,
                events(&|text| {
                    format!(
                        r#"{{"type":"response.output_text.delta","sequence_number":{},"delta":"{text}"}}"#,
                        text.len()
                    )
                }),
            ),
            (
                Wire::Generate,
                events(&|text| {
                    format!(
                        r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{text}"}}]}}}}],"usageMetadata":{{"promptTokenCount":{}}}}}"#,
                        text.len()
                    )
                }),
            ),
        ];
        for (wire, stream) in cases {
            let want: u64 = counts.iter().sum();
            for size in [1, 2, 7, 100, 1000, usize::MAX] {
                let got = read(wire, stream.as_bytes().chunks(size));
                assert_eq!(got.generated_bytes, want, "{wire:?} by {size}");
            }
        }
    }
}

fn calls(reading: &Reading) -> Vec<(Call, u64)> {
    let usage = reading.usage.unwrap_or_default();
    let all = Call::ALL.map(|call| (call, usage.calls(call)));
    all.into_iter().filter(|(_, calls)| *calls > 0).collect()
}

#[test]
fn calls_that_vendors_price() {
    let done = |item: &str| {
        event(&format!(
            r#"{{"type":"response.output_item.done","item":{item}}}"#
        ))
    };
    let web =
        r#"{"type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}"#;
    let completed = format!(r#"{{"type":"response.completed","response":{{"output":[{web}]}}}}"#);
    let grounded = |queries: &str| {
        event(&format!(
            r#"{{"candidates":[{{"groundingMetadata":{{"webSearchQueries":[{queries}]}}}}]}}"#
        ))
    };
    let cases = [
        (
            Wire::Messages,
            r#"{"usage":{"input_tokens":1,"server_tool_use":{"web_search_requests":3,"web_fetch_requests":2,"code_execution_requests":1}}}"#.to_owned(),
            vec![(Call::WebSearch, 3), (Call::CodeExecution, 1)],
            0,
        ),
        (
            Wire::Messages,
            event(r#"{"type":"message_delta","usage":{"server_tool_use":{"web_search_requests":1}}}"#)
                + &event(r#"{"type":"message_delta","usage":{"server_tool_use":{"web_search_requests":2}}}"#),
            vec![(Call::WebSearch, 2)],
            0,
        ),
        // Each item once, as it is done or has begun; the last event repeats it.
        (
            Wire::Responses,
            done(web).repeat(2) + &event(&completed),
            vec![(Call::WebSearch, 2)],
            0,
        ),
        (
            Wire::Responses,
            event(&format!(r#"{{"type":"response.output_item.added","item":{web}}}"#)),
            vec![(Call::WebSearch, 1)],
            0,
        ),
        (
            Wire::Responses,
            done(r#"{"type":"web_search_call","status":"failed"}"#)
                + &done(r#"{"type":"web_search_call","action":{"type":"open_page"},"status":"completed"}"#)
                + &done(r#"{"type":"function_call","status":"completed"}"#)
                + &done(r#"{"type":"code_interpreter_call","status":"completed"}"#)
                + &done(r#"{"type":"file_search_call","status":"completed"}"#)
                + &done(r#"{"type":"image_generation_call","status":"generating"}"#),
            vec![(Call::CodeExecution, 1), (Call::FileSearch, 1)],
            1,
        ),
        (
            Wire::Responses,
            format!(r#"{{"output":[{web},{web},{{"type":"image_generation_call"}},{{"type":"image_generation_call","status":"failed"}}]}}"#),
            vec![(Call::WebSearch, 2)],
            1,
        ),
        // What is billed is told.
        (
            Wire::Responses,
            format!(r#"{{"tool_usage":{{"web_search":{{"num_requests":1}}}},"output":[{web},{web}],"usage":{{"input_tokens":1}}}}"#),
            vec![(Call::WebSearch, 1)],
            0,
        ),
        // The greatest list.
        (
            Wire::Generate,
            grounded(r#""a""#) + &grounded(r#""a","b","""#) + &grounded(r#""b""#),
            vec![(Call::WebSearch, 2)],
            0,
        ),
        (
            Wire::Generate,
            r#"{"candidates":[{"groundingMetadata":{"groundingChunks":[{"web":{"uri":"x"}},{"maps":{"uri":"x"}},{"maps":{}}]}}]}"#.to_owned(),
            vec![(Call::MapsSearch, 1)],
            0,
        ),
        (Wire::Chat, r#"{"choices":[{"message":{"annotations":[{"type":"url_citation"}]}}]}"#.to_owned(), vec![], 0),
    ];
    for (wire, answer, want, images) in cases {
        let got = read_any(wire, &answer);
        assert_eq!(calls(&got), want, "{wire:?} {answer}");
        let made = got.usage.unwrap_or_default().images;
        assert_eq!(made, images, "{wire:?} {answer}");
    }
}

#[test]
fn audio_and_images() {
    let cases = [
        (
            Wire::Chat,
            r#"{"usage":{"prompt_tokens":100,"prompt_tokens_details":{"cached_tokens":10,"audio_tokens":40,"image_tokens":20},"completion_tokens":50,"completion_tokens_details":{"reasoning_tokens":5,"audio_tokens":30,"image_tokens":6}}}"#,
            vec![
                (Input, 30),
                (InputImage, 20),
                (InputAudio, 40),
                (CacheRead, 10),
                (Output, 9),
                (Reasoning, 5),
                (OutputAudio, 30),
                (OutputImage, 6),
            ],
        ),
        // Never more than the total.
        (
            Wire::Chat,
            r#"{"usage":{"prompt_tokens":50,"prompt_tokens_details":{"cached_tokens":40,"audio_tokens":50},"completion_tokens":5,"completion_tokens_details":{"audio_tokens":30}}}"#,
            vec![(InputAudio, 10), (CacheRead, 40), (OutputAudio, 5)],
        ),
        (
            Wire::Responses,
            r#"{"usage":{"input_tokens":9,"input_tokens_details":{"image_tokens":4},"output_tokens":5,"output_tokens_details":{"audio_tokens":2}}}"#,
            vec![(Input, 5), (InputImage, 4), (Output, 3), (OutputAudio, 2)],
        ),
        (
            Wire::Images,
            r#"{"usage":{"input_tokens":9,"output_tokens":100,"output_tokens_details":{"image_tokens":90,"text_tokens":10}}}"#,
            vec![(Input, 9), (Output, 10), (OutputImage, 90)],
        ),
        (
            Wire::Generate,
            r#"{"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":30,"promptTokensDetails":[{"modality":"TEXT","tokenCount":20},{"modality":"AUDIO","tokenCount":50},{"tokenCount":20,"modality":"IMAGE"},{"modality":"VIDEO","tokenCount":10}],"cacheTokensDetails":[{"modality":"AUDIO","tokenCount":25},{"modality":"TEXT","tokenCount":5}],"candidatesTokenCount":40,"candidatesTokensDetails":[{"modality":"IMAGE","tokenCount":30},{"modality":"TEXT","tokenCount":10}],"toolUsePromptTokenCount":3,"toolUsePromptTokensDetails":[{"modality":"AUDIO","tokenCount":3}]}}"#,
            vec![
                (Input, 25),
                (InputImage, 20),
                (InputAudio, 25),
                (CacheRead, 30),
                (ToolUse, 3),
                (Output, 10),
                (OutputImage, 30),
            ],
        ),
        // A later list stands for the one before.
        (
            Wire::Generate,
            "data: {\"usageMetadata\":{\"candidatesTokenCount\":9,\"candidatesTokensDetails\":[{\"modality\":\"AUDIO\",\"tokenCount\":9}]}}\n\ndata: {\"usageMetadata\":{\"candidatesTokenCount\":9,\"candidatesTokensDetails\":[{\"modality\":\"TEXT\",\"tokenCount\":9}]}}\n\n",
            vec![(Output, 9)],
        ),
    ];
    for (wire, answer, want) in cases {
        let mut want = want;
        want.sort_unstable();
        assert_eq!(
            tokens(&read_any(wire, answer)),
            Some(want),
            "{wire:?} {answer}"
        );
    }
}

#[test]
fn tiers_and_speed() {
    let cases = [
        (
            Wire::Chat,
            r#"{"service_tier":"priority"}"#,
            [Some("priority"), None],
        ),
        (
            Wire::Messages,
            r#"{"usage":{"service_tier":"standard","speed":"fast"}}"#,
            [Some("standard"), Some("fast")],
        ),
        (
            Wire::Generate,
            r#"{"usageMetadata":{"serviceTier":"flex"}}"#,
            [Some("flex"), None],
        ),
        (
            Wire::Generate,
            r#"{"usageMetadata":{"trafficType":"ON_DEMAND_PRIORITY"}}"#,
            [Some("ON_DEMAND_PRIORITY"), None],
        ),
        (
            Wire::Generate,
            r#"{"usageMetadata":{"promptTokenCount":1}}"#,
            [None, None],
        ),
    ];
    for (wire, answer, want) in cases {
        let got = read_any(wire, answer);
        let got = [got.service_tier.as_deref(), got.speed.as_deref()];
        assert_eq!(got, want, "{wire:?} {answer}");
    }
}

fn used(list: &[(Kind, u64)]) -> Usage {
    let mut usage = Usage::default();
    list.iter()
        .for_each(|(kind, tokens)| usage.set(*kind, *tokens));
    usage
}

#[test]
fn what_other_models_used() {
    let list = |entries: &str| {
        format!(r#"{{"model":"m","usage":{{"input_tokens":1,"iterations":[{entries}]}}}}"#)
    };
    let delta = |entries: &str| {
        event(&format!(
            r#"{{"type":"message_delta","usage":{{"output_tokens":2,"iterations":[{entries}]}}}}"#
        ))
    };
    let fallback = |input: u64, output: u64| {
        format!(
            r#"{{"model":"m","usage":{{"input_tokens":{input},"output_tokens":{output},"iterations":[{{"type":"message","model":"m","input_tokens":1000,"output_tokens":3}},{{"type":"fallback_message","model":"n","input_tokens":1000,"output_tokens":500}}]}}}}"#
        )
    };
    let advisor = |model: &str, tokens: u64| {
        format!(
            r#"{{"type":"advisor_message","model":"{model}","input_tokens":{tokens},"output_tokens":1,"cache_read_input_tokens":2,"cache_creation_input_tokens":7,"cache_creation":{{"ephemeral_1h_input_tokens":3}}}}"#
        )
    };
    let of = |tokens, times: u64| {
        used(&[
            (Input, tokens),
            (Output, times),
            (CacheRead, 2 * times),
            (CacheWrite5m, 4 * times),
            (CacheWrite1h, 3 * times),
        ])
    };
    let long = "n".repeat(MAX_TEXT + 1);
    let image_gen = r#""tool_usage":{"image_gen":{"input_tokens":10,"input_tokens_details":{"image_tokens":6},"output_tokens":50,"output_tokens_details":{"image_tokens":48}},"web_search":{"num_requests":0}}"#;
    let made = used(&[(Input, 4), (InputImage, 6), (Output, 2), (OutputImage, 48)]);
    let named = |list: &[(&str, Usage)]| -> Vec<(String, Usage)> {
        list.iter()
            .map(|(name, usage)| ((*name).to_owned(), *usage))
            .collect()
    };
    let cases = [
        (
            Wire::Messages,
            list(
                &[
                    advisor("n", 10),
                    r#"{"type":"message","model":"m","input_tokens":9}"#.to_owned(),
                    advisor("o", 20),
                    advisor("n", 5),
                ]
                .join(","),
            ),
            named(&[("n", of(15, 2)), ("o", of(20, 1))]),
            used(&[(Input, 1)]),
        ),
        // The answer's own model is no other one, wherever it is told.
        (
            Wire::Messages,
            format!(
                r#"{{"usage":{{"input_tokens":1,"iterations":[{}]}},"model":"m"}}"#,
                advisor("m", 10)
            ),
            vec![],
            used(&[
                (Input, 11),
                (Output, 1),
                (CacheRead, 2),
                (CacheWrite5m, 4),
                (CacheWrite1h, 3),
            ]),
        ),
        // A list stands for the one before, if its event is whole.
        (
            Wire::Messages,
            delta(&[advisor("n", 10), advisor("o", 1)].join(",")) + &delta(&advisor("n", 30)),
            named(&[("n", of(30, 1))]),
            used(&[(Output, 2)]),
        ),
        (
            Wire::Messages,
            delta(&advisor("n", 10))
                + &event(
                    &delta(&advisor("o", 30))
                        .replace("data: ", "")
                        .replace("}]}}", "}]}"),
                ),
            named(&[("n", of(10, 1))]),
            used(&[(Output, 2)]),
        ),
        (
            Wire::Messages,
            delta(&advisor("n", 10))
                + &event(r#"{"type":"message_delta","usage":{"output_tokens":3}}"#),
            named(&[("n", of(10, 1))]),
            used(&[(Output, 3)]),
        ),
        // Types that are not known yet.
        (
            Wire::Messages,
            list(
                r#"{"type":"x","model":"n","input_tokens":5},{"model":"o","input_tokens":6},{"type":"x","input_tokens":7}"#,
            ),
            named(&[("n", used(&[(Input, 5)])), ("o", used(&[(Input, 6)]))]),
            used(&[(Input, 7)]),
        ),
        // A fallback: what declined and what answered, whether or not the totals contain both.
        (
            Wire::Messages,
            fallback(2000, 503),
            named(&[("n", used(&[(Input, 1000), (Output, 500)]))]),
            used(&[(Input, 1000), (Output, 3)]),
        ),
        (
            Wire::Messages,
            fallback(1000, 500),
            named(&[("n", used(&[(Input, 1000), (Output, 500)]))]),
            used(&[(Input, 1000), (Output, 3)]),
        ),
        (
            Wire::Messages,
            fallback(2100, 510),
            named(&[("n", used(&[(Input, 1000), (Output, 500)]))]),
            used(&[(Input, 1100), (Output, 10)]),
        ),
        // No name to charge it to.
        (
            Wire::Messages,
            list(&format!(
                r#"{{"type":"advisor_message","model":"{long}","input_tokens":5}}"#
            )),
            vec![],
            used(&[(Input, 6)]),
        ),
        // A fifth model is not lost.
        (
            Wire::Messages,
            list(
                &["a", "b", "c", "d", "e", "f"]
                    .map(|name| advisor(name, 10))
                    .join(","),
            ),
            named(&[
                ("a", of(10, 1)),
                ("b", of(10, 1)),
                ("c", of(10, 1)),
                ("d", of(30, 3)),
            ]),
            used(&[(Input, 1)]),
        ),
        (
            Wire::Responses,
            format!(
                r#"{{"model":"m",{image_gen},"tools":[{{"type":"function","name":"x"}},{{"type":"image_generation","model":"g"}}],"usage":{{"input_tokens":1}}}}"#
            ),
            named(&[("g", made)]),
            used(&[(Input, 1)]),
        ),
        (
            Wire::Responses,
            event(
                r#"{"type":"response.created","response":{"tools":[{"type":"image_generation","model":"g"}]}}"#,
            ) + &event(&format!(
                r#"{{"type":"response.completed","response":{{"usage":{{"input_tokens":1}},{image_gen}}}}}"#
            )),
            named(&[("g", made)]),
            used(&[(Input, 1)]),
        ),
        (
            Wire::Responses,
            format!(r#"{{{image_gen},"usage":{{"input_tokens":1}}}}"#),
            named(&[("image_generation", made)]),
            used(&[(Input, 1)]),
        ),
    ];
    for (wire, answer, want, own) in cases {
        let got = read_any(wire, &answer);
        assert_eq!(got.others, want, "{wire:?} {answer}");
        assert_eq!(got.usage, Some(own), "{wire:?} {answer}");
    }
}

/// (pictures, partial pictures, bytes of pictures, bytes of sound, of these not compressed)
fn media(reading: &Reading) -> [u64; 5] {
    let Passed {
        pictures,
        partial_pictures,
        picture_bytes,
        sound_bytes,
        pcm_bytes,
    } = reading.passed;
    [
        pictures,
        partial_pictures,
        picture_bytes,
        sound_bytes,
        pcm_bytes,
    ]
}

#[test]
fn pictures_and_sound_that_passed() {
    let part = |part: &str| {
        event(&format!(
            r#"{{"candidates":[{{"content":{{"parts":[{part}]}}}}]}}"#
        ))
    };
    let chunk = |delta: &str| event(&format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#));
    let item = |kind: &str, item: &str| {
        event(&format!(
            r#"{{"type":"response.output_item.{kind}","item":{item}}}"#
        ))
    };
    let begun = item(
        "added",
        r#"{"type":"image_generation_call","status":"in_progress"}"#,
    );
    let partial = event(
        r#"{"type":"response.image_generation_call.partial_image","partial_image_b64":"AAAAAAAA"}"#,
    );
    let done = item(
        "done",
        r#"{"type":"image_generation_call","status":"completed","result":"AAAA\/"}"#,
    );
    let end = event(
        r#"{"type":"response.completed","response":{"output":[{"type":"image_generation_call","result":"AAAA"}]}}"#,
    );
    let images = |kind: &str| {
        event(&format!(
            r#"{{"type":"image_generation.{kind}","b64_json":"AAAA","usage":{{"output_tokens":9}}}}"#
        ))
    };
    let cases = [
        // Responses.
        (Wire::Responses, begun.clone(), [1, 0, 0, 0, 0]),
        (Wire::Responses, begun.clone() + &partial, [1, 1, 8, 0, 0]),
        (Wire::Responses, partial.repeat(3), [1, 3, 24, 0, 0]),
        (Wire::Responses, begun.repeat(2) + &partial, [2, 1, 8, 0, 0]),
        (Wire::Responses, begun.clone() + &partial + &done, [1, 1, 14, 0, 0]),
        (Wire::Responses, begun.repeat(2) + &done, [2, 0, 6, 0, 0]),
        (Wire::Responses, done.repeat(2) + &end, [2, 0, 12, 0, 0]),
        (Wire::Responses, begun.repeat(2) + &done + &end, [1, 0, 6, 0, 0]),
        (Wire::Responses, item("added", r#"{"type":"message"}"#), [0, 0, 0, 0, 0]),
        (Wire::Responses, event(r#"{"type":"response.output_audio.delta","delta":"AAAA"}"#).repeat(3), [0, 0, 0, 12, 0]),
        (Wire::Responses, r#"{"output":[{"type":"image_generation_call","result":"AAAA"},{"type":"x","result":"AA"}]}"#.to_owned(), [1, 0, 4, 0, 0]),
        // An event that is cut: nearly all of a picture is one.
        (Wire::Responses, r#"data: {"type":"response.output_item.done","item":{"type":"image_generation_call","result":"AAAA"#.to_owned(), [1, 0, 4, 0, 0]),
        (Wire::Responses, r#"data: {"type":"response.image_generation_call.partial_image","partial_image_b64":"AAA"#.to_owned(), [1, 1, 3, 0, 0]),
        // Chat Completions.
        (Wire::Chat, chunk(r#"{"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}},{"image_url":{}}]}"#), [1, 0, 24, 0, 0]),
        (Wire::Chat, chunk(r#"{"images":[{"image_url":{"url":"https://x"}}]}"#).repeat(2), [2, 0, 18, 0, 0]),
        (Wire::Chat, chunk(r#"{"content":[{"type":"image_url","image_url":{"url":"AAAA"}}]}"#), [1, 0, 4, 0, 0]),
        (Wire::Chat, chunk(r#"{"audio":{"id":"x","data":"AAAA"}}"#).repeat(40), [0, 0, 0, 160, 0]),
        (Wire::Chat, r#"{"choices":[{"message":{"audio":{"data":"AAAAAA","transcript":"x"},"images":[{"image_url":{"url":"AAA"}}]}}]}"#.to_owned(), [1, 0, 3, 6, 0]),
        (Wire::Chat, r#"data: {"choices":[{"delta":{"audio":{"data":"AAAA"#.to_owned(), [0, 0, 0, 4, 0]),
        (Wire::Chat, event(r#"{"choices":[{"delta":{"audio":{"data":"AAAA"}}}"#), [0, 0, 0, 0, 0]),
        // Generate-content.
        (Wire::Generate, part(r#"{"inlineData":{"mimeType":"image/png","data":"AAAA"}},{"text":"x"},{"inlineData":{"data":"AA"}}"#), [2, 0, 6, 0, 0]),
        (Wire::Generate, part(r#"{"inlineData":{"data":"AAAA","mimeType":"audio/L16;codec=pcm;rate=24000"}}"#).repeat(2), [0, 0, 0, 8, 8]),
        (Wire::Generate, part(r#"{"inline_data":{"mime_type":"audio/mpeg","data":"AAAA"}}"#), [0, 0, 0, 4, 0]),
        (Wire::Generate, part(r#"{"inlineData":{"mimeType":"image/png","data":""}}"#), [0, 0, 0, 0, 0]),
        (Wire::Generate, r#"[{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"#.to_owned(), [1, 0, 4, 0, 0]),
        // Images.
        (Wire::Images, images("partial_image").repeat(2), [1, 2, 8, 0, 0]),
        (Wire::Images, images("partial_image") + &images("completed"), [1, 1, 8, 0, 0]),
        (Wire::Images, images("partial_image") + r#"data: {"type":"image_generation.completed","b64_json":"AAAA"#, [1, 1, 8, 0, 0]),
        (Wire::Images, r#"{"data":[{"b64_json":"AAAA"},{"url":"https://x"}]}"#.to_owned(), [2, 0, 13, 0, 0]),
        (Wire::Images, r#"{"data":[{"b64_json":"AAAA"},{"b64_json":"AA"#.to_owned(), [2, 0, 6, 0, 0]),
        // Messages have neither.
        (Wire::Messages, event(r#"{"type":"content_block_start","content_block":{"type":"image_generation_call","result":"AAAA"}}"#), [0, 0, 0, 0, 0]),
    ];
    for (wire, answer, want) in cases {
        let got = read_any(wire, &answer);
        assert_eq!(media(&got), want, "{wire:?} {answer}");
    }
}

/// Calls of an answer that is left count from their beginning on, and the report of a whole one stands for them.
#[test]
fn calls_of_answers_that_are_left() {
    let item = |kind: &str, name: &str, status: &str| {
        event(&format!(
            r#"{{"type":"response.output_item.{kind}","item":{{"type":"{name}_call","status":"{status}"}}}}"#
        ))
    };
    let added = |name: &str| item("added", name, "in_progress");
    let done = |name: &str| item("done", name, "completed");
    let opened = event(
        r#"{"type":"response.output_item.done","item":{"type":"web_search_call","status":"completed","action":{"type":"open_page"}}}"#,
    );
    let end = event(r#"{"type":"response.completed","response":{"usage":{"input_tokens":1}}}"#);
    let block = |name: &str| {
        event(&format!(
            r#"{{"type":"content_block_start","content_block":{{"type":"server_tool_use","id":"s","name":"{name}","input":{{}}}}}}"#
        ))
    };
    let start = event(
        r#"{"type":"message_start","message":{"usage":{"input_tokens":1,"server_tool_use":{"web_search_requests":0}}}}"#,
    );
    let stop = event(r#"{"type":"message_stop"}"#);
    let three =
        event(r#"{"type":"message_delta","usage":{"server_tool_use":{"web_search_requests":3}}}"#);
    let document = r#"{"content":[{"type":"server_tool_use","name":"web_search","input":{}},{"type":"server_tool_use","name":"web_search","input":{}},{"type":"tool_use","name":"web_search"}"#;
    let cases = [
        (
            Wire::Responses,
            added("web_search").repeat(5),
            vec![(Call::WebSearch, 5)],
        ),
        (
            Wire::Responses,
            added("web_search")
                + &done("web_search")
                + &added("code_interpreter")
                + &added("file_search"),
            vec![
                (Call::WebSearch, 1),
                (Call::CodeExecution, 1),
                (Call::FileSearch, 1),
            ],
        ),
        (Wire::Responses, added("web_search") + &opened, vec![]),
        (Wire::Responses, added("web_search") + &end, vec![]),
        (
            Wire::Responses,
            added("function") + &done("function"),
            vec![],
        ),
        (
            Wire::Messages,
            start.clone() + &block("web_search").repeat(5),
            vec![(Call::WebSearch, 5)],
        ),
        (
            Wire::Messages,
            block("bash_code_execution")
                + &block("text_editor_code_execution")
                + &block("web_fetch"),
            vec![(Call::CodeExecution, 2)],
        ),
        (
            Wire::Messages,
            block("web_search") + &three,
            vec![(Call::WebSearch, 3)],
        ),
        (
            Wire::Messages,
            block("web_search").repeat(5) + &three + &stop,
            vec![(Call::WebSearch, 3)],
        ),
        (
            Wire::Messages,
            block("web_search").repeat(5) + &stop,
            vec![],
        ),
        (
            Wire::Messages,
            document.to_owned(),
            vec![(Call::WebSearch, 2)],
        ),
        (
            Wire::Messages,
            format!(r#"{document}],"usage":{{"input_tokens":1}}}}"#),
            vec![],
        ),
    ];
    for (wire, answer, want) in cases {
        let got = read_any(wire, &answer);
        assert_eq!(calls(&got), want, "{wire:?} {answer}");
    }
}

/// A number that no answer comes to counts as not reported, and is flagged.
#[test]
fn numbers_that_no_answer_comes_to() {
    let usage = |output: u64| {
        event(&format!(
            r#"{{"choices":[],"usage":{{"prompt_tokens":7,"completion_tokens":{output}}}}}"#
        ))
    };
    let most = 1_000_000_000;
    let cases = [
        (
            Wire::Chat,
            usage(most),
            vec![(Input, 7), (Output, most)],
            false,
        ),
        (Wire::Chat, usage(most + 1), vec![(Input, 7)], true),
        (Wire::Chat, usage(u64::MAX), vec![(Input, 7)], true),
        // Also in an event like the one before, whose report stands.
        (
            Wire::Chat,
            usage(5).repeat(3) + &usage(most + 1),
            vec![(Input, 7), (Output, 5)],
            true,
        ),
        (
            Wire::Messages,
            event(
                r#"{"type":"message_start","message":{"usage":{"input_tokens":5000000000,"output_tokens":1}}}"#,
            ),
            vec![(Output, 1)],
            true,
        ),
        (
            Wire::Generate,
            event(
                r#"{"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":99999999999,"candidatesTokensDetails":[{"modality":"IMAGE","tokenCount":99999999999}]}}"#,
            ),
            vec![(Input, 3)],
            true,
        ),
        // What nobody reads may be any.
        (
            Wire::Chat,
            event(r#"{"created":5000000000,"usage":{"prompt_tokens":7,"x":5000000000}}"#),
            vec![(Input, 7)],
            false,
        ),
    ];
    for (wire, answer, want, excessive) in cases {
        let got = read_any(wire, &answer);
        assert_eq!(tokens(&got), Some(want), "{wire:?} {answer}");
        assert_eq!(got.excessive, excessive, "{wire:?} {answer}");
    }
}

#[test]
fn an_answer_has_begun_with_its_first_word() {
    let cases = [
        (Wire::Chat, ": OPENROUTER PROCESSING\n\n".to_owned(), false),
        (
            Wire::Chat,
            "event: ping\ndata: {\"type\":\"ping\"}\n\n".to_owned(),
            false,
        ),
        (Wire::Chat, event("{}"), false),
        (
            Wire::Chat,
            event(r#"{"id":"x","choices":[{"delta":{"role":"assistant","content":""}}]}"#),
            true,
        ),
        (Wire::Messages, event(r#"{"type":"ping"}"#), false),
        (
            Wire::Messages,
            event(r#"{"type":"message_start","message":{"id":"m"}}"#),
            true,
        ),
        (
            Wire::Responses,
            event(r#"{"type":"keepalive","sequence_number":3}"#),
            false,
        ),
        (
            Wire::Responses,
            event(r#"{"type":"response.created","response":{"id":"r"}}"#),
            true,
        ),
        (
            Wire::Generate,
            event(r#"{"candidates":[{"content":{"parts":[]}}],"modelVersion":"m"}"#),
            true,
        ),
    ];
    for (wire, answer, want) in cases {
        let mut meter = Meter::new(wire);
        meter.feed(answer.as_bytes());
        assert_eq!(meter.has_begun(), want, "{wire:?} {answer}");
        assert_eq!(meter.passed_bytes(), 0, "{wire:?} {answer}");
    }
}

#[test]
fn what_cannot_be_read() {
    let chat = event(r#"{"choices":[]}"#);
    let cases: [(&[u8], bool); 21] = [
        (b"", false),
        (b" \r\n\t", false),
        (b"{}", false),
        (br#"{"choices":[{"index":"#, false),
        (b"[]", false),
        (chat.as_bytes(), false),
        (b"data: [DONE]", false),
        (b"da", false),
        (b"event: ping\n", false),
        (b": keep-alive\n\n", false),
        (b"retry: 5", false),
        // Compressed, a page, a script, a text, a message in another form, and a JSON document that is none.
        (b"\x1F\x8B\x08\x00\x00\x00\x00\x00", true),
        (b"\x28\xB5\x2F\xFD", true),
        (b"<!DOCTYPE html>\n<html>", true),
        (br#"callback({"usageMetadata":{}})"#, true),
        (b"// API callback\ncb({})", true),
        (b"upstream connect error", true),
        (b"eventually\n", true),
        (b"\x0A\x07data: x", true),
        (b"[\x83\x0Cnonsense", true),
        (b"\"text\"", true),
    ];
    for wire in Wire::ALL {
        for (answer, want) in cases {
            let context = answer.escape_ascii();
            let got = read(wire, [answer]);
            assert_eq!(got.unreadable, want, "{wire:?} {context}");
            for cut in 0..=answer.len() {
                let (head, tail) = answer.split_at(cut);
                assert_eq!(read(wire, [head, tail]), got, "{wire:?} {context} at {cut}");
            }
            assert_eq!(
                read(wire, answer.chunks(1)),
                got,
                "{wire:?} {context} by bytes"
            );
        }
    }
    // A document that turns to nonsense after it told something.
    let broken = br#"{"usage":{"prompt_tokens":1},!"#;
    assert!(!read(Wire::Chat, [&broken[..]]).unreadable);
    // Whatever stands before it, an event is one.
    let late = [b"<!-- -->\n", chat.as_bytes()].concat();
    assert!(!read(Wire::Chat, [&late[..]]).unreadable);
}

#[test]
fn searches_count_once_each() {
    let grounded = |candidates: &[&str]| {
        let candidates = candidates.iter().map(|queries| {
            format!(r#"{{"groundingMetadata":{{"webSearchQueries":[{queries}]}}}}"#)
        });
        let candidates: Vec<_> = candidates.collect();
        format!(r#"{{"candidates":[{}]}}"#, candidates.join(","))
    };
    let long = format!(r#""{}""#, "q".repeat(200));
    // (answer, searches)
    let cases = [
        (grounded(&[r#""a","b","a","""#]), 2),
        (grounded(&[r#""a""#, r#""a","b""#]), 2),
        (
            event(&grounded(&[r#""a","b""#])) + &event(&grounded(&[r#""b","c""#])),
            3,
        ),
        (event(&grounded(&[r#""a""#])).repeat(3), 1),
        (grounded(&[r#""\u0061","a""#]), 1),
        (grounded(&[""]), 0),
        // Too long to be told apart.
        (grounded(&[&format!(r#"{long},{long},"a""#)]), 3),
    ];
    for (answer, want) in cases {
        let got = read_any(Wire::Generate, &answer);
        let searches = got.usage.unwrap_or_default().calls(Call::WebSearch);
        assert_eq!(searches, want, "{answer}");
    }
}

#[test]
fn nothing_made() {
    let start = event(
        r#"{"type":"message_start","message":{"usage":{"input_tokens":100000,"output_tokens":1}}}"#,
    );
    let error = event(r#"{"type":"error","error":{"type":"overloaded_error"}}"#);
    let block = |block: &str| {
        event(&format!(
            r#"{{"type":"content_block_start","content_block":{block}}}"#
        ))
    };
    let delta = |delta: &str| {
        event(&format!(
            r#"{{"type":"content_block_delta","delta":{delta}}}"#
        ))
    };
    let created = event(r#"{"type":"response.created","response":{"status":"in_progress"}}"#);
    let cases = [
        (Wire::Messages, String::new(), true),
        (Wire::Messages, start.clone(), true),
        (
            Wire::Responses,
            created.clone()
                + &event(
                    r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"x"},"usage":null}}"#,
                ),
            true,
        ),
        (Wire::Messages, start.clone() + &error, true),
        (
            Wire::Messages,
            start.clone() + &event(r#"{"type":"ping"}"#) + &error,
            true,
        ),
        (
            Wire::Messages,
            start.clone() + &block(r#"{"type":"text","text":""}"#) + &error,
            true,
        ),
        (
            Wire::Messages,
            start.clone() + &block(r#"{"type":"text","text":"a"}"#) + &error,
            false,
        ),
        (
            Wire::Messages,
            start.clone() + &block(r#"{"type":"tool_use","name":"f","input":{}}"#),
            false,
        ),
        (
            Wire::Messages,
            start.clone() + &delta(r#"{"type":"text_delta","text":"a"}"#) + &error,
            false,
        ),
        (
            Wire::Messages,
            start.clone() + &delta(r#"{"type":"signature_delta","signature":"x"}"#) + &error,
            false,
        ),
        (
            Wire::Messages,
            start + &event(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#),
            false,
        ),
        (Wire::Chat, "data: [DONE]\n\n".to_owned(), true),
        (Wire::Chat, ": ping\n\n".to_owned(), true),
        (
            Wire::Chat,
            event(r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#),
            true,
        ),
        (
            Wire::Chat,
            event(r#"{"choices":[{"delta":{"content":"a"}}]}"#),
            false,
        ),
        (
            Wire::Chat,
            event(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#),
            false,
        ),
        (
            Wire::Chat,
            event(r#"{"usage":{"prompt_tokens":9,"completion_tokens":0}}"#),
            true,
        ),
        (
            Wire::Chat,
            event(r#"{"usage":{"prompt_tokens":9,"completion_tokens":1}}"#),
            false,
        ),
        (Wire::Responses, created.clone(), true),
        (
            Wire::Responses,
            created.clone() + &event(r#"{"type":"response.output_text.delta","delta":"a"}"#),
            false,
        ),
        (
            Wire::Responses,
            created + &event(r#"{"type":"response.completed","response":{"status":"completed"}}"#),
            false,
        ),
        (
            Wire::Generate,
            event(r#"{"usageMetadata":{"promptTokenCount":9}}"#),
            true,
        ),
        (
            Wire::Generate,
            event(r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#),
            false,
        ),
        (
            Wire::Generate,
            r#"[{"usageMetadata":{"promptTokenCount":9}},"#.to_owned(),
            true,
        ),
        (
            Wire::Images,
            event(r#"{"type":"image_generation.completed"}"#),
            false,
        ),
        // A document comes when all is made; a page is no answer that is read.
        (Wire::Chat, "{}".to_owned(), false),
        (Wire::Chat, r#"{"choices":["#.to_owned(), false),
        (Wire::Chat, r#"{"error":{"type":"t"}}"#.to_owned(), true),
        (Wire::Chat, "<html>".to_owned(), false),
    ];
    for (wire, answer, want) in cases {
        assert_eq!(
            read_any(wire, &answer).made_nothing,
            want,
            "{wire:?} {answer}"
        );
    }
}
