//! Sets a configuration's named places to the settings.

use std::path::Path;

use yaml_serde::{Mapping, Value};

use super::place::{self, GATEWAY, GATEWAY_TLS, MissingPlace, client_listeners, text};
use super::settings::{AccountSource, DocumentSource, EnvoySettings, LedgerPlace, TlsListener};
use super::upstreams::socket_address;
use super::{ads, agent, limits_service, sign_in, upstreams};

/// The logger that writes lines to a file.
const FILE_LOGGER: &str =
    "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog";
/// The listener that serves the document, and the cluster that leads to it.
const CONFIG_DOCUMENT: &str = "config_document";
const CONFIG_SOURCE: &str = "config_source";

/// Changes the configuration.
///
/// # Errors
/// The place that it does not have, or the path that is no text.
pub fn apply(config: &mut Value, settings: &EnvoySettings) -> Result<(), String> {
    place::set(
        config,
        &["admin", "address"],
        socket_address(&settings.admin),
    )?;
    match &settings.upstreams {
        AccountSource::Files(directory) => clusters_file(config, directory)?,
        AccountSource::Ads(socket) => ads::apply(config, socket)?,
    }
    document(config, settings)?;
    listeners(config, settings)?;
    upstreams::apply(config, &settings.static_upstreams)?;
    if settings.trusted_hops > 0 {
        for listener in client_listeners(config)? {
            let manager = ["filter_chains", "0", "filters", "0", "typed_config"];
            let manager = place::mapping(listener, &manager)?;
            manager.insert("xff_num_trusted_hops".into(), settings.trusted_hops.into());
        }
    }
    if let Some(service) = &settings.limits_service {
        limits_service::add(config, service)?;
    }
    if let Some(address) = &settings.agent {
        agent::add(config, address)?;
    }
    if let Some(console) = &settings.sign_in {
        sign_in::add(config, console, settings.agent.is_some())?;
    }
    if let Some(hang) = settings.worker_hang {
        let kill =
            Mapping::from_iter([("kill_timeout".into(), format!("{}s", hang.as_secs()).into())]);
        let watchdogs = Mapping::from_iter([("worker_watchdog".into(), kill.into())]);
        place::mapping(config, &[])?.insert("watchdogs".into(), watchdogs.into());
    }
    filter(config, &settings.filter)
}

/// Sets the filter's file wherever it runs.
///
/// # Errors
/// It runs nowhere, or the path is no text.
pub fn filter(config: &mut Value, file: &Path) -> Result<(), String> {
    match set_filter(config, text(file)?)? {
        0 => Err(missing(&["vm_config"]).to_string()),
        _ => Ok(()),
    }
}

/// The file from which Envoy takes the clusters of the document's accounts.
fn clusters_file(config: &mut Value, upstreams: &Path) -> Result<(), String> {
    let directory = upstreams.join("clusters");
    let source = ["dynamic_resources", "cds_config", "path_config_source"];
    let source = place::find(config, &source)?;
    place::set(source, &["path"], text(&directory.join("clusters.json"))?)?;
    place::set(source, &["watched_directory", "path"], text(&directory)?)?;
    Ok(())
}

/// The way to the document: to an agent, or to the listener that serves it.
fn document(config: &mut Value, settings: &EnvoySettings) -> Result<(), String> {
    let listeners = ["static_resources", "listeners"];
    let (file, listener) = match (&settings.document, &settings.agent) {
        (DocumentSource::File { file, listener }, _) => (file, listener),
        (DocumentSource::Agent, Some(agent)) => {
            place::remove(config, &listeners, CONFIG_DOCUMENT)?;
            return document_at(config, socket_address(agent));
        }
        (DocumentSource::Agent, None) => return Err("no agent has the document".to_owned()),
    };
    let address = socket_address(listener);
    let listener = &[&listeners[..], &[CONFIG_DOCUMENT]].concat();
    place::set(
        config,
        &[&listener[..], &["address"]].concat(),
        address.clone(),
    )?;
    let body = [
        "filter_chains",
        "0",
        "filters",
        "0",
        "typed_config",
        "route_config",
        "virtual_hosts",
        "0",
        "routes",
        "0",
        "direct_response",
        "body",
    ];
    let body = place::find(config, &[&listener[..], &body].concat())?;
    place::set(body, &["filename"], text(file)?)?;
    let directory = file.parent().unwrap_or(Path::new("/"));
    place::set(body, &["watched_directory", "path"], text(directory)?)?;
    document_at(config, address)
}

