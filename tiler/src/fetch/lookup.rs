//! Names to addresses, and only to permitted ones. The client connects to what comes out of here and to nothing else, so a
//! name that answers with a public address first and a private one later gains nothing: each answer passes here before
//! it is connected to.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use edgezoom_content::AddressPolicy;
use edgezoom_content::address::RefusedAddress;
use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Finds the addresses of a host name.
pub trait Lookup: Send + Sync {
    /// All addresses that `host` has.
    fn lookup(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The operating system's resolver.
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let addresses = tokio::net::lookup_host((host.as_str(), 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }
}

/// Gives the permitted ones of a name's addresses.
pub(super) struct GuardedResolver {
    policy: Arc<AddressPolicy>,
    lookup: Arc<dyn Lookup>,
}

impl GuardedResolver {
    pub(super) fn new(policy: AddressPolicy, lookup: Arc<dyn Lookup>) -> Self {
        Self { policy: Arc::new(policy), lookup }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = Arc::clone(&self.policy);
        let found = self.lookup.lookup(name.as_str().to_owned());
        Box::pin(async move {
            let mut addresses = found.await?;
            let any = !addresses.is_empty();
            addresses.retain(|address| policy.permits(*address));
            if any && addresses.is_empty() {
                return Err(RefusedAddress.into());
            }
            // Port 0 stands for the URL's.
            Ok(Box::new(addresses.into_iter().map(|ip| SocketAddr::new(ip, 0))) as Addrs)
        })
    }
}
