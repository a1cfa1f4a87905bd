//! The resources for Istio: an `EnvoyFilter` or two, and a part of the bootstrap.

use yaml_serde::{Mapping, Value};

use super::manifest::{Patch, head, indented, map, patches};
use super::parts::{FILTER, INFLATING, MANAGER, MeshParts, ROUTER};
use crate::envoy_config::place;

const WASM: &str = "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm";
const RBAC: &str = "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC";
const MANAGER_TYPE: &str = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
/// The filter's configuration, with the document's source: without a singleton loader, its VMs agree on one that loads.
const SOURCE: &str = r#"{"source": {"cluster": "outbound|8080||trilane-document.trilane.svc.cluster.local", "path": "/gateway.json", "authority": "trilane-document"}, "tick_ms": 1000}"#;

const WHY_GATEWAY: &str =
    "For the gateway of gateway.yaml alone: its pods have the label istio=trilane.";
const WHY_BUFFER: &str = "How much of one connection is read at once, and held on each side.";
const WHY_MANAGER: &str = "\
Who the client is, paths, headers that no client may send, times, the answers that Envoy makes itself,
and the ledger (beside the access logs that the mesh has already).";
const WHY_INFLATING: &str = "Compressed requests are inflated first, so that the filter reads plain JSON. A route switches these on.";
const WHY_ROUTER: &str = "The router tells sources nothing of its own: with auto_host_rewrite it would add the host that the client named.";
const WHY_FILTER: &str = "\
The filter itself, just before the router. Its configuration is the resource below; until that is there the
listener does not open. Where its image cannot be had Istio's agent gives a filter that denies everything.";
const WHY_EXTENSION: &str = "\
A WasmPlugin would make the same resource but for two fields: it cannot say allow_on_headers_stop_iteration,
without which a filter that waits for the body hangs, and it gives no vm_id, so that all plugins of a proxy
share their data. Istio's agent fetches the image, as for a WasmPlugin. The filter loads the document itself,
from the Service `trilane-document`, since a mesh's proxy has no room for a singleton.";
const WHY_ROUTES: &str = "\
The routes. A VirtualService cannot send requests to where a header says; the one in gateway.yaml answers 503 to
all of them, and these come before it. So where a patch is missing nothing goes anywhere. The narrowest comes first.";
const WHY_LISTENERS: &str = "\
The way to one of several accounts of a source, and to accounts behind a proxy. They cost nothing unused. The
bootstrap extension that they need is part of Istio's own bootstrap.";
const WHY_FAILOVER: &str = "\
For groups with several accounts, beside envoyfilter.yaml. The pods must have the filter as a file: Istio's agent fetches
the code of HTTP filters only, not that of a log. Without the file Envoy refuses the listener.";
const WHY_FILE: &str = "\
The filter, from the file. All of its roots must run the same code: then they share a VM, and what it knows of
the attempts of a request.";
const WHY_ATTEMPTS: &str = "Tells the filter of attempts that did not go well.";
const WHY_HOP: &str =
    "The way to the account hop, for attempts after a failed one. The filter chooses the account.";
const WHY_BOOTSTRAP: &str = "\
Optional: labels and buckets for the filter's metrics, which else have `;group=…;` in their names. The gateway's pods
take it by the annotation  sidecar.istio.io/bootstrapOverride: trilane-bootstrap";

