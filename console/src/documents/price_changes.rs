//! The prices that change for keys by a document, beside the one in force.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rust_decimal::Decimal;
use trilane::config::policy::{Group, GroupKind, Source};
use trilane::config::{Compiled, Document, compile};
use trilane::keys::KeyAccess;
use trilane::model::Model;
use trilane::money::Multiplier;

use super::model_changes::{ChangedKeys, access_of};
use crate::language::translated;
use crate::prices::{PriceLines, lines};
use crate::store::{StoreError, Transaction, group_keys};
use crate::text;

/// The most prices that a sentence names.
const NAMED: usize = 4;

/// The way in which the price of a model changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PriceDirection {
    /// None of its prices falls.
    Rises,
    /// None of its prices rises.
    Falls,
    /// It depends on the request.
    Changes,
}

impl PriceDirection {
    /// The verb of a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rises => "rises",
            Self::Falls => "falls",
            Self::Changes => "changes",
        }
    }
}

/// A price that is another one, multiplier included.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangedPrice {
    /// The kind of tokens or calls, for people; with its source where the model has several.
    pub of: String,
    /// The amount before; `None`: it had none of its own.
    pub before: Option<Decimal>,
    /// The amount after; `None`: it has none of its own.
    pub after: Option<Decimal>,
}

/// A model whose price changes for some keys.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PriceChange {
    /// The id of the model.
    pub model: String,
    /// The way in which it changes.
    pub direction: PriceDirection,
    /// The prices that change. None where only the order of the sources does.
    pub prices: Vec<ChangedPrice>,
}

/// Changes, with the keys that each concerns.
type KeyChanges = BTreeMap<PriceChange, ChangedKeys>;

/// The changes of prices by a document.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PriceChanges {
    /// The changes of models that keys had before and have after.
    pub changes: KeyChanges,
    /// Whether no request costs more than before. False also where that is not certain.
    pub nobody_pays_more: bool,
}

/// A source that a model's requests may go to, and the prices of the model there before the multiplier.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Route {
    source: String,
    multiplier: Multiplier,
    prices: PriceLines,
    /// Whether it is known what it costs: it has prices, or is free.
    is_known: bool,
}

/// The models of a group by id and protocol, with their routes in the order in which they are asked.
type GroupPrices = BTreeMap<(String, char), Vec<Route>>;

/// The prices of a document's groups. It has nothing of the compiled document, so that it can wait for the database.
struct DocumentPrices {
    groups: BTreeMap<String, GroupPrices>,
    /// Other changes by which requests of a source cost more or less, by source.
    others: BTreeMap<String, (bool, Vec<(String, Decimal)>)>,
}

impl DocumentPrices {
    fn of(document: &Document, compiled: &Compiled) -> Self {
        let mut written: HashMap<(String, String), PriceLines> = HashMap::new();
        for group in document.groups.iter().flatten() {
            for model in group.models.iter().flatten() {
                let names = group.id.clone().zip(model.id.clone());
                let prices = model.prices.as_ref().map(lines);
                if let Some((names, prices)) = names.zip(prices) {
                    written.insert(names, prices);
                }
            }
        }
        let mut all = Self {
            groups: BTreeMap::new(),
            others: BTreeMap::new(),
        };
        for group in compiled.policy.groups() {
            let id = group.id.to_string();
            if let GroupKind::Source(source) = &group.kind {
                let methods = source.methods.iter();
                let methods = methods.map(|(name, price)| (name.clone(), price.value()));
                let of = (source.unreported_free, methods.collect());
                all.others.insert(id.clone(), of);
            }
            all.groups.insert(id, routes(group, &written));
        }
        all
    }

    fn of_group<'a>(&'a self, group: &str, none: &'a GroupPrices) -> &'a GroupPrices {
        self.groups.get(group).unwrap_or(none)
    }

    /// Whether what else makes requests cost more or less is the same.
    fn has_same_others(&self, after: &Self) -> bool {
        let mut all = self.others.iter();
        all.all(|(source, of)| after.others.get(source).is_none_or(|new| new == of))
    }
}

