//! The parts of Envoy's configuration that several files need, in the JSON form of its protobuf messages.

use std::path::Path;

use serde_json::{Value, json};

use super::label;

/// The type of clusters.
pub const CLUSTER: &str = "config.cluster.v3.Cluster";

/// The URL of a message's type.
pub fn type_url(kind: &str) -> String {
    format!("type.googleapis.com/envoy.{kind}")
}

/// A message with its type, as `google.protobuf.Any` is written.
pub fn any(kind: &str, mut fields: Value) -> Value {
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("@type".to_owned(), Value::String(type_url(kind)));
    }
    fields
}

/// An extension by its name, with its configuration.
pub fn extension(name: &str, config: Value) -> Value {
    json!({"name": format!("envoy.{name}"), "typed_config": config})
}

/// A `DiscoveryResponse`, the form of an xDS file: resources of one type.
pub fn response(kind: &str, resources: Vec<Value>) -> Value {
    let resources: Vec<Value> = resources
        .into_iter()
        .map(|fields| any(kind, fields))
        .collect();
    json!({"type_url": type_url(kind), "resources": resources})
}

/// The resources of such a file; none if it is something else.
pub fn resources(response: &Value) -> &[Value] {
    let resources = response.get("resources").and_then(Value::as_array);
    resources.map_or(&[], Vec::as_slice)
}

/// The source of the secrets that clusters name.
#[derive(Debug, Clone, Copy)]
pub enum SecretSource<'a> {
    /// A file of this directory for each.
    Files(&'a Path),
    /// The stream by which the clusters come too.
    Ads,
}

impl SecretSource<'_> {
    /// The secret of this name.
    pub fn reference(self, name: String) -> SecretReference {
        let source = match self {
            Self::Files(directory) => {
                let file = directory.join(label::secret_file(&name));
                json!({"path_config_source": {"path": file}, "resource_api_version": "V3"})
            }
            // Without end: an agent says of each secret that is asked for what it is, or that there is none. Until it has, the
            // cluster of before goes on.
            Self::Ads => {
                json!({"ads": {}, "resource_api_version": "V3", "initial_fetch_timeout": "0s"})
            }
        };
        SecretReference { name, source }
    }

    /// Whether Envoy itself watches the files of credentials.
    pub const fn is_watched_by_envoy(self) -> bool {
        matches!(self, Self::Files(_))
    }
}

/// A secret as a cluster names it.
#[derive(Debug)]
pub struct SecretReference {
    name: String,
    source: Value,
}

impl SecretReference {
    /// The message for it (`SdsSecretConfig`).
    pub fn config(&self) -> Value {
        json!({"name": self.name, "sds_config": self.source})
    }
}

/// The HTTP/2 windows, in bytes. A stream's is that of the gateway's listeners: with the default of 16 MiB, every upload to
/// a slow account would fill so much memory. A connection's has no limit: otherwise a few clients that do not read would
/// block all others on their connection.
pub fn http2() -> Value {
    json!({"initial_stream_window_size": 1_048_576, "initial_connection_window_size": i32::MAX})
}

/// A cluster's HTTP protocol options.
pub fn http_options(fields: Value) -> Value {
    const OPTIONS: &str = "extensions.upstreams.http.v3.HttpProtocolOptions";
    json!({format!("envoy.{OPTIONS}"): any(OPTIONS, fields)})
}

/// A filter that changes the headers of requests and of responses.
pub fn change_headers_by(requests: Vec<Value>, responses: Vec<Value>) -> Value {
    let mut mutations = json!({"request_mutations": requests});
    if let (Some(mutations), false) = (mutations.as_object_mut(), responses.is_empty()) {
        mutations.insert("response_mutations".to_owned(), Value::Array(responses));
    }
    extension(
        "filters.http.header_mutation",
        any(
            "extensions.filters.http.header_mutation.v3.HeaderMutation",
            json!({"mutations": mutations}),
        ),
    )
}

/// The filter that sends the request: the last filter of a cluster.
pub fn codec() -> Value {
    extension(
        "filters.http.upstream_codec",
        any(
            "extensions.filters.http.upstream_codec.v3.UpstreamCodec",
            json!({}),
        ),
    )
}

/// TCP keepalive that detects a dead peer within a minute.
pub fn keepalive() -> Value {
    json!({"tcp_keepalive": {"keepalive_time": 30, "keepalive_interval": 10, "keepalive_probes": 3}})
}

/// Circuit breakers so wide that they never open: the defaults (1024 each, 3 retries) count long streams too, and beyond
/// them requests fail at once.
pub fn limits() -> Value {
    const MANY: u32 = 20_000;
    json!({"thresholds": [{
        "max_connections": MANY,
        "max_pending_requests": MANY,
        "max_requests": MANY,
        "max_retries": MANY,
    }]})
}
