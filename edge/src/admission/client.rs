//! Defines a client. A customer of an internet provider has one IPv4 address, or an IPv6 prefix of 64, 56 or 48 bits
//! (RFC 6177; RIPE-690), and can use any address under it for each request.

use std::net::IpAddr;

use edgezoom_content::CollectionName;
use serde::{Deserialize, Serialize};

/// A client: an IPv4 address, the first 64 bits of an IPv6 address, the name of a signing key, or that of a collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Client(String);

/// A rate limiter, and the key under which it counts a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimit {
    pub binding: &'static str,
    pub key: String,
}

/// The limiters of created contents: for an IPv4 address or an IPv6 /64, a /56, a /48.
pub const CREATIONS: [&str; 3] = ["CREATIONS", "CREATIONS_56", "CREATIONS_48"];
/// The limiters of rendered regions.
pub const RENDERINGS: [&str; 3] = ["RENDERINGS", "RENDERINGS_56", "RENDERINGS_48"];

/// First character of the keys of clients that sign their requests.
const SIGNED: char = '@';
/// First character of the keys of collections (`messageOfEntry` in `edge/collections/`).
const BATCH: char = '%';

/// Key of all clients without a valid address, together.
const UNKNOWN: &str = "unknown";

impl Client {
    /// Returns the client at the address that the provider's network states. All clients without one count as one. On a
    /// developer's machine it is `None` without an address or on the machine itself: the operator, who is not counted.
    pub fn at(address: Option<&str>, is_development: bool) -> Option<Self> {
        let parsed = address.unwrap_or_default().parse::<IpAddr>().map(|address| address.to_canonical());
        if is_development && (address.is_none() || parsed.as_ref().is_ok_and(IpAddr::is_loopback)) {
            return None;
        }
        Some(Self(match parsed {
            Ok(IpAddr::V4(address)) => address.to_string(),
            Ok(IpAddr::V6(address)) => {
                let [a, b, c, d, ..] = address.segments();
                format!("{a:x}:{b:x}:{c:x}:{d:x}")
            }
            Err(_) => UNKNOWN.to_owned(),
        }))
    }

    /// Returns the client that signs with the key of this name, which has only letters, digits, `-` and `_`.
    pub fn signed(name: &str) -> Self {
        Self(format!("{SIGNED}{name}"))
    }

    /// Returns the client that is a collection.
    pub fn of_collection(name: &CollectionName) -> Self {
        Self(format!("{BATCH}{name}"))
    }

    /// Returns the client with a [`Client::key`].
    pub fn of_key(key: &str) -> Self {
        Self(key.to_owned())
    }

    /// Returns the client as a text.
    pub fn key(&self) -> &str {
        &self.0
    }

