//! The resources of a document as files, for an Envoy that reads them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::resources::Resources;
use super::{envoy, label, signed};

/// The files of a document's accounts.
#[derive(Debug)]
pub struct RenderedFiles {
    /// The secrets: the content of each file by its name.
    pub secrets: BTreeMap<String, String>,
    /// The file of clusters.
    pub clusters: Value,
    /// The clusters that Envoy can take at once, with their digests. It refuses to change one whose credential is missing.
    pub takeable: BTreeMap<String, String>,
}

impl RenderedFiles {
    /// Makes the files of these resources.
    pub fn new(resources: Resources) -> Self {
        let version = if resources.absent.is_empty() {
            "every credential was there".to_owned()
        } else {
            format!("without a credential: {}", resources.absent.join(" "))
        };
        let clusters = resources.clusters.into_iter().map(signed::sign).collect();
        let mut response = envoy::response(envoy::CLUSTER, clusters);
        if let Some(response) = response.as_object_mut() {
            // Envoy refuses to change a cluster while its credential is missing. This line makes the file differ once
            // the credential is there, so that the next run of the command offers the change again.
            response.insert("version_info".to_owned(), Value::String(version));
        }
        let mut takeable = signed::digests(&response);
        takeable.retain(|name, _| !resources.unserved.contains(name));
        let secrets = resources.secrets.iter().map(|(name, secret)| {
            let content = secret.to_file(name);
            (label::secret_file(name), text(&content))
        });
        Self {
            secrets: secrets.collect(),
            clusters: response,
            takeable,
        }
    }
}

/// The content of a file.
pub fn text(value: &Value) -> String {
    format!("{value:#}\n")
}
