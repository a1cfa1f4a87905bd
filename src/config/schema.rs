//! Reads JSON of a fixed schema, and names the place that does not fit it.

use serde::Deserialize;

use super::error::Problems;

/// Reads JSON.
///
/// # Errors
/// Bytes that are no JSON, or the first place that does not fit. No value is quoted: somebody may have put a secret in a
/// wrong place.
pub(crate) fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Problems> {
    serde_json::from_slice(bytes).or_else(|_| {
        // Once more, noting the path at every step: that takes several times as long.
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let read = serde_path_to_error::deserialize(&mut reader);
        match read {
            Ok(good) => reader
                .end()
                .map(|()| good)
                .map_err(|error| not_json(&error)),
            Err(error) if error.inner().is_data() => {
                let mut problems = Problems::default();
                problems.push(place_of(&error), words(&error.inner().to_string()));
                Err(problems)
            }
            Err(error) => Err(not_json(error.inner())),
        }
    })
}

/// Describes the error in bytes that are no JSON.
fn not_json(error: &serde_json::Error) -> Problems {
    let mut problems = Problems::default();
    problems.push(
        "",
        format!(
            "is not valid JSON (line {}, column {})",
            error.line(),
            error.column()
        ),
    );
    problems
}

/// A path as problems have it: empty for the whole.
pub(super) fn plain(path: String) -> String {
    if path == "." { String::new() } else { path }
}

/// Returns the path of an error: for a field that is there twice, that of the field.
fn place_of(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let path = plain(error.path().to_string());
    let message = error.inner().to_string();
    let field = message
        .strip_prefix("duplicate field `")
        .and_then(|rest| rest.split_once('`'))
        .map(|(field, _)| field);
    match field {
        Some(field) if path.is_empty() => field.to_owned(),
        Some(field) if path.rsplit(['.', ']']).next() != Some(field) => format!("{path}.{field}"),
        _ => path,
    }
}

/// The problem of a field that stands in one object twice.
pub(super) const TWICE: &str = "is there twice";

/// Rewords serde's message, without the value that it quotes.
pub(super) fn words(message: &str) -> String {
    let message = message
        .split_once(" at line ")
        .map_or(message, |(text, _)| text);
    if message.starts_with("duplicate field") {
        return TWICE.to_owned();
    }
    match message.split_once(", expected ") {
        Some((found, expected)) if found.starts_with("unknown field") => format!(
            "{found} (known: {})",
            expected.trim_start_matches("one of ")
        ),
        Some((_, expected)) => format!("must be {}", wanted(expected)),
        None => message.to_owned(),
    }
}

/// Rewords the expectation in serde's message.
fn wanted(expected: &str) -> String {
    let greatest = match expected {
        "u8" => u64::from(u8::MAX),
        "u16" => u64::from(u16::MAX),
        "u32" => u64::from(u32::MAX),
        "u64" => u64::MAX,
        "a boolean" => return "true or false".to_owned(),
        "a sequence" => return "a list".to_owned(),
        "a map" => return "an object".to_owned(),
        "struct PricesDocument" => {
            return "an object of prices: \"catalogue\" is resolved by trilane render and trilane serve, which publish numbers"
                .to_owned();
        }
        struct_ if struct_.starts_with("struct ") => return "an object".to_owned(),
        other => return other.to_owned(),
    };
    format!("a whole number from 0 to {greatest}")
}
