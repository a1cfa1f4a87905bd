//! Whether requests of a key fail now, from its latest ones: the last of each model decides for that model.

use std::collections::BTreeSet;

use super::failure::{self, FailedRequest, FailureAge};
use crate::explain::LedgerLine;
use crate::timestamp;

/// The age up to which requests are evidence of the present state, in seconds.
pub const WINDOW: i64 = 15 * 60;
/// The most requests that are looked at.
pub const MOST: u16 = 20;
/// For how long what drains by the minute is the reason, in seconds.
const MINUTE: i64 = 60;

/// The evidence of a key's latest requests: whether and why they fail.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RecentRequests {
    /// The latest failure that still says something, with its model.
    pub failing: Option<(Option<String>, FailedRequest)>,
    /// Whether requests of other models succeed.
    pub others_succeed: bool,
    /// Whether there was one at all.
    pub any: bool,
}

/// Summarizes requests, given latest first. `again` tells whether the gateway would reject one again.
pub fn read(
    lines: &[LedgerLine],
    now: i64,
    mut again: impl FnMut(&LedgerLine) -> bool,
) -> RecentRequests {
    let mut found = RecentRequests::default();
    let mut decided: BTreeSet<&str> = BTreeSet::new();
    let mut succeeds = false;
    for line in lines {
        let outcome = line.text("trilane.outcome");
        // What the gateway answers itself, and what a client breaks off, says nothing of models.
        if matches!(outcome, Some("answered" | "client_abort")) {
            continue;
        }
        found.any = true;
        let named = line.text("trilane.model");
        let model = named.or_else(|| line.text("gen_ai.request.model"));
        let is_first = match model {
            Some(model) => decided.insert(model),
            // What fails before its model is known is over once anything succeeds.
            None => !succeeds && found.failing.is_none(),
        };
        let Some(failed) = failure::of(line) else {
            succeeds = true;
            found.others_succeed |= is_first;
            continue;
        };
        let at = line.text("timestamp").and_then(timestamp::parse);
        let age = at.map_or(0, |at| now.saturating_sub(at.unix_timestamp()));
        let is_present = match failed.lasts {
            FailureAge::Minute => age <= MINUTE,
            FailureAge::Decision => again(line),
            FailureAge::Success => true,
        };
        if is_first && is_present && found.failing.is_none() {
            found.failing = Some((model.map(str::to_owned), failed));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: &str = "2026-11-25T10:15:00Z";

    fn line(seconds: i64, model: Option<&str>, more: Value) -> LedgerLine {
        let now = timestamp::parse(NOW).unwrap().unix_timestamp();
        let mut members = json!({"timestamp": timestamp::unix_text(now - seconds), "trilane.model": model,
            "http.response.status_code": 200, "trilane.outcome": "finished"});
        let all = members.as_object_mut().unwrap();
        all.extend(more.as_object().unwrap().clone());
        LedgerLine::of(all.clone())
    }

    #[test]
    fn what_the_latest_requests_say() {
        let good = |seconds, model| line(seconds, Some(model), json!({}));
        let down = |seconds, model| {
            line(
                seconds,
                Some(model),
                json!({"trilane.outcome": "upstream_failed", "http.response.status_code": 502}),
            )
        };
        let limited = |seconds, model| {
            line(
                seconds,
                Some(model),
                json!({"trilane.outcome": "refused", "error.type": "rate_limit_exceeded"}),
            )
        };
        let unknown = |seconds, model: Option<&str>| {
            line(
                seconds,
                model,
                json!({"trilane.outcome": "refused", "error.type": "model_not_found"}),
            )
        };
        let left = |seconds, model| {
            line(
                seconds,
                Some(model),
                json!({"trilane.outcome": "client_abort"}),
            )
        };
        // (case, lines, whether the gateway decides so again, the model that fails, whether others succeed)
        type Case<'a> = (&'a str, Vec<LedgerLine>, bool, Option<&'a str>, bool);
        let cases: [Case<'_>; 13] = [
            ("nothing", vec![], true, None, false),
            (
                "all is well",
                vec![good(1, "m"), good(2, "n")],
                true,
                None,
                true,
            ),
            (
                "it fails",
                vec![down(1, "m"), down(2, "m")],
                true,
                Some("m"),
                false,
            ),
            (
                "it has failed",
                vec![good(1, "m"), down(2, "m")],
                true,
                None,
                true,
            ),
            (
                "one of two",
                vec![good(1, "m"), down(2, "n")],
                true,
                Some("n"),
                true,
            ),
            (
                "it has begun to fail",
                vec![down(1, "m"), good(2, "m")],
                true,
                Some("m"),
                false,
            ),
            ("a limit", vec![limited(5, "m")], true, Some("m"), false),
            (
                "a limit, a while ago",
                vec![limited(300, "m")],
                true,
                None,
                false,
            ),
            (
                "a decision",
                vec![unknown(300, Some("x"))],
                true,
                Some("x"),
                false,
            ),
            (
                "a decision that is another by now",
                vec![unknown(300, Some("x"))],
                false,
                None,
                false,
            ),
            (
                "before its model was known",
                vec![unknown(1, None), good(2, "m")],
                true,
                Some(""),
                true,
            ),
            (
                "the same, and one that went well since",
                vec![good(1, "m"), unknown(2, None)],
                true,
                None,
                true,
            ),
            (
                "a client that left",
                vec![left(1, "m"), down(2, "m")],
                true,
                Some("m"),
                false,
            ),
        ];
        let now = timestamp::parse(NOW).unwrap().unix_timestamp();
        for (case, lines, again, model, others) in cases {
            let found = read(&lines, now, |_| again);
            let failing = found.failing.map(|(model, _)| model.unwrap_or_default());
            assert_eq!(failing.as_deref(), model, "{case}");
            assert_eq!(found.others_succeed, others, "{case}");
        }
    }
}
