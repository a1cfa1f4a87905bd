//! The requests and spend of a span of time.

use std::collections::BTreeMap;

use trilane::limits::Window;

use super::range::local;
use crate::cases::hour_counts::{self, AttemptsView, CountParams, is_failure};
use crate::cases::paging::PageParams;
use crate::cases::usage::{self, UsageParams, UsageView};
use crate::cases::{ApiProblem, Caller, ConsoleState};
use crate::ledger::Sum;
use crate::pages::text::path_with;
use crate::pages::usage::count;
use crate::pages::{PageProblem, ShownAmount, ledger_words, text};

/// Classifies an outcome. Rejected requests, and those that the client aborted, are no failure of an upstream.
fn kind(outcome: &str) -> &'static str {
    match outcome {
        "finished" | "answered" => "good",
        "refused" | "client_abort" => "warn",
        _ => "bad",
    }
}

/// A way in which requests ended.
pub struct OutcomeLine {
    /// In words.
    pub text: String,
    /// `good`, `warn` or `bad`.
    pub kind: &'static str,
    /// Those requests.
    pub path: String,
    /// The number of requests.
    pub count: String,
}

/// An upstream account.
pub struct AccountLine {
    /// The id of the account.
    pub id: String,
    /// The id of its group: accounts of several groups may have one id.
    pub group: String,
    /// The path of the account's usage.
    pub path: String,
    /// The number of attempts.
    pub attempts: String,
    /// The number of failed attempts.
    pub failed: String,
    /// The path of the account's failures over time.
    pub failures: String,
    /// `good`, `warn` or `bad`, and in words.
    pub state: (&'static str, String),
}

/// The requests and spend of a span of time.
pub struct RangeTotals {
    /// The amounts spent, one for each currency.
    pub spent: ShownAmount,
    /// The amounts spent this month, one for each currency.
    pub spent_this_month: ShownAmount,
    /// The number of requests.
    pub requests: String,
    /// The number of failed requests, and its percentage.
    pub failed: String,
    /// Whether there are some.
    pub has_failed: bool,
    /// Input and output tokens.
    pub tokens: [String; 2],
    /// Within which time half of the responses began, and 95 of 100; `None`: there are none.
    pub first_byte: Option<[String; 2]>,
    /// The outcomes of requests, the most frequent first.
    pub outcomes: Vec<OutcomeLine>,
    /// The accounts, those with the most failures first.
    pub accounts: Vec<AccountLine>,
}

async fn sums(
    state: &ConsoleState,
    caller: &Caller,
    by: &str,
    since: &str,
) -> Result<Vec<UsageView>, PageProblem> {
    let asked = UsageParams {
        by: by.to_owned(),
        since: Some(since.to_owned()),
        ..UsageParams::default()
    };
    let place = PageParams::first(500);
    let found = usage::list(state, caller, asked, place);
    Ok(found.await?.items)
}

/// The charges of all rows, one amount a currency.
fn amounts(rows: &[UsageView]) -> Result<ShownAmount, PageProblem> {
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.currency.is_empty()) {
        let charge = Sum::parse(&row.charge).map_err(ApiProblem::internal)?;
        let sum = sums.entry(&row.currency).or_default();
        sum.add_sum(&charge);
    }
    if sums.is_empty() {
        return Ok(ShownAmount::of("", "0"));
    }
    let sums: Vec<_> = sums
        .iter()
        .map(|(currency, sum)| (*currency, sum.text()))
        .collect();
    let sums = sums.iter().map(|(currency, sum)| (*currency, sum.as_str()));
    Ok(ShownAmount::sum(sums))
}

/// Writes a part of a whole in percent: a part that is not nothing is not shown as nothing.
fn percent(part: u64, whole: u64) -> String {
    match part.saturating_mul(100).checked_div(whole) {
        Some(0) if part > 0 => t!("less than 1 %").into_owned(),
        Some(percent) => format!("{percent} %"),
        None => "0 %".to_owned(),
    }
}

fn outcomes(rows: &[UsageView], since: &str) -> Vec<OutcomeLine> {
    let mut counts: Vec<(String, u64)> = Vec::new();
    for row in rows {
        let outcome = row.values.get("outcome").cloned().unwrap_or_default();
        let count = row.count("requests");
        match counts.iter_mut().find(|(of, _)| *of == outcome) {
            Some((_, all)) => *all = all.saturating_add(count),
            None => counts.push((outcome, count)),
        }
    }
    counts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let lines = counts.into_iter().map(|(outcome, count)| {
        let query = path_with(
            "/requests",
            &[("outcome", &outcome), ("since", &local(since))],
        );
        OutcomeLine {
            kind: kind(&outcome),
            text: if outcome.is_empty() {
                t!("before the filter").into_owned()
            } else {
                ledger_words::outcome(&outcome).into_owned()
            },
            path: query,
            count: text::count(count),
        }
    });
    lines.collect()
}