/// Two documents, and the changes for the keys that the second one names. `None` where one is none that gateways take.
fn read(before: &str, after: &str) -> Option<(DocumentPrices, DocumentPrices, KeyChanges)> {
    let compiled = |text: &str| {
        let document = Document::parse(text.as_bytes()).ok()?;
        let compiled = compile(&document).ok()?;
        Some((DocumentPrices::of(&document, &compiled), compiled))
    };
    let (before, _) = compiled(before)?;
    let (after, compiled) = compiled(after)?;
    let mut changes = KeyChanges::new();
    let none = GroupPrices::new();
    for (_, key) in &compiled.keys {
        let (old, new) = (
            before.of_group(&key.group, &none),
            after.of_group(&key.group, &none),
        );
        for change in of_keys(old, new, key.access.as_deref()) {
            let keys = changes.entry(change).or_default();
            keys.add(1, [key.id.to_string()]);
        }
    }
    Some((before, after, changes))
}

fn routes(group: &Group, written: &HashMap<(String, String), PriceLines>) -> GroupPrices {
    let mut all = GroupPrices::new();
    let mut add = |source: &Source, multiplier: Multiplier, model: &Model| {
        if !model.entitled {
            return;
        }
        let protocol = source.protocol.to_string().chars().next();
        let key = (model.id.to_string(), protocol.unwrap_or_default());
        let names = (source.group.to_string(), model.id.to_string());
        all.entry(key).or_default().push(Route {
            source: source.group.to_string(),
            multiplier,
            prices: written.get(&names).cloned().unwrap_or_default(),
            is_known: model.is_priced(),
        });
    };
    match &group.kind {
        GroupKind::Source(source) => {
            for model in source.catalog.models() {
                add(source, source.multiplier, model);
                for other in &group.fallback {
                    if let Some(model) = other.source.catalog.with_id(&model.id) {
                        add(&other.source, other.multiplier, model);
                    }
                }
            }
        }
        GroupKind::Mixed(mixed) => {
            for shown in &mixed.models {
                for (offer, model) in mixed.offers(shown) {
                    add(&offer.source, offer.multiplier, model);
                }
            }
        }
    }
    all
}

/// The prices of a route for a key.
fn amounts(route: &Route, access: Option<&KeyAccess>) -> BTreeMap<String, Decimal> {
    let own = access.and_then(|access| access.multiplier);
    let factor = own.unwrap_or(route.multiplier).value();
    let each = route.prices.iter().filter_map(|(of, price)| {
        let price: Decimal = trilane::money::Price::parse(price).ok()?.value();
        Some((of.clone(), price.checked_mul(factor)?.normalize()))
    });
    each.collect()
}

/// The place of a price among those of a model: what nearly every model has comes first.
fn rank(name: &str) -> usize {
    let first = ["input", "cache_read", "output"];
    let place = first.iter().position(|known| *known == name);
    place.unwrap_or(first.len())
}

/// The name of a kind of tokens or calls.
fn kind_name(kind: &str) -> String {
    match kind {
        "cache_write_5m" => t!("cache write 5m").into_owned(),
        "cache_write_1h" => t!("cache write 1h").into_owned(),
        kind => translated(&kind.replace('_', " ")).into_owned(),
    }
}

/// The kind of a price line for people: `above.200000.cache_read` is "cache read above 200,000 input tokens".
fn kind_words(line: &str) -> String {
    let mut parts = line.split('.').peekable();
    let mut conditions = Vec::new();
    while let Some(part) = parts.next() {
        let Some(of) = parts.peek().copied() else {
            let kind = kind_name(part);
            return [vec![kind], conditions].concat().join(" ");
        };
        match part {
            "above" => {
                let tokens = of.parse::<i64>().map(|tokens| text::number(&tokens));
                conditions.push(t!(
                    "above {tokens} input tokens",
                    tokens = tokens.unwrap_or_else(|_| of.to_owned())
                ));
            }
            "tiers" => conditions.push(t!("at {tier}", tier = of)),
            "times" => conditions.push(t!("at other times").into_owned()),
            "per_call" => conditions.push(t!("a call").into_owned()),
            "per_request" => conditions.push(t!("a request").into_owned()),
            _ => {}
        }
        if matches!(part, "above" | "tiers" | "times") {
            parts.next();
        }
    }
    line.to_owned()
}

