//! The cluster of one account: its host, its TLS, its credential.

use serde_json::{Map, Value, json};
use trilane::config::account::{Account, CredentialHeader, HttpVersion};
use trilane::config::origin::Origin;
use trilane::exchange::{FINAL_HEADER, JUDGED_HEADER};

use super::envoy::{
    SecretReference, any, change_headers_by, codec, extension, http_options, http2, keepalive,
    limits,
};
use super::judge::judge;
use super::proxy;
use super::tls;

/// The names that an account's cluster uses, and what they stand for.
#[derive(Debug)]
pub struct Identity<'a> {
    /// The cluster's name.
    pub cluster: &'a str,
    /// The cluster's name in metrics.
    pub label: &'a str,
    /// The secret with the credential.
    pub secret: &'a SecretReference,
    /// The authorities, for an account reached by TLS.
    pub authorities: Option<&'a SecretReference>,
    /// The proxy of the account, if it has one, with the name of the proxy's cluster.
    pub proxy: Option<(&'a Origin, &'a str)>,
    /// Whether no other account is asked before or after it.
    pub only: bool,
    /// The judge of answers, as Envoy sees it, where the source has other accounts.
    pub judge: Option<&'a str>,
}

/// An account's cluster.
pub fn cluster(account: &Account, identity: &Identity<'_>) -> Value {
    let mut cluster = Map::new();
    let mut set = |field: &str, value| cluster.insert(field.to_owned(), value);
    set("name", json!(identity.cluster));
    set("alt_stat_name", json!(identity.label));
    set("connect_timeout", json!("5s"));
    // How much waits for an account that does not read, and for a client who does not. With less, long bodies are stopped
    // and let go again several times on their way.
    set("per_connection_buffer_limit_bytes", json!(1_048_576));
    set("circuit_breakers", limits());
    if identity.proxy.is_some() {
        set("type", json!("STATIC"));
    } else {
        set("upstream_connection_options", keepalive());
        if tls::address(&account.origin.host).is_some() {
            set("type", json!("STATIC"));
        } else {
            // One host for Envoy, however many addresses the name has: the account succeeds or fails as a whole.
            set("type", json!("LOGICAL_DNS"));
            set("dns_lookup_family", json!("ALL"));
        }
    }
    set(
        "load_assignment",
        json!({"cluster_name": identity.cluster, "endpoints": [{"lb_endpoints": [endpoint(account, identity)]}]}),
    );
    set(
        "metadata",
        json!({"filter_metadata": {"trilane": bases(account)}}),
    );
    let host = &account.origin.host;
    let tls = identity.authorities.map(|found| tls::tls(host, found));
    let socket = match identity.proxy {
        Some(_) => Some(proxy::socket(tls)),
        None => tls,
    };
    if let Some(socket) = socket {
        set("transport_socket", socket);
    }
    set(
        "typed_extension_protocol_options",
        http_options(protocol(account, identity)),
    );
    Value::Object(cluster)
}

/// The prefixes that the route puts before the path of a request: `base` before the whole path, `root` before a path
/// without its version. Requests carry the latter if an account of their group has a version of its own in its URL.
fn bases(account: &Account) -> Value {
    let mut bases = Map::new();
    // Even where only `root` fits, a request may carry the whole path: it began before the account was added.
    let base = account.base.prefix.as_ref();
    let base = base.unwrap_or(&account.origin.base_path);
    if !base.is_empty() {
        bases.insert("base".to_owned(), json!(base));
    }
    bases.insert("root".to_owned(), json!(account.base.root));
    Value::Object(bases)
}

