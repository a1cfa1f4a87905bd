//! The feed of account keys.

use super::names;
use crate::config::FeedSource;
use crate::config::document::KeysFeedDocument;
use crate::config::error::Problems;
use crate::config::origin::{is_path, is_plain};

pub(super) fn compile(
    document: Option<&KeysFeedDocument>,
    problems: &mut Problems,
) -> Option<FeedSource> {
    let source = FeedSource::named_by(document?);
    names::cluster(&source.cluster, "keys_feed.cluster", problems);
    if !is_path(&source.path) || source.path.contains('#') {
        problems.push(
            "keys_feed.path",
            "must start with / and be visible ASCII without #",
        );
    }
    if document?.authority.is_some() && !is_plain(&source.authority) {
        problems.push("keys_feed.authority", "must be visible ASCII");
    }
    Some(source)
}
