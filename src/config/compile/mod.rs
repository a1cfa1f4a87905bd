//! From document to policy: checks everything, resolves every reference, names every problem.
//!
//! The loader, the filter and the command line all compile with this code, so what one of them
//! accepts the others accept.

mod accounts;
mod cors;
mod coverage;
mod diagnostics;
mod feed;
mod fields;
mod group;
pub(in crate::config) mod keys;
mod labels;
pub(in crate::config) mod limits;
mod methods;
mod mixed;
mod model;
mod names;
mod prices;
mod sequence;
mod service;
mod source;

use std::rc::Rc;

use hashbrown::HashMap;

use self::diagnostics::Diagnostics;
use super::document::{Document, GroupDocument};
use super::error::{Problem, Problems};
use super::policy::{Group, Policy};
use crate::keys::{KeyDigest, KeyRecord};

/// A document that passed every check.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The rules that the filter decides by.
    pub policy: Policy,
    /// The records of the account keys, in the document's order.
    pub keys: Vec<(KeyDigest, KeyRecord)>,
    /// Settings that are allowed yet look unintended.
    pub warnings: Vec<Problem>,
}

/// The least and the greatest [`Policy::inspect_window`], in bytes. Envoy holds the window in its
/// own buffers, whose limit the shipped configuration sets to twice the greatest window.
const WINDOW: core::ops::RangeInclusive<u64> = 1024..=512 * 1024;
/// The least and the greatest [`Policy::max_body`], in bytes.
const BODY: core::ops::RangeInclusive<u64> = 1024..=1024 * 1024 * 1024;

/// Compiles a whole document.
///
/// # Errors
/// Every problem found; nothing of a document with a problem may come into force.
pub fn compile(document: &Document) -> Result<Compiled, Problems> {
    let mut diagnostics = Diagnostics::default();
    let policy = policy(document, &mut diagnostics);
    let problems = &mut diagnostics.problems;
    if document.keys.is_none() {
        problems.push("keys", "is missing (an empty list is allowed)");
    }
    let keys = document.keys.as_deref().unwrap_or_default();
    let keys = keys::compile(keys, &policy, &mut diagnostics);
    diagnostics.finish().map(|warnings| Compiled {
        policy,
        keys,
        warnings,
    })
}

/// Compiles a document without looking at its keys.
///
/// # Errors
/// Every problem found.
pub fn compile_policy(document: &Document) -> Result<(Policy, Vec<Problem>), Problems> {
    let mut diagnostics = Diagnostics::default();
    let policy = policy(document, &mut diagnostics);
    diagnostics.finish().map(|warnings| (policy, warnings))
}

fn policy(document: &Document, diagnostics: &mut Diagnostics) -> Policy {
    let (groups, index) = groups(document.groups.as_deref().unwrap_or_default(), diagnostics);
    let problems = &mut diagnostics.problems;
    let contact = contact(document, problems);
    let groups = groups.into_iter().flatten().map(|group| {
        let contact = contact.clone();
        Rc::new(Group { contact, ..group })
    });
    let mut size = |value, default, range, path| {
        fields::within(value, default, range, " bytes", path, problems)
    };
    // A group with a problem leaves a hole, which would shift the positions behind it; but
    // then the problem is noted and this policy never comes into force.
    Policy {
        query_key: document.query_key.unwrap_or(false),
        inspect_window: size(
            document.inspect_window,
            Policy::INSPECT_WINDOW,
            WINDOW,
            "inspect_window",
        ),
        max_body: size(document.max_body, Policy::MAX_BODY, BODY, "max_body"),
        currency: currency(document, problems),
        keys_feed: feed::keys(document.keys_feed.as_ref(), problems),
        spend_feed: feed::spend(document.spend_feed.as_ref(), problems),
        limits_service: service::compile(document.limits_service.as_ref(), problems),
        requires_ledger: requires_ledger(document, problems),
        cors: cors::compile(document.cors.as_ref(), problems),
        labels: labels::compile(document.labels.as_ref(), problems),
        groups: groups.collect(),
        index,
    }
}

/// The groups at their positions, `None` where one did not compile; and the position of each id.
fn groups(
    documents: &[GroupDocument],
    diagnostics: &mut Diagnostics,
) -> (Vec<Option<Group>>, HashMap<String, usize>) {
    let problems = &mut diagnostics.problems;
    if documents.is_empty() {
        problems.push(
            "groups",
            "is missing or empty: there would be no key that may do anything",
        );
    }
    let mut index = HashMap::with_capacity(documents.len());
    for (position, group) in documents.iter().enumerate() {
        let path = format!("groups[{position}].id");
        if let Some(id) = names::id(&group.id, &path, problems)
            && index.insert(id.to_owned(), position).is_some()
        {
            problems.push(path, format!("\"{id}\" is the id of another group too"));
        }
    }
    // Sources first: what a Mixed group refers to must be there when it is looked at.
    let in_sequence = sequence::members(documents);
    let compiled: Vec<Option<Group>> = documents
        .iter()
        .enumerate()
        .map(|(i, document)| {
            let id = document.id.as_deref().unwrap_or_default();
            let is_member = in_sequence.contains(id);
            source::compile(document, &format!("groups[{i}]"), is_member, diagnostics)
        })
        .collect();
    let sources = mixed::Sources {
        documents,
        compiled: &compiled,
        index: &index,
    };
    let all = documents.iter().enumerate().map(|(position, document)| {
        let path = format!("groups[{position}]");
        if group::is_mixed(document) {
            return Some(mixed::compile(document, &path, &sources, diagnostics));
        }
        let group = compiled.get(position).cloned().flatten()?;
        let fallback = sequence::fallback(document, &group, &path, &sources, diagnostics);
        Some(Group { fallback, ..group })
    });
    (all.collect(), index)
}

/// The longest contact, in bytes: it stands in messages of errors.
const LONGEST_CONTACT: usize = 200;

fn contact(document: &Document, problems: &mut Problems) -> Option<Rc<str>> {
    let text = document.contact.as_deref()?;
    let is_readable = text.trim() == text && !text.chars().any(char::is_control);
    if text.is_empty() || text.len() > LONGEST_CONTACT || !is_readable {
        problems.push(
            "contact",
            "must be a line of at most 200 bytes that says whom to ask, such as \"ops@example.com\"",
        );
    }
    Some(Rc::from(text))
}

fn requires_ledger(document: &Document, problems: &mut Problems) -> bool {
    match document.ledger_unwritable.as_deref() {
        None | Some("serve") => false,
        Some("refuse") => true,
        Some(_) => {
            problems.push(
                "ledger_unwritable",
                "must be \"serve\" (requests are served while the ledger cannot be written, and have no line) or \"refuse\" (they \
                 get 503)",
            );
            true
        }
    }
}

fn currency(document: &Document, problems: &mut Problems) -> Option<Rc<str>> {
    let code = document.currency.as_deref()?;
    if code.len() != 3 || !code.bytes().all(|byte| byte.is_ascii_uppercase()) {
        problems.push(
            "currency",
            "must be a code of three letters, such as \"USD\"",
        );
    }
    Some(Rc::from(code))
}

#[cfg(test)]
mod tests;
