//! The prices of a model.

use super::super::document::PricesDocument;
use super::super::policy::GroupKind;
use super::Compiler;
use crate::model::{Model, Price, Prices};
use crate::usage::Kind;

/// Compiles prices; a wrong one is a problem, a price that seems forgotten a warning.
pub(super) fn compile(document: &PricesDocument, path: &str, compiler: &mut Compiler) -> Prices {
    let mut prices = Prices::default();
    let mut read = |text: &Option<String>, field: &str| {
        let text = text.as_deref()?;
        match Price::parse(text) {
            Ok(price) => Some(price),
            Err(reason) => {
                compiler.problems.push(format!("{path}.{field}"), reason);
                None
            }
        }
    };
    let kinds = [
        (Kind::Input, &document.input),
        (Kind::InputImage, &document.input_image),
        (Kind::CacheRead, &document.cache_read),
        (Kind::CacheWrite5m, &document.cache_write_5m),
        (Kind::CacheWrite1h, &document.cache_write_1h),
        (Kind::ToolUse, &document.tool_use),
        (Kind::Output, &document.output),
        (Kind::Reasoning, &document.reasoning),
    ];
    for (kind, text) in kinds {
        if let Some(price) = read(text, kind.name()) {
            prices.set_tokens(kind, price);
        }
    }
    if let Some(price) = read(&document.image, "image") {
        prices.set_image(price);
    }
    let written = kinds.iter().any(|(_, text)| text.is_some()) || document.image.is_some();
    if !written {
        compiler
            .problems
            .push(path, "is empty: leave it out for a model without prices");
    }
    if document.input.is_some() != document.output.is_some() && document.image.is_none() {
        let missing = if document.input.is_some() {
            Kind::Output
        } else {
            Kind::Input
        };
        compiler.warnings.push(
            path,
            format!("has no price for {}: it is free", missing.name()),
        );
    }
    prices
}

/// Whether anything that a group's keys may use has a price.
pub(super) fn any(kind: &GroupKind) -> bool {
    let priced = |model: &Model| model.prices.is_some();
    match kind {
        GroupKind::Source(source) => source.catalog.models().iter().any(|model| priced(model)),
        GroupKind::Mixed(mixed) => mixed.models.iter().any(|shown| {
            let entry = mixed.entry(shown.entry);
            let mut models = entry.iter().flat_map(|entry| entry.source.catalog.models());
            models.any(|model| model.id == shown.id && priced(model))
        }),
    }
}
