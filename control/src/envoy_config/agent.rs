//! The cluster by which Envoy reads the feed of keys that the agent beside it serves.

use yaml_serde::Value;

use super::place;
use super::upstreams::{ENDPOINT_ADDRESS, socket_address};
use crate::host_port::HostPort;

/// The cluster, with remarks.
const PARTS: &str = include_str!("../../../envoy/agent.yaml");

/// Adds the cluster.
///
/// # Errors
/// The place that is not there.
pub fn add(config: &mut Value, agent: &HostPort) -> Result<(), String> {
    let mut parts: Value =
        yaml_serde::from_str(PARTS).map_err(|error| format!("agent.yaml is no YAML: {error}"))?;
    let cluster = place::find(&mut parts, &["clusters", crate::agent_feeds::CLUSTER])?;
    place::set(cluster, &ENDPOINT_ADDRESS, socket_address(agent))?;
    let cluster = cluster.clone();
    place::list(config, &["static_resources", "clusters"])?.insert(0, cluster);
    Ok(())
}
