//! Checks keys as the gateway does, before they are stored.

use std::collections::BTreeMap;

use trilane::config::document::LimitsDocument;
use trilane::config::key::CheckedKey;
use trilane::config::{Document, Problem, Problems, compile};
use trilane::keys::AddressRange;

use super::budgets;
use super::erasures;
use super::fields;
use super::keys::key_document;
use super::problem::ApiProblem;
use crate::store::key_feed::MOST_ADDRESSES;
use crate::store::keys::StoredKey;
use crate::store::{Transaction, documents, people};

/// Checks the addresses of a person's keys.
///
/// # Errors
/// Each that is none, with its place.
pub(super) fn check_addresses(addresses: &[String]) -> Result<(), ApiProblem> {
    let mut problems = Problems::default();
    if addresses.len() > MOST_ADDRESSES {
        problems.push("addresses", too_many_addresses());
    }
    for (place, text) in addresses.iter().enumerate() {
        if let Err(reason) = text.parse::<AddressRange>() {
            problems.push(format!("addresses[{place}]"), reason);
        }
    }
    ApiProblem::if_any(problems)
}

fn too_many_addresses() -> String {
    t!(
        "must name at most {count} addresses and ranges",
        count = MOST_ADDRESSES
    )
}

/// Checks a key as the gateway does: by itself, and together with the document in force, of which it needs the group, and with
/// a budget a model that has a price.
///
/// # Errors
/// Each value that a gateway would reject, with its field.
pub(super) async fn check(
    transaction: &mut Transaction,
    key: &StoredKey,
) -> Result<(), ApiProblem> {
    let found = check_all(transaction, core::slice::from_ref(key)).await?;
    let own = found.into_iter().map(|(_, problem)| problem);
    ApiProblem::if_any(Problems(own.collect()))
}

/// Checks keys, each as [`check`] does. The problems, each with the place of its key.
///
/// # Errors
/// A key is not even as in a document, or those of the database.
pub(super) async fn check_all(
    transaction: &mut Transaction,
    keys: &[StoredKey],
) -> Result<Vec<(usize, Problem)>, ApiProblem> {
    let mut found = Vec::new();
    let mut all = Vec::new();
    for (place, key) in keys.iter().enumerate() {
        let mut written = key_document(key)?;
        let mut problems = Problems::default();
        if let Some(label) = &key.label
            && !fields::is_name(label)
        {
            problems.push("label", fields::NAME);
        }
        let addresses = written.addresses.as_ref().map_or(0, Vec::len);
        if addresses > MOST_ADDRESSES {
            problems.push("addresses", too_many_addresses());
        }
        if let Some(expires_at) = &key.expires_at
            && !is_stored_time(expires_at)
        {
            problems.push(
                "expires_at",
                text!("must be a time such as 2027-01-01T00:00:00Z"),
            );
            written.expires_at = None;
        }
        if let Err(Problems(more)) = CheckedKey::of(&written) {
            problems.0.extend(more);
        }
        found.extend(problems.0.into_iter().map(|problem| (place, problem)));
        all.push(written);
    }
    if !found.is_empty() {
        return Ok(found);
    }
    let mut under_budget = BTreeMap::new();
    for key in keys {
        let of = (key.owner.as_deref(), key.team.as_deref());
        if under_budget.contains_key(&of) {
            continue;
        }
        if let Some(owner) = of.0 {
            erasures::refuse_erased(transaction, "owner", owner).await?;
        }
        under_budget.insert(of, budgets::is_under_one(transaction, of.0, of.1).await?);
    }
    let Some(current) = documents::current(transaction).await? else {
        return Ok(found);
    };
    let Ok(mut document) = Document::parse(current.served.as_bytes()) else {
        return Ok(found);
    };
    let has_budget = |limits: &LimitsDocument| limits.budget.is_some();
    for (key, written) in keys.iter().zip(&mut all) {
        let of = (key.owner.as_deref(), key.team.as_deref());
        let is_under_one = under_budget.get(&of).copied().unwrap_or_default();
        if is_under_one && !written.limits.as_ref().is_some_and(has_budget) {
            // The budget of its owner or its team needs the same prices.
            written.limits = Some(budgets::some_budget());
        }
    }
    // Without the document's own, so that every problem is one of these keys'.
    document.keys = Some(all);
    if let Err(Problems(problems)) = compile(&document) {
        found.extend(problems.into_iter().filter_map(of_key));
    }
    Ok(found)
}

/// The problem of a key of a document, with the key's place, at the key's own field.
fn of_key(problem: Problem) -> Option<(usize, Problem)> {
    let (place, path) = problem.path.strip_prefix("keys[")?.split_once(']')?;
    let place = place.parse().ok()?;
    let path = path.trim_start_matches('.').to_owned();
    Some((place, Problem { path, ..problem }))
}

/// Refuses to enable a key whose owner is disabled, or to give it to such a person. The transaction has its turn to change keys,
/// for which whoever disables the owner waits.
///
/// # Errors
/// 422: the owner is disabled.
pub(super) async fn check_owner(
    transaction: &mut Transaction,
    before: Option<&StoredKey>,
    key: &StoredKey,
) -> Result<(), ApiProblem> {
    let was_good = before.is_some_and(|before| !before.disabled && before.owner == key.owner);
    let (false, false, Some(owner)) = (key.disabled, was_good, &key.owner) else {
        return Ok(());
    };
    let owner = people::find(transaction, owner).await?;
    if owner.is_some_and(|owner| owner.disabled) {
        let why = text!(
            "is a person who is disabled: no key of theirs can be used until they are enabled"
        );
        return Err(ApiProblem::invalid("owner", why));
    }
    Ok(())
}

/// Whether a time is of the one form that is stored.
fn is_stored_time(text: &str) -> bool {
    crate::timestamp::parse(text).is_some_and(|time| crate::timestamp::text(time) == text)
}
