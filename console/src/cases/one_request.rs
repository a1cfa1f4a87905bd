//! One request: what happened, what it cost and why, and what would happen to it now.

use serde::Serialize;
use trilane::config::document::KeyDocument;
use trilane::config::{Compiled, Document, compile};
use trilane::keys::KeyRecord;
use utoipa::ToSchema;

use super::caller::Caller;
use super::keys::key_document;
use super::problem::ApiProblem;
use super::requests::{RequestView, view, without_cost};
use super::rights;
use super::state::ConsoleState;
use crate::explain::{ExplainedPart, Explanation, ItemizedCharge, LedgerLine, PastRequest, again};
use crate::store::documents::{self, PublishedDocument};
use crate::store::keys::{self, StoredKey};
use crate::store::requests::{self, RequestPlace};

/// A request with its explanation, by the code of `trilane explain`.
#[derive(Debug, Serialize, ToSchema)]
pub struct RequestDetail {
    #[serde(flatten)]
    pub(crate) request: RequestView,
    /// The course of the request in words: the sender, the request, the decision, the accounts tried, the end and its reason.
    pub(crate) parts: Vec<ExplainedPart>,
    /// The itemized charge. Absent if nothing was charged, or the prices are no longer known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bill: Option<ItemizedCharge>,
    /// The version of the document that `bill` has its prices from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bill_by: Option<i64>,
    /// The decision that the gateway would make now, with the document in force and the current key.
    #[schema(value_type = Object)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) now: Option<Explanation>,
    /// The reason that the decision of now is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) not_now: Option<&'static str>,
}

/// One request. Members see their own, managers those of their teams.
pub async fn get(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
) -> Result<RequestDetail, ApiProblem> {
    caller.must(rights::SEE_REQUESTS)?;
    let place = RequestPlace::parse(id).ok_or_else(ApiProblem::not_found)?;
    let mut transaction = state.store.read().await?;
    let found = requests::at(&mut transaction, &place).await?;
    let found = found.filter(|found| sees(caller, found));
    let found = found.ok_or_else(ApiProblem::not_found)?;
    let key = keys::find(&mut transaction, &found.key_id).await?;
    let current = documents::current(&mut transaction).await?;
    let then = documents::at(&mut transaction, found.at).await?;
    transaction.rollback().await;
    let may_see_upstream = caller.only_owner().is_none();
    let found = if may_see_upstream {
        found
    } else {
        without_cost(found)
    };
    Ok(explain(found, key, current, then, may_see_upstream))
}

/// Whether a caller sees a request: all of them, its own, or one of a team that it manages.
pub(super) fn sees(caller: &Caller, found: &requests::StoredRequest) -> bool {
    let line = LedgerLine::parse(found.line.as_bytes());
    let text = |name: &str| line.as_ref().and_then(|line| line.text(name));
    let only = caller.only_owner_in(text("trilane.key.team"));
    only.is_none_or(|only| text("trilane.key.owner") == Some(only))
}

fn explain(
    found: requests::StoredRequest,
    key: Option<StoredKey>,
    current: Option<PublishedDocument>,
    then: Option<PublishedDocument>,
    may_see_upstream: bool,
) -> RequestDetail {
    let Some(line) = LedgerLine::parse(found.line.as_bytes()) else {
        return RequestDetail {
            request: view(found),
            parts: Vec::new(),
            bill: None,
            bill_by: None,
            now: None,
            not_now: Some(text!("Its line cannot be read any more.")),
        };
    };
    // Which version it was charged by is not in the line: the one of its time, or a gateway had the newest already.
    let then = then.filter(|then| Some(then.version) != current.as_ref().map(|of| of.version));
    let versions: Vec<(i64, Compiled)> = [then.as_ref(), current.as_ref()]
        .into_iter()
        .flatten()
        .filter_map(|document| Some((document.version, compiled(document, None)?)))
        .collect();
    let explained = |place: &(i64, Compiled)| (place.0, PastRequest::new(&line, Some(&place.1)));
    let is_exact = |past: &PastRequest<'_>| past.bill.as_ref().is_some_and(|bill| bill.as_charged);
    let mut all: Vec<(i64, PastRequest<'_>)> = versions.iter().map(explained).collect();
    let exact = all.iter().position(|(_, past)| is_exact(past));
    let (bill_by, past) = match exact.or_else(|| all.len().checked_sub(1)) {
        Some(place) => {
            let (version, past) = all.swap_remove(place);
            (Some(version), past)
        }
        None => (None, PastRequest::new(&line, None)),
    };
    let now = now(&line, key.as_ref(), current.as_ref());
    let (now, not_now) = match now {
        Ok(mut explanation) => {
            if !may_see_upstream {
                explanation.upstream = None;
            }
            (Some(explanation), None)
        }
        Err(why) => (None, Some(why)),
    };
    // Whether the key is good now is said by the key itself, which is in the database and in no document.
    let parts = past.parts.into_iter().filter(|part| part.part != "now");
    let (parts, bill) = (parts.collect(), past.bill);
    RequestDetail {
        parts,
        bill_by: bill_by.filter(|_| bill.is_some()),
        bill,
        now,
        not_now,
        request: view(found),
    }
}

/// Explains what the gateway would do now with the request of a ledger line.
///
/// # Errors
/// The reason that the decision of now is not known.
pub(super) fn now(
    line: &LedgerLine,
    key: Option<&StoredKey>,
    current: Option<&PublishedDocument>,
) -> Result<Explanation, &'static str> {
    if line.text("trilane.key.id").is_none() {
        return Err(text!("The line names no key."));
    }
    let key = key.ok_or(text!(
        "The key was removed: the same request would get 401."
    ))?;
    let current = current.ok_or(text!("No document is published."))?;
    let none =
        text!("The key does not go with the document in force: its group may be gone from it.");
    let mut compiled = compiled(current, Some(key)).ok_or(none)?;
    let keys = core::mem::take(&mut compiled.keys);
    let record: Option<KeyRecord> = keys.into_iter().map(|(_, record)| record).next();
    again(line, compiled, record.ok_or(none)?)
}

/// A version, with this key and no other.
fn compiled(document: &PublishedDocument, key: Option<&StoredKey>) -> Option<Compiled> {
    let mut parsed = Document::parse(document.served.as_bytes()).ok()?;
    let keys = key.into_iter().map(|key| {
        let disabled = Some(key.disabled);
        key_document(key).map(|written| KeyDocument {
            disabled,
            ..written
        })
    });
    parsed.keys = Some(keys.collect::<Result<_, _>>().ok()?);
    compile(&parsed).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn what_cannot_be_read_is_no_fault() {
        let found = requests::StoredRequest {
            line: "{".to_owned(),
            ..requests::StoredRequest::default()
        };
        let detail = explain(found, None, None, None, true);
        assert_eq!(detail.request.line, Value::String("{".to_owned()));
        assert!(detail.not_now.is_some());
    }
}
