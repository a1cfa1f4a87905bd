//! Budgets of which nine tenths are spent. They are noted when spend or a budget changes, so that reading them costs as much as
//! there are of them, not as many budgets as there are.

use trilane::config::document::BudgetDocument;
use trilane::money::Amount;

use crate::ledger::Sum;
use crate::store::nearly_spent::{self, NearlySpentKey};
use crate::store::{StoreError, Transaction, documents, spend};
use crate::timestamp::moment;
use crate::written_budgets::{WrittenBudgets, is_reached};

/// From how many percent on.
pub const PERCENT: u32 = 90;

/// A budget that is nearly spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearlySpentBudget {
    /// `2026-11-24` or `2026-11`, `key`, `member`, `owner`, `team` or `group`, and its id.
    pub of: NearlySpentKey,
    /// The amount that may be spent.
    pub budget: Amount,
    /// The amount that is spent.
    pub spent: Sum,
    /// The currency of both.
    pub currency: String,
}

/// The day and the month of a moment in microseconds since 1970, as spend has them.
pub fn periods(now: i64) -> [String; 2] {
    let now = moment(now);
    [10, 7].map(|length| now.get(..length).unwrap_or_default().to_owned())
}

/// Returns the amount that may be spent in a period, which is a day or a month.
pub fn amount(budget: &BudgetDocument, period: &str) -> Option<Amount> {
    let written = match period.len() {
        10 => budget.per_day.as_deref(),
        _ => budget.per_month.as_deref(),
    };
    Amount::parse(written?).ok()
}

/// Notes of a subject whose budget has changed, at a moment in microseconds since 1970, whether it is nearly spent.
///
/// # Errors
/// Those of the database.
pub async fn renew(
    transaction: &mut Transaction,
    (kind, subject): (&str, &str),
    budget: &BudgetDocument,
    now: i64,
) -> Result<(), StoreError> {
    renew_each(transaction, kind, &[subject], budget, now).await
}

/// The same of several subjects with one budget each.
///
/// # Errors
/// Those of the database.
pub async fn renew_each(
    transaction: &mut Transaction,
    kind: &str,
    subjects: &[&str],
    budget: &BudgetDocument,
    now: i64,
) -> Result<(), StoreError> {
    let is_without = budget.per_day.is_none() && budget.per_month.is_none();
    let currency = match documents::current(transaction).await? {
        Some(current) if !is_without => WrittenBudgets::of_document(&current.served).currency,
        _ => String::new(),
    };
    for subject in subjects {
        renew_in(transaction, (kind, subject), budget, &currency, now).await?;
    }
    Ok(())
}

/// Notes which budgets of a document that is put in force are nearly spent.
///
/// # Errors
/// Those of the database.
pub async fn renew_document(
    transaction: &mut Transaction,
    served: &str,
    now: i64,
) -> Result<(), StoreError> {
    let budgets = WrittenBudgets::of_document(served);
    let kinds = [("key", &budgets.keys), ("group", &budgets.groups)];
    for (kind, of_kind) in kinds {
        for (subject, budget) in of_kind {
            renew_in(transaction, (kind, subject), budget, &budgets.currency, now).await?;
        }
    }
    Ok(())
}

async fn renew_in(
    transaction: &mut Transaction,
    (kind, subject): (&str, &str),
    budget: &BudgetDocument,
    currency: &str,
    now: i64,
) -> Result<(), StoreError> {
    for period in periods(now) {
        let spent = spent(transaction, (kind, subject), &period, currency).await?;
        let is_near = amount(budget, &period)
            .is_some_and(|amount| is_reached(spent.value(), amount, PERCENT));
        if is_near {
            nearly_spent::note(transaction, &period, kind, subject).await?;
        } else {
            nearly_spent::clear(transaction, &period, kind, subject).await?;
        }
    }
    Ok(())
}

async fn spent(
    transaction: &mut Transaction,
    (kind, subject): (&str, &str),
    period: &str,
    currency: &str,
) -> Result<Sum, StoreError> {
    let spent = spend::of(transaction, kind, subject, period).await?;
    let spent = spent.into_iter().find(|(of, _)| of == currency);
    Ok(spent.map(|(_, sum)| sum).unwrap_or_default())
}

/// Checks a noted budget against its current spend; `None`: it is no longer nearly spent.
///
/// # Errors
/// Those of the database.
pub async fn checked(
    transaction: &mut Transaction,
    budgets: &WrittenBudgets,
    of: NearlySpentKey,
) -> Result<Option<NearlySpentBudget>, StoreError> {
    let (period, kind, subject) = &of;
    let written = budgets.of(transaction, kind, subject).await?;
    let spent = spent(transaction, (kind, subject), period, &budgets.currency).await?;
    let budget = amount(&written, period);
    let budget = budget.filter(|budget| is_reached(spent.value(), *budget, PERCENT));
    Ok(budget.map(|budget| NearlySpentBudget {
        of,
        budget,
        spent,
        currency: budgets.currency.clone(),
    }))
}
