//! The clusters in the original that stand for model sources.

use yaml_serde::{Mapping, Value};

use super::place::{self, MissingPlace};
use crate::host_port::HostPort;

/// The clusters of the sample document's groups. A document with accounts needs none of them.
pub const SAMPLE_CLUSTERS: [&str; 4] = ["a_official", "b_official", "b_low_rate", "c_official"];

/// The treatment of the clusters that stand for model sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StaticUpstreams {
    /// The clusters are removed: upstreams come from the document alone.
    None,
    /// The clusters stay as they are: simulators at the host `upstream`.
    Simulators,
    /// The clusters stay, at these addresses: the cluster, its address, and the `host` header of requests to it.
    At(Vec<(&'static str, HostPort, String)>),
}

/// Does that.
///
/// # Errors
/// A cluster is not there.
pub fn apply(config: &mut Value, upstreams: &StaticUpstreams) -> Result<(), MissingPlace> {
    let clusters = ["static_resources", "clusters"];
    match upstreams {
        StaticUpstreams::Simulators => Ok(()),
        StaticUpstreams::None => SAMPLE_CLUSTERS
            .iter()
            .try_for_each(|name| place::remove(config, &clusters, name)),
        StaticUpstreams::At(addresses) => addresses.iter().try_for_each(|(name, address, host)| {
            let endpoint = [
                "static_resources",
                "clusters",
                name,
                "load_assignment",
                "endpoints",
                "0",
                "lb_endpoints",
                "0",
                "endpoint",
            ];
            let endpoint = place::find(config, &endpoint)?;
            place::set(endpoint, &["hostname"], host.as_str())?;
            place::set(endpoint, &["address"], socket_address(address))
        }),
    }
}

/// The place of the address of a cluster's only endpoint.
pub const ENDPOINT_ADDRESS: [&str; 7] = [
    "load_assignment",
    "endpoints",
    "0",
    "lb_endpoints",
    "0",
    "endpoint",
    "address",
];

/// An address as Envoy writes it.
pub fn socket_address(address: &HostPort) -> Value {
    let mut socket = Mapping::new();
    socket.insert("address".into(), address.host().into());
    socket.insert("port_value".into(), address.port().into());
    let mut whole = Mapping::new();
    whole.insert("socket_address".into(), socket.into());
    whole.into()
}
