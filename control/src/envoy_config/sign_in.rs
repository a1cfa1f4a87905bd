//! The routes and the cluster by which clients sign in at the console by way of the gateway.

use http::Uri;
use yaml_serde::{Mapping, Value};

use super::place::{self, client_listeners, text};
use super::settings::SignInConsole;
use super::upstreams::{ENDPOINT_ADDRESS, socket_address};
use crate::agent_feeds::CLIENT_SETTINGS_PATH;
use crate::host_port::HostPort;

/// The routes and the cluster, with remarks.
const PARTS: &str = include_str!("../../../envoy/sign-in.yaml");

/// The name of the cluster.
pub const CONSOLE_CLUSTER: &str = "trilane_console";

/// Adds routes and cluster.
///
/// # Errors
/// The place that is not there, or the path that is no text.
pub fn add(config: &mut Value, console: &SignInConsole, has_agent: bool) -> Result<(), String> {
    let mut parts: Value =
        yaml_serde::from_str(PARTS).map_err(|error| format!("sign-in.yaml is no YAML: {error}"))?;
    let url: Uri = console
        .url
        .to_string()
        .parse()
        .map_err(|_| "no address of a console")?;
    let host = url.host().unwrap_or_default();
    let port = url
        .port_u16()
        .unwrap_or(if console.url.is_tls() { 443 } else { 80 });
    cluster(&mut parts, console, host, port)?;
    let cluster = place::find(&mut parts, &["clusters", CONSOLE_CLUSTER])?.clone();
    place::list(config, &["static_resources", "clusters"])?.insert(0, cluster);
    if !has_agent {
        without_settings(&mut parts)?;
    }
    let authority = url.authority().map_or(host, |authority| authority.as_str());
    for route in place::list(&mut parts, &["routes"])? {
        let Ok(path) = place::find(route, &["match", "path"]) else {
            continue;
        };
        if path.as_str() == Some(CLIENT_SETTINGS_PATH) {
            continue;
        }
        let path = format!(
            "{}{}",
            url.path().trim_end_matches('/'),
            path.as_str().unwrap_or_default()
        );
        if let Ok(action) = place::mapping(route, &["route"]) {
            action.insert("host_rewrite_literal".into(), authority.into());
            action.insert("prefix_rewrite".into(), path.into());
        }
    }
    let routes = place::list(&mut parts, &["routes"])?.clone();
    let replies = place::list(&mut parts, &["replies"])?.clone();
    let ledger = place::find(&mut parts, &["ledger"])?.clone();
    for listener in client_listeners(config)? {
        let manager = ["filter_chains", "0", "filters", "0", "typed_config"];
        let within = |path: &[&'static str]| [&manager[..], path].concat();
        let all = within(&["route_config", "virtual_hosts", "all", "routes"]);
        place::list(listener, &all)?.splice(0..0, routes.iter().cloned());
        let mappers = within(&["local_reply_config", "mappers"]);
        place::list(listener, &mappers)?.splice(0..0, replies.iter().cloned());
        place::set(
            listener,
            &within(&["access_log", "0", "filter"]),
            ledger.clone(),
        )?;
    }
    Ok(())
}

/// Says that there are no settings for clients: without an agent nobody has them.
fn without_settings(parts: &mut Value) -> Result<(), String> {
    for route in place::list(parts, &["routes"])? {
        let path = place::find(route, &["match", "path"])?;
        if path.as_str() == Some(CLIENT_SETTINGS_PATH) {
            let route = place::mapping(route, &[])?;
            route.remove("route");
            let none = Mapping::from_iter([("status".into(), 404.into())]);
            route.insert("direct_response".into(), none.into());
        }
    }
    Ok(())
}

/// Sets the console's address, and how its certificate is verified.
fn cluster(
    parts: &mut Value,
    console: &SignInConsole,
    host: &str,
    port: u16,
) -> Result<(), String> {
    let cluster = place::find(parts, &["clusters", CONSOLE_CLUSTER])?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    place::set(
        cluster,
        &ENDPOINT_ADDRESS,
        socket_address(&HostPort::new(bare, port)),
    )?;
    if !console.url.is_tls() {
        place::mapping(cluster, &[])?.remove("transport_socket");
        return Ok(());
    }
    let tls = ["transport_socket", "typed_config"];
    let tls = place::find(cluster, &tls)?;
    let is_address = bare.parse::<std::net::IpAddr>().is_ok();
    if is_address {
        place::mapping(tls, &[])?.remove("sni");
    } else {
        place::set(tls, &["sni"], host)?;
    }
    let verified = place::find(tls, &["common_tls_context", "validation_context"])?;
    place::set(verified, &["trusted_ca", "filename"], text(&console.ca)?)?;
    let name = place::find(verified, &["match_typed_subject_alt_names", "0"])?;
    place::set(
        name,
        &["san_type"],
        if is_address { "IP_ADDRESS" } else { "DNS" },
    )?;
    place::set(name, &["matcher", "exact"], bare)?;
    Ok(())
}
