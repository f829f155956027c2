//! What a page's traffic came to: the bytes it may still move, and for each host why it last could not be reached.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connector::Closed;

/// The account of one page. Shared by all its connections.
#[derive(Debug)]
pub(in crate::browser) struct Ledger {
    left: AtomicU64,
    closed: Mutex<HashMap<(String, u16), Closed>>,
}

/// The hosts remembered. A page that talks to more is told less.
const HOSTS: usize = 1000;

impl Ledger {
    pub(super) fn new(bytes: u64) -> Self {
        Self { left: AtomicU64::new(bytes), closed: Mutex::default() }
    }

    /// Whether the page has used up its bytes.
    pub(in crate::browser) fn is_spent(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// Why the last attempt to reach this host failed, if it did.
    pub(in crate::browser) fn closed(&self, host: &str, port: u16) -> Option<Closed> {
        self.hosts().get(&(host.to_owned(), port)).copied()
    }

    /// Keeps what became of an attempt to reach a host.
    pub(super) fn note(&self, host: &str, port: u16, outcome: Option<Closed>) {
        let mut hosts = self.hosts();
        let key = (host.to_owned(), port);
        match outcome {
            None => {
                hosts.remove(&key);
            }
            Some(closed) if hosts.len() < HOSTS || hosts.contains_key(&key) => {
                hosts.insert(key, closed);
            }
            Some(_) => {}
        }
    }

    /// Takes `bytes` off what is left.
    fn spend(&self, bytes: usize) -> io::Result<()> {
        let spend = |left: u64| Some(left.saturating_sub(bytes as u64));
        match self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend) {
            Ok(left) if left > bytes as u64 => Ok(()),
            _ => Err(io::ErrorKind::QuotaExceeded.into()),
        }
    }

    fn hosts(&self) -> std::sync::MutexGuard<'_, HashMap<(String, u16), Closed>> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection whose bytes are counted, and which breaks when there are none left.
#[derive(Debug)]
pub(super) struct Metered<S> {
    stream: S,
    ledger: Arc<Ledger>,
}

impl<S> Metered<S> {
    pub(super) fn new(stream: S, ledger: Arc<Ledger>) -> Self {
        Self { stream, ledger }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        Poll::Ready(self.ledger.spend(buffer.filled().len() - before))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.ledger.spend(written)?;
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_connection_breaks_when_the_bytes_are_used_up() {
        let ledger = Arc::new(Ledger::new(100));
        let (near, mut far) = tokio::io::duplex(1000);
        let mut near = Metered::new(near, Arc::clone(&ledger));
        near.write_all(&[0; 60]).await.unwrap();
        assert!(!ledger.is_spent());
        far.write_all(&[0; 60]).await.unwrap();
        assert!(near.read(&mut [0; 60]).await.is_err());
        assert!(ledger.is_spent());
        assert!(near.write(&[0]).await.is_err());
    }

    #[test]
    fn the_last_outcome_of_a_host_counts() {
        let ledger = Ledger::new(1);
        ledger.note("a.example", 80, Some(Closed::Unreachable));
        ledger.note("a.example", 80, Some(Closed::Refused));
        assert_eq!(ledger.closed("a.example", 80), Some(Closed::Refused));
        assert_eq!(ledger.closed("a.example", 443), None);
        ledger.note("a.example", 80, None);
        assert_eq!(ledger.closed("a.example", 80), None);
    }
}
