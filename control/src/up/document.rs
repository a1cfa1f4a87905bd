//! The parts of a document that are reported: its accounts and keys. Whether it is valid is not decided here.

use std::fs;
use std::path::Path;

use serde::Deserialize;

/// The parts of a document that are told. A document that cannot be read has none.
#[derive(Debug, Default, Deserialize)]
pub struct DocumentSummary {
    #[serde(default)]
    groups: Vec<GroupSummary>,
    /// The keys of the document, by their digests.
    #[serde(default)]
    pub keys: Vec<KeySummary>,
}

/// A group.
#[derive(Debug, Deserialize)]
pub struct GroupSummary {
    /// The id, as the document has it.
    pub id: String,
    /// The accounts of the group, in the order of the document.
    #[serde(default)]
    pub accounts: Vec<AccountSummary>,
}

/// An upstream account.
#[derive(Debug, Deserialize)]
pub struct AccountSummary {
    /// The id, as the document has it.
    pub id: String,
    /// The priority of the account: the lowest is asked first.
    #[serde(default)]
    pub priority: u32,
    /// The file of its credential, from the directory of credentials on.
    pub credential: Option<String>,
}

/// A key.
#[derive(Debug, Deserialize)]
pub struct KeySummary {
    /// The digest of its value, in hexadecimal.
    pub sha256: String,
    /// The group that it may use.
    pub group: String,
    /// Whether it is disabled.
    #[serde(default)]
    pub disabled: bool,
    /// The time at which the key expires, as RFC 3339.
    pub expires_at: Option<String>,
}

impl DocumentSummary {
    /// Reads the one in a file.
    pub fn read(file: &Path) -> Self {
        let text = fs::read(file).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// The groups that have accounts.
    pub fn groups(&self) -> impl Iterator<Item = &GroupSummary> {
        let groups = self.groups.iter();
        groups.filter(|group| !group.accounts.is_empty())
    }

    /// The file of an account's credential, as the document names it.
    pub fn credential(&self, group: &str, account: &str) -> Option<&str> {
        let mut groups = self.groups.iter();
        let mut accounts = groups.find(|each| each.id == group)?.accounts.iter();
        let account = accounts.find(|each| each.id == account)?;
        account.credential.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("gateway.json");
        let text = r#"{"currency": "USD", "groups": [
            {"id": "s", "accounts": [{"id": "a", "credential": "file"}, {"id": "b", "credential": "other", "priority": 2}]},
            {"id": "t", "cluster": "c"}
        ], "keys": [{"id": "k", "sha256": "00", "group": "s"}]}"#;
        fs::write(&file, text).unwrap();
        let document = DocumentSummary::read(&file);
        let groups: Vec<&str> = document.groups().map(|group| group.id.as_str()).collect();
        assert_eq!(groups, ["s"], "which has accounts");
        assert_eq!(document.credential("s", "b"), Some("other"));
        assert_eq!(document.credential("s", "c"), None);
        assert_eq!(document.credential("t", "a"), None);
        assert_eq!(document.keys[0].group, "s");
        fs::write(&file, "{").unwrap();
        let document = DocumentSummary::read(&file);
        assert!(document.groups().next().is_none() && document.keys.is_empty());
    }
}
