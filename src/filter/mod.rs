//! The only room that knows Envoy: callbacks in, host calls out, no decisions.

mod config_stats;
mod exchange_stats;
mod gateway;
mod host;
mod http;
mod loader;
mod loading;
mod view;

use proxy_wasm::traits::RootContext;

/// The `root_id` of the singleton that loads the configuration.
const LOADER: &[u8] = b"config-loader";

/// The root that Envoy's configuration asks for. Any id but the loader's is the gateway: a mesh
/// names its plugins as it likes.
pub(crate) fn root() -> Box<dyn RootContext> {
    if host::root_id().as_deref() == Some(LOADER) {
        Box::new(loader::LoaderRoot::default())
    } else {
        Box::new(gateway::GatewayRoot::default())
    }
}
