//! `GET /v1/usage`: what is left of a key's limits, from the counters that its requests are counted in.
//!
//! No vendor of the three protocols has such an endpoint. sub2api has (`GatewayHandler.Usage` of its
//! `backend/internal/handler/gateway_handler.go`), and tools that show what a key has left ask for its members: the usage
//! script that it gives cc-switch reads the first of `remaining`, `quota.remaining` and `balance`, then `unit` (or
//! `quota.unit`) and `isValid`. So the members here have its names and its JSON numbers, `"remaining": -1` for unlimited
//! included. `limits` is trilane's own: each limit by itself, money as text, for whoever counts with more digits than a
//! double has.

use serde::Serialize;
use serde_json::value::RawValue;

use super::limits::moment;
use crate::limits::{BudgetBalance, Gauge, Period, Rate, SubjectFigures, Window};
use crate::money::Amount;

/// The report on the key with this id, of this group, whose subjects have so much left `each`. The key expires at `expires_at`,
/// in seconds since the Unix epoch.
pub fn usage_report(
    key: &str,
    group: &str,
    currency: Option<&str>,
    expires_at: Option<i64>,
    each: &[SubjectFigures],
) -> Vec<u8> {
    let report = KeyUsageReport::new(key, group, currency, expires_at, each);
    // Texts and numbers, into memory: it cannot fail.
    serde_json::to_vec(&report).unwrap_or_default()
}

#[derive(Serialize)]
struct KeyUsageReport<'a> {
    mode: &'static str,
    #[serde(rename = "isValid")]
    is_valid: bool,
    status: &'static str,
    #[serde(rename = "planName")]
    plan_name: &'a str,
    key: &'a str,
    remaining: MoneyNumber,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quota: Option<QuotaLeft<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rate_limits: Vec<MoneyWindow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    limits: Vec<LimitsLeft>,
}

/// The budget of which the least is left, of the key's own and its owner's, alone and in its team.
#[derive(Serialize)]
struct QuotaLeft<'a> {
    limit: MoneyNumber,
    used: MoneyNumber,
    remaining: MoneyNumber,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'a str>,
}

/// The budget of a day or a month, the tightest of the key's own and its owner's, alone and in its team.
#[derive(Serialize)]
struct MoneyWindow {
    window: &'static str,
    limit: MoneyNumber,
    used: MoneyNumber,
    remaining: MoneyNumber,
    reset_at: String,
}

/// The remaining limits of a key, a member, an owner, a team or a group.
#[derive(Serialize)]
struct LimitsLeft {
    scope: &'static str,
    budgets: Vec<BudgetLeft>,
    rates: Vec<RateLeft>,
    #[serde(skip_serializing_if = "Option::is_none")]
    concurrent_requests: Option<u32>,
}

#[derive(Serialize)]
struct BudgetLeft {
    window: &'static str,
    /// `None` for a budget that others use as well: what they spend is not the key holder's to know.
    #[serde(flatten)]
    amounts: Option<BudgetAmounts>,
    exhausted: bool,
    resets_at: String,
}

/// The amounts of a budget that is of the key's holder alone.
#[derive(Serialize)]
struct BudgetAmounts {
    limit: String,
    spent: String,
    reserved: String,
    remaining: String,
}

#[derive(Serialize)]
struct RateLeft {
    per_minute: &'static str,
    limit: u32,
    remaining: u64,
    resets_at: String,
}

/// A JSON number with all digits of an amount: no float is between.
#[derive(Serialize)]
#[serde(transparent)]
struct MoneyNumber(Option<Box<RawValue>>);

impl MoneyNumber {
    fn of(amount: Amount) -> Self {
        Self::written(amount.to_string())
    }

    /// Returns the number by which sub2api says that nothing is limited.
    fn unlimited() -> Self {
        Self::written("-1".to_owned())
    }

    fn written(number: String) -> Self {
        Self(RawValue::from_string(number).ok())
    }
}

