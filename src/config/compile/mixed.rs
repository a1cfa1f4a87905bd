//! Mixed groups: entries that lead to source groups, and the models shown of them.

use std::rc::Rc;

use hashbrown::HashMap;

use super::diagnostics::Diagnostics;
use super::{fields, group, names};
use crate::config::document::{EntryDocument, GroupDocument, ModelDocument};
use crate::config::error::Problems;
use crate::config::policy::{Group, GroupKind, Mixed, MixedEntry, MixedModel, Source};
use crate::config::suggestion::suggestion;
use crate::money::Multiplier;
use crate::protocol::Entry;

/// The source groups a Mixed group may refer to, by id and position.
pub(super) struct Sources<'a> {
    pub(super) documents: &'a [GroupDocument],
    pub(super) compiled: &'a [Option<Group>],
    pub(super) index: &'a HashMap<String, usize>,
}

impl Sources<'_> {
    fn at(&self, position: usize) -> Option<&Rc<Source>> {
        match &self.compiled.get(position)?.as_ref()?.kind {
            GroupKind::Source(source) => Some(source),
            GroupKind::Mixed(_) => None,
        }
    }
}

pub(super) fn compile(
    document: &GroupDocument,
    path: &str,
    sources: &Sources<'_>,
    diagnostics: &mut Diagnostics,
) -> Group {
    refuse_source_fields(document, path, &mut diagnostics.problems);
    let mut entries: Vec<MixedEntry> = Vec::new();
    for (name, entry_document) in document.entries.iter().flatten() {
        let path = format!("{path}.entries.{name}");
        let Some(entry) = Entry::from_name(name) else {
            diagnostics.problems.push(
                path,
                "is no entry (known: responses, vb_messages, vc_generate_content)",
            );
            continue;
        };
        if entries.iter().any(|e| e.entry == entry) {
            diagnostics.problems.push(path, "is given under two names");
            continue;
        }
        entries.extend(compile_entry(
            entry,
            entry_document,
            &path,
            sources,
            &mut diagnostics.problems,
        ));
    }
    if document.entries.as_ref().is_none_or(|e| e.is_empty()) {
        diagnostics
            .problems
            .push(format!("{path}.entries"), "is missing or empty");
    } else if !entries.iter().any(|e| e.entry == Entry::VbMessages) {
        diagnostics.warnings.push(
            format!("{path}.entries"),
            "has no vb_messages: protocol B traffic gets 403",
        );
    }
    let models = models(document, path, &entries, &mut diagnostics.problems);
    if models.is_empty() {
        diagnostics.warnings.push(
            format!("{path}.models"),
            "is empty: its keys can use nothing",
        );
    }
    let mixed = GroupKind::Mixed(Mixed { entries, models });
    group::compile(document, path, mixed, diagnostics)
}

fn refuse_source_fields(document: &GroupDocument, path: &str, problems: &mut Problems) {
    let fields = [
        ("multiplier", document.multiplier.is_some()),
        ("cluster", document.cluster.is_some()),
        ("accounts", document.accounts.is_some()),
        ("failover", document.failover.is_some()),
        ("image_generation", document.image_generation == Some(true)),
        ("count_tokens", document.count_tokens == Some(true)),
        ("include_usage", document.include_usage == Some(true)),
        ("passes", document.passes.is_some()),
        ("unreported", document.unreported.is_some()),
        ("methods", document.methods.is_some()),
        (
            "account_resources",
            document.account_resources == Some(true),
        ),
    ];
    for (field, present) in fields {
        if present {
            problems.push(
                format!("{path}.{field}"),
                "belongs to the source groups of a Mixed group, not to itself",
            );
        }
    }
}

fn compile_entry(
    entry: Entry,
    document: &EntryDocument,
    path: &str,
    sources: &Sources<'_>,
    problems: &mut Problems,
) -> Option<MixedEntry> {
    let source_path = format!("{path}.source");
    let source_id = names::id(&document.source, &source_path, problems)?;
    let Some(&position) = sources.index.get(source_id) else {
        let known = suggestion(source_id, names::in_order(sources.index));
        problems.push(
            source_path,
            format!("there is no group \"{source_id}\"{known}"),
        );
        return None;
    };
    let extra = match document.extra_multiplier.as_deref() {
        None => Multiplier::ONE,
        text => fields::multiplier(text, &format!("{path}.extra_multiplier"), problems),
    };
    if sources.documents.get(position).is_some_and(group::is_mixed) {
        problems.push(
            source_path,
            format!("\"{source_id}\" is a Mixed group, which is no source"),
        );
        return None;
    }
    // A source that did not compile has its own problems listed already.
    let source = sources.at(position)?;
    if source.protocol != entry.protocol() {
        problems.push(
            source_path,
            format!(
                "\"{source_id}\" speaks protocol {}, this entry needs {}",
                source.protocol,
                entry.protocol()
            ),
        );
        return None;
    }
    Some(MixedEntry {
        entry,
        multiplier: source.multiplier.times(extra),
        source: Rc::clone(source),
    })
}

fn models(
    document: &GroupDocument,
    path: &str,
    entries: &[MixedEntry],
    problems: &mut Problems,
) -> Vec<MixedModel> {
    let mut models: Vec<MixedModel> = Vec::new();
    for (i, model) in document.models.iter().flatten().enumerate() {
        let path = format!("{path}.models[{i}]");
        refuse_model_fields(model, &path, problems);
        let (Some(id), Some(entry)) = (&model.id, &model.entry) else {
            problems.push(path, "needs id and entry");
            continue;
        };
        let Some(entry) = Entry::from_name(entry) else {
            problems.push(format!("{path}.entry"), "is no entry");
            continue;
        };
        let Some(configured) = entries.iter().find(|e| e.entry == entry) else {
            problems.push(
                format!("{path}.entry"),
                format!("this group has no usable entry {entry}"),
            );
            continue;
        };
        let known = configured
            .source
            .catalog
            .models()
            .iter()
            .any(|m| m.id == id);
        if !known {
            problems.push(
                format!("{path}.id"),
                format!("the source of entry {entry} has no model with this id"),
            );
        } else if models.iter().any(|m| &m.id == id) {
            problems.push(format!("{path}.id"), "is listed twice");
        } else {
            models.push(MixedModel {
                id: id.clone(),
                entry,
            });
        }
    }
    models
}

fn refuse_model_fields(model: &ModelDocument, path: &str, problems: &mut Problems) {
    let fields = [
        ("kind", model.kind.is_some()),
        ("display_name", model.display_name.is_some()),
        ("created_at", model.created_at.is_some()),
        ("upstream", model.upstream.is_some()),
        ("aliases", model.aliases.is_some()),
        ("merge_dated", model.merge_dated.is_some()),
        ("reasoning", model.reasoning.is_some()),
        ("entitled", model.entitled.is_some()),
        ("prices", model.prices.is_some()),
        ("free", model.free == Some(true)),
    ];
    for (field, present) in fields {
        if present {
            problems.push(
                format!("{path}.{field}"),
                "belongs to the model of the source group",
            );
        }
    }
}
