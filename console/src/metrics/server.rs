//! Serves metrics, as OpenMetrics text, on a listener of its own.

use core::future::{Future, pending};
use core::pin::Pin;
use core::time::Duration;
use std::fmt;
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

use crate::connections::{self, ConnectionLimits, ConnectionTimeouts};

/// The connections: those of a Prometheus or two.
const LIMITS: ConnectionLimits = ConnectionLimits {
    most: 33,
    of_an_address: 33,
    timeouts: ConnectionTimeouts {
        head: Duration::from_secs(10),
        idle: Duration::from_secs(120),
        answer: Duration::from_secs(60),
        renewed: true,
    },
    watch: |_| {},
};

/// The content type by which Prometheus recognizes the text.
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

/// A function that reads the current text of a page.
pub type PageReader =
    Box<dyn Fn() -> Pin<Box<dyn Future<Output = io::Result<String>> + Send>> + Send + Sync>;

/// A page of metrics of another program, which is passed on as it is.
pub struct RelayedPage {
    /// The path that the page is served at.
    pub path: &'static str,
    /// The media type of the page.
    pub kind: &'static str,
    /// The function that reads it.
    pub read: PageReader,
}

impl fmt::Debug for RelayedPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayedPage")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// Scrapes take turns, so that many at once are no burden.
type MetricsSources = Arc<Mutex<Vec<Box<dyn MetricsSource>>>>;

/// Serves `/metrics` of these sources, and a page of another program, until this is dropped.
pub async fn serve(
    listener: TcpListener,
    sources: Vec<Box<dyn MetricsSource>>,
    relayed: Option<RelayedPage>,
) {
    let sources: MetricsSources = Arc::new(Mutex::new(sources));
    let mut router = Router::new().route("/metrics", get(respond));
    if let Some(page) = relayed {
        let path = page.path;
        let page = Arc::new(Mutex::new(page));
        router = router.route(path, get(move || relay(page)));
    }
    let router = router.fallback(|| async { StatusCode::NOT_FOUND });
    let router = router.with_state(sources);
    connections::serve_router(listener, LIMITS, None, router, pending()).await;
}

async fn relay(page: Arc<Mutex<RelayedPage>>) -> Response {
    let page = page.lock().await;
    match (page.read)().await {
        Ok(text) => ([(CONTENT_TYPE, page.kind)], text).into_response(),
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}

async fn respond(State(sources): State<MetricsSources>) -> Response {
    let sources = sources.lock().await;
    let mut text = MetricsText::default();
    for source in sources.iter() {
        source.write(&mut text).await;
    }
    ([(CONTENT_TYPE, KIND)], text.end()).into_response()
}
