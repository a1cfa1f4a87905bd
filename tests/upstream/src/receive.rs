//! Reading a request body: frame by frame, never held whole.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use sha2::{Digest, Sha256};

use crate::course::ExchangeCourse;
use crate::entry::JournalEntry;
use crate::fields::{Collector, RequestFields};

/// Reads `body` to its end into the entry (if one is kept) and the collector. An error means that the peer gave up.
///
/// The inner result is about the document: its fields, or what is wrong with it.
pub async fn receive(
    mut body: Incoming,
    course: Arc<ExchangeCourse>,
    entry: Option<Arc<JournalEntry>>,
    mut collector: Collector,
    pause: Duration,
) -> Result<Result<RequestFields, String>, hyper::Error> {
    let mut hasher = entry.is_some().then(Sha256::new);
    while let Some(frame) = body.frame().await {
        match frame?.into_data() {
            Ok(piece) => {
                if let (Some(entry), Some(hasher)) = (&entry, &mut hasher) {
                    entry.received(&piece);
                    hasher.update(&piece);
                }
                collector.push(piece).await;
            }
            Err(frame) => {
                if let (Some(entry), Ok(trailers)) = (&entry, frame.into_trailers()) {
                    entry.progress().trailers = Some(trailers);
                }
            }
        }
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }
    if let (Some(entry), Some(hasher)) = (&entry, hasher) {
        entry.complete(hasher.finalize().into());
    }
    course.request_complete();
    Ok(collector.finish().await)
}
