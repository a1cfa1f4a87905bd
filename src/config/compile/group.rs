//! Source groups and their models.

use std::rc::Rc;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::super::account;
use super::super::document::{GroupDocument, ModelDocument};
use super::super::multiplier::Multiplier;
use super::super::policy::{Clients, Group, GroupKind, Lists, Source};
use super::{Compiler, Problems, accounts, limits, methods, names, prices};
use crate::limits::{Scope, Subject};
use crate::model::catalog::Kind;
use crate::model::name::NameRule;
use crate::model::{Catalog, Model};
use crate::protocol::Protocol;

pub(super) fn is_mixed(document: &GroupDocument) -> bool {
    document.protocol.as_deref() == Some("Mixed")
}

/// Compiles a source group; `None` for a Mixed one, or where the protocol is wrong.
pub(super) fn compile_source(
    document: &GroupDocument,
    path: &str,
    compiler: &mut Compiler,
) -> Option<Group> {
    if is_mixed(document) {
        return None;
    }
    let problems = &mut compiler.problems;
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
    let image_generation = flag(
        document.image_generation,
        Protocol::A,
        protocol,
        &format!("{path}.image_generation"),
        problems,
    );
    let count_tokens = flag(
        document.count_tokens,
        Protocol::B,
        protocol,
        &format!("{path}.count_tokens"),
        problems,
    );
    let account_resources = flag(
        document.account_resources,
        Protocol::C,
        protocol,
        &format!("{path}.account_resources"),
        problems,
    );
    let methods = methods::compile(document, protocol, path, problems);
    flag(
        document.include_usage,
        Protocol::A,
        protocol,
        &format!("{path}.include_usage"),
        problems,
    );
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
    let multiplier = multiplier(
        document.multiplier.as_deref(),
        &format!("{path}.multiplier"),
        problems,
    );
    let accounts = accounts::compile(document, protocol, path, problems);
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
    let catalog = catalog(document, protocol, path, compiler);
    let source = Source {
        group: document.id.clone().unwrap_or_default(),
        protocol,
        multiplier,
        cluster,
        accounts: accounts.map(Rc::new),
        image_generation,
        count_tokens,
        account_resources,
        methods,
        include_usage: document.include_usage,
        unreported_free,
        catalog,
    };
    Some(frame(
        document,
        path,
        GroupKind::Source(Rc::new(source)),
        compiler,
    ))
}

/// What source and Mixed groups have in common.
pub(super) fn frame(
    document: &GroupDocument,
    path: &str,
    kind: GroupKind,
    compiler: &mut Compiler,
) -> Group {
    let problems = &mut compiler.problems;
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
    let priced = prices::cover(&kind);
    if limits.as_ref().is_some_and(|l| l.budget.is_set()) && !priced {
        problems.push(
            format!("{path}.limits.budget"),
            prices::why_no_budget(&kind),
        );
    }
    Group {
        priced,
        limits: limits.map(|limits| Subject::new(Scope::Group, &id, *limits)),
        id,
        name,
        clients,
        kind,
        lists: Lists::default(),
    }
}

/// Reads a required multiplier.
pub(super) fn multiplier(text: Option<&str>, path: &str, problems: &mut Problems) -> Multiplier {
    match text.map(Multiplier::parse) {
        Some(Ok(multiplier)) => multiplier,
        Some(Err(reason)) => {
            problems.push(path, reason);
            Multiplier::ONE
        }
        None => {
            problems.push(path, "is missing");
            Multiplier::ONE
        }
    }
}

/// A switch that has a meaning in one protocol only; switched on elsewhere it is a mistake.
fn flag(
    value: Option<bool>,
    meant_for: Protocol,
    protocol: Protocol,
    path: &str,
    problems: &mut Problems,
) -> bool {
    let on = value.unwrap_or(false);
    if on && protocol != meant_for {
        problems.push(
            path,
            format!("has a meaning in protocol {meant_for} groups only"),
        );
    }
    on
}

fn catalog(
    document: &GroupDocument,
    protocol: Protocol,
    path: &str,
    compiler: &mut Compiler,
) -> Catalog {
    let rule = match protocol {
        Protocol::A => NameRule::A,
        Protocol::B => NameRule::B,
        Protocol::C => NameRule::C,
    };
    let mut catalog = Catalog::new(rule);
    for (i, model) in document.models.iter().flatten().enumerate() {
        let path = format!("{path}.models[{i}]");
        add_model(&mut catalog, model, (rule, protocol), &path, compiler);
    }
    if catalog.models().is_empty() {
        compiler.warnings.push(
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
    compiler: &mut Compiler,
) {
    let prices = document
        .prices
        .as_ref()
        .map(|prices| prices::compile(prices, &format!("{path}.prices"), compiler));
    let problems = &mut compiler.problems;
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
    if document.entry.is_some() {
        problems.push(
            format!("{path}.entry"),
            "has a meaning in Mixed groups only",
        );
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
        None | Some("text") => Kind::Text,
        Some("image") => Kind::Image,
        Some(_) => {
            problems.push(format!("{path}.kind"), "must be \"text\" or \"image\"");
            Kind::Text
        }
    };
    let created = document
        .created_at
        .as_deref()
        .and_then(|text| timestamp(text, &format!("{path}.created_at"), problems));
    let model = Model {
        kind,
        display_name: document.display_name.clone().unwrap_or_else(|| id.clone()),
        created: created.unwrap_or(0),
        upstream: document.upstream.clone(),
        entitled: document.entitled.unwrap_or(true),
        merge_dated: document.merge_dated.unwrap_or(false),
        prices,
        free,
        id,
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

/// An RFC 3339 time, as seconds since the Unix epoch.
pub(super) fn timestamp(text: &str, path: &str, problems: &mut Problems) -> Option<i64> {
    checked_timestamp(text)
        .map_err(|reason| problems.push(path, reason))
        .ok()
}

/// The same, for whoever names the place only where something is wrong with it.
pub(super) fn checked_timestamp(text: &str) -> Result<i64, &'static str> {
    OffsetDateTime::parse(text, &Rfc3339)
        .map(OffsetDateTime::unix_timestamp)
        .map_err(|_| "must be a time such as \"2027-01-01T00:00:00Z\"")
}
