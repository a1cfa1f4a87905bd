//! Sources that are asked one after the other: which they are, and in which order.

use std::rc::Rc;

use hashbrown::HashSet;
use rust_decimal::Decimal;

use super::diagnostics::Diagnostics;
use super::group;
use super::mixed::Sources;
use crate::config::document::GroupDocument;
use crate::config::error::Problems;
use crate::config::policy::{EntrySource, Group, GroupKind};
use crate::config::suggestion::suggestion;
use crate::model::Model;
use crate::usage::Kind;

/// The most sources in a sequence.
const MOST_FALLBACKS: usize = 8;

/// The order in which the sources of one model are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// As they are listed.
    Listed,
    /// The cheapest first.
    Cheapest,
}

impl Order {
    /// Reads the order of the entry at `path`.
    pub(super) fn read(named: Option<&str>, path: &str, problems: &mut Problems) -> Self {
        match named {
            None | Some("listed") => Self::Listed,
            Some("cheapest") => Self::Cheapest,
            Some(_) => {
                let path = format!("{path}.order");
                problems.push(path, "must be \"listed\" or \"cheapest\"");
                Self::Listed
            }
        }
    }
}

/// The ids of the groups whose sources are asked before or after another one.
pub(super) fn members(documents: &[GroupDocument]) -> HashSet<&str> {
    let mut members = HashSet::new();
    for document in documents {
        if group::is_mixed(document) {
            let models = document.models.iter().flatten();
            let lists = models.filter_map(|model| model.sources.as_ref());
            let several = lists.filter(|sources| sources.len() > 1);
            members.extend(several.flatten().map(String::as_str));
        } else if let Some(fallback) = document.fallback.as_ref().filter(|it| !it.is_empty()) {
            members.extend(document.id.as_deref());
            members.extend(fallback.iter().map(String::as_str));
        }
    }
    members
}

/// Describes the problem of a source in a sequence whose cluster is written by hand.
pub(super) fn needs_accounts(id: &str) -> String {
    format!(
        "\"{id}\" has no accounts, without which no other source can be asked before or after it"
    )
}

/// Compiles the fallback of a source group: the sources that are asked after its own.
pub(super) fn fallback(
    document: &GroupDocument,
    own: &Group,
    path: &str,
    groups: &Sources<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<EntrySource> {
    let (Some(named), GroupKind::Source(source)) = (&document.fallback, &own.kind) else {
        return Vec::new();
    };
    let mut found: Vec<EntrySource> = Vec::new();
    let problems = &mut diagnostics.problems;
    if named.is_empty() || named.len() > MOST_FALLBACKS {
        let why = format!("must name 1 to {MOST_FALLBACKS} groups");
        problems.push(format!("{path}.fallback"), why);
    }
    if source.accounts.is_none() {
        problems.push(format!("{path}.fallback"), needs_accounts(&own.id));
    }
    for (at, id) in named.iter().enumerate() {
        let path = format!("{path}.fallback[{at}]");
        let Some(&position) = groups.index.get(id) else {
            let known = suggestion(id, super::names::in_order(groups.index));
            problems.push(path, format!("there is no group \"{id}\"{known}"));
            continue;
        };
        if groups.documents.get(position).is_some_and(group::is_mixed) {
            problems.push(
                path,
                format!("\"{id}\" is a Mixed group, which is no source"),
            );
            continue;
        }
        // A source that did not compile has its own problems listed already.
        let Some(other) = groups.at(position) else {
            continue;
        };
        let shares = |model: &Rc<Model>| other.catalog.with_id(&model.id).is_some();
        if *id == own.id {
            problems.push(path, "is the group itself");
        } else if found.iter().any(|known| known.source.group == *id) {
            problems.push(path, "is listed twice");
        } else if other.protocol != source.protocol {
            let (theirs, ours) = (other.protocol, source.protocol);
            let why = format!("\"{id}\" speaks protocol {theirs}, this group {ours}");
            problems.push(path, why);
        } else if other.accounts.is_none() {
            problems.push(path, needs_accounts(id));
        } else {
            if !source.catalog.models().iter().any(shares) {
                let why = format!("\"{id}\" has no model of this group, so it is never asked");
                diagnostics.warnings.push(path, why);
            }
            found.push(EntrySource {
                multiplier: other.multiplier,
                source: Rc::clone(other),
            });
        }
    }
    found
}

/// The places of the sources of a model in the order in which they are asked; those that may not use it are left out, unless none
/// may.
pub(super) fn ordered(
    sources: &[EntrySource],
    mut places: Vec<usize>,
    id: &str,
    order: Order,
) -> Vec<usize> {
    let model = |place: &usize| {
        let offer = sources.get(*place)?;
        Some((offer, offer.source.catalog.with_id(id)?))
    };
    let is_entitled = |place: &usize| model(place).is_some_and(|(_, model)| model.entitled);
    if places.iter().any(is_entitled) {
        places.retain(is_entitled);
    }
    if order == Order::Cheapest {
        // Stable: the order as listed decides between equals.
        places.sort_by_cached_key(|place| {
            let cost = model(place).and_then(|(offer, model)| cost(offer, model));
            (cost.is_none(), cost)
        });
    }
    places
}

/// A million tokens each way at a source; `None` where the model has no price for tokens.
fn cost(offer: &EntrySource, model: &Model) -> Option<Decimal> {
    if model.free {
        return Some(Decimal::ZERO);
    }
    let prices = model.prices.as_ref()?;
    let [input, output] = [Kind::Input, Kind::Output].map(|kind| prices.tokens(kind));
    let price = |price: Option<crate::money::Price>| price.map_or(Decimal::ZERO, |it| it.value());
    input.or(output)?;
    let sum = price(input).checked_add(price(output))?;
    sum.checked_mul(offer.multiplier.value())
}
