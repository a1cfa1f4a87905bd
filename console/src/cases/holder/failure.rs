//! The reason that one request failed, from its ledger line, as the holder of the key needs to know it: without names of accounts.

use std::collections::BTreeSet;

use serde_json::Value;
use trilane::ledger::AttemptFailure;
use trilane::limits::SubjectKind;

use crate::explain::{LedgerLine, cause_of, failure};
use crate::language::translated;

/// The failure of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRequest {
    /// For programs.
    pub reason: &'static str,
    /// For people: a sentence.
    pub text: String,
    /// The advice what to do about it: a sentence.
    pub advice: &'static str,
    /// For how long it says something of the present.
    pub lasts: FailureAge,
}

/// For how long a failure says something of the present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureAge {
    /// For a minute: what was used up drains.
    Minute,
    /// Until the gateway's own code decides otherwise.
    Decision,
    /// Until a request succeeds.
    Success,
}

/// Finds the reason that a request failed; `None`: it did not, or its client broke it off.
pub fn of(line: &LedgerLine) -> Option<FailedRequest> {
    let status = line.number("http.response.status_code").unwrap_or(0);
    let failed = |reason, text: String, lasts| {
        Some(FailedRequest {
            reason,
            text,
            advice: advice(reason, line.text("error.type")),
            lasts,
        })
    };
    match line.text("trilane.outcome") {
        Some("refused") => return refused(line),
        Some("finished" | "answered" | "client_abort") => return None,
        Some("upstream_failed" | "upstream_error") => {}
        Some(_) | None => {
            let why = sentence(&translated(cause_of(line)?.why));
            return failed("broken_off", why, FailureAge::Success);
        }
    }
    let attempts = attempts(line);
    let (reason, text) = match attempts.iter().copied().collect::<Vec<_>>().as_slice() {
        [] if line.text("trilane.outcome") == Some("upstream_failed") => (
            "no_account",
            sentence(&t!("no upstream account could answer")),
        ),
        [] => (
            "vendor_error",
            t!(
                "The vendor answered with an error of its own ({status}), which the client got.",
                status = status
            ),
        ),
        ["rate_limited"] => (
            "upstream_quota",
            sentence(&t!(
                "the upstream account has reached its vendor's limit, or its quota is spent"
            )),
        ),
        ["balance"] => (
            "upstream_quota",
            sentence(&t!("the quota or balance of the upstream account is spent")),
        ),
        ["no_credential"] => (
            "no_account",
            sentence(&t!("no upstream account has a credential")),
        ),
        ["unauthorized"] => (
            "no_account",
            sentence(&t!(
                "the vendor refuses the credential of the upstream account, or its balance is spent"
            )),
        ),
        kinds => {
            let is_quota = |kind: &&str| ["rate_limited", "balance"].contains(kind);
            let all = kinds
                .iter()
                .map(|kind| t!("one {what}", what = translated(meaning(kind))));
            let all: Vec<String> = all.collect();
            let reason = if kinds.iter().any(is_quota) {
                "upstream_quota"
            } else {
                "no_account"
            };
            let each = all.join(", ");
            (
                reason,
                t!("No upstream account serves it: {each}.", each = each),
            )
        }
    };
    failed(reason, text, FailureAge::Success)
}

/// A balance that is used up has a status of its own; the rest is in the ledger's words.
fn meaning(kind: &str) -> &str {
    match kind {
        "balance" => text!("has no balance or quota left"),
        kind => failure(kind),
    }
}

/// Collects the kinds of the failed attempts, each once.
fn attempts(line: &LedgerLine) -> BTreeSet<&str> {
    let kind = |attempt: &'_ Value| match attempt["status"].as_u64() {
        Some(402) => Some("balance"),
        _ => name(AttemptFailure::named(attempt["kind"].as_str()?)?),
    };
    let failed = line.list("trilane.tries.failed").iter();
    let mut kinds: BTreeSet<&str> = failed.filter_map(kind).collect();
    // Where there is one account its own response is the client's.
    let is_relayed = line.text("trilane.outcome") == Some("upstream_error");
    let answered = line
        .number("http.response.status_code")
        .filter(|_| is_relayed);
    let status = line.number("trilane.upstream_status").or(answered);
    if kinds.is_empty() {
        kinds.extend(status.and_then(|status| match status {
            402 => Some("balance"),
            300..=399 => None,
            status => name(AttemptFailure::of_status(u16::try_from(status).ok()?)),
        }));
    }
    kinds
}

