//! Secrets by file: where Envoy finds what it needs, never what it is.

use std::path::Path;

use serde_json::{Value, json};

use super::envoy::response;

const SECRET: &str = "extensions.transport_sockets.tls.v3.Secret";

/// An account's credential. Envoy reads the file again when another is renamed to its name.
pub fn credential(name: &str, file: &Path) -> Value {
    let secret = json!({"name": name, "generic_secret": {"secret": {"filename": file}}});
    response(SECRET, vec![secret])
}

/// Certificate authorities. Only as a secret are they read again when the file is replaced.
pub fn authorities(name: &str, file: &Path) -> Value {
    let directory = file.parent().unwrap_or(Path::new("/"));
    let secret = json!({"name": name, "validation_context": {
        "trusted_ca": {"filename": file},
        "watched_directory": {"path": directory},
    }});
    response(SECRET, vec![secret])
}

/// Whether a file's content is one of these, under a name that this command gives.
pub fn is_ours(content: &[u8], is_name: fn(&str) -> bool) -> bool {
    let value: Value = serde_json::from_slice(content).unwrap_or_default();
    let name = value.pointer("/resources/0/name").and_then(Value::as_str);
    let ours = value.get("type_url") == Some(&json!(format!("type.googleapis.com/envoy.{SECRET}")));
    ours && name.is_some_and(is_name)
}
