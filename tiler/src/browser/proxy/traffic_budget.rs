//! The traffic budget of a page: the number of bytes that its connections may still transfer, in both directions
//! together.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::host_connections::Activity;

/// The number of bytes that a page may still transfer. All its connections share it.
#[derive(Debug)]
pub(in crate::browser) struct TrafficBudget {
    left: AtomicU64,
}

impl TrafficBudget {
    pub(super) fn new(bytes: u64) -> Self {
        Self { left: AtomicU64::new(bytes) }
    }

    /// Returns true if the page has used up its budget.
    pub(in crate::browser) fn is_spent(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// Subtracts `bytes` from the budget. Fails if nothing is left.
    fn spend(&self, bytes: usize) -> io::Result<()> {
        let spend = |left: u64| Some(left.saturating_sub(bytes as u64));
        match self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend) {
            Ok(left) if left > bytes as u64 => Ok(()),
            _ => Err(io::ErrorKind::QuotaExceeded.into()),
        }
    }
}

/// A connection that counts its bytes and fails once the budget is spent.
#[derive(Debug)]
pub(super) struct Metered<S> {
    stream: S,
    budget: Arc<TrafficBudget>,
    activity: Arc<Activity>,
}

impl<S> Metered<S> {
    pub(super) fn new(stream: S, budget: Arc<TrafficBudget>, activity: Arc<Activity>) -> Self {
        Self { stream, budget, activity }
    }

    fn count(&self, bytes: usize) -> io::Result<()> {
        self.activity.note();
        self.budget.spend(bytes)
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
        Poll::Ready(self.count(buffer.filled().len() - before))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.count(written)?;
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
    async fn a_connection_fails_when_the_budget_is_spent() {
        let budget = Arc::new(TrafficBudget::new(100));
        let (near, mut far) = tokio::io::duplex(1000);
        let mut near = Metered::new(near, Arc::clone(&budget), Arc::new(Activity::new()));
        near.write_all(&[0; 60]).await.unwrap();
        assert!(!budget.is_spent());
        far.write_all(&[0; 60]).await.unwrap();
        assert!(near.read(&mut [0; 60]).await.is_err());
        assert!(budget.is_spent());
        assert!(near.write(&[0]).await.is_err());
    }
}
