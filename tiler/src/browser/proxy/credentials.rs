//! Proxy authentication, so that other processes on the machine cannot use the proxy: Basic (RFC 7617), with a random
//! password for each page.

use std::io;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::header::{HeaderMap, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION};
use hyper::{Response, StatusCode};

use super::body::{Body, empty};

/// The user name of the page's browser.
pub(in crate::browser) const USERNAME: &str = "page";

/// A host that does not exist (RFC 2606, 2). The proxy itself serves an empty page for it: the browser navigates there
/// first, authenticates, and then sends its credentials with every request.
pub(in crate::browser) const LOGIN_HOST: &str = "login.invalid";

/// What `Proxy-Authorization` must contain.
pub(super) struct Credentials(HeaderValue);

impl Credentials {
    pub(super) fn new(password: &str) -> io::Result<Self> {
        let credentials = format!("Basic {}", BASE64_STANDARD.encode(format!("{USERNAME}:{password}")));
        HeaderValue::try_from(credentials).map(Self).map_err(io::Error::other)
    }

    pub(super) fn match_request(&self, headers: &HeaderMap) -> bool {
        headers.get(PROXY_AUTHORIZATION) == Some(&self.0)
    }
}

/// The response that asks for credentials (RFC 9110, 15.5.8).
pub(super) fn challenge() -> Response<Body> {
    let mut response = empty(StatusCode::PROXY_AUTHENTICATION_REQUIRED);
    response.headers_mut().insert(PROXY_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"page\""));
    response
}

/// 128 random bits in hexadecimal.
pub(super) fn random_password() -> io::Result<String> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bits)))
}
