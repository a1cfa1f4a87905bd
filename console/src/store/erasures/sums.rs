//! Sums of usage and of spend, which the pseudonym takes over.

use std::collections::BTreeMap;

use trilane::limits::{SubjectKind, member_id, member_parts};

use super::bounded::{OF_PERSON, for_engine};
use crate::ledger::UsageTotals;
use crate::store::spend::{self, SpendKey};
use crate::store::usage_rows::{self, OWNER, UsageTable};
use crate::store::{StoreError, SumChange, Transaction, usage_days, usage_dimensions};

/// Gives rows another owner, whose place in their keys is given. No two of them are the same then.
fn renamed<const N: usize>(
    rows: BTreeMap<[String; N], UsageTotals>,
    place: usize,
    pseudonym: &str,
) -> BTreeMap<[String; N], UsageTotals> {
    let renamed = rows.into_iter().map(|(mut key, totals)| {
        if let Some(owner) = key.get_mut(place) {
            pseudonym.clone_into(owner);
        }
        (key, totals)
    });
    renamed.collect()
}

/// Gives some rows of a table to the pseudonym. Whether there were any.
pub(super) async fn usage(
    transaction: &mut Transaction,
    table: UsageTable,
    (person, pseudonym): (&str, &str),
) -> Result<bool, StoreError> {
    // Nothing is rolled up meanwhile: days would be made of hours that are about to change.
    usage_days::share_place(transaction).await?;
    let rows = usage_rows::take_of_owner(transaction, &table.sums(), person).await?;
    let is_more = !rows.is_empty();
    let rows = renamed(rows, OWNER, pseudonym);
    usage_rows::change(transaction, table, &rows, SumChange::Add).await?;
    Ok(is_more)
}

/// Gives some of what requests said of themselves to the pseudonym. Whether there was any.
pub(super) async fn dimensions(
    transaction: &mut Transaction,
    (person, pseudonym): (&str, &str),
) -> Result<bool, StoreError> {
    usage_days::share_place(transaction).await?;
    let rows = usage_dimensions::take_of_owner(transaction, person).await?;
    let is_more = !rows.is_empty();
    let rows = renamed(rows, usage_dimensions::OWNER, pseudonym);
    usage_dimensions::add(transaction, &rows).await?;
    Ok(is_more)
}

/// Gives some of what was spent to the pseudonym. Whether there was any.
pub(super) async fn spend(
    transaction: &mut Transaction,
    (person, pseudonym): (&str, &str),
) -> Result<bool, StoreError> {
    let condition = for_engine(OF_PERSON, transaction);
    let found = spend::first_of(transaction, &condition, person).await?;
    let Some((kind, subject)) = found else {
        return Ok(false);
    };
    let (kind, other) = match member_parts(&subject) {
        Some((_, team)) if kind == SubjectKind::Member => (kind, member_id(pseudonym, team)),
        _ => (SubjectKind::Owner, pseudonym.to_owned()),
    };
    let rows = spend::take_of(transaction, kind, &subject).await?;
    let charges: BTreeMap<_, _> = rows
        .into_iter()
        .map(|(period, currency, amount)| {
            let key = SpendKey {
                kind,
                subject: other.clone(),
                period,
                currency,
            };
            (key, amount)
        })
        .collect();
    spend::change(transaction, &charges, SumChange::Add).await?;
    Ok(true)
}
