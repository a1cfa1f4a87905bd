//! The parts of the configuration that are not particular to running it alone.

use yaml_serde::{Mapping, Value};

use crate::envoy_config::place;

/// The filter that decides, and the one that forwards.
pub const FILTER: &str = "trilane";
pub const ROUTER: &str = "envoy.filters.http.router";
/// The filters that inflate requests, in their order.
pub const INFLATING: [&str; 3] = ["gzip", "brotli", "zstd"];
/// The network filter around them.
pub const MANAGER: &str = "envoy.filters.network.http_connection_manager";
/// The fields of an HTTP connection manager that the control plane sets itself.
const OF_THE_CONTROL_PLANE: [&str; 5] = [
    "@type",
    "stat_prefix",
    "codec_type",
    "route_config",
    "http_filters",
];
/// The members of a virtual host that are not for each of its routes.
const OF_THE_HOST: [&str; 3] = ["name", "domains", "routes"];
/// The bootstrap extension without which there are no internal listeners.
const INTERNAL_LISTENER: &str = "envoy.bootstrap.internal_listener";

/// The parts.
#[derive(Debug)]
pub struct MeshParts {
    /// The number of bytes of one connection that are read at once.
    pub buffer: Value,
    /// The settings of the HTTP connection manager, but for those of the control plane.
    pub manager: Mapping,
    /// The HTTP filters.
    filters: Value,
    /// The router, without its log of attempts.
    pub router: Value,
    /// The router's log of attempts. It runs the filter, and so does the cluster that leads to the account hop: both name a
    /// file, so they are no part of what a gateway without that file gets.
    pub attempt_log: Value,
    /// The cluster that leads to the account hop.
    pub hop: Value,
    /// The routes in their order, each with a name and with the settings of the virtual host.
    pub routes: Vec<Mapping>,
    /// The internal listeners: the account hop, and the way out to proxies.
    pub internal_listeners: [Value; 2],
    /// The bootstrap extension that internal listeners need.
    pub internal_listener_extension: Value,
    /// The labels of the filter's metrics, and the buckets of its histograms.
    pub statistics: Value,
}

impl MeshParts {
    /// Takes them out of a configuration.
    ///
    /// # Errors
    /// The place that it does not have.
    pub fn of(mut config: Value) -> Result<Self, String> {
        let mut part = |path: &[&str]| place::find(&mut config, path).cloned();
        let mut gateway = part(&["static_resources", "listeners", "gateway"])?;
        let internal_listeners = [
            part(&["static_resources", "listeners", "account_hop"])?,
            part(&["static_resources", "listeners", "egress"])?,
        ];
        let hop = part(&["static_resources", "clusters", "account/hop"])?;
        let internal_listener_extension = part(&["bootstrap_extensions", INTERNAL_LISTENER])?;
        let statistics = part(&["stats_config"])?;
        let buffer = place::find(&mut gateway, &["per_connection_buffer_limit_bytes"])?.clone();
        let manager = ["filter_chains", "0", "filters", "0", "typed_config"];
        let manager = place::mapping(&mut gateway, &manager)?.clone();
        let (theirs, manager): (Mapping, Mapping) = manager
            .into_iter()
            .partition(|(name, _)| is_one_of(name, &OF_THE_CONTROL_PLANE));
        let mut theirs = Value::Mapping(theirs);
        let filters = place::find(&mut theirs, &["http_filters"])?.clone();
        let mut router = place::find(&mut theirs, &["http_filters", ROUTER])?.clone();
        let attempt_log = place::find(&mut router, &["typed_config", "upstream_log"])?.clone();
        place::mapping(&mut router, &["typed_config"])?.shift_remove("upstream_log");
        let host = place::mapping(&mut theirs, &["route_config", "virtual_hosts", "0"])?.clone();
        Ok(Self {
            buffer,
            manager,
            filters,
            router,
            attempt_log,
            hop,
            routes: routes(host)?,
            internal_listeners,
            internal_listener_extension,
            statistics,
        })
    }

    /// An HTTP filter.
    ///
    /// # Errors
    /// There is no filter of this name.
    pub fn filter(&self, name: &str) -> Result<Value, String> {
        let mut filters = self.filters.clone();
        let filter = place::find(&mut filters, &[name]);
        Ok(filter
            .map_err(|missing| missing.within(&["http_filters"]))?
            .clone())
    }

    /// The settings of the filter that decides.
    ///
    /// # Errors
    /// The place that it does not have.
    pub fn plugin(&self) -> Result<Value, String> {
        let mut filter = self.filter(FILTER)?;
        Ok(place::find(&mut filter, &["typed_config", "config"])?.clone())
    }
}

/// The routes of a virtual host, each with the host's own settings.
fn routes(host: Mapping) -> Result<Vec<Mapping>, String> {
    let settings = host.clone().into_iter();
    let settings = settings.filter(|(name, _)| !is_one_of(name, &OF_THE_HOST));
    let settings: Mapping = settings.collect();
    let mut host = Value::Mapping(host);
    let mut named = Vec::new();
    for route in place::list(&mut host, &["routes"])? {
        let mut whole = Mapping::from_iter([("name".into(), name_of(route).into())]);
        whole.extend(place::mapping(route, &[])?.clone());
        whole.extend(settings.clone());
        named.push(whole);
    }
    Ok(named)
}

/// A name that says which requests a route is for.
fn name_of(route: &Value) -> String {
    let headers = route.get("match").and_then(|each| each.get("headers"));
    let headers = headers.and_then(Value::as_sequence);
    let is_for = |name| {
        headers.is_some_and(|headers| headers.iter().any(|each| place::is_named(each, name)))
    };
    let kind = match (is_for("content-encoding"), is_for("x-trilane-cluster")) {
        (true, _) => "-encoded",
        (false, true) => "-accounts",
        (false, false) => "",
    };
    let versioned = if is_for("x-trilane-path") {
        "-versioned"
    } else {
        ""
    };
    format!("trilane{kind}{versioned}")
}

fn is_one_of(name: &Value, names: &[&str]) -> bool {
    name.as_str().is_some_and(|name| names.contains(&name))
}
