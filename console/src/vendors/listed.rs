//! The models in a vendor's list, in the shape of each protocol.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trilane::money::Price;
use trilane::protocol::Protocol;

/// A model of a vendor's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedModel {
    /// The vendor's name of it.
    pub id: String,
    /// Its name for people, where the list has one.
    pub display_name: Option<String>,
    /// What the list says that it costs: see `stated`.
    pub prices: Option<StatedPrices>,
}

impl ListedModel {
    /// One of which only the name is known.
    pub fn named(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            display_name: None,
            prices: None,
        }
    }
}

/// Prices in a vendor's list, for a million tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatedPrices {
    /// The price of input.
    pub input: String,
    /// The price of output.
    pub output: String,
}

/// A page of a list.
#[derive(Debug, PartialEq, Eq)]
pub struct ListedPage {
    /// Its models.
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
    let models = models
        .iter()
        .filter(|model| answers(model))
        .filter_map(|model| {
            let id = text(model, id)?;
            Some(ListedModel {
                id: id.strip_prefix("models/").unwrap_or(&id).to_owned(),
                display_name: text(model, name).filter(|name| !name.is_empty()),
                prices: stated(model),
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

/// The prices that OpenRouter states in its list: `pricing.prompt` and `pricing.completion`, US dollars for a token, as
/// decimals in strings (<https://openrouter.ai/docs/client-sdks/typescript/models/publicpricing.md>). Whether a list of
/// somebody else means the same is not known, so the caller takes them from OpenRouter only.
fn stated(model: &Value) -> Option<StatedPrices> {
    let pricing = model.get("pricing")?;
    let price = |name: &str| {
        let each = Decimal::from_str_exact(pricing.get(name)?.as_str()?).ok()?;
        let million = each.checked_mul(Decimal::from(1_000_000))?.normalize();
        let text = million.to_string();
        // A price that depends on something else is stated as -1.
        Price::parse(&text).is_ok().then_some(text)
    };
    Some(StatedPrices {
        input: price("prompt")?,
        output: price("completion")?,
    })
}

/// Whether a model writes answers. Protocol C says so of each; lists of the others do not tell.
fn answers(model: &Value) -> bool {
    let methods = model
        .get("supportedGenerationMethods")
        .and_then(Value::as_array);
    methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(ids(Protocol::C, c).unwrap(), ["gemini-3.6-flash"]);
        assert_eq!(
            page(Protocol::C, c.as_bytes()).unwrap().next,
            Some(("pageToken", "x".to_owned()))
        );
        assert_eq!(ids(Protocol::C, "{}").unwrap(), [""; 0]);
    }

    #[test]
    fn stated_prices_are_exact() {
        let model = |prompt: &str, completion: &str| {
            let pricing = format!(r#"{{"prompt":{prompt},"completion":{completion}}}"#);
            let body = format!(r#"{{"data":[{{"id":"m","pricing":{pricing}}}]}}"#);
            let read = page(Protocol::A, body.as_bytes()).unwrap();
            let prices = read.models[0].prices.clone();
            prices.map(|prices| (prices.input, prices.output))
        };
        let own = |input: &str, output: &str| Some((input.to_owned(), output.to_owned()));
        for (case, prompt, completion, want) in [
            ("plain", r#""0.00003""#, r#""0.00006""#, own("30", "60")),
            (
                "small",
                r#""0.000000075""#,
                r#""0.0000003""#,
                own("0.075", "0.3"),
            ),
            ("free", r#""0""#, r#""0""#, own("0", "0")),
            ("it depends", r#""-1""#, r#""-1""#, None),
            ("a number", "0.00003", "0.00006", None),
            ("no number", r#""x""#, r#""0""#, None),
            ("too fine", r#""0.0000000000001""#, r#""0""#, None),
            ("huge", r#""79228162514264337593543950335""#, r#""0""#, None),
        ] {
            assert_eq!(model(prompt, completion), want, "{case}");
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
