//! A ledger line with all its members.

use serde_json::{Map, Value};
use trilane::usage::{Call, Kind, Usage};

/// The members of a line.
#[derive(Debug, Default)]
pub struct LedgerLine(Map<String, Value>);

/// The kinds of tokens with a member of their own; the others follow from the two sums.
const KINDS: [(&str, Kind); 8] = [
    ("gen_ai.usage.cache_read.input_tokens", Kind::CacheRead),
    (
        "trilane.usage.cache_creation_1h.input_tokens",
        Kind::CacheWrite1h,
    ),
    ("trilane.usage.tool_use.input_tokens", Kind::ToolUse),
    ("trilane.usage.image.input_tokens", Kind::InputImage),
    ("trilane.usage.audio.input_tokens", Kind::InputAudio),
    ("gen_ai.usage.reasoning.output_tokens", Kind::Reasoning),
    ("trilane.usage.audio.output_tokens", Kind::OutputAudio),
    ("trilane.usage.image.output_tokens", Kind::OutputImage),
];

impl LedgerLine {
    /// Reads a line, with any prefix that a log adds; `None` if it is not of a request.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let start = memchr::memchr(b'{', text)?;
        let Ok(Value::Object(members)) = serde_json::from_slice(text.get(start..)?.trim_ascii())
        else {
            return None;
        };
        let line = Self(members);
        let of_request = line.number("http.response.status_code").is_some()
            || line.text("trilane.usage.status").is_some();
        (of_request && line.text("timestamp").is_some()).then_some(line)
    }

    /// A line with these members.
    pub fn of(members: Map<String, Value>) -> Self {
        Self(members)
    }

    /// All members.
    pub fn members(&self) -> &Map<String, Value> {
        &self.0
    }

    /// A string; `None` if it is missing, for which Envoy writes `-`.
    pub fn text(&self, name: &str) -> Option<&str> {
        let text = self.0.get(name)?.as_str()?;
        (!text.is_empty() && text != "-").then_some(text)
    }

    /// A whole number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.as_u64()
    }

    /// A list; empty where there is none.
    pub fn list(&self, name: &str) -> &[Value] {
        let list = self.0.get(name).and_then(Value::as_array);
        list.map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether the line has this id.
    pub fn has_id(&self, id: &str) -> bool {
        [
            "request_id",
            "trilane.upstream_request_id",
            "gen_ai.response.id",
        ]
        .iter()
        .any(|name| self.text(name) == Some(id))
    }

    /// The usage.
    pub fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for (name, kind) in KINDS {
            usage.set(kind, self.number(name).unwrap_or(0));
        }
        // Cache writes of unknown duration count as five minutes, as in the gateway.
        let written = self.number("gen_ai.usage.cache_creation.input_tokens");
        let short = match written {
            Some(all) => all.saturating_sub(usage.tokens(Kind::CacheWrite1h)),
            None => self
                .number("trilane.usage.cache_creation_5m.input_tokens")
                .unwrap_or(0),
        };
        usage.set(Kind::CacheWrite5m, short);
        let input = self.number("gen_ai.usage.input_tokens").unwrap_or(0);
        let output = self.number("gen_ai.usage.output_tokens").unwrap_or(0);
        usage.set(Kind::Input, input.saturating_sub(usage.input_tokens()));
        usage.set(Kind::Output, output.saturating_sub(usage.output_tokens()));
        for call in Call::ALL {
            let name = format!("trilane.usage.calls.{}", call.name());
            usage.set_calls(call, self.number(&name).unwrap_or(0));
        }
        usage.images = self.number("trilane.usage.images").unwrap_or(0);
        usage
    }
}
