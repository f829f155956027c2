//! What every HTTP client in the tiler begins with: ring as the cryptography, an honest name, no proxy out of the
//! environment, and no redirect followed unseen.

use reqwest::{Client, ClientBuilder, redirect};

/// Who asks: the name, the version, and where to read about it.
pub const USER_AGENT: &str =
    concat!("Edgezoom/", env!("CARGO_PKG_VERSION"), " (+", env!("CARGO_PKG_REPOSITORY"), ")");

/// A client to be completed with the time-outs of its purpose.
pub fn builder() -> ClientBuilder {
    // reqwest is built without a cryptography provider and takes the process's. That one is already installed is the
    // only way in which this fails, and all install the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().user_agent(USER_AGENT).no_proxy().redirect(redirect::Policy::none())
}
