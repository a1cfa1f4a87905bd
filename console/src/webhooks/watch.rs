//! Finds budgets that have reached a threshold.

use std::collections::BTreeMap;

use serde_json::json;
use time::OffsetDateTime;
use trilane::config::document::BudgetDocument;
use trilane::limits::{Period, SubjectKind, Window};
use trilane::money::Amount;

use super::message;
use super::owner_mail::{self, OwnerMails};
use crate::store::nearly_spent as notes;
use crate::store::spend_feed::{self, SpendChange};
use crate::store::webhooks::{self, MessageCause, Webhook};
use crate::store::{Store, StoreError, Transaction, documents, keys};
use crate::timestamp::microseconds;
use crate::written_budgets::{WrittenBudgets, is_reached, of_limits};
use crate::{in_transaction, nearly_spent};

/// The most subjects that are looked at in one transaction.
const BATCH: i64 = 500;
/// The most webhooks.
pub const MOST: i64 = 100;

/// Looks at budgets. It keeps those of the document in force, which may be long.
#[derive(Debug, Default)]
pub struct BudgetWatch {
    /// The digest of the document, and its budgets.
    document: (String, WrittenBudgets),
    /// The mails to people; `None`: nobody is mailed.
    owners: Option<OwnerMails>,
}

impl BudgetWatch {
    /// Looks at budgets for people as well, if there are mails.
    pub fn new(owners: Option<OwnerMails>) -> Self {
        Self {
            owners,
            ..Self::default()
        }
    }

    /// Looks at the budgets whose spend has changed: notes those that are nearly spent, and puts messages for webhooks into the
    /// database. Whether there is more to look at.
    ///
    /// # Errors
    /// Those of the database; nothing is changed then.
    pub async fn look(&mut self, store: &Store, now: OffsetDateTime) -> Result<bool, StoreError> {
        in_transaction!(store, transaction => self.look_in(transaction, now).await)
    }

    async fn look_in(
        &mut self,
        transaction: &mut Transaction,
        now: OffsetDateTime,
    ) -> Result<bool, StoreError> {
        let before = webhooks::lock_watch(transaction).await?;
        let (_, head) = spend_feed::head(transaction).await?;
        // A backup may have been restored.
        let after = if before > head { 0 } else { before };
        let changes = spend_feed::changes(transaction, after, BATCH, "", now.date()).await?;
        if !changes.is_empty() {
            let hooks = webhooks::list(transaction, "", MOST).await?;
            self.renew(transaction).await?;
            let keys = budgets_of_keys(transaction, &changes).await?;
            for change in &changes {
                for (period, budget) in self.of_subject(change, &keys, now) {
                    self.tell(transaction, &hooks, change, (period, budget), now)
                        .await?;
                }
            }
        }
        let last = changes.last().map_or(head, |change| change.version);
        if last != before {
            webhooks::set_watch(transaction, last).await?;
        }
        Ok(i64::try_from(changes.len()).unwrap_or(i64::MAX) >= BATCH)
    }

    /// Reads the document in force, if it is another one.
    async fn renew(&mut self, transaction: &mut Transaction) -> Result<(), StoreError> {
        let etag = documents::current_etag(transaction).await?;
        let etag = etag.unwrap_or_default();
        if self.document.0 != etag {
            self.document = (etag, WrittenBudgets::in_force(transaction).await?);
        }
        Ok(())
    }

    /// Returns the budgets of a subject for the day and month of `now`.
    fn of_subject(
        &self,
        change: &SpendChange,
        keys: &BTreeMap<String, BudgetDocument>,
        now: OffsetDateTime,
    ) -> Vec<(Period, Amount)> {
        let document = &self.document.1;
        let subject = &change.subject;
        let written = match change.kind {
            SubjectKind::Key => keys.get(subject).or_else(|| document.keys.get(subject)),
            SubjectKind::Group => document.groups.get(subject),
            SubjectKind::Member | SubjectKind::Owner | SubjectKind::Team => Some(&change.budget),
        };
        let budget = |window: Window| {
            let amount = nearly_spent::amount(written?, window)?;
            Some((Period::of(window, now.date()), amount))
        };
        Window::ALL.into_iter().filter_map(budget).collect()
    }

    /// Notes a budget that is nearly spent in a period, and tells every webhook whose thresholds are reached.
    async fn tell(
        &self,
        transaction: &mut Transaction,
        hooks: &[Webhook],
        change: &SpendChange,
        (at, budget): (Period, Amount),
        now: OffsetDateTime,
    ) -> Result<(), StoreError> {
        let period = at.to_string();
        let period = period.as_str();
        let currency = &self.document.1.currency;
        let place = (period.to_owned(), currency.clone());
        let Some(spent) = change.spent.get(&place).map(|spent| spent.total) else {
            return Ok(());
        };
        if is_reached(spent.value(), budget, nearly_spent::PERCENT) {
            notes::note(transaction, period, change.kind, &change.subject).await?;
        }
        if let Some(mails) = &self.owners {
            let amounts = (spent.value(), budget, currency.as_str());
            owner_mail::tell_budget(
                transaction,
                mails,
                (change.kind, &change.subject),
                at,
                amounts,
                now,
            )
            .await?;
        }
        for hook in hooks {
            for threshold in &hook.thresholds {
                if !is_reached(spent.value(), budget, *threshold) {
                    continue;
                }
                let facts = [
                    ("kind", json!(change.kind)),
                    ("subject", json!(change.subject)),
                    ("period", json!(period)),
                    ("threshold", json!(threshold)),
                    ("spent", json!(spent.text())),
                    ("budget", json!(budget.to_string())),
                    ("currency", json!(currency)),
                ];
                let new = message::new(hook.language, "budget.threshold", &facts, now)?;
                let cause = MessageCause {
                    kind: change.kind.name(),
                    subject: &change.subject,
                    period,
                    threshold: *threshold,
                };
                let now = microseconds(now);
                webhooks::add_message(transaction, &hook.id, &cause, &new, now).await?;
            }
        }
        Ok(())
    }
}

/// The budgets of keys that have changed, as far as they stand with their limits.
async fn budgets_of_keys(
    transaction: &mut Transaction,
    changes: &[SpendChange],
) -> Result<BTreeMap<String, BudgetDocument>, StoreError> {
    let keys = changes
        .iter()
        .filter(|change| change.kind == SubjectKind::Key);
    let ids: Vec<&str> = keys.map(|change| change.subject.as_str()).collect();
    let found = keys::limits_of(transaction, &ids).await?.into_iter();
    let budgets = found.filter_map(|(id, limits)| Some((id, of_limits(Some(&limits))?)));
    Ok(budgets.collect())
}
