//! Secrets of Envoy's: a credential, or authorities, each with the file that it comes from.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::envoy::{resources, response, type_url};
use super::label;
use crate::ads::SecretValue;

/// The type of secrets.
const SECRET: &str = "extensions.transport_sockets.tls.v3.Secret";

/// A secret of a document's accounts.
#[derive(Debug)]
pub struct RenderedSecret {
    /// The file that it comes from.
    pub file: PathBuf,
    /// Its value; `None`: it cannot be read or used, and what is in use stays.
    pub value: Option<SecretValue>,
}

impl RenderedSecret {
    /// The secret of this name as a file that says where it is, never what it is (SDS).
    pub fn to_file(&self, name: &str) -> Value {
        let file = &self.file;
        // Envoy reads a credential again when another file is renamed to its name, and authorities only with a directory.
        let secret = if label::is_of_authorities(name) {
            let directory = file.parent().unwrap_or(Path::new("/"));
            json!({"name": name, "validation_context": {
                "trusted_ca": {"filename": file},
                "watched_directory": {"path": directory},
            }})
        } else {
            json!({"name": name, "generic_secret": {"secret": {"filename": file}}})
        };
        response(SECRET, vec![secret])
    }
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