/// All that every gateway needs, with the filter's image.
///
/// # Errors
/// The place that the configuration does not have.
pub fn gateway(parts: &MeshParts, image: &str) -> Result<String, String> {
    let manager = map([
        ("name", MANAGER.into()),
        ("typed_config", with_type(MANAGER_TYPE, &parts.manager)),
    ]);
    let mut all = vec![
        add(
            WHY_BUFFER,
            "LISTENER",
            context(),
            "MERGE",
            map([("per_connection_buffer_limit_bytes", parts.buffer.clone())]),
        ),
        add(WHY_MANAGER, "NETWORK_FILTER", chain(None), "MERGE", manager),
    ];
    for (number, name) in INFLATING.into_iter().enumerate() {
        let why = if number == 0 { WHY_INFLATING } else { "" };
        let filter = parts.filter(name)?;
        all.push(http_filter(why, ROUTER, "INSERT_BEFORE", filter));
    }
    let discovered = map([
        ("name", FILTER.into()),
        ("config_discovery", extension_discovery()),
    ]);
    all.push(http_filter(
        WHY_ROUTER,
        ROUTER,
        "MERGE",
        parts.router.clone(),
    ));
    all.push(http_filter(WHY_FILTER, ROUTER, "INSERT_BEFORE", discovered));
    all.push(add(
        WHY_EXTENSION,
        "EXTENSION_CONFIG",
        context(),
        "ADD",
        fetched(parts, image)?,
    ));
    // Each comes before those that are there already.
    for (number, route) in parts.routes.iter().rev().enumerate() {
        let why = if number == 0 { WHY_ROUTES } else { "" };
        let place = within("routeConfiguration", named_route());
        let route = without_upgrades(route)?;
        all.push(add(why, "HTTP_ROUTE", place, "INSERT_FIRST", route));
    }
    for (number, listener) in parts.internal_listeners.iter().enumerate() {
        let why = if number == 0 { WHY_LISTENERS } else { "" };
        all.push(add(why, "LISTENER", context(), "ADD", listener.clone()));
    }
    // Behind other filters of the mesh, so that nothing of theirs comes between the patches.
    let resource = resource("trilane", 10);
    patches(
        "--mode istio",
        WHY_GATEWAY,
        &resource,
        "configPatches",
        &all,
    )
}

/// Renders the additions for groups with several accounts, in gateways whose pods have the filter as a file.
///
/// # Errors
/// The place that the configuration does not have.
pub fn failover(parts: &MeshParts) -> Result<String, String> {
    let mut filter = parts.filter(FILTER)?;
    let from_file = map([("@type", WASM.into()), ("config", plugin(parts)?)]);
    place::set(&mut filter, &["typed_config"], from_file)?;
    let mut router = parts.router.clone();
    let options = place::mapping(&mut router, &["typed_config"])?;
    options.retain(|name, _| name.as_str() == Some("@type"));
    options.insert("upstream_log".into(), parts.attempt_log.clone());
    let all = [
        http_filter(WHY_FILE, FILTER, "REPLACE", filter),
        http_filter(WHY_ATTEMPTS, ROUTER, "MERGE", router),
        add(WHY_HOP, "CLUSTER", context(), "ADD", parts.hop.clone()),
    ];
    let resource = resource("trilane-failover", 11);
    let origin = "--mode istio --part failover";
    patches(origin, WHY_FAILOVER, &resource, "configPatches", &all)
}

/// Renders the settings that only the bootstrap can have. Istio's own is merged with it, lists one behind the other.
///
/// # Errors
/// It cannot be written.
pub fn bootstrap(parts: &MeshParts) -> Result<String, String> {
    let resource = map([
        ("apiVersion", "v1".into()),
        ("kind", "ConfigMap".into()),
        ("metadata", metadata("trilane-bootstrap")),
    ]);
    let head = head("--mode istio --part bootstrap", WHY_BOOTSTRAP, &resource)?;
    let statistics = map([("stats_config", parts.statistics.clone())]);
    let json = serde_json::to_string_pretty(&statistics)
        .map_err(|error| format!("the manifest cannot be written: {error}"))?;
    let json = indented(&json, 4);
    Ok(format!("{head}data:\n  custom_bootstrap.json: |\n{json}\n"))
}

/// The filter's settings, by which it loads the document.
fn plugin(parts: &MeshParts) -> Result<Value, String> {
    let mut config = parts.plugin()?;
    place::set(&mut config, &["configuration", "value"], SOURCE)?;
    Ok(config)
}

