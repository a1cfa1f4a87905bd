//! Puts numbers where a document says `"prices": "catalogue"`.
//!
//! The gateway reads numbers only, so the word is resolved wherever the command reads a document, and the text that it
//! publishes or serves has the numbers. All other bytes stay as they are.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;
use serde::de::IgnoredAny;
use trilane::config::{Problems, suggestion};

use super::catalogue::{PriceCatalogue, protocol_named};
use crate::json_span::{self, JsonMember};

/// The JSON that stands in place of prices.
const WORD: &[u8] = b"\"catalogue\"";

/// In place of prices that the catalogue does not know, so that the other problems of the document can be found.
const UNKNOWN: &str = r#"{"input":"0","output":"0"}"#;

/// A document's text with numbers.
#[derive(Debug)]
pub struct ResolvedPrices<'a> {
    /// The text.
    pub text: Cow<'a, [u8]>,
    /// Models that the catalogue does not know. The text has no prices for them that mean anything.
    pub problems: Problems,
}

/// Resolves every `"prices": "catalogue"` of a model. Text that is no document stays as it is.
pub fn resolve<'a>(text: &'a [u8], catalogue: &PriceCatalogue) -> ResolvedPrices<'a> {
    let as_it_is = ResolvedPrices {
        text: Cow::Borrowed(text),
        problems: Problems::default(),
    };
    if memmem::find(text, WORD).is_none() || serde_json::from_slice::<IgnoredAny>(text).is_err() {
        return as_it_is;
    }
    let Some(words) = words(text) else {
        return as_it_is;
    };
    let mut problems = Problems::default();
    if let Some(first) = words.first()
        && let Some(currency) = currency(text)
        && currency != catalogue.currency
    {
        let prices = &catalogue.currency;
        let path = &first.path;
        let reason = format!("is not {prices}, which the catalogue's prices for {path} are in");
        problems.push("currency", reason);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for word in words {
        out.extend_from_slice(text.get(from..word.at.start).unwrap_or_default());
        from = word.at.end;
        match prices(&word, catalogue) {
            Ok(prices) => out.extend_from_slice(prices.as_bytes()),
            Err(reason) => {
                problems.push(word.path, reason);
                out.extend_from_slice(UNKNOWN.as_bytes());
            }
        }
    }
    out.extend_from_slice(text.get(from..).unwrap_or_default());
    ResolvedPrices {
        text: Cow::Owned(out),
        problems,
    }
}

/// A place where the word stands.
struct CatalogueReference {
    at: Range<usize>,
    /// The path in the document, such as `groups[2].models[0].prices`.
    path: String,
    /// The protocol of its group.
    protocol: String,
    /// The name that the vendor knows the model by.
    model: String,
}

fn prices(word: &CatalogueReference, catalogue: &PriceCatalogue) -> Result<String, String> {
    let protocol = protocol_named(&word.protocol).ok_or_else(|| {
        "cannot be \"catalogue\" here: only a model of a group of protocol A, B or C has prices"
            .to_owned()
    })?;
    let model = &word.model;
    match catalogue.find(protocol, model) {
        Some(found) => Ok(found.prices_text()),
        None => {
            let known = catalogue.of(protocol).map(|model| model.id.as_str());
            Err(format!(
                "the catalogue has no prices of \"{model}\" (protocol {protocol}): write them yourself{}",
                suggestion(model, known)
            ))
        }
    }
}

/// Every place where the word stands, in the order of the text.
fn words(text: &[u8]) -> Option<Vec<CatalogueReference>> {
    let document = json_span::members(text, &json_span::root(text)?)?;
    let mut words = Vec::new();
    for (group, members) in objects(text, &document, "groups") {
        let protocol = string(text, &members, "protocol").unwrap_or_default();
        for (position, model) in objects(text, &members, "models") {
            let prices = model.iter().filter(|member| member.name == "prices");
            for prices in prices.filter(|prices| text.get(prices.value.clone()) == Some(WORD)) {
                let name = string(text, &model, "upstream");
                words.push(CatalogueReference {
                    at: prices.value.clone(),
                    path: format!("groups[{group}].models[{position}].prices"),
                    protocol: protocol.clone(),
                    model: name
                        .or_else(|| string(text, &model, "id"))
                        .unwrap_or_default(),
                });
            }
        }
    }
    Some(words)
}

