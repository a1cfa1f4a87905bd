//! Clusters as Envoy's messages (`envoy.config.cluster.v3.Cluster`), from the JSON in which they are rendered.
//!
//! The members are those that are rendered. Another one is an error, never left out. Parts that belong to extensions stay JSON on
//! their way ([`TypedStruct`]); Envoy reads them as it does in a file.

use std::collections::BTreeMap;

use prost::Message;
use prost_types::value::Kind;
use prost_types::{Any, Duration, ListValue, Struct, Value};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;

/// The prefix of the URL of a type.
const TYPES: &str = "type.googleapis.com/";

/// Reads a cluster.
///
/// # Errors
/// It has a member that is not known here, or one of another form.
pub fn parse(cluster: &Json) -> Result<Cluster, String> {
    Cluster::deserialize(cluster).map_err(|error| error.to_string())
}

/// A cluster.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cluster {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(enumeration = "DiscoveryType", tag = "2")]
    #[serde(rename = "type", deserialize_with = "discovery_type")]
    pub discovery_type: i32,
    #[prost(message, optional, tag = "4")]
    #[serde(deserialize_with = "seconds")]
    pub connect_timeout: Option<Duration>,
    #[prost(message, optional, tag = "5")]
    pub per_connection_buffer_limit_bytes: Option<u32>,
    #[prost(message, optional, tag = "10")]
    pub circuit_breakers: Option<CircuitBreakers>,
    #[prost(enumeration = "DnsLookupFamily", tag = "17")]
    #[serde(deserialize_with = "dns_lookup_family")]
    pub dns_lookup_family: i32,
    #[prost(message, optional, tag = "24")]
    pub transport_socket: Option<TransportSocket>,
    #[prost(message, optional, tag = "25")]
    pub metadata: Option<Metadata>,
    #[prost(string, tag = "28")]
    pub alt_stat_name: String,
    #[prost(message, optional, tag = "30")]
    pub upstream_connection_options: Option<UpstreamConnectionOptions>,
    #[prost(message, optional, tag = "33")]
    pub load_assignment: Option<ClusterLoadAssignment>,
    #[prost(btree_map = "string, message", tag = "36")]
    #[serde(deserialize_with = "typed_map")]
    pub typed_extension_protocol_options: BTreeMap<String, Any>,
}

/// The way in which the hosts of a cluster are found (`Cluster.DiscoveryType`).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration, Deserialize,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[repr(i32)]
pub enum DiscoveryType {
    Static = 0,
    LogicalDns = 2,
}

/// The addresses of a name that are used (`Cluster.DnsLookupFamily`).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration, Deserialize,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[repr(i32)]
pub enum DnsLookupFamily {
    Auto = 0,
    All = 4,
}

/// The limits of a cluster.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CircuitBreakers {
    #[prost(message, repeated, tag = "1")]
    pub thresholds: Vec<Thresholds>,
}

/// The limits of one priority.
#[derive(Clone, Copy, PartialEq, prost::Message, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Thresholds {
    #[prost(message, optional, tag = "2")]
    pub max_connections: Option<u32>,
    #[prost(message, optional, tag = "3")]
    pub max_pending_requests: Option<u32>,
    #[prost(message, optional, tag = "4")]
    pub max_requests: Option<u32>,
    #[prost(message, optional, tag = "5")]
    pub max_retries: Option<u32>,
}

/// The socket of connections to a cluster: an extension.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TransportSocket {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "3")]
    #[serde(deserialize_with = "typed")]
    pub typed_config: Option<Any>,
}

/// Metadata by namespace.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Metadata {
    #[prost(btree_map = "string, message", tag = "1")]
    #[serde(deserialize_with = "structs")]
    pub filter_metadata: BTreeMap<String, Struct>,
}

/// Options of connections.
#[derive(Clone, Copy, PartialEq, prost::Message, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UpstreamConnectionOptions {
    #[prost(message, optional, tag = "1")]
    pub tcp_keepalive: Option<TcpKeepalive>,
}

/// TCP keepalive.
#[derive(Clone, Copy, PartialEq, prost::Message, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TcpKeepalive {
    #[prost(message, optional, tag = "1")]
    pub keepalive_probes: Option<u32>,
    #[prost(message, optional, tag = "2")]
    pub keepalive_time: Option<u32>,
    #[prost(message, optional, tag = "3")]
    pub keepalive_interval: Option<u32>,
}

/// The hosts of a cluster.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClusterLoadAssignment {
    #[prost(string, tag = "1")]
    pub cluster_name: String,
    #[prost(message, repeated, tag = "2")]
    pub endpoints: Vec<LocalityLbEndpoints>,
}

/// The hosts of a locality.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LocalityLbEndpoints {
    #[prost(message, repeated, tag = "2")]
    pub lb_endpoints: Vec<LbEndpoint>,
}

/// A host, with its metadata.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LbEndpoint {
    #[prost(message, optional, tag = "1")]
    pub endpoint: Option<Endpoint>,
    #[prost(message, optional, tag = "3")]
    pub metadata: Option<Metadata>,
}

/// A host.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Endpoint {
    #[prost(message, optional, tag = "1")]
    pub address: Option<Address>,
    #[prost(string, tag = "3")]
    pub hostname: String,
}

/// The address of a host: one of the two.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Address {
    #[prost(message, optional, tag = "1")]
    pub socket_address: Option<SocketAddress>,
    #[prost(message, optional, tag = "3")]
    pub envoy_internal_address: Option<EnvoyInternalAddress>,
}

/// An address of the network.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SocketAddress {
    #[prost(string, tag = "2")]
    pub address: String,
    #[prost(uint32, tag = "3")]
    pub port_value: u32,
}

