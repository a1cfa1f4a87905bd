//! Whether a budget can count everything that the keys of a group may use.

use crate::config::policy::{GroupKind, Source};
use crate::model::Model;

/// How many models a problem names.
const MAX_NAMED: usize = 10;

/// Whether all that a group's keys may use has prices, or is said to cost nothing.
pub(super) fn cover(kind: &GroupKind) -> bool {
    usable(kind).all(|(_, model)| model.is_priced())
}

/// Why a group can have no budget, nor any of its keys, as [`cover`] says that it cannot.
pub(super) fn why_no_budget(kind: &GroupKind) -> String {
    let mut unpriced = usable(kind).filter(|(_, model)| !model.is_priced());
    let named = unpriced.by_ref().take(MAX_NAMED);
    let named = named.map(|(source, model)| match kind {
        GroupKind::Source(_) => model.id.clone(),
        GroupKind::Mixed(_) => format!("{} (of {})", model.id, source.group),
    });
    let mut names = named.collect::<Vec<_>>().join(", ");
    let more = unpriced.count();
    if more > 0 {
        names.push_str(&format!(" and {more} more"));
    }
    format!("would not count every model: give prices, or \"free\": true, to {names}")
}

/// The models that a group's keys may use, each with the source that has it.
fn usable(kind: &GroupKind) -> impl Iterator<Item = (&Source, &Model)> {
    let (source, mixed) = match kind {
        GroupKind::Source(source) => (Some(&**source), None),
        GroupKind::Mixed(mixed) => (None, Some(mixed)),
    };
    let own = source.into_iter().flat_map(|source| {
        source
            .catalog
            .models()
            .iter()
            .map(move |model| (source, model))
    });
    let shown = mixed.into_iter().flat_map(|mixed| {
        mixed.models.iter().filter_map(|shown| {
            let source = &*mixed.entry(shown.entry)?.source;
            let mut models = source.catalog.models().iter();
            let model = models.find(|model| model.id == shown.id)?;
            Some((source, model))
        })
    });
    own.chain(shown)
        .map(|(source, model)| (source, &**model))
        .filter(|(_, model)| model.entitled)
}
