//! The prices of a model.

use super::diagnostics::Diagnostics;
use crate::config::document::{PriceTimeDocument, PricesDocument};
use crate::config::error::Problems;
use crate::limits::Period;
use crate::money::{Hours, Price, PricedInstant, Prices, Schedule, Weekdays, is_ordinary};
use crate::usage::{Call, Kind};

/// The maximum nesting of price sets for classes of service: a response has as many words for its class.
const TIERS_DEEP: usize = 3;
/// The most parts of a day for which prices may hold.
const MAX_HOURS: usize = 8;
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
    calls(document, path, &mut prices, problems);
    let has_tokens = kinds(document).iter().any(|(_, text)| text.is_some());
    if !has_tokens && document.image.is_none() {
        let reason = if document.per_call.is_none()
            && document.per_request.is_none()
            && document.tiers.is_none()
        {
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
    let prices = lengths(document, path, prices, diagnostics);
    let tiers = tiers(document, path, &prices, TIERS_DEEP, diagnostics);
    let prices = prices.with_tiers(tiers);
    let times = times(document, path, &prices, diagnostics);
    prices.with_times(times)
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

/// The prices of calls, and of requests that made such.
fn calls(document: &PricesDocument, path: &str, prices: &mut Prices, problems: &mut Problems) {
    type Setter = fn(&mut Prices, Call, Price);
    let fields: [(&str, _, Setter); 2] = [
        ("per_call", &document.per_call, Prices::set_call),
        ("per_request", &document.per_request, Prices::set_request),
    ];
    for (field, document, set) in fields {
        let Some(document) = document else { continue };
        let path = format!("{path}.{field}");
        let calls = [
            (Call::WebSearch, &document.web_search),
            (Call::CodeExecution, &document.code_execution),
            (Call::FileSearch, &document.file_search),
            (Call::MapsSearch, &document.maps_search),
        ];
        for (call, text) in calls {
            if let Some(price) = price(text, &path, call.name(), problems) {
                set(prices, call, price);
            }
        }
    }
}

fn price(text: &Option<String>, path: &str, field: &str, problems: &mut Problems) -> Option<Price> {
    Price::parse(text.as_deref()?)
        .map_err(|reason| problems.push(format!("{path}.{field}"), reason))
        .ok()
}

/// The prices of classes of service, speeds and places, beside those of the model itself. They stand within each other `depth`
/// deep at most: an answer has a word for each of the three.
fn tiers(
    document: &PricesDocument,
    path: &str,
    plain: &Prices,
    depth: usize,
    diagnostics: &mut Diagnostics,
) -> Vec<(String, Prices)> {
    if depth == 0 {
        if document.tiers.is_some() {
            let reason = "is too deep: a speed, a class of service and a place are three";
            diagnostics.problems.push(format!("{path}.tiers"), reason);
        }
        return Vec::new();
    }
    let documents = document.tiers.iter().flatten();
    if documents.clone().count() > Prices::MAX_TIERS {
        diagnostics.problems.push(
            format!("{path}.tiers"),
            format!("must be {} at most", Prices::MAX_TIERS),
        );
    }
    let mut tiers = Vec::new();
    for (name, document) in documents {
        let path = format!("{path}.tiers.{name}");
        if let Err(reason) = tier_name(name) {
            diagnostics.problems.push(&path, reason);
        }
        let prices = variant(document, &path, plain, &CLASS_OF_SERVICE, diagnostics);
        let prices = lengths(document, &path, prices, diagnostics);
        lacks_lengths(&prices, plain, &path, diagnostics);
        let within = self::tiers(
            document,
            &path,
            &prices,
            depth.saturating_sub(1),
            diagnostics,
        );
        tiers.push((name.clone(), prices.with_tiers(within)));
    }
    tiers
}

/// The prices above lengths of the input, beside those of a model or of one of its classes of service.
fn lengths(
    document: &PricesDocument,
    path: &str,
    plain: Prices,
    diagnostics: &mut Diagnostics,
) -> Prices {
    let documents = document.above.as_deref().unwrap_or_default();
    if documents.len() > Prices::MAX_ABOVE {
        diagnostics.problems.push(
            format!("{path}.above"),
            format!("must be {} at most", Prices::MAX_ABOVE),
        );
    }
    let mut above: Vec<(u64, Prices)> = Vec::new();
    for (position, document) in documents.iter().enumerate() {
        let path = format!("{path}.above[{position}]");
        let tokens = document.input_tokens.unwrap_or_default();
        let problem = if document.input_tokens.is_none() {
            Some("is missing")
        } else if tokens == 0 {
            Some("must be at least 1")
        } else if above.iter().any(|(other, _)| *other == tokens) {
            Some("is the length of others before it")
        } else {
            None
        };
        if let Some(reason) = problem {
            diagnostics
                .problems
                .push(format!("{path}.input_tokens"), reason);
        }
        let path = format!("{path}.prices");
        let Some(document) = &document.prices else {
            diagnostics.problems.push(path, "is missing");
            continue;
        };
        let prices = variant(document, &path, &plain, &LENGTH, diagnostics);
        above.push((tokens, prices));
    }
    plain.with_above(above)
}

/// The prices at times, beside those of the model itself.
fn times(
    document: &PricesDocument,
    path: &str,
    plain: &Prices,
    diagnostics: &mut Diagnostics,
) -> Vec<(Schedule, Prices)> {
    let documents = document.times.as_deref().unwrap_or_default();
    if documents.len() > Prices::MAX_TIMES {
        diagnostics.problems.push(
            format!("{path}.times"),
            format!("must be {} at most", Prices::MAX_TIMES),
        );
    }
    let mut times = Vec::new();
    for (position, document) in documents.iter().enumerate() {
        let path = format!("{path}.times[{position}]");
        let schedule = schedule(document, &path, &mut diagnostics.problems);
        let path = format!("{path}.prices");
        let Some(document) = &document.prices else {
            diagnostics.problems.push(path, "is missing");
            continue;
        };
        let mut prices = variant(document, &path, plain, &TIME, diagnostics);
        let problems = &mut diagnostics.problems;
        calls(document, &path, &mut prices, problems);
        let prices = lengths(document, &path, prices, diagnostics);
        lacks_lengths(&prices, plain, &path, diagnostics);
        let tiers = tiers(document, &path, &prices, TIERS_DEEP, diagnostics);
        let prices = prices.with_tiers(tiers);
        for (name, _) in plain.tiers() {
            if prices.tier(name).is_none() {
                let reason = format!(
                    "has no prices for {name}, as the model has: requests that ask for it by name are refused"
                );
                diagnostics.warnings.push(&path, reason);
            }
        }
        times.push((schedule, prices));
    }
    times
}

/// Compiles the times at which prices hold.
fn schedule(document: &PriceTimeDocument, path: &str, problems: &mut Problems) -> Schedule {
    let PriceTimeDocument {
        from,
        days,
        hours,
        at,
        ..
    } = document;
    if from.is_none() && days.is_none() && hours.is_none() {
        problems.push(
            path,
            "needs from, days or hours: prices that always hold are those of the model",
        );
    }
    let mut wrong = |field: &str, reason: &str| problems.push(format!("{path}.{field}"), reason);
    let from = match from.as_deref().map(Period::parse) {
        None => 0,
        Some(Some(Period::Day(day))) => u32::try_from(day).unwrap_or_default(),
        Some(_) => {
            wrong("from", "must be a day such as \"2026-12-01\"");
            0
        }
    };
    let days = match days.as_deref() {
        None => Weekdays::ALL,
        Some(names) => Weekdays::of(names.iter().map(String::as_str))
            .filter(|_| !names.is_empty())
            .unwrap_or_else(|| {
                wrong("days", "must be a list of days: \"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\", \"sun\"");
                Weekdays::ALL
            }),
    };
    let parts = hours.as_deref().unwrap_or_default();
    let read: Option<Vec<Hours>> = parts.iter().map(|part| Hours::parse(part)).collect();
    let is_bad =
        read.is_none() || parts.len() > MAX_HOURS || hours.as_ref().is_some_and(Vec::is_empty);
    if is_bad {
        wrong(
            "hours",
            "must be a list of 1 to 8 parts of a day such as \"16:30-00:30\"",
        );
    }
    let at = match at.as_deref() {
        None | Some("start") => PricedInstant::Start,
        Some("end") => PricedInstant::End,
        Some(_) => {
            wrong("at", "must be \"start\" or \"end\"");
            PricedInstant::Start
        }
    };
    Schedule {
        from,
        days,
        hours: read.unwrap_or_default(),
        at,
    }
}

/// Warns of lengths that other prices have.
fn lacks_lengths(prices: &Prices, plain: &Prices, path: &str, diagnostics: &mut Diagnostics) {
    for (tokens, _) in plain.above() {
        if !prices.above().any(|(own, _)| own == tokens) {
            let reason = format!(
                "has no prices above {tokens} input tokens, as the model has: these hold at that length too"
            );
            diagnostics.warnings.push(path, reason);
        }
    }
}

/// A kind of prices that hold in place of others.
struct VariantKind {
    /// The name of the kind, in messages.
    of: &'static str,
    /// The condition under which the prices hold, in messages.
    when: &'static str,
    /// The fields that these may not have.
    without: &'static [&'static str],
}

const CLASS_OF_SERVICE: VariantKind = VariantKind {
    of: "a class of service",
    when: "at this class of service",
    without: &["per_call", "per_request", "times"],
};

const LENGTH: VariantKind = VariantKind {
    of: "a length of the input",
    when: "above this length",
    without: &["per_call", "per_request", "tiers", "times", "above"],
};

const TIME: VariantKind = VariantKind {
    of: "a time",
    when: "at this time",
    without: &["times"],
};

/// The prices of tokens and images that hold in place of `plain`.
fn variant(
    document: &PricesDocument,
    path: &str,
    plain: &Prices,
    kind: &VariantKind,
    diagnostics: &mut Diagnostics,
) -> Prices {
    let problems = &mut diagnostics.problems;
    for (field, present) in [
        ("per_call", document.per_call.is_some()),
        ("per_request", document.per_request.is_some()),
        ("tiers", document.tiers.is_some()),
        ("above", document.above.is_some()),
        ("times", document.times.is_some()),
    ] {
        if present && kind.without.contains(&field) {
            problems.push(
                format!("{path}.{field}"),
                format!(
                    "belongs to the prices of the model, not to those of {}",
                    kind.of
                ),
            );
        }
    }
    if document.input.is_none() && document.output.is_none() {
        problems.push(
            path,
            "needs a price for input or output: what it leaves out is not taken from the prices of the model",
        );
    }
    let prices = set(document, path, problems);
    for (own, text, charged) in [
        (Kind::Input, &document.input, "it is free"),
        (
            Kind::CacheRead,
            &document.cache_read,
            "it costs what input costs",
        ),
        (Kind::Output, &document.output, "it is free"),
    ] {
        if text.is_none() && plain.own_tokens(own).is_some() {
            let reason = format!("has no price for {}: {charged} {}", own.name(), kind.when);
            diagnostics.warnings.push(path, reason);
        }
    }
    prices
}

/// Checks the name of a class of service, a speed or a place.
pub(super) fn tier_name(name: &str) -> Result<(), &'static str> {
    let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b);
    if name.is_empty() || name.len() > MAX_TIER || !name.bytes().all(good) {
        return Err("must be named by 1 to 32 lower-case letters, digits or any of - _");
    }
    if is_ordinary(name) {
        return Err("is ordinary service, which the prices of the model itself are for");
    }
    Ok(())
}
