//! The only room that knows Envoy: callbacks in, host calls out, no decisions.

mod attempts;
mod host;
mod http;
mod roots;

use proxy_wasm::traits::RootContext;

/// The `root_id` of the singleton that loads the configuration.
const LOADER: &[u8] = b"config-loader";
/// The `root_id` of the filter of attempts.
const ATTEMPTS: &[u8] = b"tries";

/// The root that Envoy's configuration asks for. Any other id than these two is the gateway: a mesh names
/// its plugins as it likes.
pub(crate) fn root() -> Box<dyn RootContext> {
    match host::root_id().as_deref() {
        Some(LOADER) => Box::new(roots::LoaderRoot::default()),
        Some(ATTEMPTS) => Box::new(attempts::AttemptsRoot),
        _ => Box::new(roots::GatewayRoot::new()),
    }
}
