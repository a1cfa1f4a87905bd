//! The words of an error, wherever a vendor puts them.

use std::borrow::Cow;

use serde_json::Value;

use crate::ledger::UpstreamError;

/// The words of an error.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ErrorWords {
    /// Its types, codes and reasons.
    pub codes: Vec<String>,
    /// The message, empty where there is none.
    pub message: String,
    /// The part of the request that it names, empty where there is none.
    pub param: String,
    /// The members that name it.
    pub error: UpstreamError,
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
        let param = inner.get("param").and_then(Value::as_str);
        param.unwrap_or_default().clone_into(&mut words.param);
        words.error = named_by(inner);
        if let Some(detail) = validated(answer, inner) {
            words.read_validated(detail);
        }
        words.error = words.error.with_message(&words.message);
        words
    }

    /// Reads an error of a validation: its type, and where in the request it is.
    fn read_validated(&mut self, detail: &Value) {
        self.add(detail.get("type"));
        let places = detail.get("loc").and_then(Value::as_array);
        let places: Vec<_> = places.into_iter().flatten().filter_map(text).collect();
        self.param = places.join(".");
        let code = detail.get("type").and_then(text);
        let kind = self.error.kind.take();
        self.error = UpstreamError::new(kind.as_deref(), code.as_deref(), Some(&self.param));
    }

    fn add(&mut self, code: Option<&Value>) {
        self.codes.extend(code.and_then(text).map(Cow::into_owned));
    }
}

/// The members that name an error. Where a vendor has a reason (Gemini) it says more than the code, which repeats the status.
fn named_by(error: &Value) -> UpstreamError {
    let details = error.get("details").and_then(Value::as_array);
    let mut details = details.into_iter().flatten();
    let reason = details.find_map(|detail| detail.get("reason").and_then(text));
    let member = |name: &str| error.get(name).and_then(text);
    let kind = member("type").or_else(|| member("status"));
    let code = reason.or_else(|| member("code"));
    UpstreamError::new(kind.as_deref(), code.as_deref(), member("param").as_deref())
}

/// The first error of a validation (FastAPI, pydantic): in `detail`, or in the place of the message.
fn validated<'a>(answer: &'a Value, error: &'a Value) -> Option<&'a Value> {
    let message = error.get("message");
    let inner = message.and_then(|message| message.get("detail"));
    let lists = [inner, answer.get("detail"), message].into_iter().flatten();
    let mut first = lists.filter_map(|list| list.as_array()?.first());
    first.find(|detail| detail.get("loc").is_some())
}

/// A text, or a number as one.
fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(text.into()),
        Value::Number(number) => Some(number.to_string().into()),
        _ => None,
    }
}
