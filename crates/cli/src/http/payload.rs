//! The body of a request.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

/// A body that says whether its request has been given to a connection: from then on the endpoint may have seen some of it.
#[derive(Clone, Debug)]
pub struct Payload {
    bytes: Option<Bytes>,
    touched: Arc<AtomicBool>,
}

/// What is left with who sends.
#[derive(Clone, Debug)]
pub struct Touched(Arc<AtomicBool>);

impl Touched {
    /// Whether anything of the request may have been sent. `false` is certain.
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Payload {
    pub fn new(bytes: Bytes) -> Self {
        Self {
            bytes: Some(bytes),
            touched: Arc::default(),
        }
    }

    pub fn touched(&self) -> Touched {
        Touched(Arc::clone(&self.touched))
    }

    fn touch(&self) {
        self.touched.store(true, Ordering::Release);
    }
}

/// A connection asks for size and end before it writes the head of a request, and need not poll a body that is empty.
impl Body for Payload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.touch();
        let left = self.bytes.take().filter(|bytes| !bytes.is_empty());
        Poll::Ready(left.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.touch();
        self.bytes.as_ref().is_none_or(Bytes::is_empty)
    }

    fn size_hint(&self) -> SizeHint {
        self.touch();
        let left = self.bytes.as_ref().map_or(0, Bytes::len);
        SizeHint::with_exact(u64::try_from(left).unwrap_or(u64::MAX))
    }
}
