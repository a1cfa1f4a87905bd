//! The policy as it stands in Envoy's shared data, and the names under which things stand there.
//!
//! ```text
//! format    1 byte, 2
//! length    4 bytes, little endian: of the JSON
//! JSON      the document without its keys, and all else of a `Snapshot`
//! keys      a `KeyTable`
//! ```
//!
//! All of a document is in this one value, so it takes effect in one stroke, for all of its keys and groups. Each worker compiles
//! the document's text with the code that validated it, once a generation, and keeps the bytes, in which it looks
//! keys up. All workers of an Envoy share one `vm_id`, hence one namespace; every name starts with `trilane/`.

use serde::{Deserialize, Serialize};

use super::compile::compile_policy;
use super::document::Document;
use super::policy::Policy;
use crate::keys::{Coverage, FeedStatus, KeyTable};

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

/// The format of a snapshot. Those before 2 were JSON, and had no keys.
const FORMAT: u8 = 2;
/// The length of format and length.
const HEAD: usize = 5;

/// The contents of a published snapshot, whether or not this release accepts its document.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// The generation of the policy.
    pub generation: u64,
    /// The epoch of whoever wrote it last: no two write the same bytes.
    pub writer: u64,
    /// The terms by which the records of a feed count; `None` where they are not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feed: Option<FeedStatus>,
    /// The SHA-256 digest of the document's text.
    pub digest: [u8; 32],
    /// The document, without its keys.
    pub document: Document,
    /// The keys.
    #[serde(skip)]
    pub keys: KeyTable,
}

impl Snapshot {
    /// The bytes to publish.
    pub fn encode(&self) -> Vec<u8> {
        // Plain structs of strings, numbers and maps with string keys: writing them cannot fail, and
        // should it ever, an empty snapshot is refused by every reader.
        let json = serde_json::to_vec(self).unwrap_or_default();
        let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
        let keys = self.keys.bytes();
        [&[FORMAT][..], &length.to_le_bytes(), &json, keys].concat()
    }

    /// Reads a published snapshot.
    ///
    /// # Errors
    /// The problem, where another release wrote another form.
    pub fn read(bytes: Vec<u8>) -> Result<Self, String> {
        const CUT: &str = "unreadable snapshot: it ends too early";
        let (&[format, length @ ..], rest) = bytes.split_first_chunk::<HEAD>().ok_or(CUT)?;
        if format != FORMAT {
            return Err(format!("snapshot has another format than {FORMAT}"));
        }
        let length = usize::try_from(u32::from_le_bytes(length)).map_err(|_| CUT)?;
        let json = rest.get(..length).ok_or(CUT)?;
        let snapshot: Self = serde_json::from_slice(json)
            .map_err(|error| format!("unreadable snapshot: {error}"))?;
        let start = HEAD.saturating_add(length);
        let keys = KeyTable::read(bytes, start).ok_or("unreadable snapshot: its keys are none")?;
        Ok(Self { keys, ..snapshot })
    }
}

/// A policy in force.
#[derive(Debug, Clone)]
pub struct InForce {
    /// The terms by which the records of a feed count; `None` where they are not read.
    pub feed: Option<FeedStatus>,
    /// The keys that the document names.
    pub keys: KeyTable,
    /// The policy.
    pub policy: Policy,
}

impl InForce {
    /// Reads a published snapshot.
    ///
    /// # Errors
    /// The problem, where another release wrote a form or a document that this one refuses.
    pub fn read(bytes: Vec<u8>) -> Result<Self, String> {
        let snapshot = Snapshot::read(bytes)?;
        match compile_policy(&snapshot.document) {
            Ok((policy, _warnings)) => Ok(Self {
                feed: snapshot.feed,
                keys: snapshot.keys,
                policy,
            }),
            Err(problems) => Err(format!("snapshot was refused: {problems}")),
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

/// Reads the published generation; `None` where nothing is published.
pub fn decode_generation(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{KeyDigest, KeyRecord};

    /// A snapshot with a group and a key.
    fn snapshot(feed: Option<FeedStatus>) -> Snapshot {
        let text =
            r#"{"groups": [{"id": "g", "protocol": "A", "multiplier": "1", "cluster": "c"}]}"#;
        let key = KeyRecord {
            id: "k".into(),
            group: "g".into(),
            ..KeyRecord::default()
        };
        Snapshot {
            generation: 9,
            writer: 3,
            feed,
            digest: [7; 32],
            document: Document::parse(text.as_bytes()).unwrap(),
            keys: KeyTable::of(&[(KeyDigest::of(b"k"), key)]),
        }
    }

    fn status(coverage: Coverage) -> FeedStatus {
        FeedStatus {
            watermark: 7,
            coverage,
        }
    }

    #[test]
    fn what_is_published_is_read() {
        for feed in [None, Some(status(Coverage::Former))] {
            let published = snapshot(feed);
            let bytes = published.encode();
            let read = Snapshot::read(bytes.clone()).unwrap();
            assert_eq!(read.encode(), bytes, "{feed:?}");
            let of = |one: &Snapshot| (one.generation, one.writer, one.feed, one.digest);
            assert_eq!(of(&read), of(&published), "{feed:?}");
            let in_force = InForce::read(bytes).unwrap();
            assert_eq!(in_force.feed, feed);
            assert!(in_force.policy.group("g").is_some(), "{feed:?}");
            let [known, unknown] = [b"k", b"l"].map(|key| {
                let found = in_force.keys.get(&KeyDigest::of(key)).unwrap();
                found.map(|key| key.id)
            });
            assert_eq!(known.as_deref(), Some("k"), "{feed:?}");
            assert_eq!(unknown, None, "{feed:?}");
        }
    }

    #[test]
    fn what_is_no_snapshot_is_refused() {
        let good = snapshot(None).encode();
        let format = |format: u8| [&[format], &good[1..]].concat();
        let json = &good[HEAD..];
        let cases = [
            ("of the format before", format(1)),
            ("of the format behind", format(3)),
            ("JSON, as of the formats before", json.to_vec()),
            ("longer", [&good[..], &[0]].concat()),
            (
                "a length of more than there is",
                [&[FORMAT], &[0xff; 4][..], json].concat(),
            ),
        ];
        for (case, bytes) in cases {
            assert!(Snapshot::read(bytes.clone()).is_err(), "{case}");
            assert!(InForce::read(bytes).is_err(), "{case}");
        }
        for cut in 0..good.len() {
            assert!(
                Snapshot::read(good[..cut].to_vec()).is_err(),
                "cut at {cut}"
            );
        }
        let mut of_another = snapshot(None);
        of_another.document.groups = None;
        let bytes = of_another.encode();
        assert!(Snapshot::read(bytes.clone()).is_ok(), "its form is right");
        assert!(InForce::read(bytes).is_err(), "its document is not");
    }

    #[test]
    fn when_all_keys_are_known() {
        // (coverage, whether an unknown key is none, whether the gateway is ready)
        let cases = [
            (None, true, true),
            (Some(Coverage::Nothing), false, false),
            (Some(Coverage::Former), false, true),
            (Some(Coverage::Whole), true, true),
        ];
        for (coverage, known, ready) in cases {
            let bytes = snapshot(coverage.map(status)).encode();
            let in_force = InForce::read(bytes).unwrap();
            assert_eq!(in_force.knows_all_keys(), known, "{coverage:?}");
            assert_eq!(in_force.is_ready(), ready, "{coverage:?}");
        }
    }
}
