//! The resources for Envoy Gateway: an `EnvoyPatchPolicy` or two, and an `EnvoyProxy` for the bootstrap.

use yaml_serde::{Mapping, Value};

use super::manifest::{Patch, head, indented, map, patches, yaml};
use super::parts::{INFLATING, MANAGER, MeshParts, ROUTER};
use crate::envoy_config::place;
use crate::envoy_config::upstreams::socket_address;
use crate::host_port::HostPort;

const LISTENER: &str = "type.googleapis.com/envoy.config.listener.v3.Listener";
const ROUTES: &str = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration";
const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
/// The listener of the Gateway, and its routes.
const GATEWAY: &str = "trilane/trilane/gateway";
/// The filter, as Envoy Gateway calls it.
const PLUGIN: &str = "envoy.filters.http.wasm/envoyextensionpolicy/trilane/trilane/wasm/0";
/// The source of the document: the Service, and the cluster that leads to it.
const DOCUMENT: &str = "trilane-document";
const DOCUMENT_HOST: &str = "trilane-document.trilane.svc.cluster.local";
const DOCUMENT_PORT: u16 = 8080;

const WHY_BUFFER: &str = "How much of one connection is read at once, and held on each side.";
const WHY_MANAGER: &str = "\
Who the client is, paths, headers that no client may send, times, the answers that Envoy makes itself, the ledger. They
replace what a ClientTrafficPolicy for this Gateway would say.";
const WHY_INFLATING: &str =
    "Compressed requests are inflated before the filter reads them. A route switches these on.";
const WHY_ROUTER: &str = "The router tells sources nothing of its own, not even where a ClientTrafficPolicy would let it.";
const WHY_ENABLED: &str = "The filter of the EnvoyExtensionPolicy. Envoy Gateway switches it on route by route; here it is on for all requests.";
const WHY_STOP: &str = "Without this a filter that waits for the body hangs.";
const WHY_RELOAD: &str = "A crash costs the requests of one worker, then the VM is made anew.";
const WHY_ROUTES: &str = "The routes, in place of the one that answers 503. A HTTPRoute cannot send requests to where a header says.";
const WHY_DOCUMENT: &str = "The document's source, which the EnvoyExtensionPolicy names.";
const WHY_LISTENERS: &str = "The way to one of several accounts of a source, and to accounts behind a proxy. They cost nothing unused.";
const WHY_FAILOVER: &str = "\
For groups with several accounts, beside envoypatchpolicy.yaml and after it. The Envoys must have the filter as a file:
Envoy Gateway fetches the code of HTTP filters only, not that of a log. Without the file Envoy refuses the listener.";
const WHY_FILE: &str = "\
The filter, from the file. All of its roots must run the same code under the same `vm_id`: then they share a VM,
and what it knows of the attempts of a request.";
const WHY_ATTEMPTS: &str = "Tells the filter of attempts that did not go well.";
const WHY_HOP: &str =
    "The way to the account hop, for attempts after a failed one. The filter chooses the account.";
const WHY_BOOTSTRAP: &str = "\
Merged with Envoy Gateway's own bootstrap: the extension that internal listeners need, and labels and buckets for the
filter's metrics. (Credentials and the filter for accounts are mounted here too, see docs/envoy-gateway.md.)";

/// All that every gateway needs: patches of the listener `gateway` of the Gateway `trilane/trilane`.
///
/// # Errors
/// The place that the configuration does not have.
pub fn gateway(parts: &MeshParts) -> Result<String, String> {
    let manager = format!("..filters[?(@.name=='{MANAGER}')].typed_config");
    let mut all = vec![listener(
        WHY_BUFFER,
        "",
        "/per_connection_buffer_limit_bytes",
        parts.buffer.clone(),
    )];
    for (number, (name, value)) in parts.manager.iter().enumerate() {
        let why = if number == 0 { WHY_MANAGER } else { "" };
        let name = name.as_str().unwrap_or_default();
        all.push(listener(why, &manager, &format!("/{name}"), value.clone()));
    }
    for (number, name) in INFLATING.into_iter().enumerate() {
        let why = if number == 0 { WHY_INFLATING } else { "" };
        let path = format!("/http_filters/{number}");
        all.push(listener(why, &manager, &path, parts.filter(name)?));
    }
    let mut router = parts.router.clone();
    let router = place::find(&mut router, &["typed_config"])?.clone();
    let mut config = parts.plugin()?;
    let mut of_filter = |why, name: &str| -> Result<Patch, String> {
        let value = place::find(&mut config, &[name])?.clone();
        let path = format!("/typed_config/config/{name}");
        Ok(listener(why, &http_filter(PLUGIN), &path, value))
    };
    let stop = of_filter(WHY_STOP, "allow_on_headers_stop_iteration")?;
    let reload = of_filter(WHY_RELOAD, "failure_policy")?;
    let reload_config = of_filter("", "reload_config")?;
    let routes = parts.routes.iter().cloned().map(Value::Mapping).collect();
    all.extend([
        listener(WHY_ROUTER, &http_filter(ROUTER), "/typed_config", router),
        listener(WHY_ENABLED, &http_filter(PLUGIN), "/disabled", false.into()),
        stop,
        reload,
        reload_config,
        patch(
            WHY_ROUTES,
            ROUTES,
            "$.virtual_hosts[*]",
            "/routes",
            Value::Sequence(routes),
        ),
        whole(WHY_DOCUMENT, CLUSTER, document()),
    ]);
    for (number, value) in parts.internal_listeners.iter().enumerate() {
        let why = if number == 0 { WHY_LISTENERS } else { "" };
        all.push(whole(why, LISTENER, value.clone()));
    }
    let policy = policy("trilane", None);
    patches("--mode envoy-gateway", "", &policy, "jsonPatches", &all)
}

