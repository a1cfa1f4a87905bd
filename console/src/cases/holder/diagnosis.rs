//! The diagnosis of failing requests of a key, in one line.

use serde::Serialize;
use trilane::config::Document;
use trilane::limits::SubjectKind;
use utoipa::ToSchema;

use super::binding::{RemainingBudget, RemainingSubject};
use super::recent::RecentRequests;
use crate::cases::key_models;
use crate::language;
use crate::store::keys::StoredKey;
use crate::text;

/// Whether requests of a key are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestsState {
    /// Nothing is known to be in their way.
    Served,
    /// Those of some models fail.
    SomeFail,
    /// All requests fail.
    Fail,
}

/// The reason that requests fail now, if they do: by the key, the document in force, what is left of budgets, and the requests of
/// the last 15 minutes.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Diagnosis {
    /// Whether requests are served.
    pub(crate) state: RequestsState,
    /// The reason that requests fail: `disabled`, `expired`, `no_document`, `no_group`, `no_models`, `budget_spent`, `limit_reached`,
    /// `upstream_quota`, `no_account`, `vendor_error`, `broken_off`, `gateway_not_ready` or `refused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub(crate) reason: Option<&'static str>,
    /// The same for people, in one sentence.
    pub(crate) text: String,
    /// The advice what to do about it, in one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub(crate) advice: Option<&'static str>,
    /// The time at which a spent budget begins anew, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) renews_at: Option<String>,
}

fn failing(reason: &'static str, text: impl Into<String>, advice: &'static str) -> Diagnosis {
    Diagnosis {
        state: RequestsState::Fail,
        reason: Some(reason),
        text: text.into(),
        advice: Some(advice),
        renews_at: None,
    }
}

/// Diagnoses a fault of the key or of the document in force that affects every request; `now` has the form of `expires_at`.
pub(super) fn of_key(key: &StoredKey, document: Option<&Document>, now: &str) -> Option<Diagnosis> {
    if key.disabled {
        let advice = text!("Use another key, or ask an admin to enable it.");
        return Some(failing("disabled", t!("The key is disabled."), advice));
    }
    if let Some(end) = key.expires_at.as_deref().filter(|end| *end <= now) {
        let expired = t!("The key has expired at {at}.", at = text::utc(end));
        let advice = text!("Use another key, or ask an admin for a later end.");
        return Some(failing("expired", expired, advice));
    }
    let Some(document) = document else {
        let text = t!("No configuration is published yet: gateways serve nothing.");
        let advice = text!("An admin has to publish one.");
        return Some(failing("no_document", text, advice));
    };
    let Some(models) = key_models::allowed(document, key) else {
        let text = t!(
            "The key's group {group} is not in force.",
            group = key.group_id
        );
        let advice = text!("Ask an admin for a key of another group.");
        return Some(failing("no_group", text, advice));
    };
    if models.is_empty() {
        let text = t!(
            "The group {group} has none of the models that the key may use.",
            group = key.group_id
        );
        let advice = text!("Ask an admin for a key with other models.");
        return Some(failing("no_models", text, advice));
    }
    None
}

/// The budget that is spent. Of several the one that begins anew last.
pub(super) fn of_budgets(subjects: &[RemainingSubject], currency: &str) -> Option<Diagnosis> {
    let budgets = subjects
        .iter()
        .flat_map(|subject| subject.budgets.iter().map(move |budget| (subject, budget)));
    let spent = budgets.filter(|(_, budget)| budget.exhausted);
    // The first of equals: that of the key before that of its owner.
    let (subject, budget) = spent.reduce(|last, next| {
        if next.1.renews_at > last.1.renews_at {
            next
        } else {
            last
        }
    })?;
    let RemainingBudget {
        window,
        allowed,
        used,
        renews_at,
        ..
    } = budget;
    let whose = match subject.kind {
        SubjectKind::Key => t!("the key"),
        SubjectKind::Member => t!("the key's owner in the team"),
        SubjectKind::Owner => t!("the key's owner"),
        SubjectKind::Team => t!("the key's team"),
        SubjectKind::Group => t!("the key's group"),
    };
    // The line is for who holds the key.
    let amounts = match (used, allowed) {
        (Some(used), Some(allowed)) if !subject.is_shared() => {
            let rounded = |exact: &String| text::amount(currency, &text::rounded(exact, 2));
            Some([used, allowed].map(rounded))
        }
        _ => None,
    };
    let spent = match (*window, amounts) {
        ("day", None) => t!("Today's budget of {whose} is spent.", whose = whose),
        ("day", Some([used, allowed])) => t!(
            "Today's budget of {whose} is spent: {used} of {allowed}.",
            whose = whose,
            used = used,
            allowed = allowed
        ),
        (_, None) => t!("This month's budget of {whose} is spent.", whose = whose),
        (_, Some([used, allowed])) => t!(
            "This month's budget of {whose} is spent: {used} of {allowed}.",
            whose = whose,
            used = used,
            allowed = allowed
        ),
    };
    let anew = t!("It begins anew at {at}.", at = text::utc(renews_at));
    let text = format!("{spent}{}{anew}", language::gap());
    Some(Diagnosis {
        renews_at: Some(renews_at.clone()),
        ..failing(
            "budget_spent",
            text,
            text!("Wait until then, or ask an admin for a larger budget."),
        )
    })
}

/// Diagnoses a key by its latest requests.
pub(super) fn of_requests(recent: RecentRequests) -> Diagnosis {
    let Some((model, failed)) = recent.failing else {
        let text = if recent.any {
            t!("Requests are served.")
        } else {
            t!("Nothing is known to be in the way; there was no request in the last 15 minutes.")
        };
        return Diagnosis {
            state: RequestsState::Served,
            reason: None,
            text: text.into_owned(),
            advice: None,
            renews_at: None,
        };
    };
    let text = match model {
        Some(model) => t!(
            "Requests for {model} fail: {why}",
            model = model,
            why = clause(&failed.text)
        ),
        None => failed.text,
    };
    Diagnosis {
        state: if recent.others_succeed {
            RequestsState::SomeFail
        } else {
            RequestsState::Fail
        },
        ..failing(failed.reason, text, failed.advice)
    }
}

/// A sentence behind a colon.
fn clause(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|first| first.to_lowercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}
