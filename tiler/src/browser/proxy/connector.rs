//! From a host name and a port to a connection, if the policy allows it. The only place from which a page's traffic gets
//! out: names are resolved here, each address is judged, and what was judged is what is connected to. A name that
//! resolves differently the next time gains nothing.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use edgezoom_content::AddressPolicy;
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Host;

use crate::fetch::resolver::Resolver;

/// Who decides what may be connected to, and how names are resolved.
#[derive(Clone)]
pub(in crate::browser) struct Gate {
    pub policy: AddressPolicy,
    pub resolver: Arc<dyn Resolver>,
    /// How long connecting may take, the look-up included.
    pub patience: Duration,
}

/// Why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::browser) enum Closed {
    /// The address, or every address of the name, or the port, may not be connected to.
    Refused,
    /// The name has no address.
    Unresolved,
    /// No address of it took the connection, or not in time, or it broke before the answer.
    Unreachable,
}

impl Gate {
    /// Connects to `host`, a name or an address as it stands in a URL.
    pub(super) async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, Closed> {
        timeout(self.patience, self.connect_in_time(host, port)).await.unwrap_or(Err(Closed::Unreachable))
    }

    async fn connect_in_time(&self, host: &str, port: u16) -> Result<TcpStream, Closed> {
        if !is_for_the_web(port) {
            return Err(Closed::Refused);
        }
        let addresses = self.addresses(host).await?;
        for address in addresses {
            if let Ok(stream) = TcpStream::connect(SocketAddr::new(address, port)).await {
                let _ = stream.set_nodelay(true); // only slower without
                return Ok(stream);
            }
        }
        Err(Closed::Unreachable)
    }

    /// The addresses of `host` that may be connected to.
    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, Closed> {
        let mut addresses = match Host::parse(host).map_err(|_| Closed::Unresolved)? {
            Host::Ipv4(address) => vec![address.into()],
            Host::Ipv6(address) => vec![address.into()],
            Host::Domain(name) => self.resolve(name).await.map_err(|_| Closed::Unresolved)?,
        };
        if addresses.is_empty() {
            return Err(Closed::Unresolved);
        }
        addresses.retain(|address| self.policy.permits(*address));
        if addresses.is_empty() { Err(Closed::Refused) } else { Ok(addresses) }
    }

    async fn resolve(&self, name: String) -> io::Result<Vec<IpAddr>> {
        self.resolver.resolve(name).await
    }
}

/// Ports below 1024 belong to other protocols, except the web's own two.
fn is_for_the_web(port: u16) -> bool {
    matches!(port, 80 | 443 | 1024..)
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;

    use super::*;

    struct Fixed(&'static [&'static str]);

    impl Resolver for Fixed {
        fn resolve(&self, _: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            let addresses = self.0.iter().map(|address| address.parse().unwrap()).collect();
            Box::pin(async move { Ok(addresses) })
        }
    }

    fn gate(allowed: &str, addresses: &'static [&'static str]) -> Gate {
        let policy = AddressPolicy::allowing(allowed).unwrap();
        Gate { policy, resolver: Arc::new(Fixed(addresses)), patience: Duration::from_secs(5) }
    }

    #[tokio::test]
    async fn an_address_is_seen_through_its_disguises() {
        let gate = gate("", &[]);
        for host in
            ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254"]
        {
            assert_eq!(gate.connect(host, 80).await.unwrap_err(), Closed::Refused, "{host}");
        }
    }

    #[tokio::test]
    async fn a_name_is_judged_by_all_its_addresses() {
        assert_eq!(gate("", &["127.0.0.1", "10.0.0.1"]).addresses("a.example").await, Err(Closed::Refused));
        assert_eq!(gate("", &[]).addresses("a.example").await, Err(Closed::Unresolved));
        let mixed = gate("", &["127.0.0.1", "8.8.8.8"]).addresses("a.example").await;
        assert_eq!(mixed, Ok(vec!["8.8.8.8".parse().unwrap()]));
    }

    #[tokio::test]
    async fn ports_of_other_protocols_are_refused() {
        let gate = gate("127.0.0.0/8", &[]);
        for port in [1, 22, 25, 111, 445, 1023] {
            assert_eq!(gate.connect("127.0.0.1", port).await.unwrap_err(), Closed::Refused, "{port}");
        }
    }

    #[tokio::test]
    async fn a_port_where_nobody_listens_is_unreachable() {
        let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let closed = gate("127.0.0.0/8", &[]).connect("127.0.0.1", unused).await.unwrap_err();
        assert_eq!(closed, Closed::Unreachable);
    }
}
