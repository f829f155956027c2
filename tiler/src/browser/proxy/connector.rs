//! Connects to a host and port if the address policy permits it, and records why connections failed.
//!
//! All connections of a page are opened here: the name is resolved, its addresses are filtered, and only the remaining
//! ones are connected to. So DNS rebinding (a name that resolves to a private address the second time) gains nothing.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use edgezoom_content::AddressPolicy;
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Host;

use super::host_connections::{HostConnections, HostPermit};
use crate::fetch::resolver::Resolver;

/// Opens connections to the hosts that the policy permits.
#[derive(Clone)]
pub(in crate::browser) struct Connector {
    pub policy: AddressPolicy,
    pub resolver: Arc<dyn Resolver>,
    /// The connections of all pages to each host.
    pub hosts: Arc<HostConnections>,
    /// Time for connecting, name resolution included.
    pub timeout: Duration,
}

/// The reason why a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::browser) enum ConnectError {
    /// The policy refuses the port, or every address of the host.
    Refused,
    /// The name has no address.
    Unresolved,
    /// No address accepted the connection in time, or the connection was closed before the response.
    Unreachable,
}

impl Connector {
    /// Connects to `host`, a name or an address as written in a URL, as soon as the host may have another connection.
    pub(super) async fn connect(
        &self,
        host: &str,
        port: u16,
    ) -> Result<(TcpStream, HostPermit), ConnectError> {
        let permit = self.hosts.acquire(host).await.map_err(|_| ConnectError::Unreachable)?;
        let stream = timeout(self.timeout, self.connect_without_timeout(host, port)).await;
        Ok((stream.unwrap_or(Err(ConnectError::Unreachable))?, permit))
    }

    async fn connect_without_timeout(&self, host: &str, port: u16) -> Result<TcpStream, ConnectError> {
        for address in self.addresses(host, port).await? {
            if let Ok(stream) = TcpStream::connect(SocketAddr::new(address, port)).await {
                let _ = stream.set_nodelay(true); // without it, only latency is worse
                return Ok(stream);
            }
        }
        Err(ConnectError::Unreachable)
    }

    /// Returns the permitted addresses of `host`.
    async fn addresses(&self, host: &str, port: u16) -> Result<Vec<IpAddr>, ConnectError> {
        let host = Host::parse(host).map_err(|_| ConnectError::Unresolved)?;
        self.policy.check(&host, port).map_err(|_| ConnectError::Refused)?;
        let mut addresses = match host {
            Host::Ipv4(address) => vec![address.into()],
            Host::Ipv6(address) => vec![address.into()],
            Host::Domain(name) => self.resolver.resolve(name).await.map_err(|_| ConnectError::Unresolved)?,
        };
        if addresses.is_empty() {
            return Err(ConnectError::Unresolved);
        }
        addresses.retain(|address| self.policy.permits(*address));
        if addresses.is_empty() { Err(ConnectError::Refused) } else { Ok(addresses) }
    }
}

/// Remembers for each host why the last connection to it failed.
#[derive(Debug, Default)]
pub(in crate::browser) struct ConnectFailures(Mutex<HashMap<(String, u16), ConnectError>>);

/// Maximum number of hosts remembered. Failures of further hosts are not recorded.
const MAX_HOSTS: usize = 1000;

impl ConnectFailures {
    /// Returns why the last connection to this host failed, if it did.
    pub(in crate::browser) fn get(&self, host: &str, port: u16) -> Option<ConnectError> {
        self.hosts().get(&(host.to_owned(), port)).copied()
    }

    /// Records the result of a connection to a host.
    pub(super) fn record(&self, host: &str, port: u16, error: Option<ConnectError>) {
        let mut hosts = self.hosts();
        let key = (host.to_owned(), port);
        match error {
            None => {
                hosts.remove(&key);
            }
            Some(error) if hosts.len() < MAX_HOSTS || hosts.contains_key(&key) => {
                hosts.insert(key, error);
            }
            Some(_) => {}
        }
    }

    fn hosts(&self) -> MutexGuard<'_, HashMap<(String, u16), ConnectError>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::num::NonZeroUsize;

    use edgezoom_content::address::{LocalNetworks, Network};
    use futures::future::BoxFuture;

