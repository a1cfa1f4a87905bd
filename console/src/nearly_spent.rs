//! Budgets of which nine tenths are spent. They are noted when spend or a budget changes, so that reading them costs as much as
//! there are of them, not as many budgets as there are.

use trilane::config::document::BudgetDocument;
use trilane::limits::{Period, SubjectKind, Window};
use trilane::money::Amount;

use crate::ledger::Sum;
use crate::store::nearly_spent::{self, NearlySpentKey};
use crate::store::{StoreError, Transaction, documents, keys, people, spend};
use crate::timestamp;
use crate::written_budgets::{WrittenBudgets, is_reached};

/// From how many percent on.
pub const PERCENT: u32 = 90;

/// A budget that is nearly spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearlySpentBudget {
    /// `2026-11-24` or `2026-11`.
    pub period: String,
    /// The kind of the subject, and its id.
    pub subject: (SubjectKind, String),
    /// The amount that may be spent.
    pub budget: Amount,
    /// The amount that is spent.
    pub spent: Sum,
    /// The currency of both.
    pub currency: String,
}

/// Returns the amount that may be spent in a window.
pub fn amount(budget: &BudgetDocument, window: Window) -> Option<Amount> {
    Amount::parse(budget.of(window)?).ok()
}

/// Notes of a subject whose budget has changed, at a moment in microseconds since 1970, whether it is nearly spent.
///
/// # Errors
/// Those of the database.
pub async fn renew(
    transaction: &mut Transaction,
    (kind, subject): (SubjectKind, &str),
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
    kind: SubjectKind,
    subjects: &[&str],
    budget: &BudgetDocument,
    now: i64,
) -> Result<(), StoreError> {
    let currency = match documents::current(transaction).await? {
        Some(current) if budget.is_set() => WrittenBudgets::of_document(&current.served).currency,
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
    let kinds = [
        (SubjectKind::Key, &budgets.keys),
        (SubjectKind::Group, &budgets.groups),
    ];
    for (kind, of_kind) in kinds {
        for (subject, budget) in of_kind {
            renew_in(transaction, (kind, subject), budget, &budgets.currency, now).await?;
        }
    }
    Ok(())
}

async fn renew_in(
    transaction: &mut Transaction,
    (kind, subject): (SubjectKind, &str),
    budget: &BudgetDocument,
    currency: &str,
    now: i64,
) -> Result<(), StoreError> {
    for window in Window::ALL {
        let period = timestamp::period(window, now).to_string();
        let spent = spent(transaction, (kind, subject), &period, currency).await?;
        let is_near =
            amount(budget, window).is_some_and(|amount| is_reached(spent.value(), amount, PERCENT));
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
    (kind, subject): (SubjectKind, &str),
    period: &str,
    currency: &str,
) -> Result<Sum, StoreError> {
    let spent = spend::of(transaction, kind, subject, period).await?;
    let spent = spent.into_iter().find(|(of, _)| of == currency);
    Ok(spent.map(|(_, sum)| sum).unwrap_or_default())
}

/// Whether a subject is a key or an owner whose requests are refused anyway.
async fn is_disabled(
    transaction: &mut Transaction,
    kind: SubjectKind,
    subject: &str,
) -> Result<bool, StoreError> {
    Ok(match kind {
        SubjectKind::Key => {
            let key = keys::find(transaction, subject).await?;
            key.is_some_and(|key| key.disabled)
        }
        SubjectKind::Owner => {
            let person = people::find(transaction, subject).await?;
            person.is_some_and(|person| person.disabled)
        }
        SubjectKind::Member | SubjectKind::Team | SubjectKind::Group => false,
    })
}

/// Checks a noted budget against its current spend; `None`: it is no longer nearly spent, or nobody uses it.
///
/// # Errors
/// Those of the database.
pub async fn checked(
    transaction: &mut Transaction,
    budgets: &WrittenBudgets,
    (period, kind, subject): NearlySpentKey,
) -> Result<Option<NearlySpentBudget>, StoreError> {
    let kind = spend::kind(&kind)?;
    if is_disabled(transaction, kind, &subject).await? {
        return Ok(None);
    }
    let written = budgets.of(transaction, kind, &subject).await?;
    let spent = spent(transaction, (kind, &subject), &period, &budgets.currency).await?;
    let window = Period::parse(&period).map(Period::window);
    let budget = window.and_then(|window| amount(&written, window));
    let budget = budget.filter(|budget| is_reached(spent.value(), *budget, PERCENT));
    Ok(budget.map(|budget| NearlySpentBudget {
        period,
        subject: (kind, subject),
        budget,
        spent,
        currency: budgets.currency.clone(),
    }))
}
