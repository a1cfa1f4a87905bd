//! TLS towards an account, or towards its proxy.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::envoy::{any, extension, secret_in};

/// A file of authorities, as a secret of Envoy's.
#[derive(Debug)]
pub struct Authorities {
    /// The secret's name.
    pub name: String,
    /// The file that says where the authorities are.
    pub file: String,
}

/// The host where it is an address.
pub fn address(host: &str) -> Option<IpAddr> {
    host.parse().ok()
}

/// TLS. The certificate must have the host's name or address in it, and be issued by one of the authorities.
pub fn tls(host: &str, authorities: &Authorities) -> Value {
    let secret = json!({"name": authorities.name, "sds_config": secret_in(&authorities.file)});
    // As a client Envoy would by default not go beyond 1.2.
    let versions = json!({
        "tls_minimum_protocol_version": "TLSv1_2",
        "tls_maximum_protocol_version": "TLSv1_3",
    });
    let context = match address(host) {
        // SNI takes no addresses (RFC 6066, 3).
        Some(ip) => json!({"common_tls_context": {
            "tls_params": versions,
            "combined_validation_context": {
                "default_validation_context": {"match_typed_subject_alt_names": [
                    {"san_type": "IP_ADDRESS", "matcher": {"exact": ip.to_string()}},
                ]},
                "validation_context_sds_secret_config": secret,
            },
        }}),
        None => json!({
            "sni": host.to_ascii_lowercase(),
            "auto_sni_san_validation": true,
            "common_tls_context": {
                "tls_params": versions,
                "validation_context_sds_secret_config": secret,
            },
        }),
    };
    extension(
        "transport_sockets.tls",
        any(
            "extensions.transport_sockets.tls.v3.UpstreamTlsContext",
            context,
        ),
    )
}
