//! Addresses of feeds: of keys, or of spend.

use serde::{Deserialize, Serialize};

use super::document::{KeysFeedDocument, SpendFeedDocument};

/// The address of a feed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedSource {
    /// The Envoy cluster to ask.
    pub cluster: String,
    /// The path to ask for, perhaps with a query.
    pub path: String,
    /// The authority to name.
    pub authority: String,
}

impl FeedSource {
    /// The feed of keys that a document names, the defaults filled in; nothing is checked.
    pub fn of_keys(document: &KeysFeedDocument) -> Self {
        let KeysFeedDocument {
            cluster,
            path,
            authority,
        } = document;
        Self::filled([cluster, path, authority], "/keys")
    }

    /// The same of the feed of spend.
    pub fn of_spend(document: &SpendFeedDocument) -> Self {
        let SpendFeedDocument {
            cluster,
            path,
            authority,
        } = document;
        Self::filled([cluster, path, authority], "/spend")
    }

    fn filled([cluster, path, authority]: [&Option<String>; 3], default: &str) -> Self {
        let cluster = cluster.clone().unwrap_or_default();
        Self {
            path: path.clone().unwrap_or_else(|| default.to_owned()),
            authority: authority.clone().unwrap_or_else(|| cluster.clone()),
            cluster,
        }
    }
}
