//! The models in a vendor's list, in the shape of each protocol.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use trilane::config::document::PricesDocument;
use trilane::protocol::Protocol;

use crate::prices::Per;

/// A model of a vendor's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedModel {
    /// The vendor's name of it.
    pub id: String,
    /// The display name, if the list has one.
    pub display_name: Option<String>,
    /// The moment from which the vendor has it (RFC 3339), if the list says so.
    #[serde(default)]
    pub created_at: Option<String>,
    /// The prices that the list states: see `stated`.
    pub prices: Option<PricesDocument>,
    /// Whether the list says that it writes no responses.
    #[serde(default)]
    pub writes_nothing: bool,
}

impl ListedModel {
    /// One of which only the name is known.
    pub fn named(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            display_name: None,
            created_at: None,
            prices: None,
            writes_nothing: false,
        }
    }
}

/// A page of a list.
#[derive(Debug, PartialEq, Eq)]
pub struct ListedPage {
    /// The models on the page.
    pub models: Vec<ListedModel>,
    /// The query parameter that asks for the next page, where there is one.
    pub next: Option<(&'static str, String)>,
}

/// Reads a page. `None` for a body that is no list of this protocol.
pub fn page(protocol: Protocol, body: &[u8]) -> Option<ListedPage> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let (list, id, name) = match protocol {
        Protocol::A => ("data", "id", "display_name"),
        Protocol::B => ("data", "id", "display_name"),
        Protocol::C => ("models", "name", "displayName"),
    };
    let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
    let models = match body.get(list) {
        Some(list) => list.as_array()?.as_slice(),
        // An empty list of protocol C has no member.
        None if protocol == Protocol::C && body.as_object().is_some_and(|all| all.is_empty()) => {
            &[]
        }
        None => return None,
    };
    let models = models.iter().filter_map(|model| {
        let id = text(model, id)?;
        Some(ListedModel {
            id: id.strip_prefix("models/").unwrap_or(&id).to_owned(),
            display_name: text(model, name).filter(|name| !name.is_empty()),
            created_at: created_at(model),
            prices: stated(model),
            writes_nothing: writes_nothing(model),
        })
    });
    let next = match protocol {
        Protocol::A => None,
        Protocol::B if body.get("has_more") == Some(&Value::Bool(true)) => {
            text(&body, "last_id").map(|id| ("after_id", id))
        }
        Protocol::B => None,
        Protocol::C => text(&body, "nextPageToken").map(|token| ("pageToken", token)),
    };
    Some(ListedPage {
        models: models.collect(),
        next,
    })
}

/// The moment that a list says: protocol A has seconds since 1970 in `created`, B a text in `created_at`.
fn created_at(model: &Value) -> Option<String> {
    let seconds = model.get("created").and_then(Value::as_i64);
    let moment = match model.get("created_at").and_then(Value::as_str) {
        Some(text) => OffsetDateTime::parse(text, &Rfc3339).ok()?,
        None => OffsetDateTime::from_unix_timestamp(seconds?).ok()?,
    };
    // Servers of one's own often say 0.
    if moment <= OffsetDateTime::UNIX_EPOCH {
        return None;
    }
    moment.format(&Rfc3339).ok()
}

/// The prices that OpenRouter states in its list, US dollars for a token, as decimals in strings
/// (<https://openrouter.ai/docs/client-sdks/typescript/models/publicpricing.md>). Whether a list of somebody else means the
/// same is not known, so the caller takes them from OpenRouter only.
fn stated(model: &Value) -> Option<PricesDocument> {
    let pricing = model.get("pricing")?;
    let price = |name: &str| Per::Token.price(pricing.get(name)?.as_str()?).ok();
    // A 0 says as often that there is no cache as that it is free: without a price it is charged as input.
    let of_cache = |name: &str| price(name).filter(|price| price != "0");
    Some(PricesDocument {
        input: Some(price("prompt")?),
        cache_read: of_cache("input_cache_read"),
        cache_write_5m: of_cache("input_cache_write"),
        output: Some(price("completion")?),
        ..PricesDocument::default()
    })
}

