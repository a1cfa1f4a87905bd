//! The languages that a caller may choose for messages.

use super::problem::ApiProblem;
use crate::language::Language;

/// Reads the tag that a body has, if it has one.
///
/// # Errors
/// There is no such language.
pub fn asked(tag: Option<&str>) -> Result<Option<Language>, ApiProblem> {
    let Some(tag) = tag else { return Ok(None) };
    let found = Language::of(tag);
    if found.is_none() {
        let tags: Vec<&str> = Language::all().map(Language::tag).collect();
        let reason = t!("must be one of {tags}", tags = tags.join(", "));
        return Err(ApiProblem::invalid("language", &reason));
    }
    Ok(found)
}
