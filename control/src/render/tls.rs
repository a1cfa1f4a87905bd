//! TLS towards an account, or towards its proxy.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::envoy::{SecretReference, any, extension};

/// The host where it is an address.
pub fn address(host: &str) -> Option<IpAddr> {
    host.parse().ok()
}

/// TLS. The certificate must have the host's name or address in it, and be issued by one of the authorities.
pub fn tls(host: &str, authorities: &SecretReference) -> Value {
    let secret = authorities.config();
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
