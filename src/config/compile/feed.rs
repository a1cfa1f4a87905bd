//! The feed of account keys, and that of spend.

use super::names;
use crate::config::FeedSource;
use crate::config::document::{KeysFeedDocument, SpendFeedDocument};
use crate::config::error::Problems;
use crate::config::origin::{is_path, is_plain};

pub(super) fn keys(
    document: Option<&KeysFeedDocument>,
    problems: &mut Problems,
) -> Option<FeedSource> {
    let source = FeedSource::of_keys(document?);
    check(&source, "keys_feed", problems);
    Some(source)
}

pub(super) fn spend(
    document: Option<&SpendFeedDocument>,
    problems: &mut Problems,
) -> Option<FeedSource> {
    let source = FeedSource::of_spend(document?);
    check(&source, "spend_feed", problems);
    Some(source)
}

fn check(source: &FeedSource, feed: &str, problems: &mut Problems) {
    names::cluster(&source.cluster, &format!("{feed}.cluster"), problems);
    if !is_path(&source.path) || source.path.contains('#') {
        problems.push(
            format!("{feed}.path"),
            "must start with / and be visible ASCII without #",
        );
    }
    // Left out, it is the cluster, of which there is a problem already.
    if source.authority != source.cluster && !is_plain(&source.authority) {
        problems.push(format!("{feed}.authority"), "must be visible ASCII");
    }
}
