use super::*;
use crate::json_line::json_line;

fn lines(text: &str) -> Vec<String> {
    let list = PriceList::read(text.as_bytes()).unwrap();
    let models = list.models.iter().map(|model| {
        let note = model.note.as_deref().unwrap_or("");
        format!(
            "{} {} {} {note}",
            model.vendor,
            model.id,
            json_line(&model.prices)
        )
    });
    let unread = list
        .unread
        .iter()
        .map(|model| format!("{}: {}", model.name, model.reason));
    models
        .chain(unread)
        .map(|line| line.trim_end().to_owned())
        .collect()
}

#[test]
fn litellm_is_read_exactly() {
    let text = r#"{
        "sample_spec": {"litellm_provider": "one of", "input_cost_per_token": 0.0},
        "gpt-9": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1.25e-06, "output_cost_per_token": 1e-05,
            "cache_read_input_token_cost": 1.25E-07, "input_cost_per_token_above_272k_tokens": 2.5e-06,
            "input_cost_per_token_flex": 6.25e-07, "output_cost_per_token_flex": 5e-06, "input_cost_per_token_above_272k_tokens_flex": 1.25e-06,
            "output_cost_per_token_above_272k_tokens_flex": 7.5e-06, "input_cost_per_token_above_272k_tokens_batches": 1e-06,
            "input_cost_per_token_above_200k_tokens": null},
        "gemini/gemini-9": {"litellm_provider": "gemini", "input_cost_per_token": 3e-7, "output_cost_per_token": 0.0000025, "cache_read_input_token_cost": 0.0},
        "claude-9": {"litellm_provider": "anthropic", "mode": "chat", "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05,
            "cache_creation_input_token_cost": 3.75e-06, "cache_creation_input_token_cost_above_1hr": 6e-06,
            "input_cost_per_token_above_200k_tokens": 6e-06, "output_cost_per_token_above_200k_tokens": 2.25e-05,
            "cache_creation_input_token_cost_above_200k_tokens": 7.5e-06, "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 1.2e-05},
        "qwen-9": {"litellm_provider": "x", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06,
            "tiered_pricing": [{"range": [0, 32000], "input_cost_per_token": 1e-06}], "output_cost_per_reasoning_token": 3e-06,
            "input_cost_per_token_above_32k_tokens": 4e-06, "input_cost_per_token_above_128k_tokens": 5e-06},
        "text-embedding-9": {"litellm_provider": "openai", "mode": "embedding", "input_cost_per_token": 1e-08, "output_cost_per_token": 0.0},
        "tts-9": {"litellm_provider": "openai", "mode": "audio_speech", "input_cost_per_token": 1e-08, "output_cost_per_token": 0.0},
        "noise": {"litellm_provider": "x", "mode": "chat", "input_cost_per_token": 1.9999999999999999e-07, "output_cost_per_token": 1e-06},
        "free": {"litellm_provider": "x", "mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 0.0},
        "long": {"litellm_provider": "x", "mode": "chat", "input_cost_per_token": 1.99999999999999999999999999999999999e-07, "output_cost_per_token": 1e-06},
        "half": {"litellm_provider": "x", "mode": "chat", "input_cost_per_token": 1e-06}
    }"#;
    assert_eq!(
        lines(text),
        [
            r#"anthropic claude-9 {"input": "3", "cache_write_5m": "3.75", "cache_write_1h": "6", "output": "15", "above": [{"input_tokens": 200000, "prices": {"input": "6", "cache_write_5m": "7.5", "cache_write_1h": "12", "output": "22.5"}}]}"#,
            r#"gemini gemini-9 {"input": "0.3", "output": "2.5"}"#,
            r#"openai gpt-9 {"input": "1.25", "cache_read": "0.125", "output": "10", "above": [{"input_tokens": 272000, "prices": {"input": "2.5", "cache_read": "0.125", "output": "10"}}], "tiers": {"flex": {"input": "0.625", "output": "5", "above": [{"input_tokens": 272000, "prices": {"input": "1.25", "output": "7.5"}}]}}} the list has other prices (input_cost_per_token_above_272k_tokens_batches), which are not counted"#,
            r#"openai text-embedding-9 {"input": "0.01", "output": "0"}"#,
            r#"x qwen-9 {"input": "1", "output": "2", "reasoning": "3", "above": [{"input_tokens": 32000, "prices": {"input": "4", "output": "2"}}, {"input_tokens": 128000, "prices": {"input": "5", "output": "2"}}]} the list has other prices (tiered_pricing), which are not counted"#,
            "free: costs nothing there: say \"free\" in the document where that is so",
            "half: has no price of input and output",
            "long: its price input_cost_per_token, 1.99999999999999999999999999999999999e-07, is no number",
            "noise: its price input_cost_per_token, 1.9999999999999999e-07, has more than 6 fractional digits",
            "tts-9: is of a kind that the gateway does not serve",
        ]
    );
}

