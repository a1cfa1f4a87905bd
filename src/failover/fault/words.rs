//! The words of an error, wherever a vendor puts them.

use serde_json::Value;

/// The words of an error.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ErrorWords {
    /// Its types, codes and reasons.
    pub codes: Vec<String>,
    /// The message, empty where there is none.
    pub message: String,
}

impl ErrorWords {
    /// Reads a whole answer: `{"error": {…}}` (OpenAI, Anthropic, Gemini and most), the same as the only member of a list (a
    /// stream of Gemini's), `{"code": …, "error": "…"}` (xAI), `{"code": …, "message": "…"}` (DashScope, Mistral).
    pub(super) fn read(answer: &[u8]) -> Option<Self> {
        let answer: Value = serde_json::from_slice(answer).ok()?;
        Some(Self::of(answer.get(0).unwrap_or(&answer)))
    }

    /// The same of one value.
    pub(super) fn of(answer: &Value) -> Self {
        let error = answer.get("error");
        let inner = error.filter(|error| error.is_object()).unwrap_or(answer);
        let mut words = Self::default();
        for name in ["type", "code", "status"] {
            words.add(inner.get(name));
        }
        let details = inner.get("details").and_then(Value::as_array);
        for detail in details.into_iter().flatten() {
            words.add(detail.get("reason"));
        }
        let message = inner.get("message").or(error).and_then(Value::as_str);
        message.unwrap_or_default().clone_into(&mut words.message);
        words
    }

    fn add(&mut self, code: Option<&Value>) {
        match code {
            Some(Value::String(code)) => self.codes.push(code.clone()),
            Some(Value::Number(code)) => self.codes.push(code.to_string()),
            _ => {}
        }
    }
}
