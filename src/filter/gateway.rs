//! The filter's root: makes streams, and loads the configuration where nobody else does.

use std::cell::RefCell;
use std::rc::Rc;

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::ContextType;

use super::host::{self, Host};
use super::http::HttpExchange;
use super::loading::{Loading, Role};
use crate::config::snapshot::InForce;
use crate::config::source::PluginConfig;
use crate::config::view::View;

/// The worker's view of the policy, shared by its streams.
#[derive(Debug, Default)]
pub(super) struct SharedView(RefCell<View>);

impl SharedView {
    /// The policy in force now.
    pub(super) fn refresh(&self) -> Option<Rc<InForce>> {
        // Held for this call only, which calls nothing that could come back here.
        let mut view = self.0.try_borrow_mut().ok()?;
        let in_force = view.refresh(&Host);
        if let Some(complaint) = view.take_complaint() {
            log::error!("the last good policy stays in force: {complaint}");
        }
        in_force
    }
}

/// The root with the id `gateway`.
#[derive(Debug, Default)]
pub(super) struct GatewayRoot {
    view: Rc<SharedView>,
    loading: Option<Loading>,
}

impl Context for GatewayRoot {
    fn on_http_call_response(
        &mut self,
        token: u32,
        num_headers: usize,
        body_size: usize,
        _num_trailers: usize,
    ) {
        if let Some(loading) = &mut self.loading {
            loading.on_answer(token, num_headers, body_size);
        }
    }
}

impl RootContext for GatewayRoot {
    fn on_configure(&mut self, size: usize) -> bool {
        let config = match PluginConfig::parse(&host::plugin_configuration(size)) {
            Ok(config) => config,
            Err(reason) => {
                log::error!("the plugin configuration is refused: {reason}");
                return false;
            }
        };
        let Some(source) = config.source else {
            return true;
        };
        let mut loading = Loading::new(source, config.tick, Role::Fallback);
        if !loading.start() {
            return false;
        }
        self.loading = Some(loading);
        host::tick_every(config.tick);
        true
    }

    fn on_tick(&mut self) {
        if let Some(loading) = &mut self.loading {
            loading.on_tick();
        }
    }

    fn create_http_context(&self, _context_id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(HttpExchange::new(Rc::clone(&self.view))))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}
