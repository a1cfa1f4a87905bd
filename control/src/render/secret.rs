//! Secrets (SDS) that name files: where Envoy reads a credential or authorities, never their content.

use std::path::Path;

use serde_json::{Value, json};

use super::envoy::{resources, response, type_url};

/// The type of secrets.
const SECRET: &str = "extensions.transport_sockets.tls.v3.Secret";

/// An account's credential. Envoy reads the file again when another file is renamed to its name.
pub fn credential(name: &str, file: &Path) -> Value {
    let secret = json!({"name": name, "generic_secret": {"secret": {"filename": file}}});
    response(SECRET, vec![secret])
}

/// Certificate authorities. Envoy reads them again after a rename only when they are a secret.
pub fn authorities(name: &str, file: &Path) -> Value {
    let directory = file.parent().unwrap_or(Path::new("/"));
    let secret = json!({"name": name, "validation_context": {
        "trusted_ca": {"filename": file},
        "watched_directory": {"path": directory},
    }});
    response(SECRET, vec![secret])
}

/// Whether a file's content is a secret that this command wrote, judged by its type and name.
pub fn is_ours(content: &[u8], is_name: fn(&str) -> bool) -> bool {
    let value: Value = serde_json::from_slice(content).unwrap_or_default();
    let name = resources(&value)
        .first()
        .and_then(|first| first.get("name")?.as_str());
    let is_secret = value.get("type_url") == Some(&json!(type_url(SECRET)));
    is_secret && name.is_some_and(is_name)
}
