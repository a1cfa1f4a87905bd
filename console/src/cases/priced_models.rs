//! The models of keys, with their prices after the multiplier, and with their health.

use std::collections::BTreeMap;

use serde::Serialize;
use trilane::config::policy::{EntrySource, Group, GroupKind};
use trilane::config::{Compiled, compile};
use trilane::keys::KeyAccess;
use trilane::model::Model;
use trilane::model::catalog::ModelKind;
use trilane::money::{Multiplier, Price, Prices, decimal};
use trilane::protocol::Protocol;
use trilane::usage::{Call, Kind};
use utoipa::ToSchema;

use super::key_models::{KeyModel, document_in_force, letter};
use super::model_health::{HealthReader, ModelHealth};
use super::problem::ApiProblem;
use crate::documents::budget_losses::own_access;
use crate::store::Transaction;
use crate::store::own_terms::OwnTerms;

/// A model that a key may use, with what it costs that key.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PricedModel {
    #[serde(flatten)]
    pub(crate) model: KeyModel,
    /// The name for people; missing where it is the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// The group by which it is used.
    pub(crate) group: String,
    /// The id of a key that may use it at these prices.
    pub(crate) key: String,
    /// The final multiplier.
    pub(crate) multiplier: String,
    /// The prices after the multiplier, exact, by the names of a document: of kinds of token for a million, of `image` for one,
    /// `per_call.…` for a call, `per_request.…` for a request with such calls. Empty where it has none.
    pub(crate) prices: BTreeMap<String, String>,
    /// Whether it makes images.
    pub(crate) is_image: bool,
    /// Whether it costs nothing.
    pub(crate) free: bool,
    /// Whether there are other prices: for long requests, at times, for classes of service, or at other sources that serve it.
    pub(crate) has_other_prices: bool,
    /// The health of the last hour.
    pub(crate) health: ModelHealth,
}

/// Models, with their prices and their health.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct PricedModels {
    /// The currency of the prices; missing where the document in force names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) currency: Option<String>,
    /// The beginning of the time that `health` is of, as RFC 3339: the hour before this one.
    pub(crate) health_since: String,
    /// The models, in the order of the document in force.
    pub(crate) items: Vec<PricedModel>,
}

/// A model as a group offers it to a key.
struct Offered<'a> {
    model: &'a Model,
    protocol: Protocol,
    multiplier: Multiplier,
    /// Whether another source may serve it at other prices.
    varies: bool,
}

/// The models of a group that a key with this of its own may use, as gateways list them.
fn offered<'a>(group: &'a Group, access: &KeyAccess) -> Vec<Offered<'a>> {
    let own = access.multiplier;
    let affords = |multiplier| access.affords(multiplier);
    let mut found = Vec::new();
    match &group.kind {
        GroupKind::Source(source) if affords(own.unwrap_or(source.multiplier)) => {
            found.extend(source.catalog.models().iter().map(|model| Offered {
                model,
                protocol: source.protocol,
                multiplier: own.unwrap_or(source.multiplier),
                varies: group.fallback.iter().any(|of| affords(of.multiplier)),
            }));
        }
        GroupKind::Source(_) => {}
        GroupKind::Mixed(mixed) => {
            let fits = |offer: &EntrySource, _: &Model| affords(offer.multiplier);
            found.extend(mixed.models.iter().filter_map(|shown| {
                let (offer, model) = mixed.offered_where(shown, fits)?;
                let mut others = mixed.offers(shown);
                affords(offer.multiplier).then(|| Offered {
                    model,
                    protocol: shown.entry.protocol(),
                    multiplier: own.unwrap_or(offer.multiplier),
                    varies: others.any(|(other, same)| {
                        let costs_otherwise = own.is_none() && other.multiplier != offer.multiplier;
                        affords(other.multiplier)
                            && (costs_otherwise || same.prices != model.prices)
                    }),
                })
            }));
        }
    }
    found.retain(|of| of.model.entitled && access.allows(&of.model.id));
    found
}

/// The prices after a multiplier, by their names.
fn multiplied(prices: &Prices, multiplier: Multiplier) -> BTreeMap<String, String> {
    let tokens = Kind::ALL.into_iter();
    let tokens = tokens.map(|kind| (kind.name().to_owned(), prices.own_tokens(kind)));
    let calls = Call::ALL.into_iter().flat_map(|call| {
        let name = call.name();
        [
            (format!("per_call.{name}"), prices.call(call)),
            (format!("per_request.{name}"), prices.request(call)),
        ]
    });
    let image = [("image".to_owned(), prices.image())];
    let all = tokens.chain(image).chain(calls);
    let text = |price: Price| {
        let product = decimal::product(price.value(), multiplier.value())?;
        Some(product.normalize().to_string())
    };
    all.filter_map(|(name, price)| Some((name, text(price?)?)))
        .collect()
}

fn has_sets(prices: &Prices) -> bool {
    prices.tiers().next().is_some()
        || prices.above().next().is_some()
        || prices.times().next().is_some()
}

/// The models of keys with these terms, each once at the same prices.
fn of_terms(compiled: &Compiled, terms: &[OwnTerms], health: &HealthReader) -> Vec<PricedModel> {
    let mut items: Vec<PricedModel> = Vec::new();
    for of in terms {
        let Some(group) = compiled.policy.group(&of.group) else {
            continue;
        };
        let own = of.multiplier.as_deref();
        let access = KeyAccess {
            multiplier: own.and_then(|own| Multiplier::parse(own).ok()),
            ..own_access(of.models.as_deref(), of.max_multiplier.as_deref())
        };
        for offered in offered(group, &access) {
            let model = offered.model;
            let prices = model.prices.as_ref();
            let found = PricedModel {
                model: KeyModel {
                    id: model.id.to_string(),
                    protocol: letter(offered.protocol),
                },
                name: (model.display_name != model.id.as_str()).then(|| model.display_name.clone()),
                group: of.group.clone(),
                key: of.key.clone(),
                multiplier: offered.multiplier.value().to_string(),
                prices: prices
                    .map(|prices| multiplied(prices, offered.multiplier))
                    .unwrap_or_default(),
                is_image: model.kind == ModelKind::Image,
                free: model.free,
                has_other_prices: offered.varies || prices.is_some_and(has_sets),
                health: health.in_group(&of.group, &model.id),
            };
            let is_same = |known: &PricedModel| {
                (&known.group, &known.model, &known.multiplier)
                    == (&found.group, &found.model, &found.multiplier)
            };
            if !items.iter().any(is_same) {
                items.push(found);
            }
        }
    }
    items
}

/// Reads the models of keys with these terms, in the document in force.
///
/// # Errors
/// Those of the database.
pub(super) async fn read(
    transaction: &mut Transaction,
    terms: &[OwnTerms],
    now: i64,
) -> Result<PricedModels, ApiProblem> {
    let health = HealthReader::read(transaction, now).await?;
    let document = document_in_force(transaction).await?;
    let compiled = document.and_then(|document| compile(&document).ok());
    Ok(PricedModels {
        currency: compiled
            .as_ref()
            .and_then(|of| of.policy.currency.as_deref().map(str::to_owned)),
        health_since: health.since().to_owned(),
        items: compiled
            .map(|compiled| of_terms(&compiled, terms, &health))
            .unwrap_or_default(),
    })
}
