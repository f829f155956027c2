//! Resolves host names to the addresses that the policy permits. The HTTP client connects only to addresses that this
//! resolver returns, so DNS rebinding (first a public address, then a private one) gains nothing.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use edgezoom_content::AddressPolicy;
use edgezoom_content::address::RefusedAddress;
use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;

/// Resolves host names.
pub trait Resolver: Send + Sync {
    /// Returns all addresses of `host`.
    fn resolve(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The operating system's resolver.
pub struct SystemResolver;

/// A resolver with a maximum number of concurrent look-ups. A look-up counts until it has ended, even if its caller has
/// stopped waiting: getaddrinfo(3) cannot be cancelled, and occupies a thread of the pool that downloads share.
pub(crate) struct LimitedResolver {
    resolver: Arc<dyn Resolver>,
    permits: Arc<Semaphore>,
}

impl LimitedResolver {
    pub(crate) fn new(resolver: Arc<dyn Resolver>, most: usize) -> Self {
        Self { resolver, permits: Arc::new(Semaphore::new(most)) }
    }
}

impl Resolver for LimitedResolver {
    fn resolve(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let (resolver, permits) = (Arc::clone(&self.resolver), Arc::clone(&self.permits));
        Box::pin(async move {
            // Never fails: the semaphore is never closed.
            let permit = permits.acquire_owned().await.map_err(io::Error::other)?;
            let looking_up = tokio::spawn(async move {
                let _permit = permit;
                resolver.resolve(host).await
            });
            looking_up.await.map_err(io::Error::other)?
        })
    }
}

/// The name servers did not respond, so the name may or may not have an address.
#[derive(Debug, thiserror::Error)]
#[error("the name servers do not respond")]
pub struct NameServersDown;

impl Resolver for SystemResolver {
    fn resolve(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let addresses = tokio::net::lookup_host((host.as_str(), 0)).await.map_err(classified)?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }
}

/// Recognises `EAI_AGAIN` of getaddrinfo(3). The standard library keeps only its text: the first is that of glibc and
/// the BSDs, the second that of musl.
fn classified(error: io::Error) -> io::Error {
    let text = error.to_string();
    if text.ends_with("Temporary failure in name resolution") || text.ends_with("Try again") {
        return io::Error::other(NameServersDown);
    }
    error
}

/// Resolver for the HTTP client that returns only permitted addresses.
pub(super) struct FilteringResolver {
    policy: Arc<AddressPolicy>,
    resolver: Arc<dyn Resolver>,
}

impl FilteringResolver {
    pub(super) fn new(policy: AddressPolicy, resolver: Arc<dyn Resolver>) -> Self {
        Self { policy: Arc::new(policy), resolver }
    }
}

impl Resolve for FilteringResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = Arc::clone(&self.policy);
        let resolved = self.resolver.resolve(name.as_str().to_owned());
        Box::pin(async move {
            let mut addresses = resolved.await?;
            let any = !addresses.is_empty();
            addresses.retain(|address| policy.permits(*address));
            if any && addresses.is_empty() {
                return Err(RefusedAddress::Network.into());
            }
            // The client replaces port 0 by the port of the URL.
            Ok(Box::new(addresses.into_iter().map(|ip| SocketAddr::new(ip, 0))) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// Name servers that never respond.
    #[derive(Default)]
    struct Silent {
        asked: Arc<AtomicUsize>,
    }

    impl Resolver for Silent {
        fn resolve(&self, _: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test]
    async fn a_page_whose_name_servers_are_silent_occupies_few_threads() {
        let silent = Silent::default();
        let asked = Arc::clone(&silent.asked);
        let resolver = LimitedResolver::new(Arc::new(silent), 16);
        let connections = (0..100).map(|number| {
            timeout(Duration::from_millis(100), resolver.resolve(format!("{number}.attacker.example")))
        });
        assert!(futures::future::join_all(connections).await.iter().all(Result::is_err));
        assert_eq!(asked.load(Ordering::SeqCst), 16);
    }
}
