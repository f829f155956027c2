//! Which client a request is counted for.

use edgezoom_content::Timestamp;
use worker::web_sys;

use crate::admission::client::Client;
use crate::config::{Config, SigningKeys};
use crate::request::query;
use crate::request::route::Route;
use crate::request::url::RequestUrl;

/// The client of a request to a URL: the name of its key if it is signed, else its address.
pub fn of(
    request: &web_sys::Request,
    url: &str,
    route: &Route,
    config: &Config,
    now: Timestamp,
) -> Option<Client> {
    let signer = config.signing.as_ref().and_then(|keys| signer(keys, url, route, now));
    signer.map(Client::signed).or_else(|| {
        let address = request.headers().get("CF-Connecting-IP").ok().flatten();
        address.as_deref().and_then(Client::at)
    })
}

fn signer<'a>(keys: &'a SigningKeys, url: &str, route: &Route, now: Timestamp) -> Option<&'a str> {
    let query = RequestUrl::split(url).query;
    let what = query::url(query).or_else(|| route.content_id().map(|id| id.to_string()))?;
    keys.signer(query::signature(query)?, &what, now)
}
