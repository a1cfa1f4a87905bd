//! Reads usage back from answers, by the vendors' own rules.

use serde_json::{Value, json};

use super::{ReceivedResponse, sse};

/// A call that reports usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageCall {
    Chat,
    Responses,
    Images,
    Edits,
    Messages,
    Generate,
    Embed,
}

pub const FORMS: [UsageCall; 7] = [
    UsageCall::Chat,
    UsageCall::Responses,
    UsageCall::Images,
    UsageCall::Edits,
    UsageCall::Messages,
    UsageCall::Generate,
    UsageCall::Embed,
];

/// Those that can be streamed.
pub const STREAMED: [UsageCall; 6] = [
    UsageCall::Chat,
    UsageCall::Responses,
    UsageCall::Images,
    UsageCall::Edits,
    UsageCall::Messages,
    UsageCall::Generate,
];

impl UsageCall {
    /// The request line.
    pub fn line(self, stream: bool) -> &'static str {
        match self {
            Self::Chat => "POST /v1/chat/completions",
            Self::Responses => "POST /v1/responses",
            Self::Images => "POST /v1/images/generations",
            Self::Edits => "POST /v1/images/edits",
            Self::Messages => "POST /v1/messages",
            Self::Generate if stream => "POST /v1beta/models/m:streamGenerateContent?alt=sse",
            Self::Generate => "POST /v1beta/models/m:generateContent",
            Self::Embed => "POST /v1beta/models/m:embedContent",
        }
    }

    /// The request body, which asks a chat for usage.
    pub fn body(self, stream: bool) -> &'static str {
        match (self, stream) {
            (Self::Chat, true) => {
                r#"{"model":"m","stream":true,"stream_options":{"include_usage":true}}"#
            }
            (_, true) => r#"{"model":"m","stream":true}"#,
            (_, false) => r#"{"model":"m"}"#,
        }
    }

    /// The kinds of a usage object of this form.
    pub fn read(self, usage: &Value) -> Value {
        let number = |pointer| usage.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
        let mut kinds = kinds(&[]);
        match self {
            Self::Chat => {
                let read = number("/prompt_tokens_details/cached_tokens");
                let written = number("/prompt_tokens_details/cache_write_tokens");
                let reasoning = number("/completion_tokens_details/reasoning_tokens");
                kinds["input"] = (number("/prompt_tokens") - read - written).into();
                kinds["cache_read"] = read.into();
                kinds["cache_write_5m"] = written.into();
                kinds["output"] = (number("/completion_tokens") - reasoning).into();
                kinds["reasoning"] = reasoning.into();
                let total = number("/prompt_tokens") + number("/completion_tokens");
                assert_eq!(number("/total_tokens"), total);
            }
            Self::Responses => {
                let read = number("/input_tokens_details/cached_tokens");
                let written = number("/input_tokens_details/cache_write_tokens");
                let reasoning = number("/output_tokens_details/reasoning_tokens");
                kinds["input"] = (number("/input_tokens") - read - written).into();
                kinds["cache_read"] = read.into();
                kinds["cache_write_5m"] = written.into();
                kinds["output"] = (number("/output_tokens") - reasoning).into();
                kinds["reasoning"] = reasoning.into();
                let total = number("/input_tokens") + number("/output_tokens");
                assert_eq!(number("/total_tokens"), total);
            }
            Self::Images | Self::Edits => {
                let image = number("/input_tokens_details/image_tokens");
                let text = number("/input_tokens_details/text_tokens");
                assert_eq!(number("/input_tokens"), image + text);
                kinds["input"] = text.into();
                kinds["input_image"] = image.into();
                kinds["output"] = number("/output_tokens").into();
                let total = number("/input_tokens") + number("/output_tokens");
                assert_eq!(number("/total_tokens"), total);
            }
            Self::Messages => {
                let short = number("/cache_creation/ephemeral_5m_input_tokens");
                let long = number("/cache_creation/ephemeral_1h_input_tokens");
                assert_eq!(number("/cache_creation_input_tokens"), short + long);
                kinds["input"] = number("/input_tokens").into();
                kinds["cache_read"] = number("/cache_read_input_tokens").into();
                kinds["cache_write_5m"] = short.into();
                kinds["cache_write_1h"] = long.into();
                kinds["output"] = number("/output_tokens").into();
            }
            Self::Generate | Self::Embed => {
                let cached = number("/cachedContentTokenCount");
                kinds["input"] = (number("/promptTokenCount") - cached).into();
                kinds["cache_read"] = cached.into();
                kinds["tool_use"] = number("/toolUsePromptTokenCount").into();
                kinds["output"] = number("/candidatesTokenCount").into();
                kinds["reasoning"] = number("/thoughtsTokenCount").into();
                let parts = number("/promptTokenCount")
                    + number("/candidatesTokenCount")
                    + number("/thoughtsTokenCount")
                    + number("/toolUsePromptTokenCount");
                assert!(self == Self::Embed || number("/totalTokenCount") == parts);
            }
        }
        kinds
    }

    /// All usage that a reader of this answer knows at its end; null where it has none.
    pub fn usage(self, answer: &ReceivedResponse) -> Value {
        let streamed = answer
            .header("content-type")
            .starts_with("text/event-stream");
        let documents: Vec<Value> = if streamed {
            let data = sse::parse(&answer.body).into_iter().map(|(_, data)| data);
            data.filter(|data| data != "[DONE]")
                .map(|data| serde_json::from_str(&data).unwrap())
                .collect()
        } else {
            vec![answer.json()]
        };
        let (mut merged, mut images) = (Value::Null, 0);
        for document in &documents {
            let places = [
                "/usage",
                "/message/usage",
                "/response/usage",
                "/usageMetadata",
            ];
            let found = places.iter().find_map(|place| document.pointer(place));
            for (name, value) in found.and_then(Value::as_object).into_iter().flatten() {
                if merged.is_null() {
                    merged = json!({});
                }
                merged[name] = value.clone();
            }
            images += match document["type"].as_str() {
                Some(name) => u64::from(name.ends_with(".completed")),
                None => document["data"]
                    .as_array()
                    .map_or(0, |data| data.len() as u64),
            };
        }
        let makes_images = matches!(self, Self::Images | Self::Edits);
        if merged.is_null() && !(makes_images && images > 0) {
            return Value::Null;
        }
        let mut kinds = self.read(&merged);
        if makes_images {
            kinds["images"] = images.into();
        }
        kinds
    }
}

/// These numbers, and zero for the other kinds.
pub fn kinds(numbers: &[(&str, u64)]) -> Value {
    let mut kinds = json!({
        "input": 0, "input_image": 0, "cache_read": 0, "cache_write_5m": 0, "cache_write_1h": 0,
        "tool_use": 0, "output": 0, "reasoning": 0, "images": 0,
    });
    for (name, number) in numbers {
        kinds[*name] = (*number).into();
    }
    kinds
}
