//! The prices of a model.

use super::diagnostics::Diagnostics;
use crate::config::document::{PerCallDocument, PricesDocument};
use crate::config::error::Problems;
use crate::money::{Price, Prices, is_ordinary};
use crate::usage::{Call, Kind};

/// The longest name of a class of service, in bytes.
const MAX_TIER: usize = 32;

/// Compiles prices; a wrong one is a problem, a price that seems forgotten a warning.
pub(super) fn compile(
    document: &PricesDocument,
    path: &str,
    diagnostics: &mut Diagnostics,
) -> Prices {
    let problems = &mut diagnostics.problems;
    let mut prices = set(document, path, problems);
    calls(document.per_call.as_ref(), path, &mut prices, problems);
    let has_tokens = kinds(document).iter().any(|(_, text)| text.is_some());
    if !has_tokens && document.image.is_none() {
        let reason = if document.per_call.is_none() && document.tiers.is_none() {
            "is empty: for a model that costs nothing write \"free\": true in place of prices"
        } else {
            "has a price neither for tokens nor for images: one that is 0 must be written"
        };
        problems.push(path, reason);
    }
    if document.input.is_some() != document.output.is_some() && document.image.is_none() {
        let missing = if document.input.is_some() {
            Kind::Output
        } else {
            Kind::Input
        };
        diagnostics.warnings.push(
            path,
            format!("has no price for {}: it is free", missing.name()),
        );
    }
    let tiers = tiers(document, path, &prices, diagnostics);
    prices.with_tiers(tiers)
}

/// The fields that price tokens.
fn kinds(document: &PricesDocument) -> [(Kind, &Option<String>); Kind::ALL.len()] {
    [
        (Kind::Input, &document.input),
        (Kind::InputImage, &document.input_image),
        (Kind::InputAudio, &document.input_audio),
        (Kind::CacheRead, &document.cache_read),
        (Kind::CacheWrite5m, &document.cache_write_5m),
        (Kind::CacheWrite1h, &document.cache_write_1h),
        (Kind::ToolUse, &document.tool_use),
        (Kind::Output, &document.output),
        (Kind::Reasoning, &document.reasoning),
        (Kind::OutputAudio, &document.output_audio),
        (Kind::OutputImage, &document.output_image),
    ]
}

/// The prices of tokens and images.
fn set(document: &PricesDocument, path: &str, problems: &mut Problems) -> Prices {
    let mut prices = Prices::default();
    for (kind, text) in kinds(document) {
        if let Some(price) = price(text, path, kind.name(), problems) {
            prices.set_tokens(kind, price);
        }
    }
    if let Some(price) = price(&document.image, path, "image", problems) {
        prices.set_image(price);
    }
    prices
}

fn calls(
    document: Option<&PerCallDocument>,
    path: &str,
    prices: &mut Prices,
    problems: &mut Problems,
) {
    let Some(document) = document else {
        return;
    };
    let path = format!("{path}.per_call");
    let calls = [
        (Call::WebSearch, &document.web_search),
        (Call::CodeExecution, &document.code_execution),
        (Call::FileSearch, &document.file_search),
        (Call::MapsSearch, &document.maps_search),
    ];
    for (call, text) in calls {
        if let Some(price) = price(text, &path, call.name(), problems) {
            prices.set_call(call, price);
        }
    }
}

fn price(text: &Option<String>, path: &str, field: &str, problems: &mut Problems) -> Option<Price> {
    Price::parse(text.as_deref()?)
        .map_err(|reason| problems.push(format!("{path}.{field}"), reason))
        .ok()
}

/// The prices of classes of service, beside those of the model itself.
fn tiers(
    document: &PricesDocument,
    path: &str,
    plain: &Prices,
    diagnostics: &mut Diagnostics,
) -> Vec<(String, Prices)> {
    let problems = &mut diagnostics.problems;
    let documents = document.tiers.iter().flatten();
    if documents.clone().count() > Prices::MAX_TIERS {
        problems.push(
            format!("{path}.tiers"),
            format!("must be {} at most", Prices::MAX_TIERS),
        );
    }
    let mut tiers = Vec::new();
    for (name, document) in documents {
        let path = format!("{path}.tiers.{name}");
        if let Err(reason) = tier_name(name) {
            problems.push(&path, reason);
        }
        for (field, present) in [
            ("per_call", document.per_call.is_some()),
            ("tiers", document.tiers.is_some()),
        ] {
            if present {
                problems.push(
                    format!("{path}.{field}"),
                    "belongs to the prices of the model, not to those of a class of service",
                );
            }
        }
        if document.input.is_none() && document.output.is_none() {
            problems.push(
                &path,
                "needs a price for input or output: what it leaves out is not taken from the prices of the model",
            );
        }
        let prices = set(document, &path, problems);
        for (kind, text) in [
            (Kind::Input, &document.input),
            (Kind::Output, &document.output),
        ] {
            if text.is_none() && plain.tokens(kind).is_some() {
                diagnostics.warnings.push(
                    &path,
                    format!(
                        "has no price for {}: it is free at this class of service",
                        kind.name()
                    ),
                );
            }
        }
        tiers.push((name.clone(), prices));
    }
    tiers
}

fn tier_name(name: &str) -> Result<(), &'static str> {
    let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b);
    if name.is_empty() || name.len() > MAX_TIER || !name.bytes().all(good) {
        return Err("must be named by 1 to 32 lower-case letters, digits or any of - _");
    }
    if is_ordinary(name) {
        return Err("is ordinary service, which the prices of the model itself are for");
    }
    Ok(())
}
