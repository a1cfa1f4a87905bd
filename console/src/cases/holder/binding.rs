//! The limits and budgets that bind a key: its own, and those of its owner, alone and as a member of its team, its team and its
//! group.

use serde::Serialize;
use time::OffsetDateTime;
use trilane::config::document::{BudgetDocument, LimitsDocument, SpentDocument};
use trilane::limits::Window;
use trilane::limits::budget::until_next;
use trilane::money::Amount;
use utoipa::ToSchema;

use crate::store::{StoreError, Transaction, spend};
use crate::timestamp;
use crate::timestamp::moment;

/// A key, a member, an owner, a team or a group, with what binds all of its requests.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RemainingSubject {
    /// `key`, `member`, `owner`, `team` or `group`.
    #[schema(value_type = String)]
    pub(crate) kind: &'static str,
    /// The id of the subject.
    pub(crate) id: String,
    /// The limits of the subject. Gateways count them, so what is left of them is asked there: `GET /v1/usage`.
    pub(crate) limits: Vec<RemainingLimit>,
    /// The budgets of the subject.
    pub(crate) budgets: Vec<RemainingBudget>,
}

/// A limit that is no money.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RemainingLimit {
    /// `requests_per_minute`, `input_tokens_per_minute`, `output_tokens_per_minute` or `concurrent_requests`.
    #[schema(value_type = String)]
    pub(crate) limit: &'static str,
    /// The limit: requests or tokens per minute, or concurrent requests.
    pub(crate) allowed: u32,
}

/// A budget, and what is left of it: amounts with every digit.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RemainingBudget {
    /// `day` or `month`, in UTC.
    #[schema(value_type = String)]
    pub(crate) window: &'static str,
    /// Whether it is spent.
    pub(crate) exhausted: bool,
    /// The amount that may be spent. Who holds a key is not told the amounts of a team or a group: what is left of those is what others
    /// have left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allowed: Option<String>,
    /// The amount spent in the window. Requests count when they end, as in gateways.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) used: Option<String>,
    /// The remaining amount: 0 if the budget is spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<String>,
    /// The time at which the next window begins, as RFC 3339.
    pub(crate) renews_at: String,
}

impl RemainingSubject {
    /// Whether others use it as well.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self.kind, "team" | "group")
    }

    /// The same for who holds the key: what others spend is not told.
    #[must_use]
    pub(super) fn for_holder(mut self) -> Self {
        if self.is_shared() {
            for budget in &mut self.budgets {
                (budget.allowed, budget.used, budget.left) = (None, None, None);
            }
        }
        self
    }
}

