//! The filters and the cluster by which Envoy asks a rate limit service.

use yaml_serde::Value;

use super::place::{self, client_listeners};
use super::upstreams::{ENDPOINT_ADDRESS, socket_address};
use crate::host_port::HostPort;

/// The filters and the cluster, with remarks.
const PARTS: &str = include_str!("../../../envoy/limits-service.yaml");
/// The configuration of the filter, which cannot see the others.
const DECLARED: &str = r#"{"limits_service": true}"#;
/// The filter, the one before which the parts stand.
const FILTER: &str = "trilane";
const ROUTER: &str = "envoy.filters.http.router";

/// Adds filters and cluster, and declares them to the filter.
///
/// # Errors
/// The place that is not there.
pub fn add(config: &mut Value, service: &HostPort) -> Result<(), String> {
    let mut parts: Value = yaml_serde::from_str(PARTS)
        .map_err(|error| format!("limits-service.yaml is no YAML: {error}"))?;
    let filters = place::list(&mut parts, &["http_filters"])?.clone();
    let cluster = place::find(&mut parts, &["clusters", "limits_service"])?;
    place::set(cluster, &ENDPOINT_ADDRESS, socket_address(service))?;
    let cluster = cluster.clone();
    place::list(config, &["static_resources", "clusters"])?.insert(0, cluster);
    for listener in client_listeners(config)? {
        let all = [
            "filter_chains",
            "0",
            "filters",
            "0",
            "typed_config",
            "http_filters",
        ];
        let declared = [
            &all[..],
            &[FILTER, "typed_config", "config", "configuration", "value"],
        ];
        place::set(listener, &declared.concat(), DECLARED)?;
        place::find(listener, &[&all[..], &[ROUTER]].concat())?;
        let chain = place::list(listener, &all)?;
        let router = chain.iter().position(|each| place::is_named(each, ROUTER));
        let behind = chain.split_off(router.unwrap_or(chain.len()));
        chain.extend(filters.iter().cloned());
        chain.extend(behind);
    }
    Ok(())
}
