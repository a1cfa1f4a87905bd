//! One Envoy stat.

use proxy_wasm::types::MetricType;

use super::host;

/// A metric's id, once it is defined.
#[derive(Debug, Default)]
pub(super) struct Metric(Option<u32>);

impl Metric {
    /// The id, defined under this name when it is first asked for.
    pub(super) fn id(&mut self, kind: MetricType, name: impl FnOnce() -> String) -> Option<u32> {
        if self.0.is_none() {
            self.0 = host::metric(kind, &name());
        }
        self.0
    }
}
