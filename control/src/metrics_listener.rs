//! The metrics listener: separate, and on loopback unless another address is given.

use serde_json::json;
use tokio::task::JoinHandle;
use trilane_console::metrics::{MetricsSource, RelayedPage, serve};

use crate::event_printer::EventPrinter;
use crate::failure::Failure;
use crate::serve::bind;

/// The value that turns metrics off in place of an address.
const NONE: &str = "none";

/// The address that metrics are served on, as given or by default.
#[derive(Debug, Clone)]
pub struct MetricsAddress {
    address: String,
    /// Whether it was said, or is the default.
    said: bool,
}

impl MetricsAddress {
    /// The one that was said, or else the default one.
    pub fn new(said: Option<&str>, default: &str) -> Self {
        Self {
            address: said.unwrap_or(default).to_owned(),
            said: said.is_some(),
        }
    }

    /// Whether somebody has said where.
    pub const fn is_said(&self) -> bool {
        self.said
    }

    /// Serves there, perhaps with a page of another program. A default address that is taken is no reason not to run.
    ///
    /// # Errors
    /// The address that was said cannot be listened on.
    pub async fn serve(
        &self,
        sources: Vec<Box<dyn MetricsSource>>,
        relayed: Option<RelayedPage>,
        option: &str,
        printer: EventPrinter,
    ) -> Result<Option<MetricsListener>, Failure> {
        if self.address == NONE {
            return Ok(None);
        }
        let (listener, address) = match bind(&self.address).await {
            Ok(bound) => bound,
            Err(why) if self.said => return Err(Failure::Data(why)),
            Err(_) => {
                let taken = &self.address;
                printer.trouble(&format!(
                    "no metrics: {taken} is taken. Choose another address with {option}, or none with {option} {NONE}"
                ));
                return Ok(None);
            }
        };
        let text = format!("metrics at http://{address}/metrics");
        printer.news("metrics", &text, json!({"address": address.to_string()}));
        let serving = tokio::spawn(serve(listener, sources, relayed));
        Ok(Some(MetricsListener(serving)))
    }
}

/// Serves metrics until this is dropped.
#[derive(Debug)]
pub struct MetricsListener(JoinHandle<()>);

impl Drop for MetricsListener {
    fn drop(&mut self) {
        self.0.abort();
    }
}
