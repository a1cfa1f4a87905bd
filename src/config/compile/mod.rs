//! From document to policy: checks everything, resolves every reference, names every problem.
//!
//! The loader, the filter and the command line all compile with this code, so what one of them
//! accepts the others accept.

mod accounts;
mod feed;
mod group;
pub(in crate::config) mod keys;
pub(in crate::config) mod limits;
mod methods;
mod mixed;
mod names;
mod prices;
mod service;

use std::rc::Rc;

use hashbrown::HashMap;

use super::document::Document;
use super::error::{Problem, Problems};
use super::policy::{Group, Policy};
use crate::keys::{KeyDigest, KeyRecord};

/// A document that passed every check.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// What the filter decides by.
    pub policy: Policy,
    /// The records of the account keys, in the document's order.
    pub keys: Vec<(KeyDigest, KeyRecord)>,
    /// What is allowed yet looks unintended.
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
    let mut compiler = Compiler::default();
    let policy = compiler.policy(document);
    let keys = match &document.keys {
        Some(keys) => keys::compile(keys, &policy, &mut compiler.problems),
        None => {
            compiler
                .problems
                .push("keys", "is missing (an empty list is allowed)");
            Vec::new()
        }
    };
    compiler.finish().map(|warnings| Compiled {
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
    let mut compiler = Compiler::default();
    let policy = compiler.policy(document);
    compiler.finish().map(|warnings| (policy, warnings))
}

/// What compiling has found so far.
#[derive(Debug, Default)]
struct Compiler {
    problems: Problems,
    warnings: Problems,
}

impl Compiler {
    fn finish(self) -> Result<Vec<Problem>, Problems> {
        if self.problems.is_empty() {
            Ok(self.warnings.0)
        } else {
            Err(self.problems)
        }
    }

    fn policy(&mut self, document: &Document) -> Policy {
        let groups = document.groups.as_deref().unwrap_or_default();
        if groups.is_empty() {
            self.problems.push(
                "groups",
                "is missing or empty: there would be no key that may do anything",
            );
        }
        let mut index = HashMap::with_capacity(groups.len());
        for (position, group) in groups.iter().enumerate() {
            let path = format!("groups[{position}].id");
            if let Some(id) = names::id(&group.id, &path, &mut self.problems)
                && index.insert(id.to_owned(), position).is_some()
            {
                self.problems
                    .push(path, format!("\"{id}\" is the id of another group too"));
            }
        }
        // Sources first: what a Mixed group refers to must be there when it is looked at.
        let compiled: Vec<Option<Group>> = groups
            .iter()
            .enumerate()
            .map(|(i, document)| group::compile_source(document, &format!("groups[{i}]"), self))
            .collect();
        let sources = mixed::Sources {
            documents: groups,
            compiled: &compiled,
            index: &index,
        };
        let mut all = Vec::with_capacity(groups.len());
        for (position, document) in groups.iter().enumerate() {
            all.push(if group::is_mixed(document) {
                let path = format!("groups[{position}]");
                Some(mixed::compile(document, &path, &sources, self))
            } else {
                compiled.get(position).cloned().flatten()
            });
        }
        // A group with a problem leaves a hole, which would shift the positions behind it; but
        // then the problem is noted and this policy never comes into force.
        Policy {
            query_key: document.query_key.unwrap_or(false),
            inspect_window: self.bounded(
                document.inspect_window,
                Policy::INSPECT_WINDOW,
                WINDOW,
                "inspect_window",
            ),
            max_body: self.bounded(document.max_body, Policy::MAX_BODY, BODY, "max_body"),
            currency: self.currency(document),
            keys_feed: feed::compile(document.keys_feed.as_ref(), &mut self.problems),
            limits_service: service::compile(document.limits_service.as_ref(), &mut self.problems),
            groups: all.into_iter().flatten().map(Rc::new).collect(),
            index,
        }
    }

    fn currency(&mut self, document: &Document) -> Option<Rc<str>> {
        let code = document.currency.as_deref()?;
        if code.len() != 3 || !code.bytes().all(|byte| byte.is_ascii_uppercase()) {
            self.problems.push(
                "currency",
                "must be a code of three letters, such as \"USD\"",
            );
        }
        Some(Rc::from(code))
    }

    fn bounded(
        &mut self,
        value: Option<u64>,
        default: u64,
        range: core::ops::RangeInclusive<u64>,
        path: &str,
    ) -> u64 {
        let value = value.unwrap_or(default);
        if !range.contains(&value) {
            self.problems.push(
                path,
                format!(
                    "must be between {} and {} bytes",
                    range.start(),
                    range.end()
                ),
            );
        }
        value
    }
}

#[cfg(test)]
mod tests;
