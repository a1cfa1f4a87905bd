//! The singleton's root: loads the configuration for every worker of this Envoy.

use proxy_wasm::traits::{Context, RootContext};

use super::host;
use super::loading::{Loading, Role};
use crate::config::source::PluginConfig;

/// The root with the id `config-loader`.
#[derive(Debug, Default)]
pub(super) struct LoaderRoot {
    loading: Option<Loading>,
}

impl Context for LoaderRoot {
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

impl RootContext for LoaderRoot {
    fn on_configure(&mut self, size: usize) -> bool {
        let parsed = PluginConfig::parse(&host::plugin_configuration(size));
        let (source, tick) = match parsed.map(|config| (config.source, config.tick)) {
            Ok((Some(source), tick)) => (source, tick),
            Ok((None, _)) => {
                log::error!("the loader's configuration is refused: it needs source or inline");
                return false;
            }
            Err(reason) => {
                log::error!("the loader's configuration is refused: {reason}");
                return false;
            }
        };
        let mut loading = Loading::new(source, tick, Role::Singleton);
        if !loading.start() {
            return false;
        }
        self.loading = Some(loading);
        host::tick_every(tick);
        true
    }

    fn on_tick(&mut self) {
        if let Some(loading) = &mut self.loading {
            loading.on_tick();
        }
    }
}
