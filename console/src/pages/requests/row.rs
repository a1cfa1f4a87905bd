//! A request in a line of a table.

use serde_json::Value;
use trilane::limits::SubjectKind;

use crate::cases::names::{Name, Names, WantedNames};
use crate::cases::requests::RequestView;
use crate::cases::{Caller, ConsoleState};
use crate::explain::{LedgerLine, cause_of};
use crate::language::translated;
use crate::pages::{PageProblem, ShownAmount, ledger_words, text};

/// The members of a line that name subjects.
const NAMED: [(SubjectKind, &str); 4] = [
    (SubjectKind::Key, "trilane.key.id"),
    (SubjectKind::Owner, "trilane.key.owner"),
    (SubjectKind::Team, "trilane.key.team"),
    (SubjectKind::Group, "trilane.group"),
];

/// The ledger's line of a request.
pub fn line(request: &RequestView) -> LedgerLine {
    match &request.line {
        Value::Object(members) => LedgerLine::of(members.clone()),
        _ => LedgerLine::default(),
    }
}

/// A request in a line.
pub struct RequestRow {
    /// The path of the request's page.
    pub path: String,
    /// The time at which the request began, as RFC 3339.
    pub at: String,
    /// The same as a clock shows it in UTC.
    pub clock: String,
    /// The path of the key's page, and the key.
    pub key: Option<(String, Name)>,
    /// The key's owner.
    pub owner: Option<Name>,
    /// The key's team.
    pub team: Option<Name>,
    /// The key's group.
    pub group: Option<Name>,
    /// The model.
    pub model: String,
    /// The upstream account.
    pub account: String,
    /// The kind of the ending (`good`, `warn` or `bad`), and the status with the outcome.
    pub state: (&'static str, String),
    /// The reason of a failure, in words; empty for a success.
    pub reason: String,
    /// The endpoint that was asked.
    pub endpoint: String,
    /// The client, with its version; empty where it did not say.
    pub client: String,
    /// Input and output tokens.
    pub tokens: String,
    /// The charge, if there is one.
    pub charge: ShownAmount,
    /// The time to the first byte of the response.
    pub first: String,
    /// The duration of the request; empty if the ledger line has none.
    pub took: String,
}

impl RequestRow {
    /// Those of requests.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn all(
        state: &ConsoleState,
        caller: &Caller,
        requests: &[RequestView],
    ) -> Result<Vec<Self>, PageProblem> {
        let lines: Vec<LedgerLine> = requests.iter().map(line).collect();
        let mut wanted = WantedNames::default();
        for line in &lines {
            for (kind, member) in NAMED {
                wanted.all(kind, line.text(member));
            }
        }
        let names = wanted.find(state, caller).await?;
        let rows = requests.iter().zip(&lines);
        let rows = rows.map(|(request, line)| Self::of(&request.id, line, &names));
        Ok(rows.collect())
    }

    fn of(id: &str, line: &LedgerLine, names: &Names) -> Self {
        let text_at = |name: &str| line.text(name).unwrap_or_default().to_owned();
        let at = text_at("timestamp");
        let [key, owner, team, group] =
            NAMED.map(|(kind, member)| line.text(member).map(|id| names.of(kind, id)));
        Self {
            path: path(id),
            clock: text::clock(&at),
            key: key.map(|key| (format!("/keys/{}", text::in_path(&key.id)), key)),
            owner,
            team,
            group,
            model: line
                .text("trilane.model")
                .or_else(|| line.text("gen_ai.request.model"))
                .unwrap_or_default()
                .to_owned(),
            account: text_at("trilane.account"),
            state: state(line),
            reason: reason(line),
            endpoint: text_at("trilane.endpoint").replace('_', " "),
            client: text_at("trilane.client"),
            tokens: tokens(line),
            charge: charge(line),
            first: first(line),
            took: took(line),
            at,
        }
    }
}

/// The page of a request.
pub fn path(id: &str) -> String {
    format!("/requests/{id}")
}

/// Classifies the ending of a request: good, warn or bad, and in words.
pub fn state(line: &LedgerLine) -> (&'static str, String) {
    let status = line.number("http.response.status_code").unwrap_or_default();
    let outcome = line.text("trilane.outcome").unwrap_or("before the filter");
    ending(status, outcome)
}