/// The share of failures, and the kind of most: `5 % failed, mostly rate limited`.
fn failed_share(view: &AttemptsView, share: &str) -> String {
    let failures = view.ended.iter().filter(|(end, _)| is_failure(end));
    match failures.max_by_key(|(_, count)| **count) {
        None => t!("{share} failed", share = share),
        Some((kind, count)) => {
            let kind = ledger_words::failure(kind);
            if *count == view.failed {
                t!("{share} failed, {kind}", share = share, kind = kind)
            } else {
                t!("{share} failed, mostly {kind}", share = share, kind = kind)
            }
        }
    }
}

fn account(view: &AttemptsView, since: &str) -> AccountLine {
    let [attempts, failed] =
        [view.attempts, view.failed].map(|count| u64::try_from(count).unwrap_or_default());
    let share = failed.saturating_mul(100).checked_div(attempts);
    let kind = match share.unwrap_or_default() {
        _ if failed == 0 => "good",
        0..50 => "warn",
        _ => "bad",
    };
    let text = match kind {
        "good" => t!("Answers").into_owned(),
        _ => failed_share(view, &percent(failed, attempts)),
    };
    let path = path_with("/usage", &[("since", since), ("account", &view.name)]);
    AccountLine {
        id: view.name.clone(),
        group: view.source.clone(),
        path,
        attempts: text::count(attempts),
        failed: text::count(failed),
        failures: path_with("/accounts", &[("account", &view.name), ("period", "hour")]),
        state: (kind, text),
    }
}

impl RangeTotals {
    /// Reads those since an hour or a day.
    ///
    /// # Errors
    /// Those of the use case.
    pub async fn read(
        state: &ConsoleState,
        caller: &Caller,
        since: &str,
    ) -> Result<Self, PageProblem> {
        let month = state.period(Window::Month).first_day().to_string();
        let rows = sums(state, caller, "outcome", since).await?;
        let of_month = sums(state, caller, "", &month).await?;
        let counted = CountParams {
            since: Some(since.to_owned()),
            ..CountParams::default()
        };
        let first = hour_counts::first_bytes(state, caller, counted.clone()).await?;
        let by_account = CountParams {
            by: "account".to_owned(),
            ..counted
        };
        let mut attempts = hour_counts::attempts(state, caller, by_account)
            .await?
            .items;
        attempts.sort_by_key(|view| core::cmp::Reverse((view.failed, view.attempts)));
        let (requests, failed) = (count(&rows, "requests"), count(&rows, "failed"));
        Ok(Self {
            spent: amounts(&rows)?,
            spent_this_month: amounts(&of_month)?,
            requests: text::count(requests),
            failed: t!(
                "{count} failed, {share}",
                count = text::count(failed),
                share = percent(failed, requests)
            ),
            has_failed: failed > 0,
            tokens: ["input", "output"].map(|name| text::count(count(&rows, name))),
            first_byte: first.items.first().map(|view| {
                [view.half_within_ms, view.p95_within_ms]
                    .map(|within| text::duration(u64::try_from(within).unwrap_or_default()))
            }),
            outcomes: outcomes(&rows, since),
            accounts: attempts.iter().map(|view| account(view, since)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_by_currency() {
        let row = |currency: &str, charge: &str| UsageView {
            values: [].into(),
            place: Vec::new(),
            currency: currency.to_owned(),
            counts: [].into(),
            charge: charge.to_owned(),
            estimated_charge: "0".to_owned(),
            costed_charge: None,
            cost: None,
            margin: None,
        };
        for (rows, want) in [
            (vec![], "0.00"),
            (vec![row("", "0")], "0.00"),
            (
                vec![
                    row("USD", "1.5"),
                    row("", "0"),
                    row("USD", "0.0001"),
                    row("EUR", "2"),
                ],
                "2.00 EUR + $1.5001",
            ),
        ] {
            assert_eq!(amounts(&rows).expect("sums").exact, want);
        }
    }

    #[test]
    fn shares() {
        for (part, whole, want) in [
            (0, 0, "0 %"),
            (0, 7, "0 %"),
            (1, 1000, "less than 1 %"),
            (1, 3, "33 %"),
            (7, 7, "100 %"),
        ] {
            assert_eq!(percent(part, whole), want, "{part} of {whole}");
        }
    }

    #[test]
    fn states_of_accounts() {
        let ended = |ends: &[(&str, i64)]| {
            let ends = ends.iter().map(|(end, count)| ((*end).to_owned(), *count));
            ends.collect()
        };
        for (attempts, failed, ends, want) in [
            (10, 0, &[("answered", 10)][..], ("good", "Answers")),
            (
                1000,
                1,
                &[("no_answer", 1)],
                ("warn", "less than 1 % failed, no answer"),
            ),
            (
                10,
                4,
                &[("answered", 6), ("connection", 1), ("rate_limited", 3)],
                ("warn", "40 % failed, mostly rate limited"),
            ),
            (2, 1, &[], ("bad", "50 % failed")),
        ] {
            let view = AttemptsView {
                period: String::new(),
                name: "a b".to_owned(),
                source: "s".to_owned(),
                attempts,
                failed,
                ended: ended(ends),
            };
            let shown = account(&view, "2026-11-25");
            assert_eq!((shown.state.0, shown.state.1.as_str()), want);
            assert_eq!(shown.path, "/usage?since=2026-11-25&account=a+b");
        }
    }
}