/// The change of a model for keys with this of their own; `None`: nothing changes.
fn change(
    model: &str,
    before: &[Route],
    after: &[Route],
    access: Option<&KeyAccess>,
) -> Option<PriceChange> {
    let affordable = |all: &[Route]| -> Vec<Route> {
        let all = all.iter();
        let all = all.filter(|route| access.is_none_or(|access| access.affords(route.multiplier)));
        all.cloned().collect()
    };
    let (before, after) = (affordable(before), affordable(after));
    let sources = |all: &[Route]| -> Vec<String> {
        let all = all.iter();
        all.map(|route| route.source.clone()).collect()
    };
    let (had, has) = (sources(&before), sources(&after));
    let is_plain = had.len() < 2 && has.len() < 2;
    let mut prices = Vec::new();
    let (mut rises, mut falls, mut unsure) = (false, false, had != has);
    let all: BTreeSet<&String> = had.iter().chain(&has).collect();
    for source in all {
        let find = |all: &[Route]| {
            let mut all = all.iter();
            all.find(|route| route.source == *source).cloned()
        };
        let (was, is) = (find(&before), find(&after));
        let of = |route: &Option<Route>| {
            let route = route.as_ref();
            route
                .map(|route| amounts(route, access))
                .unwrap_or_default()
        };
        let (old, new) = (of(&was), of(&is));
        // What costs nothing that is known begins to cost something, or the other way round.
        let known = |route: &Option<Route>| route.as_ref().is_some_and(|route| route.is_known);
        let begins = !known(&was) || was.as_ref().is_some_and(|was| was.prices.is_empty());
        let ends = !known(&is) || is.as_ref().is_some_and(|is| is.prices.is_empty());
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let mut names: Vec<&String> = names.into_iter().collect();
        names.sort_by_key(|name| (name.contains('.'), rank(name)));
        for name in names {
            let (before, after) = (old.get(name).copied(), new.get(name).copied());
            if before == after {
                continue;
            }
            match (before, after) {
                (Some(before), Some(after)) if after > before => rises = true,
                (Some(_), Some(_)) => falls = true,
                (None, _) if begins => rises = true,
                (_, None) if ends => falls = true,
                // A kind without a price costs what a broader one costs.
                _ => unsure = true,
            }
            let kind = kind_words(name);
            let of = if is_plain {
                kind
            } else {
                t!("{price} of {source}", price = kind, source = source)
            };
            prices.push(ChangedPrice { of, before, after });
        }
    }
    let direction = match (rises, falls, unsure) {
        (false, false, false) => return None,
        (true, false, false) => PriceDirection::Rises,
        (false, true, false) => PriceDirection::Falls,
        _ => PriceDirection::Changes,
    };
    // Another order of sources at one price is none.
    if prices.is_empty() {
        let same = |all: &[Route]| {
            let mut all = all.iter().map(|route| amounts(route, access));
            let first = all.next().unwrap_or_default();
            all.all(|other| other == first).then_some(first)
        };
        if same(&before).is_some() && same(&before) == same(&after) {
            return None;
        }
    }
    Some(PriceChange {
        model: model.to_owned(),
        direction,
        prices,
    })
}

/// The changes of all models of a group for keys with this of their own.
fn of_keys(
    before: &GroupPrices,
    after: &GroupPrices,
    access: Option<&KeyAccess>,
) -> Vec<PriceChange> {
    let both = before
        .iter()
        .filter_map(|(of, old)| Some((of, old, after.get(of)?)));
    let allowed = both.filter(|((id, _), ..)| access.is_none_or(|access| access.allows(id)));
    allowed
        .filter_map(|((id, _), old, new)| change(id, old, new, access))
        .collect()
}

