//! The traffic budget of a page: the number of bytes that its connections may still transfer, in both directions
//! together, and the smaller one that they may still send.

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
    /// In both directions.
    all: AtomicU64,
    /// To servers.
    sent: AtomicU64,
}

impl TrafficBudget {
    pub(super) fn new(all: u64, sent: u64) -> Self {
        Self { all: all.into(), sent: sent.into() }
    }

    /// Returns true if the page has used up its budget.
    pub(in crate::browser) fn is_spent(&self) -> bool {
        [&self.all, &self.sent].iter().any(|left| left.load(Ordering::Relaxed) == 0)
    }

    /// Subtracts received bytes. Fails if nothing is left.
    fn receive(&self, bytes: usize) -> io::Result<()> {
        spend(&self.all, bytes)
    }

    /// Subtracts sent bytes. Fails if nothing is left.
    fn send(&self, bytes: usize) -> io::Result<()> {
        spend(&self.sent, bytes)?;
        spend(&self.all, bytes)
    }
}

fn spend(budget: &AtomicU64, bytes: usize) -> io::Result<()> {
    let spend = |left: u64| Some(left.saturating_sub(bytes as u64));
    match budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend) {
        Ok(left) if left > bytes as u64 => Ok(()),
        _ => Err(io::ErrorKind::QuotaExceeded.into()),
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
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.activity.note();
        Poll::Ready(self.budget.receive(buffer.filled().len() - before))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.activity.note();
        self.budget.send(written)?;
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
        let budget = Arc::new(TrafficBudget::new(100, 80));
        let (near, mut far) = tokio::io::duplex(1000);
        let mut near = Metered::new(near, Arc::clone(&budget), Arc::new(Activity::new()));
        near.write_all(&[0; 60]).await.unwrap();
        assert!(!budget.is_spent());
        far.write_all(&[0; 60]).await.unwrap();
        assert!(near.read(&mut [0; 60]).await.is_err());
        assert!(budget.is_spent());
        assert!(near.write(&[0]).await.is_err());
    }

    #[tokio::test]
    async fn a_connection_sends_less_than_it_transfers() {
        let budget = Arc::new(TrafficBudget::new(100, 50));
        let (near, mut far) = tokio::io::duplex(1000);
        let mut near = Metered::new(near, Arc::clone(&budget), Arc::new(Activity::new()));
        far.write_all(&[0; 40]).await.unwrap();
        near.read_exact(&mut [0; 40]).await.unwrap();
        near.write_all(&[0; 40]).await.unwrap();
        assert!(!budget.is_spent());
        assert!(near.write(&[0; 10]).await.is_err());
        assert!(budget.is_spent());
    }
}
