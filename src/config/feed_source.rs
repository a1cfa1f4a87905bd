//! Where the feed of keys is.

use serde::{Deserialize, Serialize};

use super::document::KeysFeedDocument;

/// Where a feed is.
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
    /// The one that a document names, the defaults filled in; nothing is checked.
    pub fn named_by(document: &KeysFeedDocument) -> Self {
        let cluster = document.cluster.clone().unwrap_or_default();
        Self {
            path: document.path.clone().unwrap_or_else(|| "/keys".to_owned()),
            authority: document
                .authority
                .clone()
                .unwrap_or_else(|| cluster.clone()),
            cluster,
        }
    }
}
