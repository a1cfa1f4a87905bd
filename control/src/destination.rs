//! The final URLs of requests to upstream accounts, for `check`, `explain` and `render`.

use serde::Serialize;
use trilane::config::Policy;
use trilane::config::policy::{GroupKind, Source};
use trilane::protocol::Protocol;

use crate::terminal::printable;

/// An upstream account, and the URLs of its requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Destination {
    /// The id of the source group.
    pub group: String,
    /// The account's id.
    pub account: String,
    /// The place of the URL in the document, such as `groups[2].accounts[0].url`.
    #[serde(skip)]
    pub at: String,
    /// The URL of a POST for each of the group's main endpoints.
    pub urls: Vec<String>,
}

impl Destination {
    /// Those of every account in a document.
    pub fn all(policy: &Policy) -> Vec<Self> {
        let mut all = Vec::new();
        for (position, group) in policy.groups().iter().enumerate() {
            if let GroupKind::Source(source) = &group.kind {
                all.extend(Self::of_source(source, &format!("groups[{position}]")));
            }
        }
        all
    }

    /// Those of a source's accounts; `at` is the path of its group in the document.
    pub fn of_source(source: &Source, at: &str) -> Vec<Self> {
        let accounts = source.accounts.iter().flat_map(|all| &all.accounts);
        let each = accounts.enumerate().map(|(i, account)| {
            let paths = paths(source.protocol);
            Self {
                group: source.group.to_string(),
                account: account.id.to_string(),
                at: format!("{at}.accounts[{i}].url"),
                urls: paths.iter().map(|path| account.url(path)).collect(),
            }
        });
        each.collect()
    }

    /// Writes it as a line of text.
    pub fn line(&self) -> String {
        let Self { group, account, .. } = self;
        let urls = self.urls.join(", ");
        printable(&format!("account {group}/{account}: POST {urls}"))
    }
}

/// The paths of the main endpoints, the most common first.
fn paths(protocol: Protocol) -> &'static [&'static str] {
    match protocol {
        Protocol::A => &["/v1/chat/completions", "/v1/responses"],
        Protocol::B => &["/v1/messages"],
        Protocol::C => &["/v1beta/models/{model}:generateContent"],
    }
}
