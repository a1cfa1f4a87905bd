//! One key, for whoever has it: no account is needed, and nothing is kept of the asking.

use http::StatusCode;
use serde::Serialize;
use trilane::limits::Window;
use utoipa::ToSchema;

use crate::cases::holder::{self, KeyReader, KeyRemaining};
use crate::cases::keys::{KeyView, add_use};
use crate::cases::priced_models::{self, PricedModels};
use crate::cases::problem::ApiProblem;
use crate::cases::spend::SpentAmount;
use crate::cases::state::ConsoleState;
use crate::cases::usage::{self, UsageView};
use crate::explain::LedgerLine;
use crate::store::keys::{self, StoredKey};
use crate::store::own_terms::OwnTerms;
use crate::store::{Transaction, key_spend};
use crate::{client_address, in_transaction, secret, throttle, timestamp};

/// Unknown keys of an address within an hour, from which on each further one has to wait.
const FREE: i64 = 30;
/// The requests that are shown.
const REQUESTS: u16 = 20;

/// A key, as whoever has it sees it.
#[derive(Debug, Serialize, ToSchema)]
pub struct HeldKeyView {
    /// The key.
    pub(crate) key: KeyView,
    /// The models that it may use, with their prices after the multiplier, and their health.
    pub(crate) models: PricedModels,
    /// The amounts spent today (UTC), by currency.
    pub(crate) spent_today: Vec<SpentAmount>,
    /// The usage of this month (UTC), by model and day.
    pub(crate) usage: Vec<UsageView>,
    /// The remaining limits and budgets, and why requests fail now.
    pub(crate) remaining: KeyRemaining,
    /// The latest requests of the key, as far as their lines are kept.
    pub(crate) requests: Vec<HeldRequestView>,
}

/// A request of a key, without what is behind the gateway.
#[derive(Debug, Serialize, ToSchema)]
pub struct HeldRequestView {
    /// The id that the gateway gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<String>,
    /// The time at which the request began, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timestamp: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The status of the response; 0: none was sent.
    pub(crate) status: u64,
    /// The outcome, in the ledger's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<String>,
    /// The error code of a rejection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// Input tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input_tokens: Option<u64>,
    /// Output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_tokens: Option<u64>,
    /// The charge, exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) charge: Option<String>,
    /// The currency of the charge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) currency: Option<String>,
}

impl HeldRequestView {
    fn of(line: &LedgerLine) -> Self {
        let text = |name: &str| line.text(name).map(str::to_owned);
        Self {
            request_id: text("request_id"),
            timestamp: text("timestamp"),
            model: text("trilane.model").or_else(|| text("gen_ai.request.model")),
            status: line.number("http.response.status_code").unwrap_or_default(),
            outcome: text("trilane.outcome"),
            error: text("error.type"),
            input_tokens: line.number("gen_ai.usage.input_tokens"),
            output_tokens: line.number("gen_ai.usage.output_tokens"),
            charge: text("trilane.charge"),
            currency: text("trilane.currency"),
        }
    }
}

/// The same for every key that there is not.
fn unknown() -> ApiProblem {
    let detail = "no key is like that: send an API key of the gateway, Authorization: Bearer tl-…";
    ApiProblem::new(StatusCode::UNAUTHORIZED, "/problems/unauthorized", detail)
}

/// The key of this value. What is unknown is counted, and slowed. A key that there is is never slowed: nobody guesses one, and
/// whoever shares its address must not keep it out.
///
/// # Errors
/// There is no such key, or too many attempts of this address have failed.
async fn find(state: &ConsoleState, value: &str, address: &str) -> Result<StoredKey, ApiProblem> {
    let digest = secret::digest(value);
    let mut transaction = state.store.read().await?;
    let found = keys::find_by_digest(&mut transaction, &digest).await?;
    transaction.rollback().await;
    // Whoever has left sees nothing any more.
    if let Some(key) = found.filter(|key| key.disabled_with.is_none()) {
        return Ok(key);
    }
    let subject = format!("key of {}", client_address::counted(address));
    let now = state.now();
    let may_be_tried = in_transaction!(state.store, transaction => {
        throttle::count(transaction, &subject, FREE, now).await
    })?;
    if may_be_tried {
        return Err(unknown());
    }
    let detail = "too many keys were unknown: wait a while";
    let status = StatusCode::TOO_MANY_REQUESTS;
    Err(ApiProblem::new(
        status,
        "/problems/too-many-requests",
        detail,
    ))
}

/// Reads the view of a key for its holder.
///
/// # Errors
/// There is no such key, or too many attempts of this address have failed.
pub(crate) async fn held(
    state: &ConsoleState,
    value: Option<&str>,
    address: &str,
) -> Result<HeldKeyView, ApiProblem> {
    let value = value.ok_or_else(unknown)?;
    let key = find(state, value, address).await?;
    let now = state.now();
    let mut transaction = state.store.read().await?;
    let view = view(&mut transaction, key, now).await?;
    transaction.rollback().await;
    Ok(view)
}

async fn view(
    transaction: &mut Transaction,
    key: StoredKey,
    now: i64,
) -> Result<HeldKeyView, ApiProblem> {
    let day = timestamp::period(Window::Day, now);
    let mut reader = KeyReader::new(transaction, now).await?;
    let remaining = reader.remaining(transaction, &key).await?.for_holder();
    let terms = [OwnTerms::from(&key)];
    let models = priced_models::read(transaction, &terms, now).await?;
    let today = key_spend::of(transaction, &key.id, key.owner.as_deref(), day).await?;
    let month = timestamp::period(Window::Month, now).first_day();
    let usage = usage::of_holder(transaction, &key, month).await?;
    let lines = holder::latest(transaction, &key, None, REQUESTS).await?;
    let lines = lines
        .iter()
        .filter_map(|of| LedgerLine::parse(of.line.as_bytes()));
    let requests = lines.map(|line| HeldRequestView::of(&line)).collect();
    let mut key = KeyView::from(key);
    add_use(transaction, &mut key, now).await?;
    Ok(HeldKeyView {
        // Who has made it, and what a change would name, is for those who have an account.
        key: KeyView {
            created_by: None,
            revision: None,
            ..key
        },
        models,
        spent_today: today.into_iter().map(SpentAmount::from).collect(),
        usage,
        remaining,
        requests,
    })
}
