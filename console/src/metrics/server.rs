//! Serves metrics, as OpenMetrics text, on a listener of its own.

use core::future::Future;
use core::pin::Pin;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::sync::Mutex;

/// What Prometheus knows the text by.
const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The text of metrics.
#[derive(Debug, Default)]
pub struct MetricsText(String);

impl MetricsText {
    /// Adds all metrics of a registry.
    pub fn add(&mut self, registry: &Registry) {
        // Text in memory takes everything.
        let _ = encode_registry(&mut self.0, registry);
    }

    /// The whole of it, with its end.
    pub fn end(mut self) -> String {
        let _ = encode_eof(&mut self.0);
        self.0
    }
}

/// Something that has metrics.
pub trait MetricsSource: Send + Sync + 'static {
    /// Writes them as they are now.
    fn write<'a>(
        &'a self,
        text: &'a mut MetricsText,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
}

/// Scrapes take turns, so that many at once are no burden.
type MetricsSources = Arc<Mutex<Vec<Box<dyn MetricsSource>>>>;

/// Serves `/metrics` of these sources until this is dropped.
///
/// # Errors
/// The listener fails.
pub async fn serve(listener: TcpListener, sources: Vec<Box<dyn MetricsSource>>) -> io::Result<()> {
    let sources: MetricsSources = Arc::new(Mutex::new(sources));
    let router = Router::new()
        .route("/metrics", get(respond))
        .fallback(|| async { StatusCode::NOT_FOUND })
        .with_state(sources);
    axum::serve(listener, router).await
}

async fn respond(State(sources): State<MetricsSources>) -> Response {
    let sources = sources.lock().await;
    let mut text = MetricsText::default();
    for source in sources.iter() {
        source.write(&mut text).await;
    }
    ([(CONTENT_TYPE, KIND)], text.end()).into_response()
}