/// An internal listener of the same Envoy.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EnvoyInternalAddress {
    #[prost(string, tag = "1")]
    pub server_listener_name: String,
    #[prost(string, tag = "2")]
    pub endpoint_id: String,
}

/// A message of an extension as JSON (`xds.type.v3.TypedStruct`).
#[derive(Clone, PartialEq, prost::Message)]
pub struct TypedStruct {
    #[prost(string, tag = "1")]
    pub type_url: String,
    #[prost(message, optional, tag = "2")]
    pub value: Option<Struct>,
}

fn discovery_type<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
    DiscoveryType::deserialize(from).map(i32::from)
}

fn dns_lookup_family<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
    DnsLookupFamily::deserialize(from).map(i32::from)
}

/// Whole seconds, such as `5s`.
fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(from)?;
    let seconds = text
        .strip_suffix('s')
        .and_then(|number| number.parse().ok());
    let seconds = seconds.ok_or_else(|| D::Error::custom("not a number of seconds"))?;
    Ok(Some(Duration { seconds, nanos: 0 }))
}

fn typed<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Any>, D::Error> {
    as_typed_struct(Json::deserialize(from)?)
        .map(Some)
        .map_err(D::Error::custom)
}

fn typed_map<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Any>, D::Error> {
    let all = BTreeMap::<String, Json>::deserialize(from)?;
    let typed = |(name, value)| Ok((name, as_typed_struct(value)?));
    let typed: Result<_, &str> = all.into_iter().map(typed).collect();
    typed.map_err(D::Error::custom)
}

fn structs<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Struct>, D::Error> {
    let all = BTreeMap::<String, serde_json::Map<String, Json>>::deserialize(from)?;
    let each = all.into_iter();
    Ok(each
        .map(|(name, fields)| (name, as_struct(fields)))
        .collect())
}

/// A message with its type (`@type`), as JSON in an `Any`.
fn as_typed_struct(value: Json) -> Result<Any, &'static str> {
    let Json::Object(mut fields) = value else {
        return Err("a typed_config is an object");
    };
    let Some(Json::String(type_url)) = fields.remove("@type") else {
        return Err("a typed_config has an @type");
    };
    let value = TypedStruct {
        type_url,
        value: Some(as_struct(fields)),
    };
    Ok(Any {
        type_url: format!("{TYPES}xds.type.v3.TypedStruct"),
        value: value.encode_to_vec(),
    })
}

fn as_struct(fields: serde_json::Map<String, Json>) -> Struct {
    let fields = fields.into_iter();
    let fields: BTreeMap<_, _> = fields
        .map(|(name, value)| (name, as_value(value)))
        .collect();
    Struct { fields }
}

fn as_value(value: Json) -> Value {
    let kind = match value {
        Json::Null => Kind::NullValue(0),
        Json::Bool(value) => Kind::BoolValue(value),
        // Protobuf has no other numbers here. Those that are rendered are whole and small.
        Json::Number(value) => Kind::NumberValue(value.as_f64().unwrap_or_default()),
        Json::String(value) => Kind::StringValue(value),
        Json::Array(values) => Kind::ListValue(ListValue {
            values: values.into_iter().map(as_value).collect(),
        }),
        Json::Object(fields) => Kind::StructValue(as_struct(fields)),
    };
    Value { kind: Some(kind) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Clusters of every form, as they are rendered for files.
    const RENDERED: &str = include_str!("../../tests/command/render/golden/clusters/clusters.json");

    #[test]
    fn every_cluster_that_is_rendered_is_read() {
        let file: Json = serde_json::from_str(RENDERED).unwrap();
        let all = file["resources"].as_array().unwrap();
        assert!(all.len() > 4);
        for cluster in all {
            let mut cluster = cluster.clone();
            cluster.as_object_mut().unwrap().remove("@type");
            let read = parse(&cluster).unwrap();
            let name = &read.name;
            assert_eq!(cluster["name"], **name);
            let again = Cluster::decode(read.encode_to_vec().as_slice()).unwrap();
            assert_eq!(again, read, "{name}");
            let timeout = read.connect_timeout.unwrap();
            assert_eq!((timeout.seconds, timeout.nanos), (5, 0), "{name}");
            let endpoints = &read.load_assignment.unwrap().endpoints[0].lb_endpoints[0];
            assert!(
                endpoints.endpoint.as_ref().unwrap().address.is_some(),
                "{name}"
            );
            let (_, options) = read
                .typed_extension_protocol_options
                .first_key_value()
                .unwrap();
            let options = TypedStruct::decode(options.value.as_slice()).unwrap();
            assert!(options.type_url.ends_with("HttpProtocolOptions"), "{name}");
            let fields = options.value.unwrap().fields;
            assert!(
                !fields.contains_key("@type"),
                "{name}: its type stands beside it"
            );
        }
    }

    #[test]
    fn nothing_is_left_out() {
        for (case, cluster, fine) in [
            ("a name alone", json!({"name": "a"}), true),
            (
                "an unknown member",
                json!({"name": "a", "lb_policy": "RANDOM"}),
                false,
            ),
            (
                "one further in",
                json!({"name": "a", "circuit_breakers": {"thresholds": [{"track_remaining": true}]}}),
                false,
            ),
            ("another type", json!({"name": "a", "type": "EDS"}), false),
            (
                "a fraction of a second",
                json!({"name": "a", "connect_timeout": "0.5s"}),
                false,
            ),
            (
                "an extension without its type",
                json!({"name": "a", "transport_socket": {"name": "t", "typed_config": {}}}),
                false,
            ),
        ] {
            assert_eq!(parse(&cluster).is_ok(), fine, "{case}");
        }
    }
}
