//! Account keys.

use hashbrown::{HashMap, HashSet};

use super::super::document::KeyDocument;
use super::super::policy::Policy;
use super::super::record::{KeyDigest, KeyRecord};
use super::{Problems, group, names};

pub(super) fn compile(
    documents: &[KeyDocument],
    policy: &Policy,
    problems: &mut Problems,
) -> Vec<(KeyDigest, KeyRecord)> {
    let mut ids: HashSet<&str> = HashSet::with_capacity(documents.len());
    let mut digests: HashMap<KeyDigest, usize> = HashMap::with_capacity(documents.len());
    let mut records = Vec::with_capacity(documents.len());
    for (position, document) in documents.iter().enumerate() {
        let before = problems.0.len();
        let at = |field: &str| format!("keys[{position}].{field}");
        let id = names::id(&document.id, &at("id"), problems).unwrap_or_default();
        if !id.is_empty() && !ids.insert(id) {
            problems.push(at("id"), "is the id of another key too");
        }
        let digest = document.sha256.as_deref().and_then(KeyDigest::from_hex);
        match digest {
            None => problems.push(
                at("sha256"),
                "must be the 64 hexadecimal digits of the key's SHA-256",
            ),
            Some(digest) => {
                if let Some(other) = digests.insert(digest, position) {
                    problems.push(at("sha256"), format!("is the digest of keys[{other}] too"));
                }
            }
        }
        let group = document.group.clone().unwrap_or_default();
        if !policy.index.contains_key(&group) {
            problems.push(at("group"), "names no group of this document");
        }
        let expires_at = document
            .expires_at
            .as_deref()
            .and_then(|text| group::timestamp(text, &at("expires_at"), problems));
        if let (Some(digest), true) = (digest, problems.0.len() == before) {
            let record = KeyRecord {
                id: id.to_owned(),
                group,
                expires_at,
                disabled: document.disabled.unwrap_or(false),
            };
            records.push((digest, record));
        }
    }
    records
}
