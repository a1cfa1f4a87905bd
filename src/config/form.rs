//! Reading JSON of a fixed form, so that every place where it has another one is named.

use serde::Deserialize;
use serde_json::Value;

use super::error::Problems;

/// A form that JSON can have.
pub(super) trait Form {
    /// What it is read as; it may borrow from the text.
    type Read<'a>: Deserialize<'a>;
    /// How many problems of form are listed before the rest is left unsaid. For each of them all is
    /// read once more.
    const MAX_PROBLEMS: usize = 100;
}

/// Reads JSON of this form.
///
/// # Errors
/// Bytes that are no JSON give one problem. JSON of another form gives every unknown field and
/// every value of a wrong type, as many as the form allows. No value is quoted: somebody may have put a secret
/// in a wrong place.
pub(super) fn read<F: Form>(bytes: &[u8]) -> Result<F::Read<'_>, Problems> {
    if let Ok(good) = serde_json::from_slice(bytes) {
        return Ok(good);
    }
    // Once more, noting the path at every step: that takes several times as long.
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let first = match serde_path_to_error::deserialize::<_, F::Read<'_>>(&mut reader) {
        Ok(good) => match reader.end() {
            Ok(()) => return Ok(good),
            Err(error) => return Err(not_json(&error)),
        },
        Err(error) => error,
    };
    match serde_json::from_slice::<Value>(bytes) {
        Err(error) => Err(not_json(&error)),
        Ok(value) => Err(problems_of_form::<F>(value, &first)),
    }
}

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

/// Finds every problem of form: reads, notes where reading failed, takes that place out, reads on.
fn problems_of_form<F: Form>(
    mut value: Value,
    first: &serde_path_to_error::Error<serde_json::Error>,
) -> Problems {
    let mut problems = Problems::default();
    while problems.0.len() < F::MAX_PROBLEMS {
        let Err(error) = serde_path_to_error::deserialize::<_, F::Read<'_>>(&value) else {
            break;
        };
        let path = error.path().to_string();
        let taken_out = take_out(&mut value, error.path());
        problems.push(path, without_values(&error.inner().to_string()));
        if !taken_out {
            break;
        }
    }
    // A field written twice is an error in the text that the parsed value no longer shows.
    if problems.is_empty() {
        problems.push(
            first.path().to_string(),
            without_values(&first.inner().to_string()),
        );
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

/// serde's message, less the value it quotes: `invalid type: string "x", expected a boolean`.
fn without_values(message: &str) -> String {
    let message = message
        .split_once(" at line ")
        .map_or(message, |(text, _)| text);
    match message.split_once(", expected ") {
        Some((found, expected)) if !found.starts_with("unknown field") => {
            format!("expected {expected}")
        }
        Some((found, expected)) => format!(
            "{found} (known: {})",
            expected.trim_start_matches("one of ")
        ),
        None => message.to_owned(),
    }
}
