//! The HTTP proxy that carries all traffic of a page: forwarded requests for `http`, `CONNECT` tunnels for `https` and
//! WebSockets (RFC 9110, 9.3.6). It lives as long as its page, requires a password, and opens connections only through
//! the [`connector`].
//!
//! The page learns no reasons: when a connection is refused or fails, the response is empty. The reasons are recorded
//! in [`failures`], for the message to the client.

mod body;
mod connection_permits;
pub(super) mod connector;
mod credentials;
pub(super) mod failures;
mod forward;
mod handler;
pub(super) mod host_connections;
pub(super) mod local_files;
mod server;
#[cfg(test)]
mod tests;
pub(super) mod traffic_budget;
mod tunnel;

pub(super) use credentials::{LOGIN_HOST, USERNAME};
#[cfg(any(test, fuzzing))]
pub(super) use handler::target;
pub(super) use server::Proxy;
