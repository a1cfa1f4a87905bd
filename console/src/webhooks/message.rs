//! Messages: the facts as JSON, and what happened as a sentence for people.

use serde_json::{Map, Value, json};
use time::OffsetDateTime;

use crate::language::{Language, translated};
use crate::secret;
use crate::store::StoreError;
use crate::store::webhooks::NewMessage;
use crate::timestamp;

/// The type of a message that only shows that messages arrive.
pub const TEST: &str = "notice.test";

/// Creates a message of this type, with these facts and a sentence in this language.
///
/// # Errors
/// The system gives no randomness.
pub fn new(
    language: Language,
    of_type: &str,
    facts: &[(&str, Value)],
    now: OffsetDateTime,
) -> Result<NewMessage, StoreError> {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let fact = |name: &str| {
        let found = facts.iter().find(|(of, _)| *of == name);
        found.map(|(_, value)| text(value)).unwrap_or_default()
    };
    let sentence = language.write(|| sentence(of_type, fact));
    of(of_type, &sentence, facts, now)
}

/// Creates a message of this type, with this sentence for people and these facts.
///
/// # Errors
/// The system gives no randomness.
pub fn of(
    of_type: &str,
    sentence: &str,
    facts: &[(&str, Value)],
    now: OffsetDateTime,
) -> Result<NewMessage, StoreError> {
    let id = format!("event_{}", secret::new_id().map_err(StoreError::Value)?);
    let head = [
        ("id", json!(id)),
        ("type", json!(of_type)),
        ("at", json!(timestamp::text(now))),
        ("text", json!(sentence)),
    ];
    let all = head.iter().chain(facts);
    let body: Map<String, Value> = all
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    Ok(NewMessage {
        id,
        body: Value::Object(body).to_string(),
    })
}

/// Says what happened, in a line for people.
fn sentence(of_type: &str, fact: impl Fn(&str) -> String) -> String {
    let account = || format!("{}/{}", fact("group"), fact("account"));
    let line = match of_type {
        "budget.threshold" => {
            let currency = fact("currency");
            let period = fact("period");
            // A day, 2026-11-25, is longer than a month, 2026-11.
            let (kind, subject, percent) = (fact("kind"), fact("subject"), fact("threshold"));
            let kind = translated(&kind);
            let budget = money(&fact("budget"), &currency);
            let spent = money(&fact("spent"), &currency);
            if period.len() > 7 {
                t!(
                    "Budget of {kind} {subject}: {percent} % of {budget} a day are spent ({spent} on {period}).",
                    kind = kind,
                    subject = subject,
                    percent = percent,
                    budget = budget,
                    spent = spent,
                    period = period
                )
            } else {
                t!(
                    "Budget of {kind} {subject}: {percent} % of {budget} a month are spent ({spent} in {period}).",
                    kind = kind,
                    subject = subject,
                    percent = percent,
                    budget = budget,
                    spent = spent,
                    period = period
                )
            }
        }
        "envoy.not_seen" => t!(
            "Envoy {name} has not been seen since {moment}.",
            name = fact("name"),
            moment = minute(&fact("seen_at"))
        ),
        "account.no_credential" if fact("reason") == "unreadable" => t!(
            "Account {account} has no credential: {credential} cannot be opened, because the key that sealed it is missing.",
            account = account(),
            credential = fact("credential")
        ),
        "account.no_credential" => t!(
            "Account {account} has no credential: the console does not keep {credential}.",
            account = account(),
            credential = fact("credential")
        ),
        "account.refused" => {
            let reason = match fact("fault").as_str() {
                "no_credit" => t!("its credit is used up"),
                "dead_key" => t!("its credential is not valid any more"),
                "region" => t!("it is not served in this region"),
                "suspended" => t!("it is suspended"),
                _ => format!("status {} {}", fact("status"), fact("code"))
                    .trim_end()
                    .to_owned()
                    .into(),
            };
            t!(
                "The vendor has refused account {account} since {moment}: {reason}.",
                account = account(),
                moment = minute(&fact("since")),
                reason = reason
            )
        }
        TEST => t!("This is a test: notices of your trilane console arrive here.").into_owned(),
        other => other.to_owned(),
    };
    // Names are texts of people: none of them begins a line.
    line.replace(char::is_control, " ")
}

fn money(amount: &str, currency: &str) -> String {
    match currency {
        "USD" => format!("${amount}"),
        other => format!("{amount} {other}"),
    }
}

/// The minute of a time in RFC 3339: `2026-11-25 10:15 UTC`.
fn minute(at: &str) -> String {
    let minute = at.get(..16).unwrap_or(at);
    format!("{} UTC", minute.replace('T', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences() {
        let budget = json!({"kind": "key", "subject": "ci-bot", "period": "2026-11-25", "threshold": 80, "spent": "40.25", "budget": "50", "currency": "USD"});
        let month = json!({"kind": "owner", "subject": "ann", "period": "2026-11", "threshold": 100, "spent": "51", "budget": "50", "currency": "EUR"});
        let away = json!({"envoy": "edge-1", "name": "Edge\n1", "seen_at": "2026-11-25T10:10:21Z"});
        let lost = json!({"group": "g", "account": "a", "credential": "c", "reason": "unreadable"});
        let none = json!({"group": "g", "account": "a", "credential": "c", "reason": "not_kept"});
        let credit = json!({"group": "g", "account": "a", "since": "2026-11-25T10:10:21Z", "status": 400, "fault": "no_credit"});
        let other =
            json!({"group": "g", "account": "a", "since": "2026-11-25T10:10:21Z", "status": 403});
        for (of_type, facts, want) in [
            (
                "budget.threshold",
                budget,
                "Budget of key ci-bot: 80 % of $50 a day are spent ($40.25 on 2026-11-25).",
            ),
            (
                "budget.threshold",
                month,
                "Budget of owner ann: 100 % of 50 EUR a month are spent (51 EUR in 2026-11).",
            ),
            (
                "envoy.not_seen",
                away,
                "Envoy Edge 1 has not been seen since 2026-11-25 10:10 UTC.",
            ),
            (
                "account.no_credential",
                lost,
                "Account g/a has no credential: c cannot be opened, because the key that sealed it is missing.",
            ),
            (
                "account.no_credential",
                none,
                "Account g/a has no credential: the console does not keep c.",
            ),
            (
                "account.refused",
                credit,
                "The vendor has refused account g/a since 2026-11-25 10:10 UTC: its credit is used up.",
            ),
            (
                "account.refused",
                other,
                "The vendor has refused account g/a since 2026-11-25 10:10 UTC: status 403.",
            ),
            (
                TEST,
                json!({}),
                "This is a test: notices of your trilane console arrive here.",
            ),
        ] {
            let facts: Vec<(&str, Value)> = facts
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone()))
                .collect();
            let message = new(
                Language::ENGLISH,
                of_type,
                &facts,
                OffsetDateTime::UNIX_EPOCH,
            )
            .unwrap();
            let body: Value = serde_json::from_str(&message.body).unwrap();
            assert_eq!(body["text"], want);
        }
    }
}