impl<'a> KeyUsageReport<'a> {
    fn new(
        key: &'a str,
        plan_name: &'a str,
        unit: Option<&'a str>,
        expires_at: Option<i64>,
        each: &[SubjectFigures],
    ) -> Self {
        let own = || each.iter().filter(|of| of.scope.is_of_holder());
        let balances = |window| own().filter_map(move |of| of.figures.budget(window)).min();
        let at_us = each.first().map_or(0, |of| of.figures.at_us);
        let windows = Window::ALL.map(|window| Some((window, balances(window)?)));
        let windows = windows.into_iter().flatten();
        let tightest = windows.clone().map(|(_, balance)| balance).min();
        let spent = each.iter().any(LimitsLeft::is_exhausted);
        Self {
            mode: if spent || tightest.is_some() {
                "quota_limited"
            } else {
                "unrestricted"
            },
            is_valid: true,
            status: if spent { "quota_exhausted" } else { "active" },
            plan_name,
            key,
            remaining: match tightest {
                // Whosever budget it is, nothing of it can be used.
                _ if spent => MoneyNumber::of(Amount::ZERO),
                Some(balance) => MoneyNumber::of(balance.remaining),
                None => MoneyNumber::unlimited(),
            },
            unit,
            quota: tightest.map(|balance| QuotaLeft {
                limit: MoneyNumber::of(balance.budget),
                used: MoneyNumber::of(balance.spent),
                remaining: MoneyNumber::of(balance.remaining),
                unit,
            }),
            rate_limits: windows
                .map(|(window, balance)| MoneyWindow::new(window, balance, at_us))
                .collect(),
            expires_at: expires_at.map(|end| {
                let seconds = u64::try_from(end).unwrap_or_default();
                moment(seconds.saturating_mul(1_000_000))
            }),
            limits: each.iter().map(LimitsLeft::new).collect(),
        }
    }
}

impl MoneyWindow {
    fn new(window: Window, balance: BudgetBalance, at_us: u64) -> Self {
        Self {
            window: match window {
                Window::Day => "1d",
                Window::Month => "1mo",
            },
            limit: MoneyNumber::of(balance.budget),
            used: MoneyNumber::of(balance.spent),
            remaining: MoneyNumber::of(balance.remaining),
            reset_at: next(window, at_us),
        }
    }
}

impl LimitsLeft {
    /// Whether a budget of a subject is spent.
    fn is_exhausted(of: &SubjectFigures) -> bool {
        let mut budgets = of.figures.budgets.iter().flatten();
        budgets.any(|balance| balance.remaining == Amount::ZERO)
    }

    fn new(of: &SubjectFigures) -> Self {
        let SubjectFigures {
            scope,
            limits,
            figures,
            reserved,
        } = of;
        let budget = |window| {
            let balance = figures.budget(window)?;
            let amounts = || BudgetAmounts {
                limit: balance.budget.to_string(),
                spent: balance.spent.to_string(),
                reserved: reserved.to_string(),
                remaining: balance.remaining.to_string(),
            };
            Some(BudgetLeft {
                window: window.name(),
                amounts: scope.is_of_holder().then(amounts),
                exhausted: balance.remaining == Amount::ZERO,
                resets_at: next(window, figures.at_us),
            })
        };
        let rate = |rate: Rate| {
            let gauge = match rate {
                Rate::Requests => figures.requests,
                Rate::InputTokens => figures.input_tokens,
                Rate::OutputTokens => figures.output_tokens,
            };
            let Gauge {
                limit,
                remaining,
                reset_us,
            } = gauge?;
            Some(RateLeft {
                per_minute: rate.name(),
                limit,
                remaining,
                resets_at: moment(figures.at_us.saturating_add(reset_us)),
            })
        };
        Self {
            scope: scope.name(),
            budgets: Window::ALL.into_iter().filter_map(budget).collect(),
            rates: Rate::ALL.into_iter().filter_map(rate).collect(),
            concurrent_requests: limits.concurrent_requests,
        }
    }
}

/// Returns the start of the next day or month, as text.
fn next(window: Window, at_us: u64) -> String {
    let seconds = at_us.checked_div(1_000_000).unwrap_or_default();
    let period = Period::at(window, i64::try_from(seconds).unwrap_or(i64::MAX));
    let end = u64::try_from(period.ends_at()).unwrap_or_default();
    moment(end.saturating_mul(1_000_000))
}
