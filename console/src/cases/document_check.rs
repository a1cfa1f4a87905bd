//! Checks of documents that are not in force: as gateways do it, and beside what the console has.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::caller::Caller;
use super::credentials::DestinationView;
use super::document_keys;
use super::problem::{ApiProblem, PlacedProblem, placed};
use super::rights;
use super::state::ConsoleState;
use crate::credentials::{AccountCredential, CredentialDestination};
use crate::documents::model_changes::{self, ChangedKeys, ModelChange};
use crate::documents::{self as life, budget_losses};
use crate::store::{credentials, documents};

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
    /// The accounts whose credential is not kept here, or not for where they send it. Absent for who may not see credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) missing_credentials: Option<Vec<MissingCredential>>,
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
}

/// Checks a document as a gateway would, beside the version in force, the keys and the credentials of the console. Nothing is kept of it.
pub async fn check(
    state: &ConsoleState,
    caller: &Caller,
    asked: DocumentCheckBody,
) -> Result<DocumentCheckView, ApiProblem> {
    caller.must(rights::SEE_DOCUMENTS)?;
    let check = of(state, &asked.body).await?;
    let mut transaction = state.store.read().await?;
    let current = documents::current(&mut transaction).await?;
    let kept = credentials::all(&mut transaction).await?;
    transaction.rollback().await;
    let served = life::check(&asked.body, &state.prices).map(|checked| checked.served);
    let wanted = served.ok().filter(|_| caller.may(rights::SEE_CREDENTIALS));
    let wanted = wanted.and_then(|served| AccountCredential::of_document(served.as_bytes()));
    let is_kept = |of: &AccountCredential| {
        let mut kept = kept.iter();
        kept.any(|kept| kept.name == of.name && kept.destination == of.destination)
    };
    let missing = wanted.map(|wanted| {
        let missing = wanted.into_iter().filter(|of| !is_kept(of));
        missing.map(MissingCredential::from).collect()
    });
    Ok(DocumentCheckView {
        in_force: current.map_or(0, |current| current.version),
        check,
        missing_credentials: missing,
    })
}

impl From<AccountCredential> for MissingCredential {
    fn from(of: AccountCredential) -> Self {
        let CredentialDestination { url, proxy, ca } = of.destination;
        Self {
            group: of.group,
            account: of.account,
            credential: of.name,
            destination: DestinationView { url, proxy, ca },
        }
    }
}

/// Checks a document.
///
/// # Errors
/// Those of the database.
pub(super) async fn of(state: &ConsoleState, body: &str) -> Result<CheckView, ApiProblem> {
    Ok(match life::check(body, &state.prices) {
        Ok(checked) => {
            let mut transaction = state.store.read().await?;
            let losses = budget_losses::warnings(&mut transaction, &checked.served).await?;
            let doubles = document_keys::doubles(&mut transaction, &checked.served).await?;
            let current = documents::current(&mut transaction).await?;
            let before = current.map_or_else(String::new, |current| current.served);
            let changes = model_changes::of_all(&mut transaction, &before, &checked.served).await?;
            transaction.rollback().await;
            let mut warnings = checked.warnings;
            warnings.0.extend(losses.0);
            warnings.0.extend(doubles.0);
            CheckView {
                valid: true,
                problems: Vec::new(),
                warnings: placed(warnings),
                groups: checked.groups,
                keys: checked.keys,
                model_changes: changes.into_iter().map(change_view).collect(),
            }
        }
        Err(problems) => CheckView {
            valid: false,
            problems: placed(problems),
            warnings: Vec::new(),
            groups: 0,
            keys: 0,
            model_changes: Vec::new(),
        },
    })
}

fn change_view((change, keys): (ModelChange, ChangedKeys)) -> ModelChangeView {
    ModelChangeView {
        sentence: change.sentence(&keys),
        keys: keys.count,
        key_ids: keys.named,
        gained: change.gained,
        lost: change.lost,
    }
}
