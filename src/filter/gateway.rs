//! The filter's root: makes streams, and loads the configuration where nobody else does.

use core::time::Duration;
use std::rc::Rc;

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::ContextType;

use super::exchange_stats::ExchangeStats;
use super::host;
use super::http::HttpExchange;
use super::loading::Loading;
use super::view::SharedView;
use crate::config::lease::Role;
use crate::config::source::PluginConfig;
use crate::limits::lease::RENEWAL_MS;

/// The root with the id `gateway`.
#[derive(Debug, Default)]
pub(super) struct GatewayRoot {
    view: Rc<SharedView>,
    stats: Rc<ExchangeStats>,
    loading: Option<Loading>,
    /// When the leases were renewed last, in milliseconds of the steady clock.
    renewed_ms: u64,
}

impl Context for GatewayRoot {
    fn on_http_call_response(&mut self, token: u32, headers: usize, body: usize, _: usize) {
        if let Some(loading) = &mut self.loading {
            loading.on_answer(token, headers, body);
        }
    }
}

impl RootContext for GatewayRoot {
    fn on_configure(&mut self, size: usize) -> bool {
        let configuration = host::plugin_configuration(size);
        let declared =
            PluginConfig::parse(&configuration).is_ok_and(|plugin| plugin.limits_service);
        self.view.declare_service(declared);
        let loading = Loading::configure(&configuration, Role::Fallback);
        let accepted = loading.is_ok();
        self.loading = loading.unwrap_or_default();
        if self.loading.is_none() {
            host::tick_every(Duration::from_millis(RENEWAL_MS));
        }
        accepted
    }

    fn on_tick(&mut self) {
        let now = host::steady_ms();
        // Ticks may come more often, or a little early.
        if now.abs_diff(self.renewed_ms) >= RENEWAL_MS / 2 {
            self.renewed_ms = now;
            self.view.renew_leases();
        }
        if let Some(loading) = &mut self.loading {
            loading.on_tick();
        }
    }

    fn create_http_context(&self, _context_id: u32) -> Option<Box<dyn HttpContext>> {
        let exchange = HttpExchange::new(Rc::clone(&self.view), Rc::clone(&self.stats));
        Some(Box::new(exchange))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}
