//! Mixed groups: entries that lead to source groups, and the models shown of them.

use std::rc::Rc;

use hashbrown::HashMap;

use super::diagnostics::Diagnostics;
use super::sequence::Order;
use super::{fields, group, names, sequence};
use crate::config::document::{EntryDocument, GroupDocument, ModelDocument};
use crate::config::error::Problems;
use crate::config::policy::{EntrySource, Group, GroupKind, Mixed, MixedEntry, MixedModel, Source};
use crate::config::suggestion::suggestion;
use crate::money::Multiplier;
use crate::protocol::{Entry, Protocol};

/// The most sources of an entry.
const MOST_SOURCES: usize = 64;

/// The source groups a Mixed group may refer to, by id and position.
pub(super) struct Sources<'a> {
    pub(super) documents: &'a [GroupDocument],
    pub(super) compiled: &'a [Option<Group>],
    pub(super) index: &'a HashMap<String, usize>,
}

impl Sources<'_> {
    pub(super) fn at(&self, position: usize) -> Option<&Rc<Source>> {
        match &self.compiled.get(position)?.as_ref()?.kind {
            GroupKind::Source(source) => Some(source),
            GroupKind::Mixed(_) => None,
        }
    }

    /// Whether one of them speaks this protocol.
    fn speak(&self, protocol: Protocol) -> bool {
        let mut known = (0..self.compiled.len()).filter_map(|position| self.at(position));
        known.any(|source| source.protocol == protocol)
    }
}

/// An entry with the sources that are usable.
struct EntrySources<'a> {
    usable: MixedEntry,
    /// The ids of all of its sources.
    named: Vec<&'a str>,
    /// The order in which sources of one model are asked.
    order: Order,
}

