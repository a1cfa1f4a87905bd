//! Places in a configuration, found by name and never by text.

use std::fmt;
use std::path::Path;

use yaml_serde::{Mapping, Value};

/// The listener for clients.
pub const GATEWAY: &str = "gateway";
/// The same over TLS.
pub const GATEWAY_TLS: &str = "gateway_tls";

/// A place that the configuration does not have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingPlace(Vec<String>);

impl MissingPlace {
    /// The same place, seen from further out.
    pub fn within(mut self, outer: &[&str]) -> Self {
        let inner = std::mem::take(&mut self.0);
        self.0 = outer.iter().copied().map(str::to_owned).collect();
        self.0.extend(inner);
        self
    }
}

impl fmt::Display for MissingPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.0.join(" > ");
        write!(
            f,
            "there is no {place}. This release changes that place; begin with its own envoy.yaml"
        )
    }
}

impl From<MissingPlace> for String {
    fn from(missing: MissingPlace) -> Self {
        missing.to_string()
    }
}

/// The value at a path. In a mapping a step is a key; in a list it is an index, or the `name` of an element.
///
/// # Errors
/// The place up to the first step that is not there.
pub fn find<'a>(within: &'a mut Value, path: &[&str]) -> Result<&'a mut Value, MissingPlace> {
    let mut at = within;
    for (depth, step) in path.iter().enumerate() {
        at = match next(at, step) {
            Some(found) => found,
            None => {
                let missing = path.iter().take(depth.saturating_add(1));
                return Err(MissingPlace(missing.copied().map(str::to_owned).collect()));
            }
        };
    }
    Ok(at)
}

fn next<'a>(at: &'a mut Value, step: &str) -> Option<&'a mut Value> {
    match at {
        Value::Mapping(members) => members.get_mut(step),
        Value::Sequence(elements) => match step.parse::<usize>() {
            Ok(index) => elements.get_mut(index),
            Err(_) => elements.iter_mut().find(|each| is_named(each, step)),
        },
        _ => None,
    }
}

/// The mapping at a path.
///
/// # Errors
/// As [`find`]; also if there is something else.
pub fn mapping<'a>(within: &'a mut Value, path: &[&str]) -> Result<&'a mut Mapping, MissingPlace> {
    let missing = || MissingPlace(path.iter().copied().map(str::to_owned).collect());
    find(within, path)?.as_mapping_mut().ok_or_else(missing)
}

/// The list at a path.
///
/// # Errors
/// As [`find`]; also if there is something else.
pub fn list<'a>(within: &'a mut Value, path: &[&str]) -> Result<&'a mut Vec<Value>, MissingPlace> {
    let missing = || MissingPlace(path.iter().copied().map(str::to_owned).collect());
    find(within, path)?.as_sequence_mut().ok_or_else(missing)
}

/// Replaces the value at a path.
///
/// # Errors
/// As [`find`].
pub fn set(within: &mut Value, path: &[&str], value: impl Into<Value>) -> Result<(), MissingPlace> {
    *find(within, path)? = value.into();
    Ok(())
}

/// Takes the element of this name out of the list at a path.
///
/// # Errors
/// As [`find`]; also if there is no such element.
pub fn remove(within: &mut Value, path: &[&str], name: &str) -> Result<(), MissingPlace> {
    find(within, &[path, &[name]].concat())?;
    list(within, path)?.retain(|each| !is_named(each, name));
    Ok(())
}

/// Whether a list's element has this name.
pub fn is_named(element: &Value, name: &str) -> bool {
    element.get("name").and_then(Value::as_str) == Some(name)
}

/// The listeners for clients, plain and over TLS.
///
/// # Errors
/// The place that is not there.
pub fn client_listeners(
    config: &mut Value,
) -> Result<impl Iterator<Item = &mut Value>, MissingPlace> {
    let all = list(config, &["static_resources", "listeners"])?;
    let is_for_clients = |listener: &&mut Value| {
        [GATEWAY, GATEWAY_TLS]
            .iter()
            .any(|name| is_named(listener, name))
    };
    Ok(all.iter_mut().filter(is_for_clients))
}

/// A path as YAML holds it.
///
/// # Errors
/// It is no text.
pub fn text(path: &Path) -> Result<&str, String> {
    path.to_str()
        .ok_or_else(|| format!("the path {} is no text", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Value {
        yaml_serde::from_str(
            "listeners: [{name: a, port: 1}, {name: b/c, port: 2}]\nadmin: {port: 3}\n",
        )
        .unwrap()
    }

    #[test]
    fn places_have_names() {
        let mut config = sample();
        for (path, want) in [
            (&["admin", "port"][..], 3),
            (&["listeners", "a", "port"], 1),
            (&["listeners", "b/c", "port"], 2),
            (&["listeners", "1", "port"], 2),
        ] {
            assert_eq!(
                find(&mut config, path).unwrap(),
                &Value::from(want),
                "{path:?}"
            );
        }
        set(&mut config, &["listeners", "b/c", "port"], 4).unwrap();
        assert_eq!(
            find(&mut config, &["listeners", "1", "port"]).unwrap(),
            &Value::from(4)
        );
        remove(&mut config, &["listeners"], "a").unwrap();
        assert_eq!(list(&mut config, &["listeners"]).unwrap().len(), 1);
    }

    #[test]
    fn a_place_that_is_not_there_is_named() {
        let mut config = sample();
        for (path, want) in [
            (
                &["listeners", "x", "port"][..],
                "there is no listeners > x. ",
            ),
            (&["listeners", "2"], "there is no listeners > 2. "),
            (
                &["admin", "port", "deeper"],
                "there is no admin > port > deeper. ",
            ),
        ] {
            let missing = find(&mut config, path).unwrap_err().to_string();
            assert!(missing.starts_with(want), "{missing}");
        }
        remove(&mut config, &["listeners"], "x").unwrap_err();
        mapping(&mut config, &["listeners"]).unwrap_err();
        list(&mut config, &["admin"]).unwrap_err();
        let outer = find(&mut config, &["x"]).unwrap_err().within(&["outer"]);
        assert!(outer.to_string().starts_with("there is no outer > x. "));
    }
}