/// The HTTP version, and the filters that change requests last.
fn protocol(account: &Account, identity: &Identity<'_>) -> Value {
    let http = match account.http {
        HttpVersion::Negotiated => json!({"auto_config": {"http2_protocol_options": http2()}}),
        HttpVersion::One => json!({"explicit_http_config": {"http_protocol_options": {}}}),
        HttpVersion::Two => json!({"explicit_http_config": {"http2_protocol_options": http2()}}),
    };
    // Answers pass the filters from the last to the first, and the judge has to see the mark of a request.
    let judge = identity.judge.filter(|_| !identity.only).map(judge);
    let changes = [
        change_headers(identity.only),
        inject_credential(account.header, identity),
        codec(),
    ];
    let filters: Vec<Value> = judge.into_iter().chain(changes).collect();
    let mut options = json!({
        // Shorter than servers keep idle connections, which for most is a minute or more: a request that meets the
        // server's close fails.
        "common_http_protocol_options": {"idle_timeout": "55s"},
        "http_filters": filters,
    });
    if let (Some(options), Value::Object(http)) = (options.as_object_mut(), http) {
        options.extend(http);
        // Among several accounts the filter decides who is asked again.
        if account.retries > 0 && identity.only {
            let policy = json!({
                "retry_on": "connect-failure,refused-stream,reset,reset-before-request",
                "num_retries": account.retries,
            });
            options.insert("retry_policy".to_owned(), policy);
        }
    }
    options
}

fn endpoint(account: &Account, identity: &Identity<'_>) -> Value {
    let origin = &account.origin;
    let mut metadata = Map::new();
    metadata.insert("account".to_owned(), json!(account.id));
    let address = match identity.proxy {
        Some((proxy, cluster)) => {
            let route = proxy::route(account, proxy, cluster);
            metadata.extend(route.map(|(name, value)| (name.to_owned(), value)));
            proxy::address(identity.cluster)
        }
        None => json!({"socket_address": {"address": origin.host, "port_value": origin.port}}),
    };
    json!({
        // Becomes the `host` header.
        "endpoint": {"hostname": origin.authority(), "address": address},
        "metadata": {"filter_metadata": {"trilane": metadata}},
    })
}

/// Removes what concerns only the client or this gateway: credentials (also those of another account, from an earlier
/// attempt), the client's address, the gateway's own headers.
///
/// Of the responses of one of several accounts, the headers by which the filter keeps Envoy from another attempt, and asks it
/// for one.
fn change_headers(only: bool) -> Value {
    const NAMES: [&str; 6] = [
        "authorization",
        "x-api-key",
        "x-goog-api-key",
        "x-vc-api-key",
        "forwarded",
        "x-real-ip",
    ];
    const PREFIXES: [&str; 3] = ["x-forwarded-", "x-envoy-", "x-trilane-"];
    let names = NAMES.into_iter().map(|name| json!({"remove": name}));
    let prefixes = PREFIXES.into_iter().map(
        |prefix| json!({"remove_on_match": {"key_matcher": {"prefix": prefix, "ignore_case": true}}}),
    );
    let requests = names.chain(prefixes).collect();
    let responses = if only {
        vec![]
    } else {
        [FINAL_HEADER, JUDGED_HEADER]
            .map(|name| json!({"remove": name}))
            .into()
    };
    change_headers_by(requests, responses)
}

/// Sets the credential. Without one the request ends here with 401.
fn inject_credential(header: CredentialHeader, identity: &Identity<'_>) -> Value {
    let mut generic = json!({
        "header": match header {
            CredentialHeader::Bearer => "authorization",
            CredentialHeader::XApiKey => "x-api-key",
            CredentialHeader::XGoogApiKey => "x-goog-api-key",
        },
        "credential": identity.secret.config(),
    });
    if let (CredentialHeader::Bearer, Some(generic)) = (header, generic.as_object_mut()) {
        generic.insert("header_value_prefix".to_owned(), json!("Bearer "));
    }
    let generic = extension(
        "http.injected_credentials.generic",
        any(
            "extensions.http.injected_credentials.generic.v3.Generic",
            generic,
        ),
    );
    extension(
        "filters.http.credential_injector",
        any(
            "extensions.filters.http.credential_injector.v3.CredentialInjector",
            json!({"overwrite": true, "allow_request_without_credential": false, "credential": generic}),
        ),
    )
}

#[cfg(test)]
mod tests;
