//! The spend of a subject.

use serde::{Deserialize, Serialize};
use trilane::limits::member_parts;
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::ledger::Sum;
use crate::store::{key_spend, keys, spend};

/// The subject and period of a query for spend.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SpendParams {
    /// Of what kind.
    #[param(inline)]
    pub(crate) kind: SpendKind,
    /// The id of the subject.
    pub(crate) subject: String,
    /// The day (`2026-11-24`) or month (`2026-11`), in UTC.
    pub(crate) period: String,
}

/// The kinds of subject that have spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SpendKind {
    /// A key.
    Key,
    /// The keys that an owner has and had in a team: `ann@blue`.
    Member,
    /// The keys of an owner.
    Owner,
    /// The keys of a team.
    Team,
    /// The keys of a group.
    Group,
}

impl SpendKind {
    fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Member => "member",
            Self::Owner => "owner",
            Self::Team => "team",
            Self::Group => "group",
        }
    }
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
        return Err(ApiProblem::bad("no name has a zero byte"));
    }
    let mut transaction = state.store.read().await?;
    let key = match asked.kind {
        SpendKind::Key => keys::find(&mut transaction, &asked.subject).await?,
        SpendKind::Member | SpendKind::Owner | SpendKind::Team | SpendKind::Group => None,
    };
    if let Some(only) = caller.only_owner() {
        let own = match asked.kind {
            SpendKind::Member => {
                member_parts(&asked.subject).is_some_and(|(owner, _)| owner == only)
            }
            SpendKind::Owner => asked.subject == only,
            SpendKind::Key => key
                .as_ref()
                .is_some_and(|key| key.owner.as_deref() == Some(only)),
            SpendKind::Team | SpendKind::Group => false,
        };
        if !own {
            return Err(ApiProblem::not_found());
        }
    }
    let (kind, subject, period) = (asked.kind.name(), &asked.subject, &asked.period);
    let spent = match &key {
        Some(key) => {
            key_spend::of(
                &mut transaction,
                key.counters(),
                key.owner.as_deref(),
                period,
            )
            .await?
        }
        None => spend::of(&mut transaction, kind, subject, period).await?,
    };
    transaction.rollback().await;
    Ok(SpendView {
        spent: spent.into_iter().map(SpentAmount::from).collect(),
    })
}
