//! The destinations that a credential may be sent to.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use trilane::config::account::Account;
use trilane::config::origin::Origin;
use trilane::config::policy::{Group, GroupKind, Policy};
use trilane::config::{Document, compile};

/// The route to an account. A credential is bound to it: anybody who changes a part of it would otherwise receive the credential.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialDestination {
    /// Scheme, host, and the port where it is not the scheme's own.
    pub url: String,
    /// The HTTP proxy on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// The file of authorities that its certificate must come from; none for the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
}

/// The destinations of a document's accounts, by the names of their credentials.
pub type CredentialDestinations = BTreeMap<String, BTreeSet<CredentialDestination>>;

impl CredentialDestination {
    /// Returns the destination of an account.
    pub fn of(account: &Account) -> Self {
        Self {
            url: account.origin.site(),
            proxy: account.proxy.as_ref().map(Origin::site),
            ca: account.ca.clone(),
        }
    }

    /// Those of all accounts of a document. `None`: it is invalid.
    pub fn of_document(text: &[u8]) -> Option<CredentialDestinations> {
        let compiled = Document::parse(text).and_then(|document| compile(&document));
        compiled
            .ok()
            .map(|compiled| Self::of_policy(&compiled.policy))
    }

    /// Those of the accounts with this credential in a document that need not be valid. An account whose address is none has none.
    pub fn written(document: &Value, credential: &str) -> BTreeSet<Self> {
        let list = |of: &Value, name: &str| of.get(name).and_then(Value::as_array).cloned();
        let groups = list(document, "groups").unwrap_or_default().into_iter();
        let accounts = groups.flat_map(|group| list(&group, "accounts").unwrap_or_default());
        let found = accounts.filter_map(|account| {
            let text = |name: &str| Some(account.get(name)?.as_str()?.to_owned());
            let destination = Self {
                url: text("url")?,
                proxy: text("proxy"),
                ca: text("ca"),
            };
            let is_of = text("credential").as_deref() == Some(credential);
            is_of.then(|| destination.normal().ok()).flatten()
        });
        found.collect()
    }

    /// Those of all accounts that a policy has.
    pub fn of_policy(policy: &Policy) -> CredentialDestinations {
        let mut all = CredentialDestinations::new();
        for (_, account) in accounts(policy) {
            let of_name = all.entry(account.credential.clone()).or_default();
            of_name.insert(Self::of(account));
        }
        all
    }

    /// The same in the form of accounts: what is the same place has the same text.
    ///
    /// # Errors
    /// The member that is wrong, and what is wrong with it.
    pub fn normal(&self) -> Result<Self, (&'static str, &'static str)> {
        let origin = Origin::parse(&self.url).map_err(|why| ("url", why))?;
        let proxy = self.proxy.as_deref().map(Origin::parse).transpose();
        let proxy = proxy.map_err(|why| ("proxy", why))?;
        if self
            .ca
            .as_deref()
            .is_some_and(|ca| ca.is_empty() || ca.len() > 1024 || ca.chars().any(char::is_control))
        {
            return Err(("ca", text!("must be the name of a file")));
        }
        Ok(Self {
            url: origin.site(),
            proxy: proxy.as_ref().map(Origin::site),
            ca: self.ca.clone(),
        })
    }

    /// Writes it as text, always the same for the same destination.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The reverse of [`text`](Self::text).
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// A name for a directory: of two places never the same.
    pub fn label(&self) -> String {
        let mut digest = hex::encode(Sha256::digest(self.text().as_bytes()));
        digest.truncate(32);
        digest
    }
}

/// The accounts of a policy, with their groups.
fn accounts(policy: &Policy) -> impl Iterator<Item = (&Group, &Account)> {
    policy.groups().iter().flat_map(|group| {
        let source = match &group.kind {
            GroupKind::Source(source) => source.accounts.as_ref(),
            GroupKind::Mixed(_) => None,
        };
        let accounts = source.into_iter().flat_map(|found| &found.accounts);
        accounts.map(move |account| (&**group, account))
    })
}

/// The credential of an account, and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountCredential {
    /// The account's group.
    pub group: String,
    /// The account.
    pub account: String,
    /// The credential's name.
    pub name: String,
    /// The destination that the document sends it to.
    pub destination: CredentialDestination,
}

impl AccountCredential {
    /// Those of a document. `None`: it is invalid.
    pub fn of_document(text: &[u8]) -> Option<Vec<Self>> {
        let compiled = Document::parse(text).and_then(|document| compile(&document));
        let policy = compiled.ok()?.policy;
        let of = |(group, account): (&Group, &Account)| Self {
            group: group.id.to_string(),
            account: account.id.to_string(),
            name: account.credential.clone(),
            destination: CredentialDestination::of(account),
        };
        Some(accounts(&policy).map(of).collect())
    }
}

/// Whether a name is one that [`label`](CredentialDestination::label) gives.
pub fn is_label(name: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    name.len() == 32 && name.bytes().all(digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(url: &str, proxy: Option<&str>, ca: Option<&str>) -> CredentialDestination {
        CredentialDestination {
            url: url.to_owned(),
            proxy: proxy.map(str::to_owned),
            ca: ca.map(str::to_owned),
        }
    }

    #[test]
    fn one_place_has_one_form() {
        for (case, one, other, same) in [
            (
                "port",
                place("https://a.example:443/v1", None, None),
                place("https://a.example", None, None),
                true,
            ),
            (
                "scheme",
                place("http://a.example", None, None),
                place("https://a.example", None, None),
                false,
            ),
            (
                "another port",
                place("https://a.example:8443", None, None),
                place("https://a.example", None, None),
                false,
            ),
            (
                "host",
                place("https://b.example", None, None),
                place("https://a.example", None, None),
                false,
            ),
            (
                "proxy",
                place("https://a.example", Some("http://p:3128"), None),
                place("https://a.example", None, None),
                false,
            ),
            (
                "authorities",
                place("https://a.example", None, Some("own.crt")),
                place("https://a.example", None, None),
                false,
            ),
        ] {
            let (one, other) = (one.normal().unwrap(), other.normal().unwrap());
            assert_eq!(one == other, same, "{case}");
            assert_eq!(one.label() == other.label(), same, "{case}");
            assert!(is_label(&one.label()), "{case}");
            assert_eq!(
                CredentialDestination::parse(&one.text()),
                Some(one),
                "{case}"
            );
        }
    }

    #[test]
    fn what_is_no_place() {
        for (want, wrong) in [
            ("url", place("a.example", None, None)),
            ("proxy", place("https://a.example", Some("p"), None)),
            ("ca", place("https://a.example", None, Some(""))),
        ] {
            assert_eq!(wrong.normal().unwrap_err().0, want);
        }
    }
}