/// The name of a failure that is the account's.
fn name(kind: AttemptFailure) -> Option<&'static str> {
    (kind != AttemptFailure::Request).then(|| kind.name())
}

fn refused(line: &LedgerLine) -> Option<FailedRequest> {
    let code = line.text("error.type")?;
    let (reason, text, lasts) = match code {
        "rate_limit_exceeded" => {
            let limit = match line.text("trilane.limit") {
                Some("requests") => t!("the limit on requests a minute"),
                Some("input_tokens") => t!("the limit on input tokens a minute"),
                Some("output_tokens") => t!("the limit on output tokens a minute"),
                Some("concurrent_requests") => t!("the limit on requests at once"),
                Some("reserved_budget_per_day" | "reserved_budget_per_month") => {
                    t!("what other requests have left of the budget")
                }
                _ => t!("a limit"),
            };
            let scope = line.text("trilane.limit.scope");
            let whose = match scope.and_then(SubjectKind::named) {
                Some(SubjectKind::Member) => t!("the owner in the team"),
                Some(SubjectKind::Owner) => t!("the owner"),
                Some(SubjectKind::Team) => t!("the team"),
                Some(SubjectKind::Group) => t!("the group"),
                Some(SubjectKind::Key) | None => t!("the key"),
            };
            let text = t!(
                "{limit} of {whose} is used up",
                limit = limit,
                whose = whose
            );
            ("limit_reached", sentence(&text), FailureAge::Minute)
        }
        "insufficient_quota" => (
            "budget_spent",
            sentence(&t!("a budget was spent a moment ago")),
            FailureAge::Minute,
        ),
        "server_is_overloaded" | "ledger_unwritable" => (
            "gateway_not_ready",
            sentence(&translated(cause_of(line)?.why)),
            FailureAge::Minute,
        ),
        "invalid_api_key"
        | "protocol_not_allowed"
        | "model_not_found"
        | "model_not_entitled"
        | "model_not_priced"
        | "model_above_multiplier"
        | "address_not_allowed"
        | "images_not_supported"
        | "count_tokens_not_supported"
        | "caches_not_supported"
        | "not_found"
        | "method_not_allowed" => (
            "refused",
            sentence(&translated(cause_of(line)?.why)),
            FailureAge::Decision,
        ),
        _ => (
            "refused",
            sentence(&translated(cause_of(line)?.why)),
            FailureAge::Success,
        ),
    };
    Some(FailedRequest {
        reason,
        text,
        advice: advice(reason, Some(code)),
        lasts,
    })
}

/// Says what the holder of the key can do about a failure of this reason, and of this error code.
fn advice(reason: &str, code: Option<&str>) -> &'static str {
    match (reason, code) {
        ("upstream_quota", _) => {
            text!("Your key is fine: wait, or use another model; an admin can add an account.")
        }
        ("no_account", _) => text!("Your key is fine: tell an admin, or use another model."),
        ("vendor_error", _) => {
            text!("Your client has the vendor's own words: the request may have to be another one.")
        }
        ("limit_reached", _) => text!("Wait a moment, or send less at once."),
        ("budget_spent" | "broken_off", _) => text!("Send it again."),
        ("gateway_not_ready", _) => text!("Wait a moment, and send it again."),
        (_, Some("model_not_found" | "model_not_entitled")) => {
            text!("Use one of the key's models.")
        }
        (_, Some("model_not_priced")) => {
            text!("Use another model, or ask an admin to give this one a price.")
        }
        (_, Some("model_above_multiplier")) => {
            text!("Use another model, or ask an admin for a key that may pay more.")
        }
        (_, Some("protocol_not_allowed")) => {
            text!("Use a client of the API style that the key's group serves.")
        }
        (_, Some("address_not_allowed")) => {
            text!("Send it from an address that is allowed, or ask an admin to allow this one.")
        }
        (_, Some("invalid_api_key")) => {
            text!("Send the key's present value in the header of its API style.")
        }
        _ => text!("Change the request, or the client's settings: it would be refused again."),
    }
}

