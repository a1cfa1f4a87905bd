//! Finds budgets that have reached a threshold.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde_json::json;
use time::OffsetDateTime;
use trilane::config::Document;
use trilane::config::document::{BudgetDocument, LimitsDocument};

use crate::in_transaction;
use crate::secret;
use crate::store::spend_feed::{self, SpendChange};
use crate::store::webhooks::{self, Crossing, Webhook};
use crate::store::{Store, StoreError, Transaction, documents, keys};

/// The most subjects that are looked at in one transaction.
const BATCH: i64 = 500;
/// The most webhooks.
pub const MOST: i64 = 100;

/// Looks at the budgets whose spend has changed. Whether there is more to look at.
///
/// # Errors
/// Those of the database; nothing is changed then.
pub async fn look(store: &Store, now: OffsetDateTime) -> Result<bool, StoreError> {
    in_transaction!(store, transaction => look_in(transaction, now).await)
}

async fn look_in(transaction: &mut Transaction, now: OffsetDateTime) -> Result<bool, StoreError> {
    let before = webhooks::lock_watch(transaction).await?;
    let (_, head) = spend_feed::head(transaction).await?;
    // A backup may have been restored.
    let after = if before > head { 0 } else { before };
    let hooks = webhooks::list(transaction, "", MOST).await?;
    let changes = match hooks.as_slice() {
        [] => Vec::new(),
        _ => spend_feed::changes(transaction, after, BATCH, "", now.date()).await?,
    };
    let budgets = Budgets::of(transaction, &changes).await?;
    for change in &changes {
        for (period, budget) in budgets.of_subject(change, now) {
            tell(
                transaction,
                &hooks,
                change,
                (&period, budget),
                &budgets.currency,
                now,
            )
            .await?;
        }
    }
    let last = changes.last().map_or(head, |change| change.version);
    webhooks::set_watch(transaction, last).await?;
    Ok(i64::try_from(changes.len()).unwrap_or(i64::MAX) >= BATCH)
}

/// Tells every webhook whose thresholds are reached in a period.
async fn tell(
    transaction: &mut Transaction,
    hooks: &[Webhook],
    change: &SpendChange,
    (period, budget): (&str, Decimal),
    currency: &str,
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    let place = (period.to_owned(), currency.to_owned());
    let Some(spent) = change.spent.get(&place).map(|spent| spent.total) else {
        return Ok(());
    };
    let microseconds = now.unix_timestamp().saturating_mul(1_000_000);
    for hook in hooks {
        for threshold in &hook.thresholds {
            if !is_reached(spent.value(), budget, *threshold) {
                continue;
            }
            let id = format!("event_{}", secret::new_id().map_err(StoreError::Value)?);
            let body = json!({
                "id": id,
                "type": "budget.threshold",
                "at": crate::timestamp::text(now.replace_nanosecond(0).unwrap_or(now)),
                "kind": change.kind,
                "subject": change.subject,
                "period": period,
                "threshold": threshold,
                "spent": spent.text(),
                "budget": budget.normalize().to_string(),
                "currency": currency,
            });
            let crossing = Crossing {
                kind: &change.kind,
                subject: &change.subject,
                period,
                threshold: *threshold,
            };
            let message = (id.as_str(), body.to_string());
            let message = (message.0, message.1.as_str());
            webhooks::add_message(transaction, &hook.id, &crossing, message, microseconds).await?;
        }
    }
    Ok(())
}

/// Whether so many percent of a budget are spent.
fn is_reached(spent: Decimal, budget: Decimal, percent: u32) -> bool {
    let part = Decimal::new(i64::from(percent), 2);
    budget.checked_mul(part).is_some_and(|part| spent >= part)
}

/// The budgets of subjects, wherever they stand.
#[derive(Debug, Default)]
struct Budgets {
    keys: BTreeMap<String, BudgetDocument>,
    groups: BTreeMap<String, BudgetDocument>,
    currency: String,
}

impl Budgets {
    async fn of(
        transaction: &mut Transaction,
        changes: &[SpendChange],
    ) -> Result<Self, StoreError> {
        let mut budgets = Self::default();
        if changes.is_empty() {
            return Ok(budgets);
        }
        if let Some(current) = documents::current(transaction).await?
            && let Ok(document) = Document::parse(current.served.as_bytes())
        {
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
        }
        for change in changes.iter().filter(|change| change.kind == "key") {
            let key = keys::find(transaction, &change.subject).await?;
            let limits = key.and_then(|key| key.limits);
            let limits = limits.and_then(|text| serde_json::from_str::<LimitsDocument>(&text).ok());
            if let Some(budget) = limits.and_then(|limits| limits.budget) {
                budgets.keys.insert(change.subject.clone(), budget);
            }
        }
        Ok(budgets)
    }

    /// What a subject may spend in the day and month of `now`.
    fn of_subject(&self, change: &SpendChange, now: OffsetDateTime) -> Vec<(String, Decimal)> {
        let written = match change.kind.as_str() {
            "key" => self.keys.get(&change.subject),
            "group" => self.groups.get(&change.subject),
            _ => None,
        };
        let (per_day, per_month) = match written {
            Some(budget) => (&budget.per_day, &budget.per_month),
            None => (&change.per_day, &change.per_month),
        };
        let date = now.date();
        let month = format!("{:04}-{:02}", date.year(), u8::from(date.month()));
        let periods = [(date.to_string(), per_day), (month, per_month)];
        let budget = |(period, amount): (String, &Option<String>)| {
            let amount = Decimal::from_str_exact(amount.as_deref()?).ok()?;
            Some((period, amount))
        };
        periods.into_iter().filter_map(budget).collect()
    }
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
        ];
        for (spent, budget, percent, want) in cases {
            let read = |text| Decimal::from_str_exact(text).unwrap();
            let got = is_reached(read(spent), read(budget), percent);
            assert_eq!(got, want, "{spent} of {budget}, {percent} %");
        }
    }
}
