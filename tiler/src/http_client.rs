//! What all HTTP clients of the tiler have in common: ring as the cryptography provider, our `User-Agent`, no proxy from
//! the environment, and no redirect followed without the address policy.

use reqwest::{Client, ClientBuilder, redirect};

/// The `User-Agent`: name, version, and the address of the project.
pub const USER_AGENT: &str =
    concat!("Edgezoom/", env!("CARGO_PKG_VERSION"), " (+", env!("CARGO_PKG_REPOSITORY"), ")");

/// A client, to be completed with its time-outs.
pub fn builder() -> ClientBuilder {
    // reqwest is built without a cryptography provider and takes that of the process. Installing fails only when one is
    // installed already, and all callers install the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().user_agent(USER_AGENT).no_proxy().redirect(redirect::Policy::none())
}
