//! Checks of documents that are not in force: as gateways do it, and beside what the console has.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::caller::Caller;
use super::credentials::DestinationView;
use super::document_keys;
use super::problem::{ApiProblem, PlacedProblem, placed};
use super::rights;
use super::state::ConsoleState;
use crate::credentials::{AccountCredential, CredentialDestination};
use crate::documents::model_changes::{self, ChangedKeys, ModelChange};
use crate::documents::price_changes::{self, PriceChange};
use crate::documents::{self as life, budget_losses, setting_changes};
use crate::store::{StoreError, Transaction, credentials, documents};

/// The result of checking a document as a gateway would.
#[derive(Debug, Serialize, ToSchema)]
pub struct CheckView {
    /// Whether it would be taken.
    pub(crate) valid: bool,
    /// The problems that make it invalid, each with its place.
    pub(crate) problems: Vec<PlacedProblem>,
    /// The valid settings that look unintended, each with its place.
    pub(crate) warnings: Vec<PlacedProblem>,
    /// The number of groups in it.
    pub(crate) groups: usize,
    /// The number of keys in it.
    pub(crate) keys: usize,
    /// The keys that gain or lose models, beside the version in force; those of the console too.
    pub(crate) model_changes: Vec<ModelChangeView>,
    /// The models that keys have in both versions at other prices, multiplier included.
    pub(crate) price_changes: Vec<PriceChangeView>,
    /// Whether no request costs more than in the version in force. False also where that is not certain.
    pub(crate) nobody_pays_more: bool,
    /// The changes of groups, their limits and their accounts, each as a sentence.
    pub(crate) setting_changes: Vec<String>,
    /// The accounts whose credential is not kept here, or not for where they send it. Absent for who may not see credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) missing_credentials: Option<Vec<MissingCredential>>,
}

/// Keys that gain and lose the same models.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelChangeView {
    /// The number of these keys.
    pub(crate) keys: u64,
    /// The ids of the first of them, 20 at most.
    pub(crate) key_ids: Vec<String>,
    /// The models that they gain.
    pub(crate) gained: Vec<String>,
    /// The models that they lose.
    pub(crate) lost: Vec<String>,
    /// All of this in a sentence.
    pub(crate) sentence: String,
    /// The same with the number of the keys alone, for pages that name them beside it.
    #[serde(skip)]
    pub(crate) plain: String,
}

/// Keys for which the price of a model changes alike.
#[derive(Debug, Serialize, ToSchema)]
pub struct PriceChangeView {
    /// The number of these keys.
    pub(crate) keys: u64,
    /// The ids of the first of them, 20 at most.
    pub(crate) key_ids: Vec<String>,
    /// The id of the model.
    pub(crate) model: String,
    /// `rises`, `falls`, or `changes` where it depends on the request.
    pub(crate) direction: &'static str,
    /// All of this in a sentence, with the prices.
    pub(crate) sentence: String,
    /// The same with the number of the keys alone, for pages that name them beside it.
    #[serde(skip)]
    pub(crate) plain: String,
}

/// A document to be checked.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentCheckBody {
    /// The document, as it is written.
    pub(crate) body: String,
}

/// The result of checking a document that is in no draft.
#[derive(Debug, Serialize, ToSchema)]
pub struct DocumentCheckView {
    /// The version in force, beside which it was checked; 0: none is.
    pub(crate) in_force: i64,
    #[serde(flatten)]
    pub(crate) check: CheckView,
}

/// An account whose credential is not kept here.
#[derive(Debug, Serialize, ToSchema)]
pub struct MissingCredential {
    /// The id of the account's group.
    pub(crate) group: String,
    /// The account's id.
    pub(crate) account: String,
    /// The name of the credential.
    pub(crate) credential: String,
    /// The destination that the document sends it to.
    pub(crate) destination: DestinationView,
    /// Whether the version in force does not send it there for this account.
    pub(crate) is_new: bool,
}