#[test]
fn models_dev_and_openrouter_are_read_exactly() {
    let text = r#"{"google": {"id": "google", "models": {
            "gemini-9": {"id": "gemini-9", "cost": {"input": 1.25, "output": 10, "cache_read": 0.31, "context_over_200k": {"input": 2.5}}},
            "unpriced": {"id": "unpriced"}}},
        "openai": {"models": {"gpt-9": {"cost": {"input": 5, "output": 30, "cache_read": 0.5, "context_over_200k": {"input": 10, "output": 45},
            "tiers": [{"input": 10, "output": 45, "cache_read": 1, "tier": {"type": "context", "size": 272000}}, {"input": 1, "tier": {"type": "night", "size": 1}}]}}}},
        "anthropic": {"models": {"claude-9": {"cost": {"input": 3, "output": 15, "cache_read": 0.30, "cache_write": 3.75}}}}}"#;
    assert_eq!(
        lines(text),
        [
            r#"anthropic claude-9 {"input": "3", "cache_read": "0.3", "cache_write_5m": "3.75", "output": "15"}"#,
            r#"gemini gemini-9 {"input": "1.25", "cache_read": "0.31", "output": "10", "above": [{"input_tokens": 200000, "prices": {"input": "2.5", "cache_read": "0.31", "output": "10"}}]}"#,
            r#"openai gpt-9 {"input": "5", "cache_read": "0.5", "output": "30", "above": [{"input_tokens": 272000, "prices": {"input": "10", "cache_read": "1", "output": "45"}}]} the list has other prices (tiers), which are not counted"#,
        ]
    );
    let text = r#"{"data": [{"id": "a/b", "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003", "overrides": [{"min_prompt_tokens": 200000, "prompt": "0.000006"}]}},
        {"id": "auto", "pricing": {"prompt": "-1", "completion": "-1"}}, {"id": "none"}]}"#;
    assert_eq!(
        lines(text),
        [
            r#"openrouter a/b {"input": "3", "cache_read": "0.3", "output": "15", "above": [{"input_tokens": 200000, "prices": {"input": "6", "cache_read": "0.3", "output": "15"}}]}"#,
            r#"auto: its price prompt, -1, must be a plain decimal number in a string, such as "1.25""#,
        ]
    );
}

#[test]
fn other_text_is_no_list() {
    for text in [
        "",
        "[]",
        "{}",
        "<html>",
        r#"{"a": 1}"#,
        r#"{"data": 1}"#,
        r#"{"error": {"message": "x"}}"#,
    ] {
        let error = PriceList::read(text.as_bytes()).unwrap_err();
        assert!(error.contains("is no price list"), "{text}: {error}");
    }
}

