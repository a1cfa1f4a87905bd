//! What somebody has spent.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::parts::Params;
use super::problem::ApiProblem;
use super::state::ConsoleState;
use crate::store::{keys, spend};

/// Whose spend is asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SpendParams {
    /// Of what kind.
    #[param(inline)]
    kind: SpendKind,
    /// Its id.
    subject: String,
    /// The day (`2026-11-24`) or month (`2026-11`), in UTC.
    period: String,
}

/// What has spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SpendKind {
    /// A key.
    Key,
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
            Self::Owner => "owner",
            Self::Team => "team",
            Self::Group => "group",
        }
    }
}

/// What was spent in a period, by the end of requests, as gateways count budgets.
#[derive(Debug, Serialize, ToSchema)]
pub struct SpendView {
    /// By currency; nothing if nothing was spent.
    spent: Vec<SpentAmount>,
}

/// An amount.
#[derive(Debug, Serialize, ToSchema)]
pub struct SpentAmount {
    /// The currency.
    currency: String,
    /// The amount, exact.
    amount: String,
}

/// What a key, an owner, a team or a group has spent in a day or month. Members see what is theirs.
#[utoipa::path(get, operation_id = "get_spend", path = "/api/v1/spend", tag = "usage", params(SpendParams),
    responses((status = 200, body = SpendView)))]
pub async fn get(
    State(state): State<ConsoleState>,
    caller: Caller,
    Params(asked): Params<SpendParams>,
) -> Result<Json<SpendView>, ApiProblem> {
    if asked.subject.contains('\0') || asked.period.contains('\0') {
        return Err(ApiProblem::bad("no name has a zero byte"));
    }
    let mut transaction = state.store.read().await?;
    if let Some(only) = caller.only_owner() {
        let own = match asked.kind {
            SpendKind::Owner => asked.subject == only,
            SpendKind::Key => {
                let key = keys::find(&mut transaction, &asked.subject).await?;
                key.is_some_and(|key| key.owner.as_deref() == Some(only))
            }
            SpendKind::Team | SpendKind::Group => false,
        };
        if !own {
            return Err(ApiProblem::not_found());
        }
    }
    let (kind, subject, period) = (asked.kind.name(), &asked.subject, &asked.period);
    let spent = spend::of(&mut transaction, kind, subject, period).await?;
    transaction.rollback().await;
    let amounts = spent.into_iter().map(|(currency, amount)| SpentAmount {
        currency,
        amount: amount.text(),
    });
    Ok(Json(SpendView {
        spent: amounts.collect(),
    }))
}
