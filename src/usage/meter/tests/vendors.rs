//! Reports of vendors, by the pages that docs/vendors.md names: each row has a case.

use super::*;
use crate::usage::Call;

const PAGE: &str = include_str!("../../../../docs/vendors.md");
/// More cases, which have requests too: `exchange::tests::vendors` plays them.
const TABLE: &str = include_str!("../../../../tests/fixtures/vendors/cases.json");

fn chat(usage: &str) -> String {
    format!(r#"{{"model":"m","choices":[{{"finish_reason":"stop"}}],"usage":{usage}}}"#)
}

fn chunk(json: &str) -> String {
    format!("data: {json}\n\ndata: [DONE]\n\n")
}

/// (vendor, member, answer, tokens, searches, the cost that it says)
type Case = (
    &'static str,
    &'static str,
    Wire,
    String,
    Vec<(Kind, u64)>,
    u64,
    Option<&'static str>,
);

fn cases() -> Vec<Case> {
    let cached = |member: &'static str, vendor: &'static str, usage: &str| {
        let want = vec![(Input, 89), (CacheRead, 2900), (Output, 20)];
        (vendor, member, Wire::Chat, chat(usage), want, 0, None)
    };
    let plain = |vendor: &'static str| {
        let usage = r#"{"prompt_tokens":2989,"completion_tokens":20,"total_tokens":3009}"#;
        let want = vec![(Input, 2989), (Output, 20)];
        (
            vendor,
            "prompt_tokens",
            Wire::Chat,
            chat(usage),
            want,
            0,
            None,
        )
    };
    let details = r#"{"prompt_tokens":2989,"completion_tokens":20,"total_tokens":3009,"prompt_tokens_details":{"cached_tokens":2900}}"#;
    let kimi =
        r#"{"prompt_tokens":2989,"completion_tokens":20,"total_tokens":3009,"cached_tokens":2900}"#;
    vec![
        cached("prompt_tokens_details.cached_tokens", "OpenAI", details),
        cached("prompt_tokens_details.cached_tokens", "GLM", details),
        cached("prompt_tokens_details.cached_tokens", "MiniMax", details),
        cached("prompt_tokens_details.cached_tokens", "llama.cpp", details),
        cached("prompt_tokens_details.cached_tokens", "vLLM", details),
        (
            "vLLM",
            "prompt_tokens_details.cached_tokens",
            Wire::Chat,
            chat(r#"{"prompt_tokens":3,"total_tokens":5,"completion_tokens":2,"prompt_tokens_details":null}"#),
            vec![(Input, 3), (Output, 2)],
            0,
            None,
        ),
        (
            "OpenAI",
            "prompt_tokens_details.cache_write_tokens",
            Wire::Chat,
            chat(r#"{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}"#),
            vec![(Input, 10), (CacheRead, 60), (CacheWrite5m, 30), (Output, 20)],
            0,
            None,
        ),
        (
            "OpenAI",
            "completion_tokens_details.reasoning_tokens",
            Wire::Chat,
            chat(r#"{"prompt_tokens":100,"completion_tokens":320,"total_tokens":420,"completion_tokens_details":{"reasoning_tokens":300}}"#),
            vec![(Input, 100), (Output, 20), (Reasoning, 300)],
            0,
            None,
        ),
        (
            "xAI",
            "completion_tokens_details.reasoning_tokens",
            Wire::Chat,
            chat(r#"{"prompt_tokens":100,"completion_tokens":20,"total_tokens":420,"prompt_tokens_details":{"text_tokens":100,"cached_tokens":40},"completion_tokens_details":{"reasoning_tokens":300},"num_sources_used":0}"#),
            vec![(Input, 60), (CacheRead, 40), (Output, 20), (Reasoning, 300)],
            0,
            None,
        ),
        (
            "xAI",
            "cost_in_usd_ticks",
            Wire::Chat,
            chat(r#"{"prompt_tokens":198,"completion_tokens":1,"total_tokens":288,"completion_tokens_details":{"reasoning_tokens":89},"cost_in_usd_ticks":25709000000}"#),
            vec![(Input, 198), (Output, 1), (Reasoning, 89)],
            0,
            Some("2.5709"),
        ),
        (
            "xAI",
            "server_side_tool_usage_details",
            Wire::Responses,
            r#"{"status":"completed","usage":{"input_tokens":11365,"output_tokens":498,"total_tokens":11863,"cost_in_usd_ticks":233008500,"server_side_tool_usage_details":{"web_search_calls":2,"x_search_calls":1,"code_interpreter_calls":0,"file_search_calls":0}}}"#.to_owned(),
            vec![(Input, 11365), (Output, 498)],
            3,
            Some("0.02330085"),
        ),
        cached("cached_tokens", "Kimi", kimi),
        (
            "Kimi",
            "usage",
            Wire::Chat,
            chunk(&format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"stop","usage":{kimi}}}]}}"#)),
            vec![(Input, 89), (CacheRead, 2900), (Output, 20)],
            0,
            None,
        ),
        // In both places, and in the other one as nothing.
        (
            "Kimi",
            "usage",
            Wire::Chat,
            chunk(&format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"stop","usage":{kimi}}}],"usage":{{"prompt_tokens":2989,"completion_tokens":20,"total_tokens":3009}}}}"#)),
            vec![(Input, 89), (CacheRead, 2900), (Output, 20)],
            0,
            None,
        ),
        (
            "Kimi",
            "usage",
            Wire::Chat,
            chunk(&format!(r#"{{"usage":null,"choices":[{{"usage":{kimi}}}]}}"#)),
            vec![(Input, 89), (CacheRead, 2900), (Output, 20)],
            0,
            None,
        ),
        cached(
            "prompt_cache_hit_tokens",
            "DeepSeek",
            r#"{"prompt_tokens":2989,"completion_tokens":20,"total_tokens":3009,"prompt_cache_hit_tokens":2900,"prompt_cache_miss_tokens":89}"#,
        ),
        cached(
            "prompt_cache_hit_tokens",
            "DeepSeek",
            r#"{"completion_tokens":20,"total_tokens":3009,"prompt_cache_hit_tokens":2900,"prompt_cache_miss_tokens":89,"prompt_tokens_details":{"cached_tokens":2900}}"#,
        ),
        (
            "DeepSeek",
            "server_tool_use.web_search_requests",
            Wire::Chat,
            chat(r#"{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,"server_tool_use":{"web_search_requests":4,"web_fetch_requests":1}}"#),
            vec![(Input, 9), (Output, 2)],
            4,
            None,
        ),
        (
            "Qwen",
            "prompt_tokens_details.cache_creation_input_tokens",
            Wire::Chat,
            chat(r#"{"prompt_tokens":1605,"completion_tokens":187,"total_tokens":1792,"prompt_tokens_details":{"cached_tokens":0,"cache_type":"ephemeral","cache_creation_input_tokens":1581}}"#),
            vec![(Input, 24), (CacheWrite5m, 1581), (Output, 187)],
            0,
            None,
        ),
        (
            "Qwen",
            "prompt_tokens_details.cache_creation",
            Wire::Chat,
            chat(r#"{"prompt_tokens":1605,"completion_tokens":187,"total_tokens":1792,"prompt_tokens_details":{"cached_tokens":0,"cache_creation_input_tokens":1581,"cache_creation":{"ephemeral_5m_input_tokens":1000,"ephemeral_1h_input_tokens":581}}}"#),
            vec![(Input, 24), (CacheWrite5m, 1000), (CacheWrite1h, 581), (Output, 187)],
            0,
            None,
        ),
        (
            "Vertex",
            "extra_properties.google.traffic_type",
            Wire::Chat,
            chat(r#"{"prompt_tokens":20,"completion_tokens":424,"total_tokens":1016,"completion_tokens_details":{"reasoning_tokens":572},"extra_properties":{"google":{"traffic_type":"ON_DEMAND"}}}"#),
            vec![(Input, 20), (Output, 424), (Reasoning, 572)],
            0,
            None,
        ),
        (
            "OpenRouter",
            "cost",
            Wire::Chat,
            chat(r#"{"prompt_tokens":194,"completion_tokens":2,"total_tokens":196,"cost":0.95e-4,"is_byok":false,"cost_details":{"upstream_inference_cost":19}}"#),
            vec![(Input, 194), (Output, 2)],
            0,
            Some("0.000095"),
        ),
        (
            "OpenRouter",
            "cost",
            Wire::Chat,
            chat(r#"{"prompt_tokens":194,"completion_tokens":2,"total_tokens":196,"cost":0}"#),
            vec![(Input, 194), (Output, 2)],
            0,
            Some("0"),
        ),
        (
            "OpenRouter",
            "prompt_tokens_details.cache_write_tokens",
            Wire::Chat,
            chat(r#"{"prompt_tokens":194,"completion_tokens":2,"total_tokens":196,"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":100,"audio_tokens":0}}"#),
            vec![(Input, 94), (CacheWrite5m, 100), (Output, 2)],
            0,
            None,
        ),
        (
            "Perplexity",
            "cost.total_cost",
            Wire::Chat,
            chat(r#"{"prompt_tokens":8,"completion_tokens":400,"total_tokens":408,"cost":{"input_tokens_cost":0.0,"output_tokens_cost":0.006,"request_cost":0.005,"total_cost":0.011}}"#),
            vec![(Input, 8), (Output, 400)],
            0,
            Some("0.011"),
        ),
        (
            "Groq",
            "x_groq.usage",
            Wire::Chat,
            chunk(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"queue_time":0.075,"prompt_tokens":23,"completion_tokens":19,"total_tokens":42,"total_time":0.02}}}"#),
            vec![(Input, 23), (Output, 19)],
            0,
            None,
        ),
        cached(
            "cache_read_input_tokens",
            "LiteLLM",
            r#"{"prompt_tokens":2989,"completion_tokens":20,"total_tokens":3009,"cache_read_input_tokens":2900,"cache_creation_input_tokens":0}"#,
        ),
        (
            "LiteLLM",
            "cache_creation_input_tokens",
            Wire::Chat,
            chat(r#"{"prompt_tokens":2006,"completion_tokens":300,"total_tokens":2306,"prompt_tokens_details":{"cached_tokens":1920},"cache_creation_input_tokens":80}"#),
            vec![(Input, 6), (CacheRead, 1920), (CacheWrite5m, 80), (Output, 300)],
            0,
            None,
        ),
        (
            "SGLang",
            "reasoning_tokens",
            Wire::Chat,
            chat(r#"{"prompt_tokens":12,"total_tokens":212,"completion_tokens":200,"prompt_tokens_details":null,"reasoning_tokens":150}"#),
            vec![(Input, 12), (Output, 50), (Reasoning, 150)],
            0,
            None,
        ),
        plain("Mistral"),
        plain("Ollama"),
        plain("Bedrock"),
    ]
}

#[test]
fn what_vendors_report() {
    for (vendor, member, wire, answer, mut want, searches, cost) in cases() {
        let got = read_any(wire, &answer);
        want.sort_unstable();
        let case = format!("{vendor} {member}: {answer}");
        assert_eq!(tokens(&got), Some(want), "{case}");
        let called = got.usage.map(|usage| usage.calls(Call::WebSearch));
        assert_eq!(called, Some(searches), "{case}");
        assert_eq!(got.reported_cost.as_deref(), cost, "{case}");
        assert_eq!(got.doubt, None, "{case}");
        assert_eq!(got.unnamed_output, 0, "{case}");
        assert!(got.finished, "{case}");
    }
}

#[test]
fn each_row_of_the_page_has_a_case() {
    let rows = PAGE.lines().filter(|row| row.matches(" | ").count() == 4);
    let rows = rows.filter(|row| !row.starts_with("| vendor"));
    let mut checked = 0;
    let table: serde_json::Value = serde_json::from_str(TABLE).unwrap();
    let in_table = |vendor: &str, member: &str| {
        let names = format!("\"{}\":", member.rsplit('.').next().unwrap());
        let text = |case: &serde_json::Value, of: &str| case[of].as_str().unwrap().to_owned();
        let mut cases = table["cases"].as_array().unwrap().iter();
        cases.any(|case| {
            text(case, "vendor").starts_with(vendor) && text(case, "body").contains(&names)
        })
    };
    for row in rows {
        let vendor = row
            .trim_start_matches("| ")
            .split([',', ' '])
            .next()
            .unwrap();
        let member = row.split('`').nth(1).unwrap();
        // Its total has no part that would be a member.
        let known = cases()
            .iter()
            .any(|case| case.0 == vendor && case.1 == member)
            || (vendor, member) == ("Gemini", "total_tokens")
            || in_table(vendor, member);
        assert!(known, "{row}");
        checked += 1;
    }
    assert!(checked > 20, "{checked} rows");
}

/// Tokens of a total that stand in no part: output where the vendor's page says so, up to the request's cap, else told.
#[test]
fn tokens_that_stand_in_no_part() {
    let usage = r#""usage":{"prompt_tokens":20,"completion_tokens":424,"total_tokens":1016}"#;
    let vertex = r#""usage":{"prompt_tokens":20,"completion_tokens":424,"total_tokens":1016,"extra_properties":{"google":{}}}"#;
    let generate = r#"{"usageMetadata":{"promptTokenCount":20,"candidatesTokenCount":424,"totalTokenCount":1016}}"#;
    let more = "total_tokens is more than its parts";
    let beyond = "tokens in no part of the total are more than the request's cap";
    // (form, answer, cap, output, doubt)
    let cases = [
        (
            Wire::Chat,
            format!(r#"{{"model":"gemini-3.8-flash",{usage}}}"#),
            None,
            996,
            None,
        ),
        (
            Wire::Chat,
            format!(r#"{{{usage},"model":"google/gemini-3.8-flash"}}"#),
            Some(2000),
            996,
            None,
        ),
        (
            Wire::Chat,
            format!(r#"{{"model":"m",{vertex}}}"#),
            None,
            996,
            None,
        ),
        (
            Wire::Chat,
            format!(r#"{{"model":"m",{usage}}}"#),
            None,
            424,
            Some(more),
        ),
        (
            Wire::Chat,
            format!(r#"{{"model":"not-gemini-3",{usage}}}"#),
            None,
            424,
            Some(more),
        ),
        (
            Wire::Chat,
            format!(r#"{{"model":"gemini-3.8-flash",{usage}}}"#),
            Some(500),
            500,
            Some(beyond),
        ),
        (
            Wire::Chat,
            format!(r#"{{"model":"gemini-3.8-flash",{usage}}}"#),
            Some(100),
            424,
            Some(beyond),
        ),
        (Wire::Generate, generate.to_owned(), Some(996), 996, None),
        (
            Wire::Generate,
            generate.replace("1016", "400"),
            None,
            424,
            Some("totalTokenCount is less than its parts"),
        ),
    ];
    for (wire, answer, cap, output, doubt) in cases {
        let mut got = read_any(wire, &answer);
        got.count_unnamed_output(cap);
        let usage = got.usage.unwrap();
        let case = format!("{answer}, {cap:?}");
        assert_eq!(usage.input_tokens(), 20, "{case}");
        assert_eq!(usage.output_tokens(), output, "{case}");
        assert_eq!(got.doubt.as_deref(), doubt, "{case}");
    }
}

/// Numbers that no reading explains are told.
#[test]
fn what_is_in_doubt() {
    let cases = [
        (
            Wire::Chat,
            chat(r#"{"prompt_tokens":479,"completion_tokens":373,"prompt_tokens_details":{"cached_tokens":13312}}"#),
            "cached_tokens and cache_write_tokens are more than prompt_tokens",
        ),
        (
            Wire::Responses,
            r#"{"usage":{"input_tokens":1,"output_tokens":2,"output_tokens_details":{"reasoning_tokens":3}}}"#.to_owned(),
            "reasoning_tokens is more than output_tokens",
        ),
        (
            Wire::Chat,
            chat(r#"{"prompt_tokens":9,"completion_tokens":2,"cached_tokens":4,"prompt_cache_hit_tokens":5,"prompt_cache_miss_tokens":3}"#),
            "two names of cached_tokens or cache_write_tokens differ; cache hits and misses are not prompt_tokens",
        ),
        (
            Wire::Messages,
            r#"{"usage":{"input_tokens":1,"cache_creation_input_tokens":5,"cache_creation":{"ephemeral_5m_input_tokens":4,"ephemeral_1h_input_tokens":3}}}"#.to_owned(),
            "cache times are more than cache_creation_input_tokens",
        ),
        (
            Wire::Images,
            r#"{"usage":{"input_tokens":5,"input_tokens_details":{"image_tokens":6},"output_tokens":2,"total_tokens":7}}"#.to_owned(),
            "audio and images are more than input_tokens",
        ),
        (
            Wire::Chat,
            chat(r#"{"prompt_tokens":9,"completion_tokens":2,"cost":-0.5}"#),
            "the cost is no exact amount",
        ),
    ];
    for (wire, answer, want) in cases {
        let got = read_any(wire, &answer);
        assert_eq!(got.doubt.as_deref(), Some(want), "{answer}");
    }
}

#[test]
fn pictures_and_what_they_are_made_of() {
    let cases = [
        (
            r#"{"data":[{}],"usage":{"input_tokens":60,"input_tokens_details":{"text_tokens":20,"image_tokens":30,"cached_tokens":10},"output_tokens":1000,"total_tokens":1060}}"#,
            vec![
                (Input, 20),
                (InputImage, 30),
                (CacheRead, 10),
                (OutputImage, 1000),
            ],
        ),
        (
            r#"{"data":[{}],"usage":{"input_tokens":60,"output_tokens":1000,"output_tokens_details":{"text_tokens":100}}}"#,
            vec![(Input, 60), (Output, 100), (OutputImage, 900)],
        ),
        (
            r#"{"data":[{}],"usage":{"input_tokens":60,"cached_tokens":50,"output_tokens":1000,"output_tokens_details":{"image_tokens":900}}}"#,
            vec![
                (Input, 10),
                (CacheRead, 50),
                (Output, 100),
                (OutputImage, 900),
            ],
        ),
    ];
    for (answer, mut want) in cases {
        want.sort_unstable();
        let got = read_any(Wire::Images, answer);
        assert_eq!(tokens(&got), Some(want), "{answer}");
        assert_eq!(got.doubt, None, "{answer}");
    }
}
