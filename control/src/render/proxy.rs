//! Accounts behind an HTTP proxy.
//!
//! An account's connections go to the internal listener `egress` of the same Envoy, which makes each of them a tunnel
//! (`CONNECT`, RFC 9110, 9.3.6). The proxy and the target are in the endpoint's metadata, which is passed on with the
//! connection. TLS is between Envoy and the account, inside the tunnel, so that the proxy sees only a host and a port.
//! Envoy's own transport socket for proxies (`http_11_proxy`) takes addresses of proxies, but no names.

use serde_json::{Map, Value, json};
use trilane::config::account::Account;
use trilane::config::origin::Origin;

use super::envoy::{SecretReference, any, extension, http_options, keepalive, limits};
use super::tls;

/// The internal listener that makes tunnels.
const EGRESS: &str = "egress";

/// The name of the cluster of an account's proxy.
pub fn cluster_name(group: &str, account: &str) -> String {
    format!("proxy/{group}/{account}")
}

/// The proxy of an account, as a cluster.
pub fn cluster(
    proxy: &Origin,
    name: &str,
    label: &str,
    authorities: Option<&SecretReference>,
) -> Value {
    let mut cluster = Map::new();
    let mut set = |field: &str, value| cluster.insert(field.to_owned(), value);
    set("name", json!(name));
    set("alt_stat_name", json!(label));
    set("connect_timeout", json!("5s"));
    set("circuit_breakers", limits());
    set("upstream_connection_options", keepalive());
    if tls::address(&proxy.host).is_some() {
        set("type", json!("STATIC"));
    } else {
        set("type", json!("LOGICAL_DNS"));
        set("dns_lookup_family", json!("ALL"));
    }
    let address = json!({"socket_address": {"address": proxy.host, "port_value": proxy.port}});
    let endpoint = json!({"endpoint": {"hostname": proxy.authority(), "address": address}});
    set(
        "load_assignment",
        json!({"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]}),
    );
    if let Some(authorities) = authorities {
        set("transport_socket", tls::tls(&proxy.host, authorities));
    }
    // Each tunnel takes a whole connection, so HTTP/2 would gain nothing.
    set(
        "typed_extension_protocol_options",
        http_options(json!({"explicit_http_config": {"http_protocol_options": {}}})),
    );
    Value::Object(cluster)
}

/// The address that connections of an account with a proxy go to. `cluster` is the account's own and keeps its connections
/// apart from those of other accounts.
pub fn address(cluster: &str) -> Value {
    json!({"envoy_internal_address": {"server_listener_name": EGRESS, "endpoint_id": cluster}})
}

/// The endpoint's metadata for the listener: `proxy` and `target`. `via` makes the account's cluster differ when its proxy
/// changes, so that Envoy closes its old connections.
pub fn route(account: &Account, proxy: &Origin, cluster: &str) -> [(&'static str, Value); 3] {
    let origin = &account.origin;
    let target = format!("{}:{}", origin.authority_host(), origin.port);
    [
        ("proxy", json!(cluster)),
        ("target", json!(target)),
        ("via", json!(proxy.to_string())),
    ]
}

/// A transport socket that passes the endpoint's metadata on. `inner` is the transport socket within the tunnel.
pub fn socket(inner: Option<Value>) -> Value {
    let plain = || {
        extension(
            "transport_sockets.raw_buffer",
            any(
                "extensions.transport_sockets.raw_buffer.v3.RawBuffer",
                json!({}),
            ),
        )
    };
    extension(
        "transport_sockets.internal_upstream",
        any(
            "extensions.transport_sockets.internal_upstream.v3.InternalUpstreamTransport",
            json!({
                "passthrough_metadata": [{"kind": {"host": {}}, "name": "trilane"}],
                "transport_socket": inner.unwrap_or_else(plain),
            }),
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::super::envoy::SecretSource;
    use super::*;

    #[test]
    fn a_proxy_by_its_name_or_address() {
        let authorities = SecretSource::Ads.reference("ca~1".to_owned());
        for (url, kind, sni) in [
            ("http://proxy.example:3128", "LOGICAL_DNS", None),
            ("http://10.0.0.9:3128", "STATIC", None),
            ("http://[::1]:3128", "STATIC", None),
            (
                "https://Proxy.example",
                "LOGICAL_DNS",
                Some("proxy.example"),
            ),
        ] {
            let origin = Origin::parse(url).unwrap();
            let authorities = origin.tls.then_some(&authorities);
            let cluster = cluster(&origin, "proxy/g/a", "proxy~g~a", authorities);
            assert_eq!(cluster["type"], kind, "{url}");
            let context = cluster.pointer("/transport_socket/typed_config/sni");
            assert_eq!(context.and_then(Value::as_str), sni, "{url}");
        }
    }
}
