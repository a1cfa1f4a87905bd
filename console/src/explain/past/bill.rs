//! The charge of a request, itemized by usage and prices.

use std::ptr;

use rust_decimal::Decimal;
use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use trilane::config::Compiled;
use trilane::config::policy::{GroupKind, Source};
use trilane::exchange::Route;
use trilane::model::Model;
use trilane::money::{
    Charge, Gap, Multiplier, Price, PricedUsage, Prices, RequestTimes, bill, is_ordinary,
};
use trilane::protocol::Protocol;
use trilane::usage::{Call, Kind};

use super::line::LedgerLine;
use crate::explain::words;

/// The charge of a request, itemized by the prices of a document.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ItemizedCharge {
    /// The items, before the multiplier.
    pub items: Vec<ChargedItem>,
    /// The class of service, speed and place whose prices these are; `null` for the model's own.
    pub tier: Option<String>,
    /// The conditions of these prices, if the model has others at other times; `null` else.
    pub when: Option<String>,
    /// The length, in tokens, that the whole input exceeds, where these are the prices above it; `null` else.
    pub above: Option<u64>,
    /// The final multiplier.
    pub multiplier: String,
    /// The factors of the multiplier, if there is more than one.
    pub factors: Vec<MultiplierFactor>,
    /// The sum of the items, times the multiplier.
    pub charge: String,
    /// Whether the ledger line has the same charge.
    pub as_charged: bool,
}

/// A factor of the final multiplier.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct MultiplierFactor {
    /// The origin of the factor: `source` or `entry`.
    pub of: &'static str,
    /// The factor.
    pub value: String,
}

/// One item of usage.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ChargedItem {
    /// The name of the item in `prices`.
    pub what: &'static str,
    /// The number of tokens, images or calls.
    pub amount: u64,
    /// The price of a million tokens, or of one image or call; `null` where it is free.
    pub price: Option<String>,
    /// Amount times price.
    pub cost: String,
}

impl ItemizedCharge {
    /// The set of the model's prices that these are, for people; `None` for its own.
    pub fn basis(&self) -> Option<String> {
        let tier = self.tier.as_ref().map(|tier| t!("of {tier}", tier = tier));
        let above = self
            .above
            .map(|tokens| t!("above {tokens} input tokens", tokens = tokens));
        let all = tier.into_iter().chain(above).chain(self.when.clone());
        let all: Vec<String> = all.collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

/// Itemizes the charge of a line by a document's prices.
///
/// # Errors
/// The reason that the charge cannot be itemized.
pub fn of(line: &LedgerLine, document: &Compiled) -> Result<ItemizedCharge, &'static str> {
    let source = line
        .text("trilane.source")
        .and_then(|id| document.policy.group(id))
        .and_then(|group| match &group.kind {
            GroupKind::Source(source) => Some(source),
            GroupKind::Mixed(_) => None,
        })
        .ok_or("the document has no such source now")?;
    let model = model(line, source).ok_or("the document has no such model now")?;
    let own = model
        .prices
        .as_ref()
        .ok_or("the document has no prices for the model now")?;
    let request = times(line).ok_or("the line has no time")?;
    let of_model = own;
    let own = of_model.at(|| request);
    let mut at_times = of_model.times();
    let when = at_times
        .find(|(_, prices)| ptr::eq(*prices, own))
        .map(|(schedule, _)| words::conditions_text(schedule));
    let usage = line.usage();
    let words = [
        "trilane.service_tier",
        "trilane.speed",
        "trilane.inference_geo",
    ];
    let [tier, speed, inference_geo] = words.map(|name| line.text(name));
    let item = PricedUsage {
        prices: own,
        usage: &usage,
        tier,
        speed,
        inference_geo,
    };
    let (prices, uncovered) = item.applicable();
    let named = [
        (speed, Gap::Speed),
        (tier, Gap::Tier),
        (inference_geo, Gap::InferenceGeo),
    ];
    let named = named.into_iter().filter_map(|(word, gap)| {
        word.filter(|word| !is_ordinary(word) && !uncovered.contains(gap))
    });
    let tier: Vec<&str> = named.collect();
    let tier = (!tier.is_empty()).then(|| tier.join(" "));
    let above = above(own, prices);
    let call = line
        .text("trilane.endpoint")
        .and_then(|method| source.method_price(method));
    let of_call = call.map_or_else(Charge::default, Charge::of_call);
    let list = bill([item]).list.and_then(|list| list.plus(of_call));
    let total = |multiplier| Some(list?.times(multiplier)?.value());
    let charged = line
        .text("trilane.charge")
        .and_then(|text| text.parse::<Decimal>().ok());
    let [exact, shown] = multipliers(line, document);
    let mut likely = [exact, shown].into_iter().flatten();
    let multiplier = likely
        .clone()
        .find(|multiplier| charged.is_some() && total(*multiplier) == charged)
        .or_else(|| likely.next())
        .ok_or("the line has no multiplier")?;
    let total = total(multiplier).ok_or("the exact amount has too many digits")?;
    let as_charged = charged == Some(total);
    let factors = factors(source.multiplier, multiplier);
    Ok(ItemizedCharge {
        items: items(line, prices, call),
        tier,
        above,
        when,
        multiplier: multiplier.value().normalize().to_string(),
        factors,
        charge: total.normalize().to_string(),
        as_charged,
    })
}

/// The source's multiplier and the extra one of an entry, if these two make the final one exactly.
fn factors(of_source: Multiplier, multiplier: Multiplier) -> Vec<MultiplierFactor> {
    let (source, whole) = (of_source.value(), multiplier.value());
    let extra = whole.checked_div(source).map(|extra| extra.normalize());
    let exact = extra.filter(|extra| {
        *extra != Decimal::ONE && extra.scale() <= 4 && extra.checked_mul(source) == Some(whole)
    });
    let named = |of, value: Decimal| MultiplierFactor {
        of,
        value: value.normalize().to_string(),
    };
    exact.map_or_else(Vec::new, |extra| {
        vec![named("source", source), named("entry", extra)]
    })
}

/// The length above which these prices hold, in a set of prices or within it.
fn above(set: &Prices, prices: &Prices) -> Option<u64> {
    let mut lengths = set.above();
    let own = lengths.find(|(_, above)| ptr::eq(*above, prices));
    let mut within = set.tiers().map(|(_, tier)| tier);
    own.map(|(tokens, _)| tokens)
        .or_else(|| within.find_map(|tier| above(tier, prices)))
}

/// Returns the times at which the request began and ended.
fn times(line: &LedgerLine) -> Option<RequestTimes> {
    let began = OffsetDateTime::parse(line.text("timestamp")?, &Rfc3339).ok()?;
    let took = line.number("duration_ms").unwrap_or_default();
    let millis = u64::try_from(began.unix_timestamp_nanos().checked_div(1_000_000)?).ok()?;
    Some(RequestTimes {
        began: millis.checked_div(1000)?,
        ended: millis.saturating_add(took).checked_div(1000)?,
    })
}

fn model<'a>(line: &LedgerLine, source: &'a Source) -> Option<&'a Model> {
    let id = line.text("trilane.model")?;
    let mut models = source.catalog.models().iter();
    models.find(|model| model.id == id).map(AsRef::as_ref)
}