    use super::*;

    struct Fixed(&'static [&'static str]);

    impl Resolver for Fixed {
        fn resolve(&self, _: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            let addresses = self.0.iter().map(|address| address.parse().unwrap()).collect();
            Box::pin(async move { Ok(addresses) })
        }
    }

    fn connector(allowed: &str, addresses: &'static [&'static str]) -> Connector {
        let policy = AddressPolicy::allowing(allowed).unwrap();
        let hosts = Arc::new(HostConnections::new(NonZeroUsize::MIN, Duration::MAX));
        Connector { policy, resolver: Arc::new(Fixed(addresses)), hosts, timeout: Duration::from_secs(5) }
    }

    #[tokio::test]
    async fn every_spelling_of_a_refused_address_is_refused() {
        let connector = connector("", &[]);
        for host in
            ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254"]
        {
            assert_eq!(connector.connect(host, 80).await.err(), Some(ConnectError::Refused), "{host}");
        }
    }

    #[tokio::test]
    async fn only_permitted_addresses_of_a_name_are_used() {
        assert_eq!(
            connector("", &["127.0.0.1", "10.0.0.1"]).addresses("a.example", 80).await,
            Err(ConnectError::Refused)
        );
        assert_eq!(connector("", &[]).addresses("a.example", 80).await, Err(ConnectError::Unresolved));
        let mixed = connector("", &["127.0.0.1", "8.8.8.8"]).addresses("a.example", 80).await;
        assert_eq!(mixed, Ok(vec!["8.8.8.8".parse().unwrap()]));
    }

    #[tokio::test]
    async fn a_frame_cannot_reach_this_machine_or_its_neighbours_at_global_addresses() {
        let names = &["93.184.216.34", "2606:4700::22", "93.184.216.99", "8.8.8.8"];
        let mut connector = connector("", names);
        let local = LocalNetworks::default();
        connector.policy = connector.policy.refusing_local(local.clone());
        assert_eq!(connector.addresses("a.example", 80).await.map(|permitted| permitted.len()), Ok(4));
        local.replace(Network::list("93.184.216.0/24,2606:4700::22/128").unwrap());
        assert_eq!(connector.addresses("a.example", 80).await, Ok(vec!["8.8.8.8".parse().unwrap()]));
        for host in ["93.184.216.34", "1572395042", "[2606:4700::22]", "[::ffff:93.184.216.99]"] {
            assert_eq!(connector.connect(host, 9600).await.err(), Some(ConnectError::Refused), "{host}");
        }
    }

    #[tokio::test]
    async fn ports_of_other_protocols_are_refused() {
        let connector = connector("127.0.0.0/8", &[]);
        for port in [1, 22, 25, 111, 445, 1023] {
            assert_eq!(
                connector.connect("127.0.0.1", port).await.err(),
                Some(ConnectError::Refused),
                "{port}"
            );
        }
    }

    #[tokio::test]
    async fn a_host_that_is_denied_is_refused_before_its_name_is_resolved() {
        let mut connector = connector("", &["8.8.8.8"]);
        connector.policy = connector.policy.denying_hosts("bad.example").unwrap();
        for host in ["bad.example", "www.BAD.example."] {
            assert_eq!(connector.addresses(host, 443).await, Err(ConnectError::Refused), "{host}");
        }
        assert!(connector.addresses("good.example", 443).await.is_ok());
    }

    #[tokio::test]
    async fn a_port_without_a_listener_is_unreachable() {
        let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let error = connector("127.0.0.0/8", &[]).connect("127.0.0.1", unused).await.err();
        assert_eq!(error, Some(ConnectError::Unreachable));
    }

    #[test]
    fn the_last_result_of_a_host_counts() {
        let failures = ConnectFailures::default();
        failures.record("a.example", 80, Some(ConnectError::Unreachable));
        failures.record("a.example", 80, Some(ConnectError::Refused));
        assert_eq!(failures.get("a.example", 80), Some(ConnectError::Refused));
        assert_eq!(failures.get("a.example", 443), None);
        failures.record("a.example", 80, None);
        assert_eq!(failures.get("a.example", 80), None);
    }
}
