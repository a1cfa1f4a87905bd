//! The policy as it stands in Envoy's shared data, and the names under which things stand there.
//!
//! A snapshot is the document's own text without its keys: each worker compiles it with the code
//! that validated it, once a generation. All workers of an Envoy share one `vm_id`, hence one
//! namespace; every name starts with `trilane/`.

use serde::{Deserialize, Serialize};

use super::compile::compile_policy;
use super::document::Document;
use super::policy::Policy;
use crate::keys::{Coverage, FeedStatus, RecordScope};

/// The name of the generation: 8 bytes, little endian, written last.
pub const GENERATION: &str = "trilane/generation";
/// The name of the policy snapshot.
pub const POLICY: &str = "trilane/policy";
/// The name of the greatest epoch: 8 bytes, little endian. Each publisher has one of its own.
pub const EPOCH: &str = "trilane/epoch";
/// The name of the place of whoever loads the configuration.
pub const LOADER: &str = "trilane/loader";
/// The name of the plugin configuration that came last.
pub const ORDER: &str = "trilane/order";
/// The name of what document is in force: its digest, and the epoch of the policy that it came with.
pub const DOCUMENT: &str = "trilane/document";

/// The format of a snapshot.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Snapshot {
    format: u32,
    epoch: u64,
    /// The generation of the policy.
    generation: u64,
    /// The epoch of whoever wrote this: no two write the same bytes.
    writer: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    feed: Option<FeedStatus>,
    document: Document,
}

/// The place of a policy in the order of publications.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Edition {
    /// Records of keys that the document names hold no key if they are of an older epoch.
    pub epoch: u64,
    /// The policy's own generation: records that change with a later one are as before.
    pub generation: u64,
    /// The epoch of whoever wrote it last.
    pub writer: u64,
}

/// The contents of a published snapshot, whether or not this release accepts its document.
#[derive(Debug, Clone)]
pub struct SnapshotHeader {
    /// The place of the policy in the order of publications.
    pub edition: Edition,
    /// The terms by which the feed's records count; `None` where none is read.
    pub feed: Option<FeedStatus>,
    /// The document, without its keys.
    pub document: Document,
}

/// A policy in force.
#[derive(Debug, Clone)]
pub struct InForce {
    /// Records of keys that the document names hold no key if they are of an older epoch.
    pub epoch: u64,
    /// Records that change with a later generation are as before.
    pub generation: u64,
    /// The terms by which the records of a feed count; `None` where they are not read.
    pub feed: Option<FeedStatus>,
    /// The policy.
    pub policy: Policy,
}

impl InForce {
    /// Returns the terms by which key records count.
    pub fn scope(&self) -> RecordScope {
        RecordScope {
            epoch: self.epoch,
            generation: self.generation,
            feed: self.feed,
        }
    }

    /// Whether an unknown key is invalid.
    pub fn knows_all_keys(&self) -> bool {
        self.feed
            .is_none_or(|feed| feed.coverage == Coverage::Whole)
    }

    /// Whether requests can be decided: all of them, or all but those with keys that are new in a feed
    /// named in place of another.
    pub fn is_ready(&self) -> bool {
        self.feed
            .is_none_or(|feed| feed.coverage != Coverage::Nothing)
    }
}

/// The bytes to publish for a document that [`compile_policy`] accepts.
pub fn encode(document: &Document, edition: Edition, feed: Option<FeedStatus>) -> Vec<u8> {
    let snapshot = Snapshot {
        format: FORMAT,
        epoch: edition.epoch,
        generation: edition.generation,
        writer: edition.writer,
        feed,
        document: document.without_keys(),
    };
    // Plain structs of strings, numbers and maps with string keys: writing them cannot fail, and
    // should it ever, an empty snapshot is refused by every reader.
    serde_json::to_vec(&snapshot).unwrap_or_default()
}

/// Reads a published snapshot.
///
/// # Errors
/// The problem, where another release wrote a form or a document that this one refuses.
pub fn decode(bytes: &[u8]) -> Result<InForce, String> {
    let snapshot: Snapshot =
        serde_json::from_slice(bytes).map_err(|error| format!("unreadable snapshot: {error}"))?;
    if snapshot.format != FORMAT {
        return Err(format!("snapshot has format {}", snapshot.format));
    }
    match compile_policy(&snapshot.document) {
        Ok((policy, _warnings)) => Ok(InForce {
            epoch: snapshot.epoch,
            generation: snapshot.generation,
            feed: snapshot.feed,
            policy,
        }),
        Err(problems) => Err(format!("snapshot was refused: {problems}")),
    }
}

/// The contents of a published snapshot, whether or not this release accepts its document.
pub fn peek(bytes: &[u8]) -> Option<SnapshotHeader> {
    let snapshot: Snapshot = serde_json::from_slice(bytes).ok()?;
    (snapshot.format == FORMAT).then_some(SnapshotHeader {
        edition: Edition {
            epoch: snapshot.epoch,
            generation: snapshot.generation,
            writer: snapshot.writer,
        },
        feed: snapshot.feed,
        document: snapshot.document,
    })
}

/// Reads the published generation; `None` where nothing is published.
pub fn decode_generation(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn edition(epoch: u64) -> Edition {
        Edition {
            epoch,
            generation: 9,
            writer: epoch,
        }
    }

    #[test]
    fn a_snapshot_of_another_format_is_refused() {
        let text =
            r#"{"groups": [{"id": "g", "protocol": "A", "multiplier": "1", "cluster": "c"}]}"#;
        let document = Document::parse(text.as_bytes()).unwrap();
        let status = FeedStatus {
            watermark: 7,
            coverage: Coverage::Former,
            feed_only: true,
        };
        for (case, feed) in [("with a feed", Some(status)), ("without", None)] {
            let bytes = encode(&document, edition(3), feed);
            let in_force = decode(&bytes).unwrap();
            assert_eq!((in_force.epoch, in_force.feed), (3, feed), "{case}");
            let peeked = peek(&bytes).unwrap();
            assert_eq!((peeked.edition, peeked.feed), (edition(3), feed), "{case}");
            let mut other: Value = serde_json::from_slice(&bytes).unwrap();
            for format in [0, 2] {
                other["format"] = json!(format);
                let bytes = other.to_string();
                assert!(decode(bytes.as_bytes()).is_err(), "{case}, {format}");
                assert!(peek(bytes.as_bytes()).is_none(), "{case}, {format}");
            }
        }
    }

    #[test]
    fn when_all_keys_are_known() {
        let group = r#"{"id": "g", "protocol": "A", "multiplier": "1", "cluster": "c"}"#;
        let text = format!(r#"{{"groups": [{group}]}}"#);
        let document = Document::parse(text.as_bytes()).unwrap();
        // (coverage, whether an unknown key is none, whether the gateway is ready)
        let cases = [
            (None, true, true),
            (Some(Coverage::Nothing), false, false),
            (Some(Coverage::Former), false, true),
            (Some(Coverage::Whole), true, true),
        ];
        for (coverage, known, ready) in cases {
            let feed = coverage.map(|coverage| FeedStatus {
                coverage,
                ..FeedStatus::default()
            });
            let in_force = decode(&encode(&document, edition(1), feed)).unwrap();
            assert_eq!(in_force.knows_all_keys(), known, "{coverage:?}");
            assert_eq!(in_force.is_ready(), ready, "{coverage:?}");
        }
    }
}
