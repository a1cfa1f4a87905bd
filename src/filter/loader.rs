//! The singleton's root: loads the configuration for every worker of this Envoy.

use proxy_wasm::traits::{Context, RootContext};

use super::host;
use super::loading::Loading;
use crate::config::lease::Role;

/// The root with the id `config-loader`.
#[derive(Debug, Default)]
pub(super) struct LoaderRoot {
    loading: Option<Loading>,
}

impl Context for LoaderRoot {
    fn on_http_call_response(&mut self, token: u32, headers: usize, body: usize, _: usize) {
        if let Some(loading) = &mut self.loading {
            loading.on_answer(token, headers, body);
        }
    }
}

impl RootContext for LoaderRoot {
    fn on_configure(&mut self, size: usize) -> bool {
        let configuration = host::plugin_configuration(size);
        self.loading = Loading::configure(&configuration, Role::Singleton).unwrap_or_default();
        self.loading.is_some()
    }

    fn on_tick(&mut self) {
        if let Some(loading) = &mut self.loading {
            loading.on_tick();
        }
    }
}