/// Checks a document as a gateway would, beside the version in force, the keys and the credentials of the console. Nothing is kept of it.
pub async fn check(
    state: &ConsoleState,
    caller: &Caller,
    asked: DocumentCheckBody,
) -> Result<DocumentCheckView, ApiProblem> {
    caller.must(rights::SEE_DOCUMENTS)?;
    let check = of(state, caller, &asked.body).await?;
    let mut transaction = state.store.read().await?;
    let current = documents::current(&mut transaction).await?;
    transaction.rollback().await;
    Ok(DocumentCheckView {
        in_force: current.map_or(0, |current| current.version),
        check,
    })
}

/// The accounts of a document, as gateways get it, whose credential is not kept here. `before` is the version in force.
async fn missing(
    transaction: &mut Transaction,
    before: &str,
    served: &str,
) -> Result<Vec<MissingCredential>, StoreError> {
    let Some(wanted) = AccountCredential::of_document(served.as_bytes()) else {
        return Ok(Vec::new());
    };
    let sent = AccountCredential::of_document(before.as_bytes()).unwrap_or_default();
    let kept = credentials::all(transaction).await?;
    let is_kept = |of: &AccountCredential| {
        let mut kept = kept.iter();
        kept.any(|kept| kept.name == of.name && kept.destination == of.destination)
    };
    let missing = wanted.into_iter().filter(|of| !is_kept(of)).map(|of| {
        let is_new = !sent.contains(&of);
        let CredentialDestination { url, proxy, ca } = of.destination;
        MissingCredential {
            group: of.group,
            account: of.account,
            credential: of.name,
            destination: DestinationView { url, proxy, ca },
            is_new,
        }
    });
    Ok(missing.collect())
}

/// Checks a document.
///
/// # Errors
/// Those of the database.
pub(super) async fn of(
    state: &ConsoleState,
    caller: &Caller,
    body: &str,
) -> Result<CheckView, ApiProblem> {
    let checked = match life::check(body, &state.prices) {
        Ok(checked) => checked,
        Err(problems) => {
            return Ok(CheckView {
                valid: false,
                problems: placed(problems),
                warnings: Vec::new(),
                groups: 0,
                keys: 0,
                model_changes: Vec::new(),
                price_changes: Vec::new(),
                nobody_pays_more: false,
                setting_changes: Vec::new(),
                missing_credentials: None,
            });
        }
    };
    let served = &checked.served;
    let mut transaction = state.store.read().await?;
    let losses = budget_losses::warnings(&mut transaction, served).await?;
    let doubles = document_keys::doubles(&mut transaction, served).await?;
    let current = documents::current(&mut transaction).await?;
    let before = current.map_or_else(String::new, |current| current.served);
    let models = model_changes::of_all(&mut transaction, &before, served).await?;
    let prices = price_changes::of_all(&mut transaction, &before, served).await?;
    let missing = if caller.may(rights::SEE_CREDENTIALS) {
        Some(missing(&mut transaction, &before, served).await?)
    } else {
        None
    };
    transaction.rollback().await;
    let mut warnings = checked.warnings;
    warnings.0.extend(losses.0);
    warnings.0.extend(doubles.0);
    let parsed = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    Ok(CheckView {
        valid: true,
        problems: Vec::new(),
        warnings: placed(warnings),
        groups: checked.groups,
        keys: checked.keys,
        model_changes: models.into_iter().map(change_view).collect(),
        price_changes: prices.changes.into_iter().map(price_view).collect(),
        nobody_pays_more: prices.nobody_pays_more,
        setting_changes: setting_changes::sentences(&parsed(&before), &parsed(served)),
        missing_credentials: missing,
    })
}

fn change_view((change, keys): (ModelChange, ChangedKeys)) -> ModelChangeView {
    ModelChangeView {
        sentence: change.sentence(&keys),
        plain: change.sentence(&keys.counted()),
        keys: keys.count,
        key_ids: keys.named,
        gained: change.gained,
        lost: change.lost,
    }
}

fn price_view((change, keys): (PriceChange, ChangedKeys)) -> PriceChangeView {
    PriceChangeView {
        sentence: change.sentence(&keys),
        plain: change.sentence(&keys.counted()),
        keys: keys.count,
        key_ids: keys.named,
        model: change.model,
        direction: change.direction.name(),
    }
}
