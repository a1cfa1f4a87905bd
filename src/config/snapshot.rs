//! The policy as it stands in Envoy's shared data, and the names under which things stand there.
//!
//! A snapshot is the document's own text without its keys: each worker compiles it with the code
//! that validated it, once a generation. All workers of an Envoy share one `vm_id`, hence one
//! namespace; every name starts with `trilane/`.

use serde::{Deserialize, Serialize};

use super::compile::compile_policy;
use super::document::Document;
use super::policy::Policy;

/// The name of the generation: 8 bytes, little endian, written last.
pub const GENERATION: &str = "trilane/generation";
/// The name of the policy snapshot.
pub const POLICY: &str = "trilane/policy";
/// The name of the lease of whoever loads the configuration.
pub const LEASE: &str = "trilane/lease";

/// The name of the digest of the document last published.
pub const DOCUMENT: &str = "trilane/document";

/// The format that this release writes and reads.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Snapshot {
    format: u32,
    epoch: u64,
    document: Document,
}

/// A policy in force.
#[derive(Debug, Clone)]
pub struct InForce {
    /// Key records of an older epoch are void.
    pub epoch: u64,
    /// The policy.
    pub policy: Policy,
}

/// The bytes to publish for a document that [`compile_policy`] accepts.
pub fn encode(document: &Document, epoch: u64) -> Vec<u8> {
    let snapshot = Snapshot {
        format: FORMAT,
        epoch,
        document: document.without_keys(),
    };
    // Plain structs of strings, numbers and maps with string keys: writing them cannot fail, and
    // should it ever, an empty snapshot is refused by every reader.
    serde_json::to_vec(&snapshot).unwrap_or_default()
}

/// Reads a published snapshot.
///
/// # Errors
/// What is wrong, where another release wrote a form or a document that this one refuses.
pub fn decode(bytes: &[u8]) -> Result<InForce, String> {
    let snapshot: Snapshot =
        serde_json::from_slice(bytes).map_err(|error| format!("unreadable snapshot: {error}"))?;
    if snapshot.format != FORMAT {
        return Err(format!("snapshot has format {}", snapshot.format));
    }
    match compile_policy(&snapshot.document) {
        Ok((policy, _warnings)) => Ok(InForce {
            epoch: snapshot.epoch,
            policy,
        }),
        Err(problems) => Err(format!("snapshot was refused: {problems}")),
    }
}

/// The epoch and the document of a published snapshot, whether or not this release accepts it.
pub fn peek(bytes: &[u8]) -> Option<(u64, Document)> {
    let snapshot: Snapshot = serde_json::from_slice(bytes).ok()?;
    (snapshot.format == FORMAT).then_some((snapshot.epoch, snapshot.document))
}

/// Reads the published generation; `None` where nothing is published.
pub fn decode_generation(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_le_bytes)
}
