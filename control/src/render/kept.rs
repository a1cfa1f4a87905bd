//! Clusters that a document no longer has, kept while the previous document may still be in force.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::envoy::resources;

/// Kept clusters by name.
#[derive(Debug, Default)]
pub struct KeptClusters(BTreeMap<String, Value>);

impl KeptClusters {
    /// The clusters of the present file that are not among the `coming` ones. A file that Envoy cannot have taken has none.
    pub fn of(present: &[u8], coming: &Value) -> Self {
        let coming: BTreeSet<&str> = resources(coming).iter().filter_map(name).collect();
        let present: Value = serde_json::from_slice(present).unwrap_or_default();
        let stays = resources(&present).iter().filter_map(|cluster| {
            let name = name(cluster).filter(|name| !coming.contains(name))?;
            Some((name.to_owned(), cluster.clone()))
        });
        Self(stays.collect())
    }

    /// Their names, in order.
    pub fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// A file of clusters with these after its own. Doing the same with the result changes nothing.
    pub fn behind(self, coming: &Value) -> Value {
        let mut all = coming.clone();
        if let Some(clusters) = all.get_mut("resources").and_then(Value::as_array_mut) {
            clusters.extend(self.0.into_values());
        }
        all
    }
}

/// Whether there are `coming` clusters whose names the present file does not have.
pub fn adds(present: &[u8], coming: &Value) -> bool {
    let present: Value = serde_json::from_slice(present).unwrap_or_default();
    let there: BTreeSet<&str> = resources(&present).iter().filter_map(name).collect();
    let mut names = resources(coming).iter().filter_map(name);
    names.any(|name| !there.contains(name))
}

fn name(cluster: &Value) -> Option<&str> {
    cluster.get("name")?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_new() {
        let file = |names: &[&str]| json!({"resources": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()});
        for (case, present, coming, want) in [
            ("the first", "".to_owned(), file(&["a"]), true),
            ("none", file(&["a"]).to_string(), file(&[]), false),
            ("fewer", file(&["a", "b"]).to_string(), file(&["b"]), false),
            (
                "one more",
                file(&["a"]).to_string(),
                file(&["a", "b"]),
                true,
            ),
            ("another one", file(&["a"]).to_string(), file(&["b"]), true),
        ] {
            assert_eq!(adds(present.as_bytes(), &coming), want, "{case}");
        }
    }

    #[test]
    fn what_stays() {
        let coming = json!({"version_info": "v", "resources": [{"name": "b", "new": true}]});
        let of = |names: &[&str]| {
            let clusters: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
            json!({"resources": clusters}).to_string()
        };
        for (case, present, want) in [
            ("no file", String::new(), &[][..]),
            ("no JSON", "{".to_owned(), &[]),
            ("no list", json!({"resources": "a"}).to_string(), &[]),
            (
                "no names",
                json!({"resources": [{}, 1, {"name": 2}]}).to_string(),
                &[],
            ),
            ("the same", of(&["b"]), &[]),
            (
                "some, in any order",
                of(&["d", "b", "c", "a"]),
                &["a", "c", "d"],
            ),
            ("one twice", of(&["a", "a"]), &["a"]),
        ] {
            let kept = KeptClusters::of(present.as_bytes(), &coming);
            assert_eq!(kept.names(), want, "{case}");
            let all = kept.behind(&coming);
            assert_eq!(all["version_info"], "v", "{case}");
            assert_eq!(all["resources"][0]["new"], true, "{case}");
            assert_eq!(resources(&all).len(), want.len() + 1, "{case}");
            let again = KeptClusters::of(all.to_string().as_bytes(), &coming).behind(&coming);
            assert_eq!(again, all, "{case}: once more");
        }
    }
}