/// Classifies the ending of a request with this status and outcome: good, warn or bad, and in words.
pub fn ending(status: u64, outcome: &str) -> (&'static str, String) {
    let whole = matches!(outcome, "finished" | "answered");
    let kind = match status {
        200..=299 if whole => "good",
        200..=499 if status != 0 => "warn",
        _ => "bad",
    };
    let outcome = ledger_words::outcome(outcome);
    let text = match status {
        0 => t!("no answer, {outcome}", outcome = outcome),
        status => format!("{status} {outcome}"),
    };
    (kind, text)
}

/// The reason of a failure, in words; empty for a success.
fn reason(line: &LedgerLine) -> String {
    let Some(cause) = cause_of(line) else {
        return String::new();
    };
    let limit = limit(line);
    let why = translated(cause.why);
    match limit {
        Some(limit) => t!("{limit}: {reason}", limit = limit, reason = why),
        None => why.into_owned(),
    }
}

/// The limit that refused a request, in words.
pub fn limit(line: &LedgerLine) -> Option<String> {
    let scope = line.text("trilane.limit.scope").unwrap_or("key");
    Some(limit_of(line.text("trilane.limit")?, scope))
}

/// A limit in words, and what it is of: `input tokens of the key`.
fn limit_of(limit: &str, scope: &str) -> String {
    let limit = match limit {
        "requests" => t!("requests"),
        "input_tokens" => t!("input tokens"),
        "output_tokens" => t!("output tokens"),
        "concurrent_requests" => t!("concurrent requests"),
        "budget_per_day" => t!("budget per day"),
        "budget_per_month" => t!("budget per month"),
        other => other.replace('_', " ").into(),
    };
    match scope {
        "key" => t!("{limit} of the key", limit = limit),
        "owner" => t!("{limit} of the owner", limit = limit),
        "team" => t!("{limit} of the team", limit = limit),
        "member" => t!("{limit} of the member", limit = limit),
        "group" => t!("{limit} of the group", limit = limit),
        other => t!("{limit} of the {scope}", limit = limit, scope = other),
    }
}

/// Input and output tokens; empty where there are none.
pub fn tokens(line: &LedgerLine) -> String {
    let input = line.number("gen_ai.usage.input_tokens");
    let output = line.number("gen_ai.usage.output_tokens");
    if input.is_none() && output.is_none() {
        return String::new();
    }
    let [input, output] = [input, output].map(|count| text::count(count.unwrap_or_default()));
    format!("{input} / {output}")
}

/// The charge with its currency; empty where there is none.
pub fn charge(line: &LedgerLine) -> ShownAmount {
    let currency = line.text("trilane.currency").unwrap_or_default();
    line.text("trilane.charge")
        .map_or_else(ShownAmount::default, |charge| {
            ShownAmount::of(currency, charge)
        })
}

/// The time to the first byte.
pub fn first(line: &LedgerLine) -> String {
    line.number("trilane.time_to_first_byte_us")
        .map_or_else(String::new, |us| text::duration(us.div_euclid(1000)))
}

/// The duration of the request; empty if the ledger line has none.
pub fn took(line: &LedgerLine) -> String {
    line.number("duration_ms")
        .map_or_else(String::new, text::duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_requests_ended() {
        for (line, want) in [
            (
                r#"{"http.response.status_code":200,"trilane.outcome":"finished"}"#,
                ("good", "200 finished"),
            ),
            (
                r#"{"http.response.status_code":200,"trilane.outcome":"upstream_reset"}"#,
                ("warn", "200 upstream reset"),
            ),
            (
                r#"{"http.response.status_code":429,"trilane.outcome":"refused"}"#,
                ("warn", "429 refused"),
            ),
            (
                r#"{"http.response.status_code":502,"trilane.outcome":"upstream_failed"}"#,
                ("bad", "502 upstream failed"),
            ),
            (
                r#"{"http.response.status_code":0,"trilane.outcome":"client_abort"}"#,
                ("bad", "no answer, client abort"),
            ),
            (
                r#"{"http.response.status_code":400}"#,
                ("warn", "400 before the filter"),
            ),
        ] {
            let members = serde_json::from_str(line).expect("JSON");
            let (kind, text) = state(&LedgerLine::of(members));
            assert_eq!((kind, text.as_str()), want, "{line}");
        }
    }
}
