//! Reading a document, and everything that is wrong with one that cannot be read as it is.
//!
//! A good document is read in one go, and none of this runs. Another one is read group by group and key by key: what has a
//! wrong form is named and left out, and the rest is compiled, so that its problems are named as well.

use core::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::compile::compile;
use super::document::{Document, KeyDocument};
use super::error::{Problem, Problems};
use super::key::CheckedKey;
use super::schema::{self, not_json};

/// The maximum number of problems of form that are listed; further ones are left out.
const MAX_PROBLEMS: usize = 1000;

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    /// Bytes that are no JSON give one problem. JSON of another form gives every unknown field and every value of a wrong
    /// type (of a thousand, the rest is left unsaid), and what is wrong with all else. No value of the document is quoted: an
    /// operator may have put a secret in a wrong place.
    pub fn parse(bytes: &[u8]) -> Result<Self, Problems> {
        serde_json::from_slice(bytes).map_err(|_| problems(bytes))
    }
}

/// Every problem of a document that is no JSON, or has another form than a document's.
fn problems(bytes: &[u8]) -> Problems {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = DocumentMembers::deserialize(&mut reader)
        .and_then(|members| reader.end().map(|()| members));
    let members = match read {
        Ok(members) => members.0,
        Err(error) if error.is_data() => {
            let mut problems = Problems::default();
            problems.push("", "must be an object");
            return problems;
        }
        Err(error) => return not_json(&error),
    };
    let mut salvage = Salvage::default();
    let document = salvage.document(&members);
    let mut problems = salvage.problems;
    if salvage.unsaid {
        let why = format!("has more wrong than these {MAX_PROBLEMS} things");
        problems.push("", why);
        return problems;
    }
    let Err(others) = compile(&document) else {
        return problems;
    };
    let unsure = UncertainProblems::new(&problems, &document);
    let own = others.0.into_iter();
    let own = own.filter(|problem| !unsure.covers(problem));
    problems.0.extend(own);
    problems
}

/// Every problem of a key that stands by itself and is no JSON, or has another form than a key's.
pub fn problems_of_key(text: &str) -> Problems {
    let (key, mut problems) = schema::repaired::<KeyDocument>(text);
    let Some(Err(others)) = key.map(|key| CheckedKey::of(&key)) else {
        return problems;
    };
    let places: Vec<String> = problems
        .0
        .iter()
        .map(|problem| problem.path.clone())
        .collect();
    let explained = |path: &str| {
        let mut places = places.iter();
        places.any(|place| is_within(path, place) || path == parent(place))
    };
    let own = others.0.into_iter();
    problems
        .0
        .extend(own.filter(|problem| !explained(&problem.path)));
    problems
}

/// The members of the document, each as it is written.
struct DocumentMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for DocumentMembers<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = DocumentMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(DocumentMembers(members))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

/// The reading of a document's valid parts, and its problems.
#[derive(Default)]
struct Salvage {
    problems: Problems,
    /// Whether there may be more.
    unsaid: bool,
}

impl Salvage {
    fn document(&mut self, members: &[(String, &RawValue)]) -> Document {
        let mut document = Document::default();
        for (position, (name, written)) in members.iter().enumerate() {
            let before = members.get(..position).unwrap_or_default();
            if before.iter().any(|(other, _)| other == name) {
                self.problems.push(name.as_str(), schema::TWICE);
                continue;
            }
            match name.as_str() {
                "query_key" => document.query_key = self.member(name, written),
                "inspect_window" => document.inspect_window = self.member(name, written),
                "max_body" => document.max_body = self.member(name, written),
                "currency" => document.currency = self.member(name, written),
                "contact" => document.contact = self.member(name, written),
                "keys_feed" => document.keys_feed = self.member(name, written),
                "spend_feed" => document.spend_feed = self.member(name, written),
                "ledger_unwritable" => document.ledger_unwritable = self.member(name, written),
                "limits_service" => document.limits_service = self.member(name, written),
                "groups" => document.groups = self.list(name, written),
                "keys" => document.keys = self.list(name, written),
                _ => {
                    // Its words come from where all unknown fields are refused.
                    let text = serde_json::json!({name: null}).to_string();
                    self.part::<Document>("", &text);
                }
            }
        }
        document
    }