/// Whether a list says that a model neither writes responses nor embeds what it reads by protocol A. Gemini's has the methods of each model, OpenRouter's what it puts out;
/// other lists do not tell.
fn writes_nothing(model: &Value) -> bool {
    let lacks = |list: Option<&Value>, wanted: &[&str]| {
        let list = list.and_then(Value::as_array);
        list.is_some_and(|list| {
            let named = list.iter().filter_map(Value::as_str);
            named.into_iter().all(|name| !wanted.contains(&name))
        })
    };
    let architecture = model.get("architecture");
    let output = architecture.and_then(|it| it.get("output_modalities"));
    lacks(
        model.get("supportedGenerationMethods"),
        &["generateContent"],
    ) || lacks(output, &["text", "image", "embeddings"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_line::json_line;

    fn ids(protocol: Protocol, body: &str) -> Option<Vec<String>> {
        let page = page(protocol, body.as_bytes())?;
        Some(page.models.into_iter().map(|model| model.id).collect())
    }

    #[test]
    fn shapes() {
        let a = r#"{"object":"list","data":[{"id":"gpt-6-luna","object":"model","created":1,"owned_by":"openai"},{"object":"model"}]}"#;
        assert_eq!(ids(Protocol::A, a).unwrap(), ["gpt-6-luna"]);
        let b = r#"{"data":[{"id":"claude-opus-4-8","type":"model","display_name":"Claude Opus 4.8","created_at":"2026-01-01T00:00:00Z"}],"first_id":"claude-opus-4-8","last_id":"claude-opus-4-8","has_more":true}"#;
        let read = page(Protocol::B, b.as_bytes()).unwrap();
        assert_eq!(
            read.models[0].display_name.as_deref(),
            Some("Claude Opus 4.8")
        );
        assert_eq!(read.next, Some(("after_id", "claude-opus-4-8".to_owned())));
        let c = r#"{"models":[{"name":"models/gemini-3.6-flash","displayName":"Gemini 3.6 Flash","supportedGenerationMethods":["generateContent","countTokens"]},{"name":"models/embedding-1","supportedGenerationMethods":["embedContent"]}],"nextPageToken":"x"}"#;
        let read = page(Protocol::C, c.as_bytes()).unwrap();
        let read: Vec<_> = read
            .models
            .iter()
            .map(|it| (it.id.as_str(), it.writes_nothing))
            .collect();
        assert_eq!(read, [("gemini-3.6-flash", false), ("embedding-1", true)]);
        let router = r#"{"data":[{"id":"a","architecture":{"output_modalities":["text"]}},{"id":"b","architecture":{"output_modalities":["embeddings"]}},{"id":"c","architecture":{"output_modalities":["audio"]}}]}"#;
        let read = page(Protocol::A, router.as_bytes()).unwrap();
        let read: Vec<_> = read.models.iter().map(|it| it.writes_nothing).collect();
        assert_eq!(read, [false, false, true]);
        assert_eq!(
            page(Protocol::C, c.as_bytes()).unwrap().next,
            Some(("pageToken", "x".to_owned()))
        );
        assert_eq!(ids(Protocol::C, "{}").unwrap(), [""; 0]);
    }

    #[test]
    fn moments() {
        for (case, member, want) in [
            ("A", r#""created":1767225600"#, Some("2026-01-01T00:00:00Z")),
            (
                "B",
                r#""created_at":"2026-01-01T00:00:00Z""#,
                Some("2026-01-01T00:00:00Z"),
            ),
            ("nothing that it knows", r#""created":0"#, None),
            ("no moment", r#""created_at":"soon""#, None),
            ("none", r#""object":"model""#, None),
        ] {
            let body = format!(r#"{{"data":[{{"id":"m",{member}}}]}}"#);
            let read = page(Protocol::A, body.as_bytes()).unwrap();
            assert_eq!(read.models[0].created_at.as_deref(), want, "{case}");
        }
    }

    #[test]
    fn stated_prices_are_exact() {
        let model = |pricing: &str| {
            let body = format!(r#"{{"data":[{{"id":"m","pricing":{{{pricing}}}}}]}}"#);
            let read = page(Protocol::A, body.as_bytes()).unwrap();
            read.models[0].prices.as_ref().map(json_line)
        };
        for (case, pricing, want) in [
            (
                "plain",
                r#""prompt":"0.00003","completion":"0.00006""#,
                Some(r#"{"input": "30", "output": "60"}"#),
            ),
            (
                "small",
                r#""prompt":"0.000000075","completion":"0.0000003""#,
                Some(r#"{"input": "0.075", "output": "0.3"}"#),
            ),
            (
                "with a cache",
                r#""prompt":"0.000003","completion":"0.000015","input_cache_read":"0.0000003","input_cache_write":"0.00000375""#,
                Some(
                    r#"{"input": "3", "cache_read": "0.3", "cache_write_5m": "3.75", "output": "15"}"#,
                ),
            ),
            (
                "a cache that is said to be 0, or to depend",
                r#""prompt":"0.000003","completion":"0.000015","input_cache_read":"0","input_cache_write":"-1""#,
                Some(r#"{"input": "3", "output": "15"}"#),
            ),
            (
                "free",
                r#""prompt":"0","completion":"0""#,
                Some(r#"{"input": "0", "output": "0"}"#),
            ),
            ("it depends", r#""prompt":"-1","completion":"-1""#, None),
            ("a number", r#""prompt":0.00003,"completion":0.00006"#, None),
            ("no number", r#""prompt":"x","completion":"0""#, None),
            ("one is missing", r#""prompt":"0.1""#, None),
            (
                "too fine",
                r#""prompt":"0.0000000000001","completion":"0""#,
                None,
            ),
            (
                "huge",
                r#""prompt":"79228162514264337593543950335","completion":"0""#,
                None,
            ),
        ] {
            assert_eq!(model(pricing).as_deref(), want, "{case}");
        }
    }

    #[test]
    fn what_is_no_list() {
        for body in [
            "",
            "<html>",
            "[]",
            r#"{"data":{}}"#,
            r#"{"error":{"code":404}}"#,
        ] {
            for protocol in [Protocol::A, Protocol::B, Protocol::C] {
                assert_eq!(ids(protocol, body), None, "{protocol} {body}");
            }
        }
    }
}