impl PriceChange {
    /// Says it, with the keys that it concerns.
    pub fn sentence(&self, keys: &ChangedKeys) -> String {
        let amount = |amount: Decimal| text::money(&amount.to_string());
        let each = self.prices.iter().take(NAMED).map(|price| {
            let of = &price.of;
            match (price.before, price.after) {
                (Some(before), Some(after)) => {
                    t!(
                        "{price} from {before} to {after}",
                        price = of,
                        before = amount(before),
                        after = amount(after)
                    )
                }
                (None, Some(after)) => t!(
                    "{price} {amount}, none before",
                    price = of,
                    amount = amount(after)
                ),
                (Some(before), None) => t!(
                    "{price} no more {amount}",
                    price = of,
                    amount = amount(before)
                ),
                (None, None) => of.clone(),
            }
        });
        let mut each: Vec<String> = each.collect();
        let more = self.prices.len().saturating_sub(NAMED);
        match more {
            0 => {}
            1 => each.push(t!("and 1 other price").into_owned()),
            more => each.push(t!("and {count} other prices", count = more)),
        }
        let (model, whose) = (&self.model, keys.words());
        if each.is_empty() {
            return t!(
                "The price of {model} may change for {keys}: other sources are asked",
                model = model,
                keys = whose
            );
        }
        let prices = each.join(&*t!("; "));
        match self.direction {
            PriceDirection::Rises => t!(
                "The price of {model} rises for {keys}: {prices}",
                model = model,
                keys = whose,
                prices = prices
            ),
            PriceDirection::Falls => t!(
                "The price of {model} falls for {keys}: {prices}",
                model = model,
                keys = whose,
                prices = prices
            ),
            PriceDirection::Changes => t!(
                "The price of {model} changes for {keys}: {prices}",
                model = model,
                keys = whose,
                prices = prices
            ),
        }
    }
}

