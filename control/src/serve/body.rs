//! A response body that is sent in chunks and releases its permit when it is sent.

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

/// The size of a chunk, in bytes.
const CHUNK: usize = 64 * 1024;

/// A body, with what is released once all of it is sent.
#[derive(Debug)]
pub struct PacedBody {
    rest: Bytes,
    _held: Option<OwnedSemaphorePermit>,
}

impl PacedBody {
    /// A body of these bytes.
    pub fn new(rest: Bytes, held: Option<OwnedSemaphorePermit>) -> Self {
        Self { rest, _held: held }
    }
}

impl Body for PacedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let chunk = self.rest.len().min(CHUNK);
        let chunk = self.rest.split_to(chunk);
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(u64::try_from(self.rest.len()).unwrap_or(u64::MAX))
    }
}
