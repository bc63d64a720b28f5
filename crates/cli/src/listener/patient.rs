//! A connection whose other side must take what is written to it in good time, and may say the rest of what it was saying.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// A client that takes nothing of its answer for so long is gone.
const LONGEST: Duration = Duration::from_secs(30);
/// A client that is answered before it has sent all would find no answer in a connection that is closed on it.
const LINGER: Duration = Duration::from_secs(2);
const UNREAD: usize = 16 * 1024;

pub struct Patient {
    stream: TcpStream,
    /// While it waits to write.
    deadline: Option<Pin<Box<Sleep>>>,
    /// Once all is written.
    lingers: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    pub fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            deadline: None,
            lingers: None,
        }
    }

    fn bounded<T>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.deadline = None;
            return polled;
        }
        let deadline = self
            .deadline
            .get_or_insert_with(|| Box::pin(sleep(LONGEST)));
        ready!(deadline.as_mut().poll(context));
        deadline.as_mut().reset(Instant::now() + LONGEST);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bounded(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.bounded(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingers.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        }
        let this = &mut *self;
        let lingers = this.lingers.get_or_insert_with(|| Box::pin(sleep(LINGER)));
        let mut unread = [0; UNREAD];
        while lingers.as_mut().poll(context).is_pending() {
            let mut buffer = ReadBuf::new(&mut unread);
            let read = ready!(Pin::new(&mut this.stream).poll_read(context, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                break;
            }
        }
        Poll::Ready(Ok(()))
    }
}
