//! Metrics of the whole gateway at one address: those of console and agent, and the one page of Envoy's admin interface.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use trilane_console::metrics::RelayedPage;

use super::prepare::PreparedGateway;
use crate::envoy_admin::{Admin, METRICS};
use crate::failure::Failure;
use crate::metrics_listener::MetricsListener;

/// The content type of Envoy's metrics, in Prometheus' text format.
const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Serves them, if there is a console or somebody has said where. `warnings`: how many accounts have no credential.
///
/// # Errors
/// The address that was said cannot be listened on.
pub async fn serve(
    gateway: &PreparedGateway,
    warnings: Arc<AtomicU64>,
) -> Result<Option<MetricsListener>, Failure> {
    let address = &gateway.plan.metrics;
    let link = gateway.console.as_ref();
    if link.is_none() && !address.is_said() {
        return Ok(None);
    }
    let sources = link.map_or_else(Vec::new, |link| link.metrics(warnings));
    let admin = gateway.plan.run.admin();
    let relayed = RelayedPage {
        path: METRICS,
        kind: KIND,
        read: Box::new(move || Box::pin(admin.clone().ask(Admin::metrics))),
    };
    let printer = gateway.plan.printer();
    let served = address.serve(sources, Some(relayed), "--metrics-port", printer);
    served.await
}