/// Renders the additions for groups with several accounts, in Envoys that have the filter as a file.
///
/// # Errors
/// The place that the configuration does not have.
pub fn failover(parts: &MeshParts) -> Result<String, String> {
    let mut config = parts.plugin()?;
    let vm = place::find(&mut config, &["vm_config"])?.clone();
    let log = parts.attempt_log.clone();
    let all = [
        listener(
            WHY_FILE,
            &http_filter(PLUGIN),
            "/typed_config/config/vm_config",
            vm,
        ),
        listener(
            WHY_ATTEMPTS,
            &http_filter(ROUTER),
            "/typed_config/upstream_log",
            log,
        ),
        whole(WHY_HOP, CLUSTER, parts.hop.clone()),
    ];
    let policy = policy("trilane-failover", Some(1));
    let origin = "--mode envoy-gateway --part failover";
    patches(origin, WHY_FAILOVER, &policy, "jsonPatches", &all)
}

/// Renders the settings that only the bootstrap can have.
///
/// # Errors
/// It cannot be written.
pub fn bootstrap(parts: &MeshParts) -> Result<String, String> {
    let resource = map([
        ("apiVersion", "gateway.envoyproxy.io/v1alpha1".into()),
        ("kind", "EnvoyProxy".into()),
        ("metadata", metadata("trilane")),
    ]);
    let origin = "--mode envoy-gateway --part bootstrap";
    let head = head(origin, WHY_BOOTSTRAP, &resource)?;
    let extension = parts.internal_listener_extension.clone();
    let bootstrap = yaml(&map([
        ("bootstrap_extensions", Value::Sequence(vec![extension])),
        ("stats_config", parts.statistics.clone()),
    ]))?;
    let bootstrap = indented(&bootstrap, 6);
    Ok(format!(
        "{head}spec:\n  bootstrap:\n    type: Merge\n    value: |\n{bootstrap}"
    ))
}

/// The cluster that leads to the document's source.
fn document() -> Value {
    let address = socket_address(&HostPort::new(DOCUMENT_HOST, DOCUMENT_PORT));
    let endpoint = map([("endpoint", map([("address", address)]))]);
    let endpoints = map([("lb_endpoints", Value::Sequence(vec![endpoint]))]);
    let assignment = map([
        ("cluster_name", DOCUMENT.into()),
        ("endpoints", Value::Sequence(vec![endpoints])),
    ]);
    map([
        ("name", DOCUMENT.into()),
        ("type", "STRICT_DNS".into()),
        ("connect_timeout", "1s".into()),
        ("load_assignment", assignment),
    ])
}

/// An `EnvoyPatchPolicy` for the Gateway of gateway.yaml, without its patches. A greater priority comes later.
fn policy(name: &str, priority: Option<u32>) -> Value {
    let target = map([
        ("group", "gateway.networking.k8s.io".into()),
        ("kind", "Gateway".into()),
        ("name", "trilane".into()),
    ]);
    let mut spec = Mapping::from_iter([("targetRef".into(), target)]);
    if let Some(priority) = priority {
        spec.insert("priority".into(), priority.into());
    }
    spec.insert("type".into(), "JSONPatch".into());
    map([
        ("apiVersion", "gateway.envoyproxy.io/v1alpha1".into()),
        ("kind", "EnvoyPatchPolicy".into()),
        ("metadata", metadata(name)),
        ("spec", spec.into()),
    ])
}

fn metadata(name: &str) -> Value {
    map([("name", name.into()), ("namespace", "trilane".into())])
}

/// The JSON path of the HTTP filter `name`.
fn http_filter(name: &str) -> String {
    format!("..http_filters[?(@.name=='{name}')]")
}

/// A patch of the Gateway's listener, within what a JSON path finds.
fn listener(why: &'static str, json_path: &str, path: &str, value: Value) -> Patch {
    patch(why, LISTENER, json_path, path, value)
}

/// A patch of the resource of this type, within what a JSON path finds.
fn patch(why: &'static str, of: &str, json_path: &str, path: &str, value: Value) -> Patch {
    let mut operation = Mapping::from_iter([("op".into(), "add".into())]);
    if !json_path.is_empty() {
        operation.insert("jsonPath".into(), json_path.into());
    }
    operation.insert("path".into(), path.into());
    operation.insert("value".into(), value);
    let value = map([
        ("type", of.into()),
        ("name", GATEWAY.into()),
        ("operation", operation.into()),
    ]);
    Patch { why, value }
}

/// A further resource.
fn whole(why: &'static str, of: &str, value: Value) -> Patch {
    let name = value.get("name").cloned().unwrap_or_default();
    let operation = map([("op", "add".into()), ("path", "".into()), ("value", value)]);
    let value = map([
        ("type", of.into()),
        ("name", name),
        ("operation", operation),
    ]);
    Patch { why, value }
}