/// Reads the limits and budgets of a subject; `None`: it has none. Spend in a currency other than the document's is not counted.
///
/// # Errors
/// Those of the database.
pub(super) async fn read(
    transaction: &mut Transaction,
    (kind, id): (&'static str, &str),
    limits: &LimitsDocument,
    currency: Option<&str>,
    now: i64,
) -> Result<Option<RemainingSubject>, StoreError> {
    let named = [
        ("requests_per_minute", limits.requests_per_minute),
        ("input_tokens_per_minute", limits.input_tokens_per_minute),
        ("output_tokens_per_minute", limits.output_tokens_per_minute),
        ("concurrent_requests", limits.concurrent_requests),
    ];
    let named = named.into_iter().filter_map(|(limit, allowed)| {
        let allowed = allowed?;
        Some(RemainingLimit { limit, allowed })
    });
    let mut subject = RemainingSubject {
        kind,
        id: id.to_owned(),
        limits: named.collect(),
        budgets: Vec::new(),
    };
    for window in Window::ALL {
        let budget = limits.budget.as_ref();
        let Some((budget, allowed)) = budget.and_then(|of| Some((of, allowed(of, window)?))) else {
            continue;
        };
        let period = period(window, now);
        let spent = spend::of(transaction, kind, id, &period).await?;
        let is_counted = |of: &str| currency.is_none_or(|currency| currency == of);
        let counted = spent.iter().find(|(of, _)| is_counted(of));
        let counted = counted.map_or(Amount::ZERO, |(_, sum)| sum.value());
        let told = budget.spent.as_ref().map(|spent| told(spent, window, now));
        let used = counted.max(told.unwrap_or_default());
        let left = allowed.less(used);
        subject.budgets.push(RemainingBudget {
            window: window.name(),
            exhausted: left == Amount::ZERO,
            allowed: Some(allowed.to_string()),
            used: Some(used.to_string()),
            left: Some(left.to_string()),
            renews_at: renewal(window, now),
        });
    }
    let binds = !subject.limits.is_empty() || !subject.budgets.is_empty();
    Ok(binds.then_some(subject))
}

/// Returns the amount that may be spent in a window; `None`: it has no budget.
fn allowed(budget: &BudgetDocument, window: Window) -> Option<Amount> {
    let amount = match window {
        Window::Day => budget.per_day.as_deref(),
        Window::Month => budget.per_month.as_deref(),
    };
    Amount::parse(amount?).ok()
}

/// The day or month of a moment, as spend has it.
fn period(window: Window, now: i64) -> String {
    let length = match window {
        Window::Day => 10,
        Window::Month => 7,
    };
    moment(now).get(..length).unwrap_or_default().to_owned()
}

/// Returns the spend that the key's author states for the current day or month. Gateways count at least that.
fn told(spent: &SpentDocument, window: Window, now: i64) -> Amount {
    let at = spent.at.as_deref().and_then(timestamp::parse);
    let then = at.map(OffsetDateTime::unix_timestamp).unwrap_or_default();
    if period(window, then.saturating_mul(1_000_000)) != period(window, now) {
        return Amount::ZERO;
    }
    let amount = match window {
        Window::Day => spent.in_day.as_deref(),
        Window::Month => spent.in_month.as_deref(),
    };
    let amount = amount.and_then(|amount| Amount::parse(amount).ok());
    amount.unwrap_or_default()
}

/// Returns the start of the next window after `now`, as RFC 3339.
fn renewal(window: Window, now: i64) -> String {
    let seconds = now.div_euclid(1_000_000);
    let left = i64::try_from(until_next(window, seconds)).unwrap_or_default();
    timestamp::unix_text(seconds.saturating_add(left)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_budgets_renew() {
        let at = |text: &str| timestamp::parse(text).unwrap().unix_timestamp() * 1_000_000;
        for (now, day, month) in [
            (
                "2026-11-25T10:15:30Z",
                "2026-11-26T00:00:00Z",
                "2026-12-01T00:00:00Z",
            ),
            (
                "2026-12-31T23:59:59Z",
                "2027-01-01T00:00:00Z",
                "2027-01-01T00:00:00Z",
            ),
            (
                "2027-01-01T00:00:00Z",
                "2027-01-02T00:00:00Z",
                "2027-02-01T00:00:00Z",
            ),
        ] {
            assert_eq!(renewal(Window::Day, at(now)), day, "{now}");
            assert_eq!(renewal(Window::Month, at(now)), month, "{now}");
        }
    }

    #[test]
    fn what_an_author_says_was_spent() {
        let spent = SpentDocument {
            at: Some("2026-11-24T12:00:00Z".to_owned()),
            in_day: Some("1".to_owned()),
            in_month: Some("2.50".to_owned()),
        };
        let at = |text: &str| timestamp::parse(text).unwrap().unix_timestamp() * 1_000_000;
        for (now, day, month) in [
            ("2026-11-24T23:59:59Z", "1", "2.5"),
            ("2026-11-25T00:00:00Z", "0", "2.5"),
            ("2026-12-01T00:00:00Z", "0", "0"),
        ] {
            assert_eq!(told(&spent, Window::Day, at(now)).to_string(), day, "{now}");
            assert_eq!(
                told(&spent, Window::Month, at(now)).to_string(),
                month,
                "{now}"
            );
        }
    }
}
