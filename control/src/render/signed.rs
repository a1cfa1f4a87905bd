//! A digest in each cluster, by which one that has changed is told from the one before of the same name.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::envoy::resources;

/// The path of the digest in a cluster's metadata.
const PLACE: [&str; 4] = ["metadata", "filter_metadata", "trilane", "digest"];

/// A cluster with the digest of all else that is in it.
pub fn sign(mut cluster: Value) -> Value {
    let digest = Sha256::digest(cluster.to_string());
    let digest: String = digest.iter().take(16).map(|b| format!("{b:02x}")).collect();
    put(&mut cluster, &PLACE, digest);
    cluster
}

fn put(value: &mut Value, place: &[&str], digest: String) {
    let Some(((name, rest), fields)) = place.split_first().zip(value.as_object_mut()) else {
        *value = json!(digest);
        return;
    };
    let member = fields.entry(*name);
    put(
        member.or_insert_with(|| Value::Object(Map::new())),
        rest,
        digest,
    );
}

/// The digests of a file's clusters, by their names.
pub fn digests(file: &Value) -> BTreeMap<String, String> {
    let of = |cluster: &Value| {
        let name = cluster.get("name")?.as_str()?;
        let digest = PLACE.iter().try_fold(cluster, |at, name| at.get(name));
        Some((name.to_owned(), digest?.as_str()?.to_owned()))
    };
    resources(file).iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_digest_tells() {
        let one = json!({"name": "a", "type": "STATIC", "metadata": {"filter_metadata": {"trilane": {"root": "/r"}}}});
        let bare = json!({"name": "b", "type": "STATIC"});
        let mut other = bare.clone();
        other["type"] = json!("LOGICAL_DNS");
        let signed = [one, bare, other].map(sign);
        assert_eq!(
            signed[0]["metadata"]["filter_metadata"]["trilane"]["root"],
            "/r"
        );
        let file = json!({"resources": [signed[0], signed[1], {"name": "unsigned"}]});
        let told = digests(&file);
        assert_eq!(told.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert!(told.values().all(|digest| digest.len() == 32));
        let changed = digests(&json!({"resources": [signed[2]]}));
        assert_ne!(told["b"], changed["b"]);
    }
}