/// The objects of a list, each with its position.
fn objects(text: &[u8], members: &[JsonMember], name: &str) -> Vec<(usize, Vec<JsonMember>)> {
    let list = members.iter().find(|member| member.name == name);
    let spans = list.and_then(|list| json_span::elements(text, &list.value));
    let spans = spans.into_iter().flatten().enumerate();
    spans
        .filter_map(|(position, at)| Some((position, json_span::members(text, &at)?)))
        .collect()
}

/// The value of a member that is a string.
fn string(text: &[u8], members: &[JsonMember], name: &str) -> Option<String> {
    let member = members.iter().find(|member| member.name == name)?;
    serde_json::from_slice(text.get(member.value.clone())?).ok()
}

fn currency(text: &[u8]) -> Option<String> {
    let document = json_span::members(text, &json_span::root(text)?)?;
    string(text, &document, "currency")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn resolved(text: &str) -> (String, Vec<String>) {
        let ResolvedPrices { text, problems } =
            resolve(text.as_bytes(), &PriceCatalogue::embedded());
        let problems = problems.0.iter().map(ToString::to_string).collect();
        (String::from_utf8(text.into_owned()).unwrap(), problems)
    }

    #[test]
    fn only_the_word_changes() {
        let text = "{ \"groups\":[\n\t{\"protocol\" : \"B\",\"models\":[ {\"id\":\"claude-opus-4-8\" , \"prices\" : \"catalogue\"}, \
            {\"prices\":\"catalogue\",\"id\":\"x\",\"upstream\":\"claude-haiku-4-5-20251001\"} ,{\"id\":\"own\",\"prices\":{\"input\":\"1\"}}] } ],\r\n\
            \"keys\": [{\"id\":\"catalogue\",\"prices\":\"catalogue\"}]}";
        let opus = r#"{"input":"5","cache_read":"0.5","cache_write_5m":"6.25","cache_write_1h":"10","output":"25"}"#;
        let haiku = r#"{"input":"1","cache_read":"0.1","cache_write_5m":"1.25","cache_write_1h":"2","output":"5"}"#;
        let want = text
            .replacen(
                "\"prices\" : \"catalogue\"",
                &format!("\"prices\" : {opus}"),
                1,
            )
            .replacen(
                "{\"prices\":\"catalogue\"",
                &format!("{{\"prices\":{haiku}"),
                1,
            );
        assert_eq!(resolved(text), (want, Vec::new()));
    }

    #[test]
    fn what_the_catalogue_does_not_know_is_named() {
        let group = |protocol: &str, model: &str, currency: &str| {
            format!(
                r#"{{"currency":"{currency}","groups":[{{}},{{"protocol":"{protocol}","models":[1,{{"id":"{model}","prices":"catalogue"}}]}}]}}"#
            )
        };
        for (case, text, want) in [
            (
                "an unknown model",
                group("C", "gemini-3.6-flsh", "USD"),
                "groups[1].models[1].prices: the catalogue has no prices of \"gemini-3.6-flsh\" (protocol C): write them yourself; did you mean \"gemini-3.6-flash\"?",
            ),
            (
                "a model of another protocol",
                group("C", "gpt-6-luna", "USD"),
                "groups[1].models[1].prices: the catalogue has no prices of \"gpt-6-luna\" (protocol C): write them yourself; there are gemini-3.6-flash, gemini-3.5-flash-lite",
            ),
            (
                "another currency",
                group("A", "gpt-6-luna", "EUR"),
                "currency: is not USD, which the catalogue's prices for groups[1].models[1].prices are in",
            ),
            (
                "a Mixed group",
                group("Mixed", "gpt-6-luna", "USD"),
                "groups[1].models[1].prices: cannot be \"catalogue\" here: only a model of a group of protocol A, B or C has prices",
            ),
        ] {
            assert_eq!(resolved(&text).1, [want], "{case}");
        }
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in [
            "",
            "{",
            r#"["catalogue"]"#,
            r#""catalogue""#,
            r#"{"groups":"catalogue"}"#,
            r#"{"groups":[{"models":[{"prices":"catalogue"}]"#,
            r#"{"groups":[{"protocol":"A","models":[{"id":"m","prices":{"input":"catalogue"}}]}]}"#,
        ] {
            assert_eq!(resolved(text), (text.to_owned(), Vec::new()));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in r#"([{}\[\]:,"]|"catalogue"|"prices"|"groups"|"models"){0,30}"#) {
            resolve(text.as_bytes(), &PriceCatalogue::embedded());
        }
    }
}