/// The resource by which Istio's agent fetches the filter's image.
fn fetched(parts: &MeshParts, image: &str) -> Result<Value, String> {
    let uri = map([
        ("uri", format!("oci://{image}").into()),
        ("cluster", "_".into()),
        ("timeout", "30s".into()),
    ]);
    let mut config = plugin(parts)?;
    let code = map([("remote", map([("http_uri", uri)]))]);
    place::set(&mut config, &["vm_config", "code"], code)?;
    let typed = map([("@type", WASM.into()), ("config", config)]);
    Ok(map([("name", FILTER.into()), ("typed_config", typed)]))
}

/// The configuration source of the filter's resource, and the types that it may have.
fn extension_discovery() -> Value {
    let source = map([
        ("ads", map([])),
        ("initial_fetch_timeout", "0s".into()),
        ("resource_api_version", "V3".into()),
    ]);
    let types = [WASM, RBAC].map(Value::from).to_vec();
    map([
        ("config_source", source),
        ("type_urls", Value::Sequence(types)),
    ])
}

/// A route that refuses WebSockets, which Istio's listeners allow.
fn without_upgrades(route: &Mapping) -> Result<Value, String> {
    let websocket = map([
        ("upgrade_type", "websocket".into()),
        ("enabled", false.into()),
    ]);
    let mut route = Value::Mapping(route.clone());
    let action = place::mapping(&mut route, &["route"])?;
    action.insert("upgrade_configs".into(), Value::Sequence(vec![websocket]));
    Ok(route)
}

/// An `EnvoyFilter` for the gateway of gateway.yaml, without its patches.
fn resource(name: &str, priority: u32) -> Value {
    let labels = map([("labels", map([("istio", "trilane".into())]))]);
    map([
        ("apiVersion", "networking.istio.io/v1alpha3".into()),
        ("kind", "EnvoyFilter".into()),
        ("metadata", metadata(name)),
        (
            "spec",
            map([("priority", priority.into()), ("workloadSelector", labels)]),
        ),
    ])
}

fn metadata(name: &str) -> Value {
    map([("name", name.into()), ("namespace", "trilane".into())])
}

/// A patch of, before or in place of an HTTP filter.
fn http_filter(why: &'static str, name: &str, operation: &str, value: Value) -> Patch {
    add(why, "HTTP_FILTER", chain(Some(name)), operation, value)
}

/// A patch at a place.
fn add(why: &'static str, apply_to: &str, place: Value, operation: &str, value: Value) -> Patch {
    let patch = map([("operation", operation.into()), ("value", value)]);
    let value = map([
        ("applyTo", apply_to.into()),
        ("match", place),
        ("patch", patch),
    ]);
    Patch { why, value }
}

/// Any place of a gateway.
fn context() -> Value {
    map([("context", "GATEWAY".into())])
}

/// The HTTP connection manager of a gateway, or one of its filters.
fn chain(sub_filter: Option<&str>) -> Value {
    let filter = match sub_filter {
        None => map([("name", MANAGER.into())]),
        Some(name) => map([
            ("name", MANAGER.into()),
            ("subFilter", map([("name", name.into())])),
        ]),
    };
    within(
        "listener",
        map([("filterChain", map([("filter", filter)]))]),
    )
}

/// The route of gateway.yaml, by its name.
fn named_route() -> Value {
    let route = map([("route", map([("name", "trilane".into())]))]);
    map([("vhost", route)])
}

/// A place of this kind in a gateway.
fn within(kind: &str, place: Value) -> Value {
    map([("context", "GATEWAY".into()), (kind, place)])
}

/// A message of this type with these fields.
fn with_type(of: &str, fields: &Mapping) -> Value {
    let mut message = Mapping::from_iter([("@type".into(), of.into())]);
    message.extend(fields.clone());
    message.into()
}