    /// A member that is no list.
    fn member<T: DeserializeOwned + 'static>(
        &mut self,
        name: &str,
        written: &RawValue,
    ) -> Option<T> {
        self.part::<Option<T>>(name, written.get()).flatten()
    }

    /// A list, each element by itself: one that cannot be read is there without what is wrong with it.
    fn list<T: DeserializeOwned + Default + 'static>(
        &mut self,
        name: &str,
        written: &RawValue,
    ) -> Option<Vec<T>> {
        // From bytes, as in `parse`: for another kind of reader all types would be compiled once more, here and by each Envoy.
        let written = written.get().as_bytes();
        let Ok(elements) = serde_json::from_slice::<Option<Vec<&RawValue>>>(written) else {
            self.problems.push(name, "must be a list");
            return None;
        };
        let elements = elements?;
        let each = elements.iter().enumerate().map(|(position, written)| {
            let good = serde_json::from_slice(written.get().as_bytes());
            good.unwrap_or_else(|_| {
                let path = format!("{name}[{position}]");
                self.part(&path, written.get()).unwrap_or_default()
            })
        });
        Some(each.collect())
    }

    /// Reads the value at `path`; `None` where nothing of it can be read.
    fn part<T: DeserializeOwned + 'static>(&mut self, path: &str, text: &str) -> Option<T> {
        if self.problems.0.len() >= MAX_PROBLEMS {
            self.unsaid = true;
            return None;
        }
        let (read, found) = schema::repaired(text);
        for Problem {
            path: place,
            reason,
        } in found.0
        {
            let dot = if place.is_empty() || path.is_empty() || place.starts_with('[') {
                ""
            } else {
                "."
            };
            self.problems.push(format!("{path}{dot}{place}"), reason);
        }
        read
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
            let mut entries = group.entries.iter().flat_map(|entries| entries.values());
            let misled = entries.any(|entry| {
                let source = entry.source.as_deref();
                unsure.names || (source.is_some() && sources.contains(&source))
            });
            if misled {
                let parts = ["entries", "models", "limits.budget"];
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
        let problems = problems(text.as_bytes());
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
    fn what_is_there_twice() {
        let text = r#"{"groups": [{"id": "g", "id": "h", "protocol": "A", "multiplier": 1, "cluster": "c"}],
            "keys": [], "max_body": 4096, "max_body": 8192, "keys": 7}"#;
        let mut told = told(text);
        told.sort_unstable();
        let want = [
            "groups[0].id: is there twice",
            "groups[0].multiplier: must be a string",
            "keys: is there twice",
            "max_body: is there twice",
        ];
        assert_eq!(told, want);
    }

    /// Keeps this list from refusing a member that the document has.
    #[test]
    fn every_field_is_known() {
        let fields = [
            ("query_key", json!(true)),
            ("inspect_window", json!(4096)),
            ("max_body", json!(4096)),
            ("keys_feed", json!({"cluster": "f"})),
            ("spend_feed", json!({"cluster": "f"})),
            ("limits_service", json!({"failure": "open"})),
            ("ledger_unwritable", json!("refuse")),
        ];
        let mut document = good();
        for (field, value) in fields {
            document[field] = value;
        }
        let read: Document = serde_json::from_value(document.clone()).unwrap();
        let written = serde_json::to_value(&read).unwrap();
        let all = serde_json::to_value(Document::default()).unwrap();
        assert_eq!(all, json!({}), "what is not there is not written");
        assert_eq!(
            written.as_object().unwrap().len(),
            10,
            "all that a document has"
        );
        assert_eq!(told(&document.to_string()), [""; 0]);
    }

    #[test]
    fn there_is_an_end() {
        let keys: Vec<Value> = (0..3000).map(|_| json!({"id": 1, "group": 1})).collect();
        let mut document = good();
        document["keys"] = json!(keys);
        let told = told(&document.to_string());
        assert_eq!(told.len(), MAX_PROBLEMS + 1);
        assert_eq!(told[MAX_PROBLEMS], "has more wrong than these 1000 things");
    }
}