/// Returns the possible final multipliers: that of the key's group where the line has its first four decimal places (one of a
/// Mixed group may have more), and the line's, which is exact for one of the key's own.
fn multipliers(line: &LedgerLine, document: &Compiled) -> [Option<Multiplier>; 2] {
    let shown = line.text("trilane.multiplier");
    let group = line
        .text("trilane.group")
        .and_then(|id| document.policy.group(id));
    let protocol = line.text("trilane.protocol");
    let protocol = [Protocol::A, Protocol::B, Protocol::C]
        .into_iter()
        .find(|known| Some(known.to_string().as_str()) == protocol);
    let source = line.text("trilane.source");
    let route = group.zip(protocol).and_then(|(group, protocol)| {
        let mut route = Route::find(group, protocol).ok()?;
        route.take_source(source?).then_some(route)
    });
    let exact = route.map(|route| route.multiplier);
    [
        exact.filter(|exact| Some(exact.to_string().as_str()) == shown),
        shown.and_then(|shown| Multiplier::parse(shown).ok()),
    ]
}

/// All items of usage, with their prices.
fn items(line: &LedgerLine, prices: &Prices, call: Option<Price>) -> Vec<ChargedItem> {
    let usage = line.usage();
    let tokens = Kind::ALL
        .map(|kind| (kind.name(), usage.tokens(kind), prices.tokens(kind), 6))
        .into_iter();
    // Calls that have a price for the request only are not told as free.
    let calls = Call::ALL
        .into_iter()
        .filter(|call| prices.call(*call).is_some() || prices.request(*call).is_none())
        .map(|call| (call.name(), usage.calls(call), prices.call(call), 0));
    let requests = Call::ALL
        .map(|call| (request_name(call), prices.request(call), usage.calls(call)))
        .into_iter()
        .filter(|(_, price, calls)| price.is_some() && *calls > 0)
        .map(|(name, price, _)| (name, 1, price, 0));
    let all = tokens
        .chain([("image", usage.images, prices.image(), 0)])
        .chain(calls)
        .chain(requests)
        .chain([("per_call", u64::from(call.is_some()), call, 0)]);
    let used = all.filter(|(_, amount, ..)| *amount > 0);
    used.map(|(what, amount, price, places)| ChargedItem {
        what,
        amount,
        price: price.map(|price| price.to_string()),
        cost: cost(amount, price, places),
    })
    .collect()
}

/// The name in prices of requests that made calls of a kind.
fn request_name(call: Call) -> &'static str {
    match call {
        Call::WebSearch => "per_request.web_search",
        Call::CodeExecution => "per_request.code_execution",
        Call::FileSearch => "per_request.file_search",
        Call::MapsSearch => "per_request.maps_search",
    }
}

/// The cost of an amount at a price per `10^places`.
fn cost(amount: u64, price: Option<Price>, places: u32) -> String {
    let price = price.map(Price::value).unwrap_or_default();
    let each = price.checked_mul(Decimal::new(1, places));
    let cost = each.and_then(|each| each.checked_mul(Decimal::from(amount)));
    cost.map_or_else(|| "?".to_owned(), |cost| cost.normalize().to_string())
}