    /// Returns limits per minute, which grow with the width of the network. A client that signs its requests serves
    /// clients of its own and has the widest limit.
    pub fn rate_limits(&self, [of_64, of_56, of_48]: [&'static str; 3]) -> Vec<RateLimit> {
        let limit = |binding, key: &str| RateLimit { binding, key: key.to_owned() };
        if self.0.starts_with(SIGNED) {
            return vec![limit(of_48, &self.0)];
        }
        if is_batch(&self.0) {
            return vec![]; // it has few conversions under way
        }
        match self.segments() {
            Some([a, b, c, d]) => vec![
                limit(of_64, &self.0),
                limit(of_56, &format!("{a:x}:{b:x}:{c:x}:{:x}/56", d & 0xff00)),
                limit(of_48, &format!("{a:x}:{b:x}:{c:x}/48")),
            ],
            None => vec![limit(of_64, &self.0)],
        }
    }

    /// Returns the name under which the client shares the queue: the widest network that one customer may have.
    pub fn party(&self) -> String {
        match self.segments() {
            Some([a, b, c, _]) => format!("{a:x}:{b:x}:{c:x}"),
            None => self.0.clone(),
        }
    }

    /// Returns the party of a client; the operator's is empty.
    #[inline(never)]
    pub fn party_of(client: Option<&Self>) -> String {
        client.map(Self::party).unwrap_or_default()
    }

    /// Returns true if the client signs its requests, or is a collection, which only such a client begins.
    pub fn is_trusted(&self) -> bool {
        is_signed(&self.0) || is_batch(&self.0)
    }

    fn segments(&self) -> Option<[u16; 4]> {
        let segments: Option<Vec<u16>> =
            self.0.split(':').map(|segment| u16::from_str_radix(segment, 16).ok()).collect();
        segments?.try_into().ok()
    }
}

/// Returns true if a [party](Client::party) signs its requests. The operator gave it a key, so it has neither a limit
/// of tiles nor a share of the slots.
pub fn is_signed(party: &str) -> bool {
    party.starts_with(SIGNED)
}

/// Returns true if a [party](Client::party) is a collection. It comes after all others, so it needs no limit of tiles.
pub fn is_batch(party: &str) -> bool {
    party.starts_with(BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> Client {
        Client::at(Some(address), false).unwrap()
    }

    #[test]
    fn a_client_is_an_address_or_a_network() {
        for (address, expected) in [
            ("203.0.113.7", "203.0.113.7"),
            ("::ffff:203.0.113.7", "203.0.113.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2"),
            ("2001:db8:1:2::1", "2001:db8:1:2"),
            ("127.0.0.1", "127.0.0.1"),
            ("nonsense", "unknown"),
            ("", "unknown"),
        ] {
            assert_eq!(at(address).0, expected, "{address}");
        }
    }

    #[test]
    fn a_request_without_an_address_is_the_operators_only_on_a_developers_machine() {
        for (address, expected) in [
            (None, None),
            (Some("127.0.0.1"), None),
            (Some("::1"), None),
            (Some("::ffff:127.0.0.1"), None),
            (Some(""), Some("unknown")),
            (Some("203.0.113.7"), Some("203.0.113.7")),
        ] {
            let key = |is_development| Client::at(address, is_development).map(|client| client.0);
            assert_eq!(key(true).as_deref(), expected, "{address:?}");
            assert!(key(false).is_some(), "{address:?}");
        }
        assert_eq!(Client::at(None, false).unwrap().0, "unknown");
    }

    #[test]
    fn an_ipv6_client_is_counted_with_its_neighbours() {
        let limits = |client: Client| -> Vec<(&str, String)> {
            client.rate_limits(CREATIONS).into_iter().map(|limit| (limit.binding, limit.key)).collect()
        };
        assert_eq!(
            limits(at("2001:db8:1:2304::1")),
            [
                ("CREATIONS", "2001:db8:1:2304".to_owned()),
                ("CREATIONS_56", "2001:db8:1:2300/56".to_owned()),
                ("CREATIONS_48", "2001:db8:1/48".to_owned()),
            ]
        );
        assert_eq!(limits(at("203.0.113.7")), [("CREATIONS", "203.0.113.7".to_owned())]);
        assert_eq!(limits(Client::signed("shop")), [("CREATIONS_48", "@shop".to_owned())]);
    }

    #[test]
    fn all_clients_of_a_48_share_the_queue_as_one() {
        for (address, party) in [
            ("2001:db8:1:2::1", "2001:db8:1"),
            ("2001:db8:1:ffff:1::", "2001:db8:1"),
            ("203.0.113.7", "203.0.113.7"),
            ("nonsense", "unknown"),
        ] {
            let client = at(address);
            assert_eq!(client.party(), party);
            assert_eq!(Client::of_key(client.key()), client);
        }
        assert_eq!(Client::signed("shop").party(), "@shop");
        assert_eq!(
            (Client::party_of(Some(&at("203.0.113.7"))), Client::party_of(None)),
            ("203.0.113.7".to_owned(), String::new())
        );
        assert!(Client::signed("shop").is_trusted() && !at("203.0.113.7").is_trusted());
        let batch = Client::of_key("%drawings");
        assert_eq!((batch.party().as_str(), batch.rate_limits(CREATIONS)), ("%drawings", vec![]));
        assert!(batch.is_trusted() && is_batch(&batch.party()) && !is_signed(&batch.party()));
    }
}
