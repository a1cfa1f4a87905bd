//! The parts of Envoy's configuration that several files need, in the JSON form of its protobuf messages.

use serde_json::{Value, json};

/// A message with its type, for a place that takes any.
pub fn any(kind: &str, mut fields: Value) -> Value {
    if let Some(fields) = fields.as_object_mut() {
        let kind = format!("type.googleapis.com/envoy.{kind}");
        fields.insert("@type".to_owned(), Value::String(kind));
    }
    fields
}

/// An extension by its name, with its configuration.
pub fn extension(name: &str, config: Value) -> Value {
    json!({"name": format!("envoy.{name}"), "typed_config": config})
}

/// A file as xDS gives it: resources of one kind.
pub fn response(kind: &str, resources: Vec<Value>) -> Value {
    let resources: Vec<Value> = resources
        .into_iter()
        .map(|fields| any(kind, fields))
        .collect();
    json!({"type_url": format!("type.googleapis.com/envoy.{kind}"), "resources": resources})
}

/// Where a secret is.
pub fn secret_in(file: &str) -> Value {
    json!({"path_config_source": {"path": file}, "resource_api_version": "V3"})
}

/// How much of one stream, and of one connection, may be on its way over HTTP/2: a stream as much as on the
/// gateway's listeners, since of the default, 16 MiB, every upload to a slow account would take all in memory; all
/// together without a limit, or a few clients who do not read would block everybody else on their connection.
pub fn http2() -> Value {
    json!({"initial_stream_window_size": 1_048_576, "initial_connection_window_size": i32::MAX})
}

/// How a cluster speaks HTTP.
pub fn http_options(fields: Value) -> Value {
    const OPTIONS: &str = "extensions.upstreams.http.v3.HttpProtocolOptions";
    json!({format!("envoy.{OPTIONS}"): any(OPTIONS, fields)})
}

/// A filter that changes the headers of requests.
pub fn change_requests(mutations: Vec<Value>) -> Value {
    extension(
        "filters.http.header_mutation",
        any(
            "extensions.filters.http.header_mutation.v3.HeaderMutation",
            json!({"mutations": {"request_mutations": mutations}}),
        ),
    )
}

/// Sets a header, whatever was there.
pub fn set(header: &str, value: &str) -> Value {
    json!({"append": {
        "header": {"key": header, "value": value},
        "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
    }})
}

/// The filter that sends the request: the last of a cluster's.
pub fn codec() -> Value {
    extension(
        "filters.http.upstream_codec",
        any(
            "extensions.filters.http.upstream_codec.v3.UpstreamCodec",
            json!({}),
        ),
    )
}

/// Finds out within a minute that a peer is gone.
pub fn keepalive() -> Value {
    json!({"tcp_keepalive": {"keepalive_time": 30, "keepalive_interval": 10, "keepalive_probes": 3}})
}

/// The defaults (1024 each, and 3 retries) count long streams as well; past a limit requests fail at once.
pub fn limits() -> Value {
    const MANY: u32 = 20_000;
    json!({"thresholds": [{
        "max_connections": MANY,
        "max_pending_requests": MANY,
        "max_requests": MANY,
        "max_retries": MANY,
    }]})
}
