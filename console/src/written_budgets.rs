//! Budgets as they are written: those of groups and named keys in the document in force, those of other keys with their limits,
//! those of members, owners and teams by themselves.

use std::collections::BTreeMap;

use trilane::config::Document;
use trilane::config::document::{BudgetDocument, LimitsDocument};
use trilane::limits::SubjectKind;
use trilane::money::Amount;

use crate::store::{StoreError, Transaction, documents, keys, spend_feed};

/// Budgets of a document.
#[derive(Debug, Default)]
pub struct WrittenBudgets {
    /// Of the keys that it names.
    pub keys: BTreeMap<String, BudgetDocument>,
    /// Of its groups.
    pub groups: BTreeMap<String, BudgetDocument>,
    /// The currency of all budgets; empty without a document.
    pub currency: String,
}

impl WrittenBudgets {
    /// Those of a document as gateways get it; none of one that cannot be read.
    pub fn of_document(served: &str) -> Self {
        let mut budgets = Self::default();
        let Ok(document) = Document::parse(served.as_bytes()) else {
            return budgets;
        };
        budgets.currency = document.currency.unwrap_or_default();
        let of_limits = |limits: Option<LimitsDocument>| limits?.budget;
        for group in document.groups.unwrap_or_default() {
            if let (Some(id), Some(budget)) = (group.id, of_limits(group.limits)) {
                budgets.groups.insert(id, budget);
            }
        }
        for key in document.keys.unwrap_or_default() {
            if let (Some(id), Some(budget)) = (key.id, of_limits(key.limits)) {
                budgets.keys.insert(id, budget);
            }
        }
        budgets
    }

    /// Those of the document in force.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn in_force(transaction: &mut Transaction) -> Result<Self, StoreError> {
        let current = documents::current(transaction).await?;
        Ok(current.map_or_else(Self::default, |of| Self::of_document(&of.served)))
    }

    /// The budget of a subject, wherever it stands. Without one, no amounts.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn of(
        &self,
        transaction: &mut Transaction,
        kind: SubjectKind,
        subject: &str,
    ) -> Result<BudgetDocument, StoreError> {
        let found = match kind {
            SubjectKind::Key => {
                let key = keys::find(transaction, subject).await?;
                let own = key.and_then(|key| of_limits(key.limits.as_deref()));
                own.or_else(|| self.keys.get(subject).cloned())
            }
            SubjectKind::Group => self.groups.get(subject).cloned(),
            SubjectKind::Member | SubjectKind::Owner | SubjectKind::Team => {
                Some(spend_feed::budget(transaction, kind, subject).await?)
            }
        };
        Ok(found.unwrap_or_default())
    }
}

/// The budget among limits as they are stored.
pub fn of_limits(limits: Option<&str>) -> Option<BudgetDocument> {
    let limits: LimitsDocument = serde_json::from_str(limits?).ok()?;
    limits.budget
}

/// Whether so many percent of a budget are spent.
pub fn is_reached(spent: Amount, budget: Amount, percent: u32) -> bool {
    let hundredfold = spent.units().saturating_mul(100);
    hundredfold >= budget.units().saturating_mul(percent.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_a_threshold_is_reached() {
        // (spent, budget, percent, whether it is reached)
        let cases = [
            ("0.79999999999999999999", "1", 80, false),
            ("0.8", "1", 80, true),
            ("4.99", "5", 100, false),
            ("5", "5.00", 100, true),
            ("7", "5", 100, true),
            ("999999999", "1000000000", 100, false),
            ("3402823669209384634", "1000000000", 100, true),
        ];
        for (spent, budget, percent, want) in cases {
            let read = |text| Amount::read(text).unwrap();
            let got = is_reached(read(spent), read(budget), percent);
            assert_eq!(got, want, "{spent} of {budget}, {percent} %");
        }
    }
}