/// Lets the loader read the document at this address.
fn document_at(config: &mut Value, address: Value) -> Result<(), String> {
    let way = [
        "static_resources",
        "clusters",
        CONFIG_SOURCE,
        "load_assignment",
        "endpoints",
        "0",
        "lb_endpoints",
        "0",
        "endpoint",
        "address",
    ];
    place::set(config, &way, address)?;
    Ok(())
}

/// The listeners for clients.
fn listeners(config: &mut Value, settings: &EnvoySettings) -> Result<(), String> {
    let all = ["static_resources", "listeners"];
    let listener = place::find(config, &[&all[..], &[GATEWAY]].concat())?;
    place::set(listener, &["address"], socket_address(&settings.gateway))?;
    ledger(listener, &settings.ledger)?;
    let Some(tls) = &settings.tls else {
        return Ok(place::remove(config, &all, GATEWAY_TLS)?);
    };
    let listener = place::find(config, &[&all[..], &[GATEWAY_TLS]].concat())?;
    place::set(listener, &["address"], socket_address(&tls.address))?;
    ledger(listener, &settings.ledger)?;
    certificate(listener, tls)
}

/// Sets the destination of a listener's ledger lines.
fn ledger(listener: &mut Value, ledger: &LedgerPlace) -> Result<(), String> {
    let LedgerPlace::File(file) = ledger else {
        return Ok(());
    };
    let path = [
        "filter_chains",
        "0",
        "filters",
        "0",
        "typed_config",
        "access_log",
        "0",
    ];
    let logger = place::find(listener, &path)?;
    place::set(logger, &["name"], "envoy.access_loggers.file")?;
    let settings = place::mapping(logger, &["typed_config"])?;
    let format = settings.get("log_format").cloned();
    let format = format
        .ok_or_else(|| missing(&["log_format"]).within(&[&path[..], &["typed_config"]].concat()))?;
    *settings = Mapping::from_iter([
        ("@type".into(), FILE_LOGGER.into()),
        ("path".into(), text(file)?.into()),
        ("log_format".into(), format),
    ]);
    Ok(())
}

/// The certificate of the listener for TLS.
fn certificate(listener: &mut Value, tls: &TlsListener) -> Result<(), String> {
    let pair = [
        "filter_chains",
        "0",
        "transport_socket",
        "typed_config",
        "common_tls_context",
        "tls_certificates",
        "0",
    ];
    let pair = place::find(listener, &pair)?;
    let file = |name| text(&tls.certs.join(name)).map(str::to_owned);
    place::set(
        pair,
        &["certificate_chain", "filename"],
        file("server.crt")?,
    )?;
    place::set(pair, &["private_key", "filename"], file("server.key")?)?;
    Ok(())
}

/// Sets the filter's file in every virtual machine, and returns how many there are.
fn set_filter(value: &mut Value, filter: &str) -> Result<usize, MissingPlace> {
    let mut count: usize = 0;
    match value {
        Value::Mapping(members) => {
            for (key, member) in members.iter_mut() {
                if key.as_str() == Some("vm_config") {
                    place::set(member, &["code", "local", "filename"], filter)
                        .map_err(|missing| missing.within(&["vm_config"]))?;
                    count = count.saturating_add(1);
                } else {
                    count = count.saturating_add(set_filter(member, filter)?);
                }
            }
        }
        Value::Sequence(elements) => {
            for element in elements {
                count = count.saturating_add(set_filter(element, filter)?);
            }
        }
        _ => {}
    }
    Ok(count)
}

fn missing(path: &[&str]) -> MissingPlace {
    match place::find(&mut Value::Null, path) {
        Err(missing) => missing,
        Ok(_) => MissingPlace::default(),
    }
}
