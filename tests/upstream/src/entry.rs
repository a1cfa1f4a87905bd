//! One request as the simulator received it, and what became of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::http::request::Parts;
use hyper::http::{HeaderMap, Method, Uri, Version};

use crate::course::ExchangeCourse;
use crate::tls::Handshake;

/// The largest body whose text is kept.
const KEPT_TEXT: usize = 64 << 10;

/// A request: its head, fixed when it arrives, the progress of its body, and the course of the exchange.
#[derive(Debug)]
pub struct JournalEntry {
    pub(crate) id: u64,
    pub(crate) listener: Arc<str>,
    pub(crate) tls: Option<Arc<Handshake>>,
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) version: Version,
    pub(crate) headers: HeaderMap,
    pub(crate) arrived: Instant,
    pub(crate) course: Arc<ExchangeCourse>,
    progress: Mutex<Progress>,
}

/// The request body so far: its size, timing and content.
#[derive(Debug)]
pub struct Progress {
    pub(crate) body_bytes: u64,
    pub(crate) chunks: u64,
    pub(crate) first_byte: Option<Duration>,
    pub(crate) last_byte: Option<Duration>,
    pub(crate) digest: Option<[u8; 32]>,
    /// `None` when it has grown too long to keep.
    pub(crate) text: Option<Vec<u8>>,
    pub(crate) trailers: Option<HeaderMap>,
}

impl JournalEntry {
    /// An entry for a request whose head has just arrived; its extensions have the handshake, where there was one.
    pub fn new(id: u64, listener: Arc<str>, head: &Parts, course: Arc<ExchangeCourse>) -> Self {
        Self {
            id,
            listener,
            tls: head.extensions.get().cloned(),
            method: head.method.clone(),
            uri: head.uri.clone(),
            version: head.version,
            headers: head.headers.clone(),
            arrived: Instant::now(),
            course,
            progress: Mutex::new(Progress {
                body_bytes: 0,
                chunks: 0,
                first_byte: None,
                last_byte: None,
                digest: None,
                text: Some(Vec::new()),
                trailers: None,
            }),
        }
    }

    /// The progress, locked for a moment.
    pub fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a piece of the request body.
    pub fn received(&self, piece: &[u8]) {
        let since = self.arrived.elapsed();
        let mut progress = self.progress();
        progress.first_byte.get_or_insert(since);
        progress.last_byte = Some(since);
        progress.chunks += 1;
        progress.body_bytes += piece.len() as u64;
        match &mut progress.text {
            Some(text) if text.len() + piece.len() <= KEPT_TEXT => text.extend_from_slice(piece),
            text => *text = None,
        }
    }

    /// Records the end of the request body.
    pub fn complete(&self, digest: [u8; 32]) {
        self.progress().digest = Some(digest);
    }
}
