//! The models that a vendor lists for a credential, with the prices that are known.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trilane::config::document::PricesDocument;
use utoipa::ToSchema;
use zeroize::Zeroizing;

use super::account_test::{VendorTestView, given, kept};
use super::caller::Caller;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::credentials::{CredentialDestination, is_name};
use crate::in_transaction;
use crate::prices::{PriceCatalogue, protocol_named};
use crate::store::{audit, documents};
use crate::vendors::{
    AskedVendor, ChosenModel, LeftOut, ListFailure, ListedModel, MIXED, ModelPricing, Offer,
    PRESETS, PriceSource, Vendor, VendorCredential, VendorPreset, environment_proxy,
};

/// The longest id of a vendor's group.
const LONGEST: usize = 60;

/// The vendor to ask, and the credential to ask it with.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VendorAskBody {
    /// The name of the vendor's preset: `openai`, `anthropic`, `gemini`, `openrouter`, `deepseek`, or `compatible` for your own URL.
    #[schema(max_length = 64)]
    pub(crate) vendor: String,
    /// The base address; the vendor's own unless it is given.
    #[schema(max_length = 1024)]
    pub(crate) url: Option<String>,
    /// The protocol: `A` (OpenAI-style), `B` (Anthropic-style) or `C` (Gemini-style); by default that of the preset.
    #[schema(max_length = 1)]
    pub(crate) protocol: Option<String>,
    /// The id of its group; the vendor's name unless it is given.
    #[schema(max_length = 60)]
    pub(crate) group: Option<String>,
    /// A credential, which is not kept; without it the one that is kept for the group.
    #[schema(min_length = 1, max_length = 8192)]
    pub(crate) value: Option<String>,
    /// It asks for no credential.
    #[serde(default)]
    pub(crate) no_credential: bool,
    /// The HTTP proxy on the way: `http://host:port`; empty: none. By default that of this console's environment.
    #[schema(max_length = 1024)]
    pub(crate) proxy: Option<String>,
    /// The file of authorities that its certificate must come from; by default the system's.
    #[schema(max_length = 1024)]
    pub(crate) ca: Option<String>,
    /// Whether it is in one's own network. Only a console that nobody but its own machine reaches allows that.
    #[serde(default)]
    pub(crate) own_network: bool,
}

/// A model of a vendor, as a document has it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VendorModel {
    /// The id of the model.
    #[schema(max_length = 128)]
    pub(crate) id: String,
    /// The vendor's name of it, where that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 256)]
    pub(crate) upstream: Option<String>,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 256)]
    pub(crate) display_name: Option<String>,
    /// The moment from which the vendor has it (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64)]
    pub(crate) created_at: Option<String>,
    /// The prices, as in a document. Without them, and not free, the cost is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) prices: Option<PricesDocument>,
    /// It costs nothing.
    #[serde(default)]
    pub(crate) free: bool,
}

/// A model that a vendor lists.
#[derive(Debug, Serialize, ToSchema)]
pub struct OfferedModel {
    /// The model as a document would have it.
    pub(crate) model: VendorModel,
    /// The source of its prices: `catalogue`, `vendor` (its own list), or `nobody`.
    pub(crate) prices_from: &'static str,
    /// Whether it is taken unless somebody says otherwise: it has prices, or none has. Of more than 30 none is.
    pub(crate) usual: bool,
}

/// The models that a vendor lists.
#[derive(Debug, Serialize, ToSchema)]
pub struct VendorModelsView {
    /// The outcome of the request to the vendor.
    pub(crate) test: VendorTestView,
    /// Whether the address may well serve models, but lists none, or none that this console can ask for, so that they have to be named.
    pub(crate) lists_nothing: bool,
    /// The models of the vendor, in the order of its list.
    pub(crate) models: Vec<OfferedModel>,
    /// Those of its list that no document can serve.
    pub(crate) left_out: Vec<LeftOut>,
}

