//! Bodies that say when all of them is there, or sent.

use core::pin::Pin;
use core::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::connection_activity::{ConnectionActivity, ResponseGuard};

/// A body. Dropped, its response is over.
#[derive(Debug)]
pub(super) struct GuardedBody<B> {
    body: B,
    _answering: ResponseGuard,
}

impl<B> GuardedBody<B> {
    /// This body.
    pub(super) const fn new(body: B, answering: ResponseGuard) -> Self {
        Self {
            body,
            _answering: answering,
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for GuardedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a request. Its connection knows when all of it is there.
#[derive(Debug)]
pub struct ReceivedBody {
    body: Incoming,
    activity: ConnectionActivity,
}

impl ReceivedBody {
    /// This body.
    pub(super) const fn new(body: Incoming, activity: ConnectionActivity) -> Self {
        Self { body, activity }
    }
}

impl Body for ReceivedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if matches!(frame, Poll::Ready(None)) || self.body.is_end_stream() {
            self.activity.is_whole();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for ReceivedBody {
    fn drop(&mut self) {
        self.activity.is_whole();
    }
}
