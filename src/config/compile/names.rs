//! Names that a document may use. They end up in headers, paths, logs and metric labels, so what
//! would need escaping there is refused here.

use hashbrown::HashMap;

use crate::config::error::Problems;
use crate::protocol::Protocol;

/// The longest id of a group or key, in bytes.
const MAX_ID: usize = 64;
/// The longest name for people, and the longest model or cluster name, in bytes.
const MAX_NAME: usize = 128;

/// The ids of groups, in the order of their positions.
pub(super) fn in_order(index: &HashMap<String, usize>) -> impl Iterator<Item = &str> {
    let mut ids: Vec<(usize, &str)> = index
        .iter()
        .map(|(id, position)| (*position, id.as_str()))
        .collect();
    ids.sort_unstable();
    ids.into_iter().map(|(_, id)| id)
}

/// An id of a group or a key: letters, digits, `-`, `_`, `.`, `:`.
pub(super) fn id<'a>(
    id: &'a Option<String>,
    path: &str,
    problems: &mut Problems,
) -> Option<&'a str> {
    checked_id(id.as_deref())
        .map_err(|reason| problems.push(path, reason))
        .ok()
}

/// The same, for callers that write the path only where something is wrong with it.
pub(super) fn checked_id(id: Option<&str>) -> Result<&str, &'static str> {
    let id = id.ok_or("is missing")?;
    if id.is_empty() || id.len() > MAX_ID || !id.bytes().all(is_id_byte) {
        return Err("must be 1 to 64 letters, digits or any of - _ . :");
    }
    Ok(id)
}

fn is_id_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"-_.:".contains(&b)
}

/// A name for people: any text without control characters.
pub(super) fn display(name: &str, path: &str, problems: &mut Problems) {
    if let Err(reason) = checked_display(name) {
        problems.push(path, reason);
    }
}

/// The same, for callers that write the path only where something is wrong with it.
pub(super) fn checked_display(name: &str) -> Result<&str, &'static str> {
    if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
        return Err("must be 1 to 128 bytes without control characters");
    }
    Ok(name)
}

/// The name of an Envoy cluster; it is sent in a header inside Envoy. `|` is in the names a
/// service mesh gives its clusters.
pub(super) fn cluster(name: &str, path: &str, problems: &mut Problems) {
    let good = |b: u8| is_id_byte(b) || b"|/".contains(&b);
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(good) {
        problems.push(
            path,
            "must be 1 to 128 letters, digits or any of - _ . : | /",
        );
    }
}

/// The characters of model names beside letters and digits, in any protocol.
const MODEL_EXTRA: &[u8] = b"-_.:/@+[]";

/// The name of a model of whatever protocol, for callers that write the path only where something is wrong with it.
pub(super) fn checked_model(name: &str) -> Result<&str, &'static str> {
    let good = |b: u8| b.is_ascii_alphanumeric() || MODEL_EXTRA.contains(&b);
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(good) {
        return Err("must be 1 to 128 letters, digits or any of -_.:/@+[]");
    }
    Ok(name)
}

/// A model name of `protocol`, as an id, an alias or an upstream name. On C it is a segment of a
/// path, where a slash or a dot segment would lead elsewhere.
pub(super) fn model(name: &str, protocol: Protocol, path: &str, problems: &mut Problems) -> bool {
    let extra: &[u8] = match protocol {
        Protocol::A | Protocol::B => MODEL_EXTRA,
        Protocol::C => b"-_.",
    };
    let good = |b: u8| b.is_ascii_alphanumeric() || extra.contains(&b);
    if name.is_empty()
        || name.len() > MAX_NAME
        || !name.bytes().all(good)
        || name.bytes().all(|b| b == b'.')
    {
        problems.push(
            path,
            format!(
                "must be 1 to 128 letters, digits or any of {}",
                String::from_utf8_lossy(extra)
            ),
        );
        return false;
    }
    true
}