#[test]
fn what_else_litellm_states() {
    let of = |members: &str| {
        let text = format!(r#"{{"m": {{"litellm_provider": "x", {members}}}}}"#);
        lines(&text).join("; ")
    };
    const FLAT: &str = r#""input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06"#;
    let note = |names: &str| format!(" the list has other prices ({names}), which are not counted");
    // (case, the members beside the flat prices, the document's beside these, what is noted)
    let cases = [
        (
            "classes of service, also for batches",
            r#""input_cost_per_token_priority": 2e-06, "output_cost_per_token_priority": 4e-06, "cache_read_input_token_cost_priority": 2e-07,
               "input_cost_per_token_batches": 5e-07, "output_cost_per_token_batches": 1e-06"#,
            r#", "tiers": {"batch": {"input": "0.5", "output": "1"}, "priority": {"input": "2", "cache_read": "0.2", "output": "4"}}"#,
            String::new(),
        ),
        (
            "a class of service in part",
            r#""input_cost_per_token_flex": 5e-07"#,
            "",
            note("input_cost_per_token_flex"),
        ),
        (
            "a class of service with a price that is none",
            r#""input_cost_per_token_flex": 5e-07, "output_cost_per_token_flex": 1.23456e-12"#,
            "",
            note("input_cost_per_token_flex, output_cost_per_token_flex"),
        ),
        (
            "one price for searches of every size",
            r#""search_context_cost_per_query": {"search_context_size_low": 0.01, "search_context_size_medium": 0.01, "search_context_size_high": 1e-2}"#,
            r#", "per_call": {"web_search": "0.01"}"#,
            String::new(),
        ),
        (
            "another one for each size",
            r#""search_context_cost_per_query": {"search_context_size_low": 0.03, "search_context_size_high": 0.05}"#,
            "",
            note("search_context_cost_per_query"),
        ),
        (
            "prices of other things, not those that are nothing",
            r#""file_search_cost_per_1k_calls": 0.0025, "input_cost_per_character_above_128k_tokens": 1e-06, "code_interpreter_cost_per_session": 0.0,
               "input_cost_per_second": null, "off_peak_pricing": {"a": 1}, "regional_processing_uplift_multiplier_eu": 1.1, "input_cost_per_pixel": 1e-9"#,
            "",
            note(
                "file_search_cost_per_1k_calls, input_cost_per_character_above_128k_tokens, input_cost_per_pixel, off_peak_pricing, regional_processing_uplift_multiplier_eu",
            ),
        ),
        (
            "more of them than are named",
            r#""cost_1": 1, "cost_2": 1, "cost_3": 1, "cost_4": 1, "cost_5": 1, "cost_6": 1, "cost_7": 1"#,
            "",
            note("cost_1, cost_2, cost_3, cost_4, cost_5 and 2 more"),
        ),
        (
            "peak hours",
            r#""time_of_use_pricing": {"timezone": "UTC", "peak_windows": [{"weekdays": [1, 5], "start_hour": 1, "end_hour": 4},
               {"weekdays": [1, 5], "start_hour": 6, "end_hour": 10}, {"start_hour": 22, "end_hour": 24}], "peak_rates": {"input_cost_per_token": 4e-06}}"#,
            r#", "times": [{"days": ["mon", "fri"], "hours": ["01:00-04:00", "06:00-10:00"], "prices": {"input": "4", "output": "2"}}, {"hours": ["22:00-24:00"], "prices": {"input": "4", "output": "2"}}]"#,
            String::new(),
        ),
        (
            "peak hours somewhere else",
            r#""time_of_use_pricing": {"timezone": "Asia/Shanghai", "peak_windows": [{"start_hour": 1, "end_hour": 4}], "peak_rates": {"input_cost_per_token": 4e-06}}"#,
            "",
            note("time_of_use_pricing"),
        ),
        (
            "peak hours by a day that is none",
            r#""time_of_use_pricing": {"timezone": "UTC", "peak_windows": [{"weekdays": [0], "start_hour": 1, "end_hour": 4}], "peak_rates": {"input_cost_per_token": 4e-06}}"#,
            "",
            note("time_of_use_pricing"),
        ),
        (
            "peak hours beside prices for long requests",
            r#""input_cost_per_token_above_128k_tokens": 2e-06, "time_of_use_pricing": {"timezone": "UTC", "peak_windows": [{"start_hour": 1, "end_hour": 4}], "peak_rates": {"input_cost_per_token": 4e-06}}"#,
            r#", "above": [{"input_tokens": 128000, "prices": {"input": "2", "output": "2"}}]"#,
            note("time_of_use_pricing"),
        ),
    ];
    for (case, more, want, noted) in cases {
        let want = format!(r#"x m {{"input": "1", "output": "2"{want}}}{noted}"#);
        assert_eq!(of(&format!("{FLAT}, {more}")), want, "{case}");
    }
    let ranges = |second: &str| {
        format!(
            r#""mode": "chat", "tiered_pricing": [{{"range": [0, 32000.0], "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "output_cost_per_reasoning_token": 3e-06}},
            {{"range": [{second}, 128e3], "input_cost_per_token": 2e-06, "output_cost_per_token": 4e-06, "output_cost_per_reasoning_token": 6e-06}}]"#
        )
    };
    let want = r#"x m {"input": "1", "output": "2", "reasoning": "3", "above": [{"input_tokens": 32000, "prices": {"input": "2", "output": "4", "reasoning": "6"}}]}"#;
    assert_eq!(of(&ranges("32e3")), want, "ranges");
    let want = "m: has no price of input and output";
    assert_eq!(of(&ranges("64000")), want, "ranges with a gap");
    let pictures = r#""mode": "image_generation", "output_cost_per_image": 0.04"#;
    assert_eq!(of(pictures), r#"x m {"image": "0.04"}"#, "pictures");
}

