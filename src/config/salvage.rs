//! Every problem of a document that cannot be read as it is.
//!
//! What has a wrong form is named and left out, and the rest is compiled, so that its problems are named as well. People ask
//! the command and the console for it; a gateway names the first problem of form, and has none of this.

use serde_json::Value;

use super::compile::compile;
use super::document::Document;
use super::error::{Problem, Problems};
use super::schema::{TWICE, plain, words};

/// The maximum number of problems of form that are listed; further ones are left out.
const MAX_PROBLEMS: usize = 100;

/// Lists every problem of a document that is no JSON, or has another form than a document's: `first`, and the others.
pub(super) fn problems(bytes: &[u8], first: Problems) -> Problems {
    let (document, mut problems) = repaired(bytes, first);
    let Some(document) = document else {
        return problems;
    };
    let Err(others) = compile(&document) else {
        return problems;
    };
    let unsure = UncertainProblems::new(&problems, &document);
    let own = others.0.into_iter();
    let own = own.filter(|problem| !unsure.covers(problem));
    problems.0.extend(own);
    problems
}

/// Reads a document without the parts that do not fit, and lists these. Each costs one more read of the whole.
fn repaired(bytes: &[u8], first: Problems) -> (Option<Document>, Problems) {
    let Ok(mut value) = serde_json::from_slice::<Value>(bytes) else {
        return (None, first);
    };
    let mut problems = Problems::default();
    let read = loop {
        let error = match serde_path_to_error::deserialize(&value) {
            Ok(read) => break Some(read),
            Err(error) => error,
        };
        if problems.0.len() >= MAX_PROBLEMS {
            let why = format!("has more wrong than these {MAX_PROBLEMS} things");
            problems.push("", why);
            return (None, problems);
        }
        let path = error.path().to_string();
        problems.push(plain(path), words(&error.inner().to_string()));
        if !take_out(&mut value, error.path()) {
            break None;
        }
    };
    // A field that is written twice is one in the parsed value.
    let twice = first.0.into_iter();
    let twice = twice.filter(|problem| problem.reason == TWICE);
    problems.0.extend(twice);
    (read, problems)
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

/// Places at which problems of the rest mean nothing: they are there only because something else has a wrong form.
struct UncertainProblems {
    /// At these places and within them.
    within: Vec<String>,
    /// At these places themselves.
    at: Vec<String>,
    /// Whether a group is broken: nobody can say which budgets have prices.
    groups: bool,
    /// Whether the name of a group is not known: nobody can say whether there is such a one.
    names: bool,
}

impl UncertainProblems {
    fn new(problems: &Problems, document: &Document) -> Self {
        let broken = || problems.0.iter().map(|problem| problem.path.as_str());
        let groups = document.groups.as_deref().unwrap_or_default();
        let mut unsure = Self {
            within: broken().map(str::to_owned).collect(),
            at: broken().map(|path| parent(path).to_owned()).collect(),
            groups: broken().any(|path| is_within(path, "groups")),
            names: broken().any(|path| path == "groups"),
        };
        // By id, where it is known.
        let mut sources = Vec::new();
        for (position, group) in groups.iter().enumerate() {
            let path = format!("groups[{position}]");
            let mut parts: Vec<&str> = Vec::new();
            for broken in broken().filter(|broken| is_within(broken, &path)) {
                parts.push("limits.budget");
                // What stands beside it decides over these.
                match broken.get(path.len()..).unwrap_or_default() {
                    ".accounts" | ".cluster" => {
                        parts.extend(["accounts", "cluster", "failover", "account_resources"]);
                    }
                    part if part.starts_with(".entries") => parts.push("models"),
                    part if part.starts_with(".models[") => {
                        let model = broken.rfind(']').and_then(|end| broken.get(..=end));
                        unsure.within.extend(model.map(str::to_owned));
                    }
                    _ => {}
                }
            }
            if !parts.is_empty() {
                unsure.names |= group.id.is_none();
                sources.push(group.id.as_deref());
            }
            let parts = parts.iter().map(|part| format!("{path}.{part}"));
            unsure.within.extend(parts);
        }
        for (position, group) in groups.iter().enumerate() {
            let entries = group.entries.iter().flat_map(|entries| entries.values());
            let of_entries = entries.flat_map(|entry| {
                let several = entry.sources.iter().flatten();
                let several = several.map(|one| one.source.as_deref());
                several.chain([entry.source.as_deref()])
            });
            let of_fallback = group.fallback.iter().flatten().map(|id| Some(&**id));
            let misled = of_entries
                .chain(of_fallback)
                .any(|source| unsure.names || (source.is_some() && sources.contains(&source)));
            if misled {
                let parts = ["entries", "models", "fallback", "limits.budget"];
                let parts = parts.map(|part| format!("groups[{position}].{part}"));
                unsure.within.extend(parts);
            }
        }
        unsure
    }

    /// Whether this problem is not to be told.
    fn covers(&self, Problem { path, .. }: &Problem) -> bool {
        let of_key = |field: &str| path.starts_with("keys[") && path.ends_with(field);
        (self.names && of_key(".group"))
            || (self.groups && of_key(".limits.budget"))
            || self.at.contains(path)
            || self.within.iter().any(|place| is_within(path, place))
    }
}

/// Whether `path` is `place` or somewhere in it.
fn is_within(path: &str, place: &str) -> bool {
    path.strip_prefix(place)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Returns the path of the part that `path` is in; empty for the document.
fn parent(path: &str) -> &str {
    let end = path.rfind(['.', '[']).unwrap_or_default();
    path.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn told(text: &str) -> Vec<String> {
        let Err(problems) = Document::parse(text.as_bytes()) else {
            return Vec::new();
        };
        problems.0.iter().map(ToString::to_string).collect()
    }

    fn good() -> Value {
        json!({
            "currency": "USD",
            "groups": [
                {"id": "a", "protocol": "A", "multiplier": "1", "cluster": "a",
                 "models": [{"id": "m", "prices": {"input": "1", "output": "2"}}]},
                {"id": "b", "protocol": "B", "multiplier": "1", "accounts": [{"id": "x", "url": "https://h", "credential": "c"}],
                 "failover": {"tries": 2}, "models": [{"id": "n", "prices": {"input": "1", "output": "2"}}]},
                {"id": "mixed", "protocol": "Mixed", "limits": {"budget": {"per_day": "1"}},
                 "entries": {"responses": {"source": "a"}, "vb_messages": {"source": "b"}},
                 "models": [{"id": "m", "entry": "responses"}, {"id": "n", "entry": "vb_messages"}]}
            ],
            "keys": [
                {"id": "k1", "sha256": "00".repeat(32), "group": "a", "limits": {"budget": {"per_day": "1"}}},
                {"id": "k2", "sha256": "11".repeat(32), "group": "mixed"}
            ]
        })
    }

    /// Changes a good document at these places.
    fn with(changes: &[(&str, Value)]) -> String {
        let mut document = good();
        for (place, value) in changes {
            let (object, field) = place.rsplit_once('/').unwrap();
            let object = document.pointer_mut(object).unwrap();
            match object.as_array_mut() {
                Some(list) => list[field.parse::<usize>().unwrap()] = value.clone(),
                None => object[field] = value.clone(),
            }
        }
        document.to_string()
    }

    #[test]
    fn a_wrong_form_hides_nothing_else() {
        let text = with(&[
            ("/groups/0/models/0", json!(3)),
            ("/groups/1/multiplier", json!("x")),
            ("/groups/1/naem", json!("x")),
            ("/keys/0/disabled", json!("sk-secret")),
            ("/keys/0/sha256", json!("00")),
            ("/keys/1/group", json!("mixd")),
            ("/currency", json!("dollars")),
            ("/contact", json!("")),
            ("/max_body", json!(-1)),
            ("/colour", json!("red")),
        ]);
        let told = told(&text);
        let mut places: Vec<&str> = told
            .iter()
            .map(|problem| problem.split_once(": ").unwrap().0)
            .collect();
        places.sort_unstable();
        let want = [
            "colour",
            "contact",
            "currency",
            "groups[0].models[0]",
            "groups[1].multiplier",
            "groups[1].naem",
            "keys[0].disabled",
            "keys[0].sha256",
            "keys[1].group",
            "max_body",
        ];
        assert_eq!(places, want, "{told:#?}");
        assert!(!told.concat().contains("sk-secret"), "{told:#?}");
    }

    /// One problem each: what others miss of it is not told as theirs.
    #[test]
    fn nothing_is_told_that_only_follows() {
        let cases = [
            (
                "no list of groups",
                "/groups",
                json!({}),
                "groups: must be a list",
            ),
            (
                "a group",
                "/groups/0",
                json!(1),
                "groups[0]: must be an object",
            ),
            (
                "an id",
                "/groups/0/id",
                json!(1),
                "groups[0].id: must be a string",
            ),
            (
                "a protocol",
                "/groups/0/protocol",
                json!(1),
                "groups[0].protocol: must be a string",
            ),
            (
                "models",
                "/groups/0/models",
                json!({}),
                "groups[0].models: must be a list",
            ),
            (
                "a model",
                "/groups/0/models/0",
                json!(7),
                "groups[0].models[0]: must be an object",
            ),
            (
                "a model's id",
                "/groups/0/models/0/id",
                json!(1),
                "groups[0].models[0].id: must be a string",
            ),
            (
                "prices",
                "/groups/0/models/0/prices",
                json!("1"),
                "groups[0].models[0].prices: must be an object of prices: \"catalogue\" is resolved by trilane render and \
                trilane serve, which publish numbers",
            ),
            (
                "a price",
                "/groups/0/models/0/prices/input",
                json!(1),
                "groups[0].models[0].prices.input: must be a string",
            ),
            (
                "a cluster",
                "/groups/0/cluster",
                json!(1),
                "groups[0].cluster: must be a string",
            ),
            (
                "accounts",
                "/groups/1/accounts",
                json!({}),
                "groups[1].accounts: must be a list",
            ),
            (
                "an account",
                "/groups/1/accounts/0",
                json!("x"),
                "groups[1].accounts[0]: must be an object",
            ),
            (
                "entries",
                "/groups/2/entries",
                json!([1]),
                "groups[2].entries: must be an object",
            ),
            (
                "an entry",
                "/groups/2/entries/responses",
                json!("a"),
                "groups[2].entries.responses: must be an object",
            ),
            (
                "a budget",
                "/groups/2/limits/budget/per_day",
                json!(1),
                "groups[2].limits.budget.per_day: must be a string",
            ),
            (
                "limits",
                "/keys/0/limits",
                json!(1),
                "keys[0].limits: must be an object",
            ),
            ("keys", "/keys", json!("none"), "keys: must be a list"),
            (
                "a key",
                "/keys/1",
                json!(false),
                "keys[1]: must be an object",
            ),
        ];
        assert_eq!(told(&good().to_string()), [""; 0]);
        for (case, place, value, want) in cases {
            let told = told(&with(&[(place, value)]));
            assert_eq!(told, [want], "{case}");
        }
    }

    #[test]
    fn nor_what_follows_from_one_of_several_sources() {
        let mut document = good();
        document["groups"][2]["entries"]["responses"] = json!({"sources": [{"source": "a"}]});
        assert_eq!(told(&document.to_string()), [""; 0]);
        document["groups"][0]["models"][0]["id"] = json!(1);
        let want = ["groups[0].models[0].id: must be a string"];
        assert_eq!(told(&document.to_string()), want);
    }

    #[test]
    fn what_is_there_twice() {
        let text = r#"{"groups": [{"id": "g", "id": "h", "protocol": "A", "multiplier": 1, "cluster": "c"}],
            "keys": [], "max_body": 4096, "max_body": 8192, "keys": 7}"#;
        let mut told = told(text);
        told.sort_unstable();
        let want = [
            "groups[0].id: is there twice",
            "groups[0].multiplier: must be a string",
            "keys: must be a list",
        ];
        assert_eq!(told, want);
    }

    #[test]
    fn there_is_an_end() {
        let keys: Vec<Value> = (0..300).map(|_| json!({"id": 1, "group": 1})).collect();
        let mut document = good();
        document["keys"] = json!(keys);
        let told = told(&document.to_string());
        assert_eq!(told.len(), MAX_PROBLEMS + 1);
        assert_eq!(told[MAX_PROBLEMS], "has more wrong than these 100 things");
    }
}
