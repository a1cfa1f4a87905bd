//! The only room that knows Envoy: callbacks in, host calls out, no decisions.

mod attempts;
mod host;
mod http;
mod roots;

use std::rc::Rc;

use proxy_wasm::traits::RootContext;

use crate::failover::Registry;

/// The `root_id` of the singleton that loads the configuration.
const LOADER: &[u8] = b"config-loader";
/// The `root_id` of the filter of attempts by way of the account hop.
const ATTEMPTS: &[u8] = b"tries";
/// The `root_id` of the log of attempts that did not go well.
const ATTEMPT_LOG: &[u8] = b"attempts";

thread_local! {
    /// The registry that the roots of this VM share. A VM has one thread.
    static REQUESTS: Rc<Registry> = Rc::default();
}

/// The root that Envoy's configuration asks for. Any other id than these is the gateway: a mesh names
/// its plugins as it likes.
pub(crate) fn root() -> Box<dyn RootContext> {
    let requests = REQUESTS.with(Rc::clone);
    match host::root_id().as_deref() {
        Some(LOADER) => Box::new(roots::LoaderRoot::default()),
        Some(ATTEMPTS) => Box::new(attempts::AttemptsRoot(requests)),
        Some(ATTEMPT_LOG) => Box::new(attempts::AttemptLogRoot(requests)),
        _ => Box::new(roots::GatewayRoot::new(requests)),
    }
}