impl From<&ChosenModel> for VendorModel {
    fn from(model: &ChosenModel) -> Self {
        Self {
            id: model.id.clone(),
            upstream: model.upstream.clone(),
            display_name: model.display_name.clone(),
            created_at: model.created_at.clone(),
            prices: model.pricing.prices().cloned(),
            free: model.pricing == ModelPricing::Free,
        }
    }
}

impl From<&VendorModel> for ChosenModel {
    fn from(model: &VendorModel) -> Self {
        let pricing = match &model.prices {
            Some(prices) => ModelPricing::given(prices.clone()),
            None if model.free => ModelPricing::Free,
            None => ModelPricing::Unknown,
        };
        Self {
            id: model.id.clone(),
            upstream: model.upstream.clone(),
            display_name: model.display_name.clone(),
            created_at: model.created_at.clone(),
            pricing,
        }
    }
}

/// The vendor that a request names.
///
/// # Errors
/// The field that is wrong.
pub(crate) fn vendor_of(
    name: &str,
    url: Option<&str>,
    protocol: Option<&str>,
    group: Option<&str>,
) -> Result<Vendor, ApiProblem> {
    let preset = VendorPreset::named(name).ok_or_else(|| {
        let names = PRESETS.map(|preset| preset.name).join(", ");
        ApiProblem::invalid("vendor", t!("must be one of {names}", names = names))
    })?;
    let protocol = protocol.map(|name| {
        let known = protocol_named(name);
        known.ok_or_else(|| ApiProblem::invalid("protocol", text!("must be A, B or C")))
    });
    let vendor = Vendor::new(preset, url, protocol.transpose()?, group);
    let vendor = vendor.map_err(|why| ApiProblem::invalid("url", why))?;
    let id = &vendor.group;
    if id.len() > LONGEST || !is_name(id) || id == MIXED {
        let reason = t!(
            "must be 1 to {longest} letters, digits or any of - _ . and not {mixed}, which serves all of them to one key",
            longest = LONGEST,
            mixed = format!("\"{MIXED}\"")
        );
        return Err(ApiProblem::invalid("group", reason));
    }
    Ok(vendor)
}

/// The catalogue, or one without prices where the document in force has another currency.
async fn catalogue(state: &ConsoleState) -> Result<PriceCatalogue, ApiProblem> {
    let catalogue = state.prices.read().map_err(ApiProblem::internal)?;
    let mut transaction = state.store.read().await?;
    let current = documents::current(&mut transaction).await?;
    transaction.rollback().await;
    let document = current.and_then(|it| serde_json::from_str::<Value>(&it.body).ok());
    let same = document.is_none_or(|document| {
        let currency = document.get("currency").and_then(Value::as_str);
        currency == Some(&catalogue.currency)
    });
    Ok(if same {
        catalogue
    } else {
        PriceCatalogue::default()
    })
}

/// Asks a vendor for its models with one request that costs nothing, and so tests the credential. Prices come from the
/// catalogue or from the vendor's own list; none is invented.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    body: VendorAskBody,
) -> Result<VendorModelsView, ApiProblem> {
    caller.must(rights::CHANGE_SETUP)?;
    let value = body.value.map(Zeroizing::new);
    let (url, protocol) = (body.url.as_deref(), body.protocol.as_deref());
    let vendor = vendor_of(&body.vendor, url, protocol, body.group.as_deref())?;
    let value = value.as_deref().map(|value| given(value)).transpose()?;
    let kind = match (&value, body.no_credential) {
        (Some(_), true) => {
            let reason = text!("is given, and no_credential says that there is none");
            return Err(ApiProblem::invalid("value", reason));
        }
        (Some(_), false) => "given",
        (None, true) => "none",
        (None, false) => "kept",
    };
    let place = way(&vendor, body.proxy.as_deref(), body.ca.as_deref())?;
    let credential = match value {
        Some(credential) => Ok(credential),
        None if body.no_credential => Ok(VendorCredential::none()),
        None => kept(state, &vendor.account(), &place).await?,
    };
    let view = match credential {
        Ok(credential) => {
            let asked = AskedVendor {
                vendor: vendor.clone(),
                credential,
                header: None,
                proxy: place.proxy,
                ca: place.ca,
                // Where its credential is kept, somebody has chosen so before.
                is_private: body.own_network || kind == "kept",
            };
            ask(state, asked, kind != "none").await?
        }
        Err(test) => VendorModelsView {
            test,
            lists_nothing: false,
            models: Vec::new(),
            left_out: Vec::new(),
        },
    };
    let mut entry = caller
        .actor()
        .entry(state.now(), "vendor.test", &vendor.group);
    let told = json!({"url": vendor.url, "outcome": view.test.outcome, "credential": kind});
    entry.after = Some(told.to_string());
    in_transaction!(state.store, transaction => audit::insert(transaction, &entry).await)?;
    Ok(view)
}

