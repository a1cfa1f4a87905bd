//! The spend of a subject.

use serde::{Deserialize, Serialize};
use trilane::limits::{Period, SubjectKind};
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::document_keys;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use super::subject_kinds::KindsWithSpend;
use crate::ledger::Sum;
use crate::store::{key_spend, keys, spend};

/// The subject and period of a query for spend.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SpendParams {
    /// Of what kind.
    #[param(inline, value_type = KindsWithSpend)]
    pub(crate) kind: SubjectKind,
    /// The id of the subject.
    pub(crate) subject: String,
    /// The day (`2026-11-24`) or month (`2026-11`), in UTC.
    pub(crate) period: String,
}

/// The amounts spent in a period. Requests count when they end, as in gateways.
#[derive(Debug, Serialize, ToSchema)]
pub struct SpendView {
    /// By currency; nothing if nothing was spent.
    pub(crate) spent: Vec<SpentAmount>,
}

/// An amount.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct SpentAmount {
    /// The currency.
    pub(crate) currency: String,
    /// The amount, exact.
    pub(crate) amount: String,
}

impl From<(String, Sum)> for SpentAmount {
    fn from((currency, amount): (String, Sum)) -> Self {
        Self {
            currency,
            amount: amount.text(),
        }
    }
}

/// Gives the spend of a key, a member, an owner, a team or a group in a day or month; of a key that there is, under its present owner. Members see
/// what is theirs.
pub async fn get(
    state: &ConsoleState,
    caller: &Caller,
    asked: SpendParams,
) -> Result<SpendView, ApiProblem> {
    caller.must(rights::SEE_USAGE)?;
    if asked.subject.contains('\0') || asked.period.contains('\0') {
        return Err(ApiProblem::bad(text!("no name has a zero byte")));
    }
    let mut transaction = state.store.read().await?;
    let key = match asked.kind {
        SubjectKind::Key => match keys::find(&mut transaction, &asked.subject).await? {
            None => document_keys::find(&mut transaction, &asked.subject).await?,
            found => found,
        },
        _ => None,
    };
    let sees = match asked.kind {
        SubjectKind::Key => {
            let owner = key.as_ref().and_then(|key| key.owner.as_deref());
            let team = key.as_ref().and_then(|key| key.team.as_deref());
            let only = caller.only_owner_in(team);
            only.is_none_or(|only| owner == Some(only))
        }
        kind => caller.sees(kind, &asked.subject),
    };
    if !sees {
        return Err(ApiProblem::not_found());
    }
    let spent = match (&key, Period::parse(&asked.period)) {
        (Some(key), Some(period)) => {
            let owner = key.owner.as_deref();
            key_spend::of(&mut transaction, key.counters(), owner, period).await?
        }
        (None, Some(period)) => {
            let period = period.to_string();
            spend::of(&mut transaction, asked.kind, &asked.subject, &period).await?
        }
        (_, None) => Vec::new(),
    };
    transaction.rollback().await;
    Ok(SpendView {
        spent: spent.into_iter().map(SpentAmount::from).collect(),
    })
}