/// The changes for all keys: those that the documents name, as gateways get them, and those of the console. None where one of the
/// documents is none that gateways take.
///
/// # Errors
/// Those of the database.
pub async fn of_all(
    transaction: &mut Transaction,
    before: &str,
    after: &str,
) -> Result<PriceChanges, StoreError> {
    let Some((before, after, mut changes)) = read(before, after) else {
        return Ok(PriceChanges::default());
    };
    let none = GroupPrices::new();
    let mut falls_everywhere = true;
    for (group, new) in &after.groups {
        let old = before.of_group(group, &none);
        if old == new {
            continue;
        }
        // Also where no key is bound to it yet.
        let all = of_keys(old, new, None);
        falls_everywhere &= all.iter().all(|of| of.direction == PriceDirection::Falls);
        for keys in group_keys::of(transaction, group).await? {
            let own = access_of(&keys);
            for change in of_keys(old, new, Some(&own)) {
                let of = changes.entry(change).or_default();
                of.add(keys.count, keys.named.clone());
            }
        }
    }
    let falls = |of: &PriceChange| of.direction == PriceDirection::Falls;
    let same = before.has_same_others(&after);
    Ok(PriceChanges {
        nobody_pays_more: same && falls_everywhere && changes.keys().all(falls),
        changes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(source: &str, multiplier: &str, prices: &[(&str, &str)]) -> Route {
        let prices = prices.iter();
        Route {
            source: source.to_owned(),
            multiplier: Multiplier::parse(multiplier).unwrap(),
            prices: prices
                .map(|(of, price)| ((*of).to_owned(), (*price).to_owned()))
                .collect(),
            is_known: true,
        }
    }

    fn told(before: &[Route], after: &[Route], access: Option<&KeyAccess>) -> Option<String> {
        let mut keys = ChangedKeys::default();
        keys.add(2, []);
        Some(change("gpt", before, after, access)?.sentence(&keys))
    }

    #[test]
    fn what_a_key_pays_more_or_less() {
        let a = |multiplier: &str, prices: &[(&str, &str)]| vec![route("a", multiplier, prices)];
        let cases = [
            (
                "nothing",
                a("1", &[("input", "1.0")]),
                a("1", &[("input", "1")]),
                None,
            ),
            (
                "a price",
                a("0.5", &[("input", "1"), ("output", "4")]),
                a("0.5", &[("input", "3"), ("output", "4")]),
                Some("The price of gpt rises for 2 keys: input from 0.50 to 1.50"),
            ),
            (
                "a multiplier",
                a("1", &[("input", "1"), ("output", "4")]),
                a("0.5", &[("input", "1"), ("output", "4")]),
                Some(
                    "The price of gpt falls for 2 keys: input from 1.00 to 0.50; output from 4.00 to 2.00",
                ),
            ),
            (
                "one up, one down",
                a("1", &[("input", "1"), ("output", "4")]),
                a("1", &[("input", "2"), ("output", "3")]),
                Some(
                    "The price of gpt changes for 2 keys: input from 1.00 to 2.00; output from 4.00 to 3.00",
                ),
            ),
            (
                "a kind of its own, which was charged as a broader one",
                a("1", &[("input", "1")]),
                a("1", &[("input", "1"), ("above.200000.cache_read", "2")]),
                Some(
                    "The price of gpt changes for 2 keys: cache read above 200,000 input tokens 2.00, none before",
                ),
            ),
            (
                "free no more",
                a("1", &[]),
                a("1", &[("input", "1")]),
                Some("The price of gpt rises for 2 keys: input 1.00, none before"),
            ),
            (
                "another order at one price",
                vec![
                    route("a", "1", &[("input", "1")]),
                    route("b", "1", &[("input", "1")]),
                ],
                vec![
                    route("b", "1", &[("input", "1")]),
                    route("a", "1", &[("input", "1")]),
                ],
                None,
            ),
            (
                "another order at other prices",
                vec![
                    route("a", "1", &[("input", "1")]),
                    route("b", "1", &[("input", "2")]),
                ],
                vec![
                    route("b", "1", &[("input", "2")]),
                    route("a", "1", &[("input", "1")]),
                ],
                Some("The price of gpt may change for 2 keys: other sources are asked"),
            ),
            (
                "one source dearer",
                vec![
                    route("a", "1", &[("input", "1")]),
                    route("b", "1", &[("input", "2")]),
                ],
                vec![
                    route("a", "1", &[("input", "1")]),
                    route("b", "1", &[("input", "3")]),
                ],
                Some("The price of gpt rises for 2 keys: input of b from 2.00 to 3.00"),
            ),
        ];
        for (case, before, after, want) in cases {
            assert_eq!(told(&before, &after, None).as_deref(), want, "{case}");
        }
    }

    #[test]
    fn a_key_with_a_multiplier_of_its_own_pays_by_that() {
        let own = KeyAccess {
            multiplier: Multiplier::parse("2").ok(),
            ..KeyAccess::default()
        };
        let before = [route("a", "1", &[("input", "1")])];
        assert_eq!(
            told(&before, &[route("a", "9", &[("input", "1")])], Some(&own)),
            None
        );
        let dearer = [route("a", "1", &[("input", "2")])];
        let want = "The price of gpt rises for 2 keys: input from 2.00 to 4.00";
        assert_eq!(told(&before, &dearer, Some(&own)).as_deref(), Some(want));
        let most = KeyAccess {
            max_multiplier: Multiplier::parse("1").ok(),
            ..KeyAccess::default()
        };
        let two = [before[0].clone(), route("b", "2", &[("input", "1")])];
        let other = [before[0].clone(), route("b", "2", &[("input", "5")])];
        assert_eq!(told(&two, &other, Some(&most)), None, "it never goes there");
    }
}
