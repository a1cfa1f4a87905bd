//! The only room that knows Envoy: callbacks in, host calls out, no decisions.

mod account_stats;
mod config_stats;
mod exchange_stats;
mod feed_stats;
mod feeding;
mod gateway;
mod host;
mod http;
mod limit_stats;
mod loader;
mod loading;
mod metric;
mod ticks;
mod tries;
mod view;

use proxy_wasm::traits::RootContext;

/// The `root_id` of the singleton that loads the configuration.
const LOADER: &[u8] = b"config-loader";
/// The `root_id` of the filter that watches tries.
const TRIES: &[u8] = b"tries";

/// The root that Envoy's configuration asks for. Any other id than these two is the gateway: a mesh names
/// its plugins as it likes.
pub(crate) fn root() -> Box<dyn RootContext> {
    match host::root_id().as_deref() {
        Some(LOADER) => Box::new(loader::LoaderRoot::default()),
        Some(TRIES) => Box::new(tries::TriesRoot),
        _ => Box::new(gateway::GatewayRoot::default()),
    }
}
