//! Source groups: models of one protocol behind one cluster.

use std::rc::Rc;

use super::diagnostics::Diagnostics;
use super::{accounts, fields, group, methods, model, names};
use crate::body::SteeringSet;
use crate::config::account;
use crate::config::document::GroupDocument;
use crate::config::error::Problems;
use crate::config::policy::{Group, GroupKind, Source};
use crate::protocol::Protocol;

/// Compiles a source group; `None` for a Mixed one, or where the protocol is wrong. `in_sequence`: other sources are asked before
/// or after it.
pub(super) fn compile(
    document: &GroupDocument,
    path: &str,
    in_sequence: bool,
    diagnostics: &mut Diagnostics,
) -> Option<Group> {
    if group::is_mixed(document) {
        return None;
    }
    let problems = &mut diagnostics.problems;
    let protocol = match document.protocol.as_deref() {
        Some("A") => Protocol::A,
        Some("B") => Protocol::B,
        Some("C") => Protocol::C,
        _ => {
            problems.push(
                format!("{path}.protocol"),
                "must be \"A\", \"B\", \"C\" or \"Mixed\"",
            );
            return None;
        }
    };
    if document.entries.is_some() {
        problems.push(format!("{path}.entries"), "only a Mixed group has entries");
    }
    if document.lists.is_some() {
        problems.push(
            format!("{path}.lists"),
            "has a meaning in Mixed groups only",
        );
    }
    let flag = |value: Option<bool>, meant_for: Protocol, field: &str, problems: &mut Problems| {
        let on = value.unwrap_or(false);
        // Switched on in another protocol it is a mistake.
        if on && protocol != meant_for {
            problems.push(
                format!("{path}.{field}"),
                format!("has a meaning in protocol {meant_for} groups only"),
            );
        }
        on
    };
    let image_generation = flag(
        document.image_generation,
        Protocol::A,
        "image_generation",
        problems,
    );
    let count_tokens = flag(document.count_tokens, Protocol::B, "count_tokens", problems);
    let account_resources = flag(
        document.account_resources,
        Protocol::C,
        "account_resources",
        problems,
    );
    let methods = methods::compile(document, protocol, path, problems);
    flag(
        document.include_usage,
        Protocol::A,
        "include_usage",
        problems,
    );
    let passes = passes(document, path, problems);
    let unreported_free = match document.unreported.as_deref() {
        None | Some("estimate") => false,
        Some("free") => true,
        Some(_) => {
            problems.push(
                format!("{path}.unreported"),
                "must be \"estimate\" or \"free\"",
            );
            false
        }
    };
    let multiplier = fields::multiplier(
        document.multiplier.as_deref(),
        &format!("{path}.multiplier"),
        problems,
    );
    let accounts = accounts::compile(document, protocol, path, in_sequence, problems);
    if account_resources && accounts.as_ref().is_some_and(|a| a.accounts.len() > 1) {
        problems.push(
            format!("{path}.account_resources"),
            "cannot be there with several accounts: what one of them keeps the others do not know",
        );
    }
    let cluster = match (&document.cluster, &accounts) {
        (None, Some(_)) => account::source_cluster(document.id.as_deref().unwrap_or_default()),
        (written, _) => {
            let cluster = written.clone().unwrap_or_default();
            names::cluster(&cluster, &format!("{path}.cluster"), problems);
            cluster
        }
    };
    let catalog = model::catalog(document, protocol, path, diagnostics);
    if let Some(accounts) = &accounts {
        accounts::check_regions(accounts, &catalog, path, diagnostics);
    }
    let source = Source {
        group: document.id.as_deref().unwrap_or_default().into(),
        protocol,
        multiplier,
        cluster: cluster.into(),
        accounts: accounts.map(Rc::new),
        image_generation,
        count_tokens,
        account_resources,
        methods,
        include_usage: document.include_usage,
        passes,
        unreported_free,
        error_text: document.error_text == Some(true),
        catalog,
    };
    Some(group::compile(
        document,
        path,
        GroupKind::Source(Rc::new(source)),
        diagnostics,
    ))
}

/// Compiles `passes`: names of members that are refused otherwise.
fn passes(document: &GroupDocument, path: &str, problems: &mut Problems) -> SteeringSet {
    let mut passes = SteeringSet::default();
    for (position, name) in document.passes.iter().flatten().enumerate() {
        if !passes.allow(name) {
            let known: Vec<&str> = SteeringSet::names().collect();
            problems.push(
                format!("{path}.passes[{position}]"),
                format!("is no member that is refused (known: {})", known.join(", ")),
            );
        }
    }
    passes
}
