//! The files that a document of a console may name.
//!
//! An editor of a document in the console is not the operator of the gateways' machines. So a document names files within a gateway's
//! directory of credentials only: console and agent both refuse anything else.

use trilane::config::Problems;
use trilane::config::account::Account;
use trilane::config::policy::{GroupKind, Policy};

use crate::credentials::is_name;

/// The reason given for a name that is none.
pub const NOT_PLAIN: &str = "must be a plain name in a console's document: 1 to 128 letters, digits or any of - _ . and begin with no full \
    stop. It is a file in the gateway's directory of credentials; nothing else of that machine is read";

/// Names the files of a document that are none of a gateway's directory of credentials, each at its place.
pub fn outside_names(policy: &Policy) -> Problems {
    let mut problems = Problems::default();
    for (position, group) in policy.groups().iter().enumerate() {
        let GroupKind::Source(source) = &group.kind else {
            continue;
        };
        let accounts = source.accounts.iter().flat_map(|found| &found.accounts);
        for (number, account) in accounts.enumerate() {
            for (member, _) in named(account).filter(|(_, name)| !is_name(name)) {
                let place = format!("groups[{position}].accounts[{number}].{member}");
                problems.push(place, NOT_PLAIN);
            }
        }
    }
    problems
}

/// The files that an account names.
fn named(account: &Account) -> impl Iterator<Item = (&'static str, &str)> {
    let ca = account.ca.as_deref().map(|ca| ("ca", ca));
    [("credential", account.credential.as_str())]
        .into_iter()
        .chain(ca)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trilane::config::{Document, compile};

    use super::*;

    #[test]
    fn plain_names_only() {
        for (case, credential, ca, want) in [
            ("plain", "openai", None, vec![]),
            ("plain authorities", "openai", Some("own-ca.pem"), vec![]),
            ("a path", "/etc/shadow", None, vec!["credential"]),
            ("upwards", "../sealing.keys", None, vec!["credential"]),
            ("within", "vendors/openai", None, vec!["credential"]),
            ("this directory", ".", None, vec!["credential"]),
            ("hidden", ".env", None, vec!["credential"]),
            ("a blank", "open ai", None, vec!["credential"]),
            (
                "authorities by a path",
                "openai",
                Some("/etc/own.pem"),
                vec!["ca"],
            ),
            ("both", "../a", Some("../b"), vec!["credential", "ca"]),
        ] {
            let mut account =
                json!({"id": "one", "url": "https://v.example", "credential": credential});
            if let Some(ca) = ca {
                account["ca"] = json!(ca);
            }
            let document = json!({"currency": "USD", "keys": [], "groups": [
                {"id": "s", "protocol": "A", "clients": "current", "multiplier": "1",
                 "accounts": [account], "models": [{"id": "m", "free": true}]},
            ]});
            let text = document.to_string();
            let compiled = Document::parse(text.as_bytes()).and_then(|parsed| compile(&parsed));
            let policy = compiled
                .unwrap_or_else(|why| panic!("{case}: {why}"))
                .policy;
            let places: Vec<String> = outside_names(&policy)
                .0
                .into_iter()
                .map(|problem| problem.path)
                .collect();
            let want: Vec<String> = want
                .into_iter()
                .map(|member| format!("groups[0].accounts[0].{member}"))
                .collect();
            assert_eq!(places, want, "{case}");
        }
    }
}
