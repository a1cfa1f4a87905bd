//! Reads JSON of a fixed schema, and names every place that does not fit it.

use core::marker::PhantomData;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::Problems;

/// A schema of JSON.
pub(crate) trait Schema {
    /// The type that it is read as; it may borrow from the text.
    type Read<'a>: Deserialize<'a>;
    /// The maximum number of problems that are listed. Each of them costs one more read of the whole text.
    const MAX_PROBLEMS: usize = 100;
}

/// Reads JSON of this schema.
///
/// # Errors
/// Bytes that are no JSON give one problem. JSON that does not fit gives every unknown field and
/// every value of a wrong type, as many as the schema allows. No value is quoted: somebody may have put a secret
/// in a wrong place.
pub(crate) fn read<S: Schema>(bytes: &[u8]) -> Result<S::Read<'_>, Problems> {
    if let Ok(good) = serde_json::from_slice(bytes) {
        return Ok(good);
    }
    // Once more, noting the path at every step: that takes several times as long.
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let first = match serde_path_to_error::deserialize::<_, S::Read<'_>>(&mut reader) {
        Ok(good) => match reader.end() {
            Ok(()) => return Ok(good),
            Err(error) => return Err(not_json(&error)),
        },
        Err(error) => error,
    };
    match serde_json::from_slice::<Value>(bytes) {
        Err(error) => Err(not_json(&error)),
        Ok(mut value) => Err(mismatches::<S>(&mut value, &first)),
    }
}

/// Reads JSON that does not match the schema of `T`, without its wrong parts; and lists the problems.
pub(crate) fn repaired<T: DeserializeOwned + 'static>(text: &str) -> (Option<T>, Problems) {
    struct Owned<T>(PhantomData<T>);
    impl<T: DeserializeOwned + 'static> Schema for Owned<T> {
        type Read<'a> = T;
    }
    let bytes = text.as_bytes();
    let Ok(mut value) = serde_json::from_slice::<Value>(bytes) else {
        let mut problems = Problems::default();
        problems.push("", "is not valid JSON");
        return (None, problems);
    };
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    match serde_path_to_error::deserialize::<_, T>(&mut reader) {
        Ok(good) => (Some(good), Problems::default()),
        Err(first) => {
            let problems = mismatches::<Owned<T>>(&mut value, &first);
            // By the reader that has found them: for another one all types would be compiled once more, here and by each Envoy.
            let rest = serde_path_to_error::deserialize(&value).ok();
            (rest, problems)
        }
    }
}

/// Describes the error in bytes that are no JSON.
pub(crate) fn not_json(error: &serde_json::Error) -> Problems {
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

/// Finds every mismatch: reads, notes where reading failed, takes that place out, reads on.
fn mismatches<S: Schema>(
    value: &mut Value,
    first: &serde_path_to_error::Error<serde_json::Error>,
) -> Problems {
    let mut problems = Problems::default();
    while problems.0.len() < S::MAX_PROBLEMS {
        let Err(error) = serde_path_to_error::deserialize::<_, S::Read<'_>>(&*value) else {
            break;
        };
        let path = error.path().to_string();
        let taken_out = take_out(value, error.path());
        problems.push(plain(path), words(&error.inner().to_string()));
        if !taken_out {
            break;
        }
    }
    // A field written twice is an error in the text that the parsed value no longer shows.
    let reason = words(&first.inner().to_string());
    if problems.is_empty() || reason == TWICE {
        problems.push(plain(place_of(first)), reason);
    }
    problems
}

/// Removes what stands at `path`; false where nothing does.
fn take_out(value: &mut Value, path: &serde_path_to_error::Path) -> bool {
    use serde_path_to_error::Segment;
    let mut segments: Vec<&Segment> = path.iter().collect();
    let Some(last) = segments.pop() else {
        return false;
    };
    let mut place = value;
    for segment in segments {
        let next = match segment {
            Segment::Map { key } => place.get_mut(key.as_str()),
            Segment::Seq { index } => place.get_mut(*index),
            _ => None,
        };
        match next {
            Some(next) => place = next,
            None => return false,
        }
    }
    match (last, place) {
        (Segment::Map { key }, Value::Object(map)) => map.remove(key).is_some(),
        // Taking an element out would shift the paths of those behind it.
        (Segment::Seq { index }, Value::Array(list)) => {
            list.get_mut(*index).is_some_and(|element| {
                !core::mem::replace(element, Value::Object(serde_json::Map::new())).is_object()
            })
        }
        _ => false,
    }
}

/// A path as problems have it: empty for the whole.
fn plain(path: String) -> String {
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
pub(crate) const TWICE: &str = "is there twice";

/// Rewords serde's message, without the value that it quotes.
fn words(message: &str) -> String {
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
