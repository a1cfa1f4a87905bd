//! One request as the simulator received it, and what became of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::http::request::Parts;
use hyper::http::{HeaderMap, Method, StatusCode, Uri, Version};
use serde::Serialize;

/// The largest body whose text is kept.
const KEPT_TEXT: usize = 64 << 10;

/// How far an exchange has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The request body is arriving.
    Receiving,
    /// It has arrived; nothing is answered yet.
    RequestComplete,
    /// The peer went away before the request was complete.
    RequestAborted,
    /// The response is on its way.
    Answering,
    /// All of it was handed over.
    Answered,
    /// The peer went away before that, or the simulator was told to cut or stall.
    AnswerAborted,
}

/// A request, fixed when its head arrives, and its progress.
#[derive(Debug)]
pub struct Entry {
    pub(crate) id: u64,
    pub(crate) listener: Arc<str>,
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) version: Version,
    pub(crate) headers: HeaderMap,
    pub(crate) arrived: Instant,
    progress: Mutex<Progress>,
}

/// What changes while the exchange runs.
#[derive(Debug)]
pub struct Progress {
    pub(crate) state: State,
    pub(crate) status: Option<StatusCode>,
    pub(crate) body_bytes: u64,
    pub(crate) chunks: u64,
    pub(crate) first_byte: Option<Duration>,
    pub(crate) last_byte: Option<Duration>,
    pub(crate) digest: Option<[u8; 32]>,
    /// `None` when it has grown too long to keep.
    pub(crate) text: Option<Vec<u8>>,
    pub(crate) trailers: Option<HeaderMap>,
    pub(crate) events_sent: u64,
}

impl Entry {
    /// An entry for a request whose head has just arrived.
    pub fn new(id: u64, listener: Arc<str>, head: &Parts) -> Self {
        Self {
            id,
            listener,
            method: head.method.clone(),
            uri: head.uri.clone(),
            version: head.version,
            headers: head.headers.clone(),
            arrived: Instant::now(),
            progress: Mutex::new(Progress {
                state: State::Receiving,
                status: None,
                body_bytes: 0,
                chunks: 0,
                first_byte: None,
                last_byte: None,
                digest: None,
                text: Some(Vec::new()),
                trailers: None,
                events_sent: 0,
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
        let mut progress = self.progress();
        progress.digest = Some(digest);
        if progress.state == State::Receiving {
            progress.state = State::RequestComplete;
        }
    }

    /// Records that the response begins.
    pub fn answering(&self, status: StatusCode) {
        let mut progress = self.progress();
        progress.state = State::Answering;
        progress.status = Some(status);
    }

    /// Records that another event is with the transport.
    pub fn event_sent(&self) {
        self.progress().events_sent += 1;
    }

    /// Records that the response is.
    pub fn answered(&self) {
        self.progress().state = State::Answered;
    }

    /// Records that nothing more will happen.
    fn closed(&self) {
        let mut progress = self.progress();
        progress.state = match progress.state {
            State::Receiving => State::RequestAborted,
            State::RequestComplete | State::Answering => State::AnswerAborted,
            done => done,
        };
    }
}

/// Holds an entry for as long as its exchange lives: whatever ends that early is seen by the drop.
#[derive(Debug)]
pub struct Guard(pub Arc<Entry>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.closed();
    }
}