/// A clause with a capital letter and a full stop.
fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    let clause = format!("{}{}", first.unwrap_or_default(), letters.as_str());
    t!("{clause}.", clause = clause)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn why(members: Value) -> Option<(&'static str, String)> {
        let Value::Object(members) = members else {
            panic!("an object");
        };
        of(&LedgerLine::of(members)).map(|failed| (failed.reason, failed.text))
    }

    #[test]
    fn why_requests_failed() {
        let tried = |kinds: &[(&str, u16)]| {
            let each = kinds.iter().map(
                |(kind, status)| json!({"account": "secret-name", "kind": kind, "status": status}),
            );
            json!({"trilane.outcome": "upstream_failed", "http.response.status_code": 502, "trilane.tries.failed": each.collect::<Vec<_>>()})
        };
        let relayed = |status: u16| json!({"trilane.outcome": "upstream_error", "http.response.status_code": status});
        let refused = |code: &str| {
            json!({"trilane.outcome": "refused", "http.response.status_code": 400, "error.type": code,
            "trilane.key.id": "k", "trilane.limit": "concurrent_requests", "trilane.limit.scope": "team"})
        };
        for (case, line, want) in [
            (
                "a success",
                json!({"trilane.outcome": "finished", "http.response.status_code": 200}),
                None,
            ),
            (
                "a list",
                json!({"trilane.outcome": "answered", "http.response.status_code": 200}),
                None,
            ),
            (
                "the client left",
                json!({"trilane.outcome": "client_abort", "http.response.status_code": 0}),
                None,
            ),
            (
                "an account at its limit",
                tried(&[("rate_limited", 429)]),
                Some(("upstream_quota", "quota is spent")),
            ),
            (
                "all at their limits",
                tried(&[("rate_limited", 429), ("rate_limited", 429)]),
                Some(("upstream_quota", "quota is spent")),
            ),
            (
                "no balance",
                tried(&[("unauthorized", 402)]),
                Some(("upstream_quota", "balance of the upstream account is spent")),
            ),
            (
                "a limit and a broken line",
                tried(&[("rate_limited", 429), ("connection", 0)]),
                Some(("upstream_quota", "one could not be reached")),
            ),
            (
                "no credential",
                tried(&[("no_credential", 0)]),
                Some(("no_account", "has a credential")),
            ),
            (
                "a refused credential",
                tried(&[("unauthorized", 401)]),
                Some(("no_account", "refuses the credential")),
            ),
            (
                "unreachable",
                tried(&[("connection", 0)]),
                Some(("no_account", "could not be reached")),
            ),
            (
                "a kind of another release",
                tried(&[("moonlight", 0)]),
                Some(("no_account", "No upstream account could answer")),
            ),
            (
                "the only account's own limit",
                relayed(429),
                Some(("upstream_quota", "quota is spent")),
            ),
            (
                "the only account's balance",
                relayed(402),
                Some(("upstream_quota", "balance")),
            ),
            (
                "the vendor's own words",
                relayed(400),
                Some(("vendor_error", "(400)")),
            ),
            (
                "broken off",
                json!({"trilane.outcome": "upstream_reset", "http.response.status_code": 200}),
                Some(("broken_off", "ended the answer")),
            ),
            (
                "a limit",
                refused("rate_limit_exceeded"),
                Some(("limit_reached", "requests at once of the team is used up.")),
            ),
            (
                "a model",
                refused("model_not_found"),
                Some(("refused", "no model of this name")),
            ),
            (
                "a body",
                refused("invalid_body"),
                Some(("refused", "no JSON object")),
            ),
        ] {
            let got = why(line);
            let reason = got.as_ref().map(|(reason, _)| *reason);
            assert_eq!(reason, want.map(|(reason, _)| reason), "{case}: {got:?}");
            if let (Some((_, text)), Some((_, part))) = (got, want) {
                assert!(
                    text.contains(part) && text.ends_with('.') && !text.contains("secret-name"),
                    "{case}: {text}"
                );
                assert!(text.starts_with(char::is_uppercase), "{case}: {text}");
            }
        }
    }
}
