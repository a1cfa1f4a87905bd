//! The roots: that of the gateway's filters, and that of the singleton, which only loads.

use std::rc::Rc;

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::ContextType;

use super::host::{self, Host};
use super::http::HttpExchange;
use crate::failover::Registry;
use crate::loader::Loader;
use crate::loader::lease::LoaderRole;
use crate::metrics::ExchangeStats;
use crate::worker::WorkerRoot;

/// The root of the gateway.
#[derive(Debug)]
pub(super) struct GatewayRoot {
    root: WorkerRoot,
    stats: Rc<ExchangeStats>,
}

impl GatewayRoot {
    pub(super) fn new(requests: Rc<Registry>) -> Self {
        Self {
            root: WorkerRoot::new(host::random(), requests),
            stats: Rc::default(),
        }
    }
}

impl Context for GatewayRoot {
    fn on_http_call_response(&mut self, token: u32, headers: usize, body: usize, _: usize) {
        let (call, response) = host::fetched(token, headers, body);
        self.root.on_response(call, response.as_ref(), &Host);
    }

    /// Comes when the last stream is over and the plugin is replaced or removed.
    fn on_done(&mut self) -> bool {
        self.stats.end(&Host);
        true
    }
}

impl RootContext for GatewayRoot {
    fn on_configure(&mut self, size: usize) -> bool {
        self.root
            .configure(&host::plugin_configuration(size), &Host)
    }

    fn on_tick(&mut self) {
        self.root.on_tick(&Host);
        self.stats.write(&Host);
    }

    fn create_http_context(&self, _context_id: u32) -> Option<Box<dyn HttpContext>> {
        let exchange = HttpExchange::new(self.root.worker(), Rc::clone(&self.stats));
        Some(Box::new(exchange))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}

/// The root of the singleton, which loads the configuration for every worker of this Envoy.
#[derive(Debug, Default)]
pub(super) struct LoaderRoot(Option<Loader>);

impl Context for LoaderRoot {
    fn on_http_call_response(&mut self, token: u32, headers: usize, body: usize, _: usize) {
        let (call, response) = host::fetched(token, headers, body);
        if let Some(loader) = &mut self.0 {
            loader.on_response(call, response.as_ref(), &Host);
        }
    }
}

impl RootContext for LoaderRoot {
    fn on_configure(&mut self, size: usize) -> bool {
        let configuration = host::plugin_configuration(size);
        let loader = Loader::configure(&configuration, LoaderRole::Singleton, &Host);
        self.0 = loader.unwrap_or_default();
        self.0.is_some()
    }

    fn on_tick(&mut self) {
        if let Some(loader) = &mut self.0 {
            loader.on_tick(&Host);
        }
    }
}
