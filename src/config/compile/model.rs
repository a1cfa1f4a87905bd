//! The models of a source group.

use smol_str::SmolStr;

use super::diagnostics::Diagnostics;
use super::{fields, names, prices};
use crate::config::document::{GroupDocument, ModelDocument};
use crate::model::catalog::ModelKind;
use crate::model::name::{NameRule, names_reasoning};
use crate::model::{Catalog, Model};
use crate::protocol::Protocol;

/// The moment that lists say of a model without `created_at`, in seconds since 1970: 2026-01-01T00:00:00Z. Protocols A and B want one.
const UNDATED: i64 = 1_767_225_600;

/// Compiles the models of a source group.
pub(super) fn catalog(
    document: &GroupDocument,
    protocol: Protocol,
    path: &str,
    diagnostics: &mut Diagnostics,
) -> Catalog {
    let rule = protocol.name_rule();
    let mut catalog = Catalog::new(rule);
    for (i, model) in document.models.iter().flatten().enumerate() {
        let path = format!("{path}.models[{i}]");
        add_model(&mut catalog, model, (rule, protocol), &path, diagnostics);
    }
    if catalog.models().is_empty() {
        diagnostics.warnings.push(
            format!("{path}.models"),
            "is empty: its keys can use nothing",
        );
    }
    catalog
}

fn add_model(
    catalog: &mut Catalog,
    document: &ModelDocument,
    (rule, protocol): (NameRule, Protocol),
    path: &str,
    diagnostics: &mut Diagnostics,
) {
    let prices = document
        .prices
        .as_ref()
        .map(|prices| prices::compile(prices, &format!("{path}.prices"), diagnostics));
    let problems = &mut diagnostics.problems;
    let free = document.free.unwrap_or(false);
    if free && document.prices.is_some() {
        problems.push(
            format!("{path}.free"),
            "contradicts prices: leave one of the two out",
        );
    }
    let Some(id) = document.id.clone() else {
        problems.push(format!("{path}.id"), "is missing");
        return;
    };
    if names::model(&id, protocol, &format!("{path}.id"), problems) && rule.fold(&id) != id {
        problems.push(
            format!("{path}.id"),
            format!("is not canonical: write \"{}\"", rule.fold(&id)),
        );
    }
    for (field, present) in [
        ("entry", document.entry.is_some()),
        ("source", document.source.is_some()),
    ] {
        if present {
            problems.push(
                format!("{path}.{field}"),
                "has a meaning in Mixed groups only",
            );
        }
    }
    if document.merge_dated == Some(true) && protocol != Protocol::A {
        problems.push(
            format!("{path}.merge_dated"),
            "has a meaning in protocol A groups only",
        );
    }
    if let Some(upstream) = &document.upstream {
        names::model(upstream, protocol, &format!("{path}.upstream"), problems);
    }
    let aliases = document.aliases.as_deref().unwrap_or_default();
    for (i, alias) in aliases.iter().enumerate() {
        names::model(alias, protocol, &format!("{path}.aliases[{i}]"), problems);
    }
    if let Some(name) = &document.display_name {
        names::display(name, &format!("{path}.display_name"), problems);
    }
    let kind = match document.kind.as_deref() {
        None | Some("text") => ModelKind::Text,
        Some("image") => ModelKind::Image,
        Some(_) => {
            problems.push(format!("{path}.kind"), "must be \"text\" or \"image\"");
            ModelKind::Text
        }
    };
    let created = document
        .created_at
        .as_deref()
        .and_then(|text| fields::timestamp(text, &format!("{path}.created_at"), problems));
    let model = Model {
        kind,
        display_name: document.display_name.clone().unwrap_or_else(|| id.clone()),
        created: created.unwrap_or(UNDATED),
        reasoning: document.reasoning.unwrap_or(false)
            || names_reasoning(&id)
            || document.upstream.as_deref().is_some_and(names_reasoning),
        upstream: document.upstream.as_deref().map(SmolStr::from),
        entitled: document.entitled.unwrap_or(true),
        merge_dated: document.merge_dated.unwrap_or(false),
        prices,
        free,
        id: id.into(),
    };
    if let Err(taken) = catalog.add(model, aliases) {
        for name in taken {
            problems.push(
                path,
                format!(
                    "its id or an alias means the same name as model \"{}\"",
                    name.by
                ),
            );
        }
    }
}
