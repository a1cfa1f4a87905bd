//! Bodies as clients send them and answers as model sources give them, in the forms of the three protocols.

/// Events of a stream.
pub const EVENTS: usize = 200;

/// The position of the model in a request. SDKs send it near either end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelPosition {
    /// Before the messages.
    First,
    /// Behind them.
    Last,
}

/// A prompt of about `size` bytes.
pub fn prompt(model: &str, size: usize, place: ModelPosition, stream: bool) -> Vec<u8> {
    let message = r#"{"role":"user","content":"The quick brown fox jumps over the lazy dog.\nThen \"Again!\", and so on."},"#;
    let messages = message.repeat((size / message.len()).max(1));
    let rest = format!(
        r#""messages":[{}],"max_tokens":1024,"stream":{stream}"#,
        messages.trim_end_matches(',')
    );
    match place {
        ModelPosition::First => format!(r#"{{"model":"{model}",{rest}}}"#),
        ModelPosition::Last => format!(r#"{{{rest},"model":"{model}"}}"#),
    }
    .into_bytes()
}

/// A line in Chinese, as it stands in a JSON string.
pub const CHINESE: &str = "敏捷的棕色狐狸跳过了那只正在睡觉的懒狗。\\n";
/// A line in German.
pub const GERMAN: &str = "Der schnelle braune Fuchs springt über den trägen Hund, der schläft.\\n";

/// The text with each character outside ASCII as `\uXXXX`, as Python's `json` writes it.
pub fn escaped(text: &str) -> String {
    let write = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
        _ => format!("\\u{unit:04x}"),
    };
    text.encode_utf16().map(write).collect()
}

/// A prompt of about `size` bytes: this line again and again.
pub fn prompt_of(line: &str, size: usize) -> Vec<u8> {
    let text = line.repeat((size / line.len()).max(1));
    format!(
        r#"{{"messages":[{{"role":"user","content":"{text}"}}],"max_tokens":1024,"model":"gpt-5.1"}}"#
    )
    .into_bytes()
}

/// A prompt with about `size` bytes of tools, as agents send them, whose schemas are full of numbers and literals.
pub fn prompt_with_tools(size: usize) -> Vec<u8> {
    let tool = concat!(
        r#"{"type":"function","function":{"name":"read_file","description":"Reads a file.","strict":true,"#,
        r#""parameters":{"type":"object","properties":{"path":{"type":"string","minLength":1,"maxLength":4096},"#,
        r#""offset":{"type":"integer","minimum":0,"default":0},"limit":{"type":"integer","minimum":1,"maximum":2000,"#,
        r#""default":500},"ratio":{"type":"number","enum":[0.25,0.5,0.75,1.0]},"follow":{"type":["boolean","null"],"#,
        r#""default":null}},"required":["path"],"additionalProperties":false}}},"#
    );
    let tools = tool.repeat((size / tool.len()).max(1));
    format!(
        r#"{{"messages":[{{"role":"user","content":"Read it."}}],"tools":[{}],"model":"gpt-5.1"}}"#,
        tools.trim_end_matches(',')
    )
    .into_bytes()
}

/// A prompt with about `size` bytes of numbers, as embeddings are.
pub fn prompt_with_numbers(size: usize) -> Vec<u8> {
    let number = |at: usize| {
        let sign = if at.is_multiple_of(2) { "-" } else { "" };
        format!("{sign}0.0{:07}", at.wrapping_mul(7919) % 9_999_999)
    };
    let numbers: Vec<String> = (0..(size / 11).max(1)).map(number).collect();
    format!(
        r#"{{"messages":[{{"role":"user","content":"Like this?"}}],"x":[{}],"model":"gpt-5.1"}}"#,
        numbers.join(",")
    )
    .into_bytes()
}

/// A prompt of protocol C, whose model is in the path.
pub fn generate_prompt() -> Vec<u8> {
    br#"{"contents":[{"role":"user","parts":[{"text":"The quick brown fox.\nAgain."}]}]}"#.to_vec()
}

/// A Chat Completions answer whose text has about `size` bytes.
pub fn chat_json(size: usize) -> Vec<u8> {
    let sentence = "The quick brown fox jumps over the lazy dog.\\n";
    format!(
        concat!(
            r#"{{"id":"chatcmpl-9k2","object":"chat.completion","created":1763700000,"model":"gpt-5.1-2025-11-13","#,
            r#""choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}","refusal":null}},"#,
            r#""logprobs":null,"finish_reason":"stop"}}],"usage":{{"prompt_tokens":212,"completion_tokens":98,"#,
            r#""total_tokens":310,"prompt_tokens_details":{{"cached_tokens":128}},"#,
            r#""completion_tokens_details":{{"reasoning_tokens":20}}}},"service_tier":"default"}}"#
        ),
        text = sentence.repeat(size.div_ceil(sentence.len()))
    )
    .into_bytes()
}

/// A Chat Completions response of about `size` bytes: this line again and again.
pub fn chat_json_of(line: &str, size: usize) -> Vec<u8> {
    let text = line.repeat((size / line.len()).max(1));
    format!(
        concat!(
            r#"{{"id":"chatcmpl-9k2","model":"gpt-5.1-2025-11-13","choices":[{{"index":0,"#,
            r#""message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],"#,
            r#""usage":{{"prompt_tokens":212,"completion_tokens":98,"total_tokens":310}}}}"#
        ),
        text = text
    )
    .into_bytes()
}

/// A Messages answer whose text has about `size` bytes.
pub fn messages_json(size: usize) -> Vec<u8> {
    let sentence = "The quick brown fox jumps over the lazy dog.\\nAgain: \u{e9}. ";
    format!(
        concat!(
            r#"{{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-5-20251101","#,
            r#""content":[{{"type":"text","text":"{text}"}}],"stop_reason":"end_turn","#,
            r#""usage":{{"input_tokens":25,"cache_read_input_tokens":1024,"output_tokens":98}}}}"#
        ),
        text = sentence.repeat(size.div_ceil(sentence.len()))
    )
    .into_bytes()
}

/// A generate-content answer.
pub fn generate_json() -> Vec<u8> {
    concat!(
        r#"{"candidates":[{"content":{"parts":[{"text":"It jumps."}],"role":"model"},"finishReason":"STOP"}],"#,
        r#""usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":3,"totalTokenCount":15},"#,
        r#""modelVersion":"gemini-2.5-flash"}"#
    )
    .into()
}

/// An answer of the images endpoints with an image of about `size` bytes.
pub fn image_json(size: usize) -> Vec<u8> {
    let image = "iVBORw0KGgo=".repeat(size.div_ceil(12));
    format!(
        r#"{{"data":[{{"b64_json":"{image}"}}],"usage":{{"input_tokens":9,"output_tokens":98}}}}"#
    )
    .into_bytes()
}

/// A Chat Completions stream.
pub fn chat_stream() -> Vec<u8> {
    let delta = concat!(
        r#"data: {"id":"chatcmpl-9k2","object":"chat.completion.chunk","created":1763700000,"model":"gpt-5.1-2025-11-13","#,
        r#""service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":{"content":" the quick\n"},"#,
        r#""logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"Xk2"}"#,
        "\n\n"
    );
    let end = concat!(
        r#"data: {"id":"chatcmpl-9k2","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}"#,
        "\n\n",
        r#"data: {"id":"chatcmpl-9k2","choices":[],"usage":{"prompt_tokens":212,"completion_tokens":200,"total_tokens":412}}"#,
        "\n\ndata: [DONE]\n\n"
    );
    stream("", delta, end)
}

/// A Responses stream.
pub fn responses_stream() -> Vec<u8> {
    let start = concat!(
        "event: response.created\n",
        r#"data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","#,
        r#""status":"in_progress","model":"gpt-5.1-2025-11-13","output":[],"usage":null}}"#,
        "\n\n"
    );
    let delta = concat!(
        "event: response.output_text.delta\n",
        r#"data: {"type":"response.output_text.delta","sequence_number":10,"item_id":"msg_1","output_index":2,"#,
        r#""content_index":0,"delta":" the quick","logprobs":[],"obfuscation":"Xk2"}"#,
        "\n\n"
    );
    let end = concat!(
        "event: response.completed\n",
        r#"data: {"type":"response.completed","sequence_number":210,"response":{"id":"resp_1","object":"response","#,
        r#""status":"completed","model":"gpt-5.1-2025-11-13","output":[],"usage":{"input_tokens":212,"#,
        r#""input_tokens_details":{"cached_tokens":128},"output_tokens":200,"output_tokens_details":{"reasoning_tokens":20},"#,
        r#""total_tokens":412}}}"#,
        "\n\n"
    );
    stream(start, delta, end)
}

/// A Messages stream.
pub fn messages_stream() -> Vec<u8> {
    let start = concat!(
        "event: message_start\n",
        r#"data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-5-20251101","#,
        r#""content":[],"stop_reason":null,"usage":{"input_tokens":25,"cache_read_input_tokens":1024,"output_tokens":1}}}"#,
        "\n\n"
    );
    let delta = concat!(
        "event: content_block_delta\n",
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" the quick brown fox"}}"#,
        "\n\n"
    );
    let end = concat!(
        "event: message_delta\n",
        r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":200}}"#,
        "\n\nevent: message_stop\n",
        r#"data: {"type":"message_stop"}"#,
        "\n\n"
    );
    stream(start, delta, end)
}

/// A generate-content stream: the only one with the usage so far in every event.
pub fn generate_stream() -> Vec<u8> {
    let delta = concat!(
        r#"data: {"candidates":[{"content":{"parts":[{"text":" the quick brown fox jumps over\n"}],"role":"model"},"index":0}],"#,
        r#""usageMetadata":{"promptTokenCount":1234,"candidatesTokenCount":10,"totalTokenCount":1244,"promptTokensDetails":"#,
        r#"[{"modality":"TEXT","tokenCount":1234}]},"modelVersion":"gemini-2.5-flash","responseId":"r1"}"#,
        "\r\n\r\n"
    );
    let end = concat!(
        r#"data: {"candidates":[{"content":{"parts":[{"text":"."}],"role":"model"},"finishReason":"STOP","index":0}],"#,
        r#""usageMetadata":{"promptTokenCount":1234,"candidatesTokenCount":200,"totalTokenCount":1434}}"#,
        "\r\n\r\n"
    );
    stream("", delta, end)
}

fn stream(start: &str, delta: &str, end: &str) -> Vec<u8> {
    format!("{start}{}{end}", delta.repeat(EVENTS)).into_bytes()
}
