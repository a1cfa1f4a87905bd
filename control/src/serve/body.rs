//! A body on its way, in pieces, so that what is behind is held no longer than until it has gone.

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use super::pulse::Answering;
use super::site::Busy;

/// How much is given to the connection at once.
const PIECE: usize = 64 * 1024;

/// A body, with what ends when all of it has gone.
#[derive(Debug)]
pub struct Held {
    rest: Bytes,
    _busy: Option<Busy>,
    _answering: Answering,
}

impl Held {
    /// A body of these bytes.
    pub fn new(rest: Bytes, busy: Option<Busy>, answering: Answering) -> Self {
        Self {
            rest,
            _busy: busy,
            _answering: answering,
        }
    }
}

impl Body for Held {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let piece = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(piece);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(u64::try_from(self.rest.len()).unwrap_or(u64::MAX))
    }
}
