//! The limits and budgets that bind a key: its own, and those of its owner, alone and as a member of its team, its team and its
//! group.

use serde::Serialize;
use time::OffsetDateTime;
use trilane::config::document::{LimitsDocument, SpentDocument};
use trilane::limits::{Period, SubjectKind, Window};
use trilane::money::Amount;
use utoipa::ToSchema;

use crate::nearly_spent;
use crate::store::{StoreError, Transaction, spend};
use crate::timestamp;

/// A key, a member, an owner, a team or a group, with what binds all of its requests.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RemainingSubject {
    /// `key`, `member`, `owner`, `team` or `group`.
    #[schema(value_type = String)]
    pub(crate) kind: SubjectKind,
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
    /// Whether it has the least left of all that bind the key, so that it stops requests first. A budget whose amounts are not told counts
    /// only where it is spent.
    pub(crate) tightest: bool,
}

impl RemainingBudget {
    /// The remaining amount, as far as it is told.
    fn known_left(&self) -> Option<Amount> {
        if self.exhausted {
            return Some(Amount::ZERO);
        }
        self.left
            .as_deref()
            .and_then(|left| Amount::read(left).ok())
    }
}

impl RemainingSubject {
    /// Whether others use it as well.
    pub(super) fn is_shared(&self) -> bool {
        !self.kind.is_of_holder()
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

/// Marks the budget with the least left; of equals the one that begins anew last, and of those the first.
pub(super) fn mark_tightest(subjects: &mut [RemainingSubject]) {
    let budgets = subjects.iter_mut().flat_map(|of| of.budgets.iter_mut());
    let mut tightest: Option<(Amount, &mut RemainingBudget)> = None;
    for budget in budgets {
        budget.tightest = false;
        let Some(left) = budget.known_left() else {
            continue;
        };
        let is_tighter = tightest.as_ref().is_none_or(|(least, of)| {
            left < *least || (left == *least && budget.renews_at > of.renews_at)
        });
        if is_tighter {
            tightest = Some((left, budget));
        }
    }
    if let Some((_, budget)) = tightest {
        budget.tightest = true;
    }
}

/// Reads the limits and budgets of a subject; `None`: it has none. Spend in a currency other than the document's is not counted.
///
/// # Errors
/// Those of the database.
pub(super) async fn read(
    transaction: &mut Transaction,
    (kind, id): (SubjectKind, &str),
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
        let Some((budget, allowed)) =
            budget.and_then(|of| Some((of, nearly_spent::amount(of, window)?)))
        else {
            continue;
        };
        let period = timestamp::period(window, now);
        let spent = spend::of(transaction, kind, id, &period.to_string()).await?;
        let is_counted = |of: &str| currency.is_none_or(|currency| currency == of);
        let counted = spent.iter().find(|(of, _)| is_counted(of));
        let counted = counted.map_or(Amount::ZERO, |(_, sum)| sum.value());
        let told = budget.spent.as_ref().map(|spent| told(spent, period));
        let used = counted.max(told.unwrap_or_default());
        let left = allowed.less(used);
        subject.budgets.push(RemainingBudget {
            window: window.name(),
            exhausted: left == Amount::ZERO,
            allowed: Some(allowed.to_string()),
            used: Some(used.to_string()),
            left: Some(left.to_string()),
            renews_at: renewal(period),
            tightest: false,
        });
    }
    let binds = !subject.limits.is_empty() || !subject.budgets.is_empty();
    Ok(binds.then_some(subject))
}

/// Returns the spend that the key's author states for the current day or month. Gateways count at least that.
fn told(spent: &SpentDocument, period: Period) -> Amount {
    let at = spent.at.as_deref().and_then(timestamp::parse);
    let then = at.map(OffsetDateTime::unix_timestamp).unwrap_or_default();
    if Period::at(period.window(), then) != period {
        return Amount::ZERO;
    }
    let amount = match period.window() {
        Window::Day => spent.in_day.as_deref(),
        Window::Month => spent.in_month.as_deref(),
    };
    let amount = amount.and_then(|amount| Amount::parse(amount).ok());
    amount.unwrap_or_default()
}

/// Returns the moment at which a period ends, as RFC 3339.
fn renewal(period: Period) -> String {
    timestamp::unix_text(period.ends_at()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_budgets_renew() {
        let at = |window, text: &str| {
            Period::at(window, timestamp::parse(text).unwrap().unix_timestamp())
        };
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
            assert_eq!(renewal(at(Window::Day, now)), day, "{now}");
            assert_eq!(renewal(at(Window::Month, now)), month, "{now}");
        }
    }

    #[test]
    fn the_tightest_budget() {
        let of = |left: Option<&str>, exhausted, renews_at: &str| RemainingBudget {
            window: "day",
            exhausted,
            allowed: None,
            used: None,
            left: left.map(str::to_owned),
            renews_at: renews_at.to_owned(),
            tightest: true,
        };
        let cases = [
            (
                vec![of(Some("10"), false, "1"), of(Some("9.5"), false, "1")],
                Some(1),
            ),
            (
                vec![of(Some("0"), true, "1"), of(Some("0"), true, "2")],
                Some(1),
            ),
            (
                vec![of(Some("2"), false, "1"), of(Some("2"), false, "1")],
                Some(0),
            ),
            (
                vec![of(None, false, "1"), of(Some("7"), false, "1")],
                Some(1),
            ),
            (
                vec![of(Some("7"), false, "1"), of(None, true, "1")],
                Some(1),
            ),
            (vec![of(None, false, "1")], None),
        ];
        for (budgets, want) in cases {
            let case = format!("{budgets:?}");
            // Each of a subject of its own.
            let subjects = budgets.into_iter().map(|budget| RemainingSubject {
                kind: SubjectKind::Key,
                id: "k".to_owned(),
                limits: Vec::new(),
                budgets: vec![budget],
            });
            let mut subjects: Vec<RemainingSubject> = subjects.collect();
            mark_tightest(&mut subjects);
            let marked = subjects.iter().enumerate();
            let marked = marked.filter(|(_, of)| of.budgets.iter().any(|of| of.tightest));
            let marked: Vec<usize> = marked.map(|(place, _)| place).collect();
            assert_eq!(marked, Vec::from_iter(want), "{case}");
        }
    }

    #[test]
    fn what_an_author_says_was_spent() {
        let spent = SpentDocument {
            at: Some("2026-11-24T12:00:00Z".to_owned()),
            in_day: Some("1".to_owned()),
            in_month: Some("2.50".to_owned()),
        };
        let at = |window, text: &str| {
            Period::at(window, timestamp::parse(text).unwrap().unix_timestamp())
        };
        for (now, day, month) in [
            ("2026-11-24T23:59:59Z", "1", "2.5"),
            ("2026-11-25T00:00:00Z", "0", "2.5"),
            ("2026-12-01T00:00:00Z", "0", "0"),
        ] {
            assert_eq!(told(&spent, at(Window::Day, now)).to_string(), day, "{now}");
            assert_eq!(
                told(&spent, at(Window::Month, now)).to_string(),
                month,
                "{now}"
            );
        }
    }
}