pub(super) fn compile(
    document: &GroupDocument,
    path: &str,
    sources: &Sources<'_>,
    diagnostics: &mut Diagnostics,
) -> Group {
    refuse_source_fields(document, path, &mut diagnostics.problems);
    let mut entries: Vec<EntrySources<'_>> = Vec::new();
    for (name, entry_document) in document.entries.iter().flatten() {
        let path = format!("{path}.entries.{name}");
        let Some(entry) = Entry::from_name(name) else {
            diagnostics.problems.push(
                path,
                "is no entry (known: responses, vb_messages, vc_generate_content)",
            );
            continue;
        };
        if entries.iter().any(|e| e.usable.entry == entry) {
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
    } else if sources.speak(Protocol::B)
        && !entries.iter().any(|e| e.usable.entry == Entry::VbMessages)
    {
        diagnostics.warnings.push(
            format!("{path}.entries"),
            "has no vb_messages: protocol B traffic gets 403",
        );
    }
    let lists_by_protocol = match document.lists.as_deref() {
        None | Some("whole") => false,
        Some("by_protocol") => true,
        Some(_) => {
            diagnostics.problems.push(
                format!("{path}.lists"),
                "must be \"whole\" or \"by_protocol\"",
            );
            false
        }
    };
    let problems = &mut diagnostics.problems;
    let models = models(document, path, &entries, lists_by_protocol, problems);
    if models.is_empty() {
        diagnostics.warnings.push(
            format!("{path}.models"),
            "is empty: its keys can use nothing",
        );
    }
    let mixed = Mixed {
        entries: entries.into_iter().map(|entry| entry.usable).collect(),
        models: models.iter().map(|(_, model)| model.clone()).collect(),
        lists_by_protocol,
    };
    check_sources(&mixed, path, diagnostics);
    check_names(&mixed, &models, path, &mut diagnostics.problems);
    group::compile(document, path, GroupKind::Mixed(mixed), diagnostics)
}

/// Names sources of several that nothing leads to, or two that serve what names no model.
fn check_sources(mixed: &Mixed, path: &str, diagnostics: &mut Diagnostics) {
    for MixedEntry { entry, sources } in mixed.entries.iter().filter(|e| e.sources.len() > 1) {
        let place = |at: usize| format!("{path}.entries.{entry}.sources[{at}]");
        let mut keepers = sources.iter().enumerate();
        let mut keepers = keepers
            .by_ref()
            .filter(|(_, of)| of.source.account_resources);
        if let (Some((_, first)), Some((at, _))) = (keepers.next(), keepers.next()) {
            diagnostics.problems.push(
                place(at),
                format!(
                    "has account_resources, as \"{}\" has: a request for these names no model that would say which of the two is meant",
                    first.source.group
                ),
            );
        }
        for (at, of) in sources.iter().enumerate() {
            let mut models = mixed.models.iter();
            if !models.any(|model| model.entry == *entry && model.sources.contains(&at)) {
                diagnostics.warnings.push(
                    place(at),
                    format!("no model of this group names \"{}\"", of.source.group),
                );
            }
        }
    }
}

/// Names models of an entry with several sources whose names lead to another one.
fn check_names(mixed: &Mixed, models: &[(usize, MixedModel)], path: &str, problems: &mut Problems) {
    for (position, shown) in models {
        let several = mixed
            .entry(shown.entry)
            .is_some_and(|e| e.sources.len() > 1);
        let (true, Some((own, model))) = (several, mixed.offered(shown)) else {
            continue;
        };
        let mut names = own.source.catalog.names_of(model);
        let taken = names.find_map(|name| {
            let (by, other) = mixed.find(shown.entry, name)?;
            (!Rc::ptr_eq(other, model)).then_some((by, other))
        });
        if let Some((by, other)) = taken {
            problems.push(
                format!("{path}.models[{position}].id"),
                format!(
                    "it or an alias means the same name as model \"{}\" of \"{}\"",
                    other.id, by.source.group
                ),
            );
        }
    }
}

fn refuse_source_fields(document: &GroupDocument, path: &str, problems: &mut Problems) {
    let fields = [
        ("multiplier", document.multiplier.is_some()),
        ("fallback", document.fallback.is_some()),
        ("cluster", document.cluster.is_some()),
        ("accounts", document.accounts.is_some()),
        ("failover", document.failover.is_some()),
        ("image_generation", document.image_generation == Some(true)),
        ("count_tokens", document.count_tokens == Some(true)),
        ("include_usage", document.include_usage == Some(true)),
        ("passes", document.passes.is_some()),
        ("unreported", document.unreported.is_some()),
        ("error_text", document.error_text == Some(true)),
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

fn compile_entry<'a>(
    entry: Entry,
    document: &'a EntryDocument,
    path: &str,
    groups: &Sources<'_>,
    problems: &mut Problems,
) -> Option<EntrySources<'a>> {
    let order = Order::read(document.order.as_deref(), path, problems);
    let Some(several) = &document.sources else {
        let source = (&document.source, document.extra_multiplier.as_deref());
        let usable = compile_source(entry, source, path, groups, problems)?;
        return Some(EntrySources {
            named: document.source.as_deref().into_iter().collect(),
            usable: MixedEntry {
                entry,
                sources: vec![usable],
            },
            order,
        });
    };
    for (field, present) in [
        ("source", document.source.is_some()),
        ("extra_multiplier", document.extra_multiplier.is_some()),
    ] {
        if present {
            problems.push(
                format!("{path}.{field}"),
                "stands in each of sources, where there are sources",
            );
        }
    }
    if several.is_empty() || several.len() > MOST_SOURCES {
        problems.push(
            format!("{path}.sources"),
            format!("must have 1 to {MOST_SOURCES} sources"),
        );
        return None;
    }
    let (mut named, mut sources) = (Vec::new(), Vec::new());
    for (at, source) in several.iter().enumerate() {
        let path = format!("{path}.sources[{at}]");
        if let Some(id) = source.source.as_deref() {
            if named.contains(&id) {
                problems.push(format!("{path}.source"), "is listed twice");
                continue;
            }
            named.push(id);
        }
        let source = (&source.source, source.extra_multiplier.as_deref());
        sources.extend(compile_source(entry, source, &path, groups, problems));
    }
    Some(EntrySources {
        named,
        usable: MixedEntry { entry, sources },
        order,
    })
}

/// Compiles a source of an entry: the group's id, and the extra multiplier.
fn compile_source(
    entry: Entry,
    (id, extra): (&Option<String>, Option<&str>),
    path: &str,
    groups: &Sources<'_>,
    problems: &mut Problems,
) -> Option<EntrySource> {
    let source_path = format!("{path}.source");
    let source_id = names::id(id, &source_path, problems)?;
    let Some(&position) = groups.index.get(source_id) else {
        let known = suggestion(source_id, names::in_order(groups.index));
        problems.push(
            source_path,
            format!("there is no group \"{source_id}\"{known}"),
        );
        return None;
    };
    let extra = match extra {
        None => Multiplier::ONE,
        text => fields::multiplier(text, &format!("{path}.extra_multiplier"), problems),
    };
    if groups.documents.get(position).is_some_and(group::is_mixed) {
        problems.push(
            source_path,
            format!("\"{source_id}\" is a Mixed group, which is no source"),
        );
        return None;
    }
    // A source that did not compile has its own problems listed already.
    let source = groups.at(position)?;
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
    Some(EntrySource {
        multiplier: source.multiplier.times(extra),
        source: Rc::clone(source),
    })
}

/// The models that the group shows, each with its position in the document.
fn models(
    document: &GroupDocument,
    path: &str,
    entries: &[EntrySources<'_>],
    lists_by_protocol: bool,
    problems: &mut Problems,
) -> Vec<(usize, MixedModel)> {
    let mut models: Vec<(usize, MixedModel)> = Vec::new();
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
        let Some(configured) = entries.iter().find(|e| e.usable.entry == entry) else {
            problems.push(
                format!("{path}.entry"),
                format!("this group has no usable entry {entry}"),
            );
            continue;
        };
        let Some(places) = places(configured, model, &path, problems) else {
            continue;
        };
        let mut listed = models.iter().map(|(_, model)| model);
        if let Some(other) =
            listed.find(|other| &other.id == id && (other.entry == entry || !lists_by_protocol))
        {
            let why = if other.entry == entry {
                ""
            } else {
                ": under two entries it can stand where \"lists\" is \"by_protocol\""
            };
            problems.push(format!("{path}.id"), format!("is listed twice{why}"));
            continue;
        }
        if let [place] = *places
            && lacks(configured, place, id)
        {
            let source = configured.usable.sources.get(place);
            let of = if configured.named.len() > 1 {
                format!("\"{}\"", source.map_or("", |it| &it.source.group))
            } else {
                format!("the source of entry {entry}")
            };
            problems.push(
                format!("{path}.id"),
                format!("{of} has no model with this id"),
            );
            continue;
        }
        let sources = sequence::ordered(&configured.usable.sources, places, id, configured.order);
        let model = MixedModel {
            id: id.clone(),
            entry,
            sources,
        };
        models.push((i, model));
    }
    models
}

/// Whether the source at a place of an entry has no model with this id.
fn lacks(entry: &EntrySources<'_>, place: usize, id: &str) -> bool {
    let source = entry.usable.sources.get(place);
    source.is_none_or(|offer| offer.source.catalog.with_id(id).is_none())
}

/// The places of the sources that a model of an entry names; `None` where they have a problem, which is noted.
fn places(
    entry: &EntrySources<'_>,
    model: &ModelDocument,
    path: &str,
    problems: &mut Problems,
) -> Option<Vec<usize>> {
    let Some(several) = &model.sources else {
        return place(entry, model.source.as_deref(), path, problems).map(|place| vec![place]);
    };
    let before = problems.0.len();
    if model.source.is_some() {
        problems.push(
            format!("{path}.source"),
            "cannot be there together with sources",
        );
    }
    if several.is_empty() {
        problems.push(
            format!("{path}.sources"),
            "is empty: it names the sources that are asked for the model",
        );
    }
    let id = model.id.as_deref().unwrap_or_default();
    let mut places = Vec::new();
    for (at, name) in several.iter().enumerate() {
        let path = format!("{path}.sources[{at}]");
        let mut sources = entry.usable.sources.iter();
        let Some(place) = sources.position(|offer| offer.source.group == name) else {
            // One that did not compile has its own problem.
            if !entry.named.contains(&&**name) {
                let known = suggestion(name, entry.named.iter().copied());
                let of = entry.usable.entry;
                problems.push(path, format!("is no source of entry {of}{known}"));
            }
            continue;
        };
        let offer = entry.usable.sources.get(place);
        if places.contains(&place) {
            problems.push(path, "is listed twice");
        } else if lacks(entry, place, id) {
            problems.push(path, format!("\"{name}\" has no model \"{id}\""));
        } else if several.len() > 1 && offer.is_some_and(|it| it.source.accounts.is_none()) {
            problems.push(path, sequence::needs_accounts(name));
        } else {
            places.push(place);
        }
    }
    (problems.0.len() == before && !places.is_empty()).then_some(places)
}

/// The place of the source that a model of an entry names; `None` where it has a problem, which is noted.
fn place(
    entry: &EntrySources<'_>,
    named: Option<&str>,
    path: &str,
    problems: &mut Problems,
) -> Option<usize> {
    let EntrySources {
        usable, named: all, ..
    } = entry;
    let known = || suggestion(named.unwrap_or_default(), all.iter().copied());
    let Some(id) = named else {
        if all.len() > 1 {
            problems.push(
                format!("{path}.source"),
                format!(
                    "is missing: which source of entry {}{}",
                    usable.entry,
                    known()
                ),
            );
            return None;
        }
        return Some(0);
    };
    let mut sources = usable.sources.iter();
    let place = sources.position(|offer| offer.source.group == id);
    // One that did not compile has its own problem.
    if place.is_none() && !all.contains(&id) {
        problems.push(
            format!("{path}.source"),
            format!("is no source of entry {}{}", usable.entry, known()),
        );
    }
    place
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