/// Returns the destination that a vendor's credential may be sent to, through its account's proxy and with its authorities.
pub(super) fn destination(
    vendor: &Vendor,
    proxy: Option<String>,
    ca: Option<String>,
) -> CredentialDestination {
    CredentialDestination {
        url: vendor.origin.site(),
        proxy,
        ca,
    }
}

/// The way to a vendor as a request says it: through the proxy of the environment unless it names one or none.
///
/// # Errors
/// The proxy is no address, or the file has no name.
pub(super) fn way(
    vendor: &Vendor,
    proxy: Option<&str>,
    ca: Option<&str>,
) -> Result<CredentialDestination, ApiProblem> {
    let named = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let proxy = proxy.map_or_else(|| environment_proxy(vendor), named);
    let wanted = destination(vendor, proxy, ca.and_then(named));
    wanted
        .normal()
        .map_err(|(member, reason)| ApiProblem::invalid(member, reason))
}

async fn ask(
    state: &ConsoleState,
    asked: AskedVendor,
    has_credential: bool,
) -> Result<VendorModelsView, ApiProblem> {
    let vendor = asked.vendor.clone();
    let has_own_authorities = asked.ca.is_some();
    let answer = state.vendors.list(asked).await;
    let may_choose = state.vendors.may_choose();
    let test = VendorTestView::of(&vendor, has_credential, may_choose, &answer);
    let listed = match answer {
        Ok(listed) => listed,
        Err(failure) => {
            return Ok(VendorModelsView {
                test,
                lists_nothing: failure.lists_nothing()
                    || has_own_authorities && matches!(failure, ListFailure::Authorities(_)),
                models: Vec::new(),
                left_out: Vec::new(),
            });
        }
    };
    let catalogue = catalogue(state).await?;
    let mut offer = Offer::of(&vendor, listed, &catalogue);
    if catalogue.currency.is_empty() {
        // Prices in vendors' lists are in dollars, too.
        for model in &mut offer.models {
            model.pricing = ModelPricing::Unknown;
        }
    }
    let taken = offer.usual();
    let models = offer.models.iter().map(|model| OfferedModel {
        model: model.into(),
        prices_from: match model.pricing.source() {
            Some(PriceSource::Catalogue) => "catalogue",
            Some(PriceSource::Vendor) => "vendor",
            Some(PriceSource::Operator) | None => "nobody",
        },
        usual: taken.contains(model),
    });
    Ok(VendorModelsView {
        test,
        lists_nothing: false,
        models: models.collect(),
        left_out: offer.left_out,
    })
}

/// Models that somebody names, with the prices that are known.
///
/// # Errors
/// Those of the database; or, within, the name that no document can have.
pub(crate) async fn named<'a>(
    state: &ConsoleState,
    vendor: &Vendor,
    names: &[&'a str],
) -> Result<Result<Vec<VendorModel>, &'a str>, ApiProblem> {
    let mut models: Vec<VendorModel> = Vec::new();
    for name in names {
        let listed = vec![ListedModel::named(name)];
        let offer = Offer::of(vendor, listed, &catalogue(state).await?);
        let Some(model) = offer.models.into_iter().next() else {
            return Ok(Err(name));
        };
        if !models.iter().any(|other| other.id == model.id) {
            models.push((&model).into());
        }
    }
    Ok(Ok(models))
}
