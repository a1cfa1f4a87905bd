//! The upstream accounts that their vendors refuse.

use serde::Serialize;
use utoipa::ToSchema;

use super::caller::Caller;
use super::paging::ItemPage;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::explain::vendor_error;
use crate::language::translated;
use crate::store::account_answers::{self, AccountAnswers, AccountName};
use crate::timestamp::moment;

/// An account whose latest answers are refusals: its vendor has refused it since it last answered a request.
#[derive(Debug, Serialize, ToSchema)]
pub struct AccountRefusalView {
    /// The id of the account's group.
    pub(crate) group: String,
    /// The account's id.
    pub(crate) account: String,
    /// The time of the first refusal since its last good answer, as RFC 3339.
    pub(crate) since: String,
    /// The time of the latest refusal.
    pub(crate) at: String,
    /// `no_credit`, `dead_key`, `region` or `suspended`; missing where the vendor does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fault: Option<String>,
    /// The status of the latest refusal.
    pub(crate) status: i64,
    /// The vendor's code or type of the error, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
}

impl AccountRefusalView {
    fn of(((group, account), answers): (AccountName, AccountAnswers)) -> Option<Self> {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        Some(Self {
            group,
            account,
            since: moment(answers.refused_since()?),
            at: moment(answers.refused.1),
            fault: some(answers.refusal.fault),
            status: answers.refusal.status,
            code: some(answers.refusal.code),
        })
    }

    /// The meaning of the latest refusal, in words.
    pub(crate) fn words(&self) -> String {
        let why = translated(meaning(self.fault.as_deref(), self.status));
        match &self.code {
            Some(code) => format!("{why} ({}, {code})", self.status),
            None => format!("{why} ({})", self.status),
        }
    }
}

/// The meaning of a refusal by its fault, or by its status.
fn meaning(fault: Option<&str>, status: i64) -> &'static str {
    let by_status = match status {
        401 => text!("credential refused"),
        402 => text!("no credit"),
        _ => text!("not allowed"),
    };
    fault.and_then(vendor_error::fault).unwrap_or(by_status)
}

/// The accounts whose latest answers are refusals, in the order of their groups and ids; also those that no document has any more.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
) -> Result<ItemPage<AccountRefusalView>, ApiProblem> {
    caller.must(rights::SEE_CREDENTIALS)?;
    let mut transaction = state.store.read().await?;
    let refused = account_answers::refused(&mut transaction).await?;
    transaction.rollback().await;
    Ok(ItemPage {
        items: refused
            .into_iter()
            .filter_map(AccountRefusalView::of)
            .collect(),
        next: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_refusal_means() {
        for (fault, status, want) in [
            (Some("no_credit"), 400, "no credit"),
            (Some("dead_key"), 400, "credential refused"),
            (Some("region"), 403, "region not served"),
            (Some("suspended"), 401, "account closed"),
            (Some("moonlight"), 402, "no credit"),
            (None, 401, "credential refused"),
            (None, 402, "no credit"),
            (None, 403, "not allowed"),
        ] {
            assert_eq!(meaning(fault, status), want, "{fault:?} {status}");
        }
    }
}