#[test]
fn what_else_openrouter_states() {
    let of = |members: &str| {
        let text = format!(
            r#"{{"data": [{{"id": "m", "pricing": {{"prompt": "0.000001", "completion": "0.000002", {members}}}}}]}}"#
        );
        lines(&text).join("; ")
    };
    let note = |names: &str| format!(" the list has other prices ({names}), which are not counted");
    let cases = [
        (
            "two lengths",
            r#""overrides": [{"min_prompt_tokens": 32000, "prompt": "0.000002"}, {"min_prompt_tokens": 128000, "prompt": "0.000003", "completion": "0.000009"}]"#,
            r#", "above": [{"input_tokens": 32000, "prices": {"input": "2", "output": "2"}}, {"input_tokens": 128000, "prices": {"input": "3", "output": "9"}}]"#,
            String::new(),
        ),
        (
            "days and hours",
            r#""overrides": [{"utc_days": ["saturday", "Sunday"], "prompt": "0"}, {"utc_start": "1630", "utc_end": "00:30", "prompt": "0.0000005"}]"#,
            r#", "times": [{"days": ["sat", "sun"], "prices": {"input": "0", "output": "2"}}, {"hours": ["16:30-00:30"], "prices": {"input": "0.5", "output": "2"}}]"#,
            String::new(),
        ),
        (
            "a length at an hour",
            r#""overrides": [{"min_prompt_tokens": 1, "utc_start": "1630", "utc_end": "1900", "prompt": "0.000002"}]"#,
            "",
            note("overrides"),
        ),
        (
            "lengths and hours",
            r#""overrides": [{"min_prompt_tokens": 1, "prompt": "0.000002"}, {"utc_start": "1630", "utc_end": "1900", "prompt": "0.000002"}]"#,
            "",
            note("overrides"),
        ),
        (
            "a night of some days",
            r#""overrides": [{"utc_days": ["saturday"], "utc_start": "2200", "utc_end": "0200", "prompt": "0.000002"}]"#,
            "",
            note("overrides"),
        ),
        (
            "a condition that nobody knows",
            r#""overrides": [{"min_prompt_tokens": 1, "prompt": "0.000002", "moon": "full"}]"#,
            "",
            note("overrides"),
        ),
        (
            "no condition",
            r#""overrides": [{"prompt": "0.000002"}]"#,
            "",
            note("overrides"),
        ),
        (
            "a price that is none",
            r#""overrides": [{"min_prompt_tokens": 1, "prompt": "-1"}]"#,
            "",
            note("overrides"),
        ),
        (
            "searches, reasoning, and what is not counted",
            r#""web_search": "0.014", "internal_reasoning": "0.000003", "image": "0.007225", "request": "0", "discount": 0, "audio": "0.000001""#,
            r#", "reasoning": "3", "per_call": {"web_search": "0.014"}"#,
            note("audio, image"),
        ),
    ];
    for (case, more, want, noted) in cases {
        let want = format!(r#"openrouter m {{"input": "1", "output": "2"{want}}}{noted}"#);
        assert_eq!(of(more), want, "{case}");
    }
}

#[test]
fn every_list_becomes_prices_that_compile() {
    use serde_json::json;
    use trilane::config::{Document, compile};
    let text = r#"{"data": [{"id": "m", "pricing": {"prompt": "0.000001", "completion": "0.000002", "web_search": "0.01",
        "overrides": [{"utc_days": ["saturday"], "utc_start": "1630", "utc_end": "2400", "prompt": "0"}]}}]}"#;
    let list = PriceList::read(text.as_bytes()).unwrap();
    let document = json!({"currency": "USD", "keys": [], "groups": [{"id": "g", "protocol": "A", "multiplier": "1", "cluster": "c",
        "models": [{"id": "m", "prices": list.models[0].prices}]}]});
    let document = Document::parse(document.to_string().as_bytes()).unwrap();
    assert_eq!(compile(&document).unwrap().warnings, []);
}
