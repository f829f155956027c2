//! The addresses under which clients reach the service.

use std::net::IpAddr;

use url::Url;

/// Parses a configured address, and returns it without a trailing slash; `None` if it is not a plain http or https URL.
/// Addresses are written into JSON, XML and HTML without escaping.
#[must_use]
pub fn service_address(text: &str) -> Option<String> {
    let has_to_be_escaped = |c: char| c <= ' ' || !c.is_ascii() || "\"'<>&\\?#".contains(c);
    let is_plain = Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    (is_plain && !text.contains(has_to_be_escaped)).then(|| text.trim_end_matches('/').to_owned())
}

/// Returns true if an origin is this machine or a Worker's name at workers.dev, where Cloudflare routes no other names to
/// the Worker. A client can send any other `Host`, and responses are cached and shared.
#[must_use]
pub fn is_own_origin(origin: &str) -> bool {
    let authority = origin.split_once("//").map_or(origin, |(_, authority)| authority);
    let host = match authority.split_once(']') {
        Some((host, _)) => host.trim_start_matches('['),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_worker = origin.starts_with("https://") && host.ends_with(".workers.dev");
    is_worker || host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}
