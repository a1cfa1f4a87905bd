//! Common parts of source and Mixed groups.

use super::diagnostics::Diagnostics;
use super::{coverage, limits, names};
use crate::config::document::GroupDocument;
use crate::config::policy::{Clients, Group, GroupKind, Lists};
use crate::limits::{Subject, SubjectKind};

/// Whether the document calls this group a Mixed one.
pub(super) fn is_mixed(document: &GroupDocument) -> bool {
    document.protocol.as_deref() == Some("Mixed")
}

/// Compiles what source and Mixed groups have in common.
pub(super) fn compile(
    document: &GroupDocument,
    path: &str,
    kind: GroupKind,
    diagnostics: &mut Diagnostics,
) -> Group {
    let problems = &mut diagnostics.problems;
    let id = document.id.clone().unwrap_or_default();
    let name = document.name.clone().unwrap_or_else(|| id.clone());
    if document.name.is_some() {
        names::display(&name, &format!("{path}.name"), problems);
    }
    let clients = match document.clients.as_deref() {
        None | Some("strict") => Clients::Strict,
        Some("current") => Clients::Current,
        Some(_) => {
            problems.push(
                format!("{path}.clients"),
                "must be \"strict\" or \"current\"",
            );
            Clients::Strict
        }
    };
    let limits = document
        .limits
        .as_ref()
        .and_then(|limits| limits::compile(limits, &format!("{path}.limits"), problems));
    let has_budget = limits.as_ref().is_some_and(|l| l.budget.is_set());
    let priced = kind.usable().all(|of| of.model.is_priced());
    let group = Group {
        priced,
        limits: limits.map(|limits| Subject::new(SubjectKind::Group, &id, *limits)),
        id: id.into(),
        name,
        clients,
        kind,
        contact: None,
        lists: Lists::default(),
        fallback: Vec::new(),
    };
    if has_budget {
        coverage::check(
            &group,
            (None, None),
            format!("{path}.limits.budget"),
            diagnostics,
        );
    }
    group
}
