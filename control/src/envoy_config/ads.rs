//! The stream by which Envoy gets clusters and secrets of accounts.

use std::path::Path;

use yaml_serde::Value;

use super::place;

/// The stream and its cluster, with remarks.
const PARTS: &str = include_str!("../../../envoy/ads.yaml");
/// The member that says where clusters come from.
const DYNAMIC: &str = "dynamic_resources";

/// Puts the stream over this socket in the place of the file of clusters.
///
/// # Errors
/// The place that is not there, or the path is no text.
pub fn apply(config: &mut Value, socket: &Path) -> Result<(), String> {
    let mut parts: Value =
        yaml_serde::from_str(PARTS).map_err(|error| format!("ads.yaml is no YAML: {error}"))?;
    let dynamic = place::find(&mut parts, &[DYNAMIC])?.clone();
    place::set(config, &[DYNAMIC], dynamic)?;
    let cluster = place::find(&mut parts, &["clusters", "trilane_ads"])?;
    let path = [
        "load_assignment",
        "endpoints",
        "0",
        "lb_endpoints",
        "0",
        "endpoint",
        "address",
        "pipe",
        "path",
    ];
    place::set(cluster, &path, place::text(socket)?)?;
    let cluster = cluster.clone();
    place::list(config, &["static_resources", "clusters"])?.insert(0, cluster);
    Ok(())
}
