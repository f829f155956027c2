//! Entry point of requests. `entry.js` makes an [`IncomingRequest`], reads KV, and lets it respond. So a finished
//! content is answered without a future: an executor in wasm would cost as much as all the rest of the request.

use edgezoom_content::address::HostPattern;
use edgezoom_content::{ContentId, SourceUrl};
use serde::Serialize;
use worker::js_sys::futures::future_to_promise;
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::{Env, Result, console_error, web_sys};

use crate::config::{OperatorTokens, shared_content};
use crate::containers::claims::{self, Claim};
use crate::handlers::content::from_cache;
use crate::handlers::{self, RoutedRequest};
use crate::platform::bridge::{Outgoing, RequestHead};
use crate::platform::isolate;
use crate::platform::kv;
use crate::request::router::{RequestParts, route};
use crate::response::{ApiError, COMMON_HEADERS, Response, plain};

/// A request whose route is known. JavaScript holds it while it reads KV.
#[wasm_bindgen]
pub struct IncomingRequest {
    head: RequestHead,
    /// The route, or the response to every request while the Worker is not configured.
    routed: std::result::Result<RoutedRequest, Response>,
}

#[wasm_bindgen]
impl IncomingRequest {
    /// Parses a request, as `readRequest` of `bridge.js` returns it, and finds its route.
    #[wasm_bindgen(constructor)]
    pub fn new(head: &str, env: &Env) -> Self {
        let head = RequestHead::parse(head);
        let routed = find_route(&head, env);
        Self { head, routed }
    }

    /// Returns the key in KV whose value may be all that the response needs.
    #[wasm_bindgen(js_name = cacheKey)]
    pub fn cache_key(&self) -> Option<String> {
        self.routed.as_ref().ok()?.route.content_id().map(|id| id.to_string())
    }

    /// Returns the response, or a promise for it. `cached` is the value in KV.
    ///
    /// # Errors
    /// The platform makes no response.
    pub fn respond(
        self,
        request: web_sys::Request,
        env: Env,
        cached: Option<Vec<u8>>,
    ) -> std::result::Result<JsValue, JsValue> {
        let Self { head, routed } = self;
        let routed = match routed {
            Ok(routed) => routed,
            Err(response) => return Ok(head.respond(response)?.into()),
        };
        let id = routed.route.content_id();
        let now = isolate::now();
        // KV may have a content for a minute after it was taken down.
        let cached = id.zip(cached).filter(|(id, _)| !isolate::is_taken_down(*id));
        let cached = cached.and_then(|(id, value)| kv::parse(id, value, now));
        let cached = match cached.map(|cached| from_cache(&routed.route, cached, &routed.addresses, now)) {
            Some(Ok(response)) => return Ok(head.respond(response)?.into()),
            Some(Err(cached)) => Some(cached),
            None => None,
        };
        let looked_up = id.map(|id| (id, cached));
        Ok(future_to_promise(async move {
            let handled = handlers::handle(&head, &routed, looked_up, &request, &env).await;
            let outgoing = handled.unwrap_or_else(|error| {
                console_error!("{error}");
                Outgoing::Buffered(ApiError::Unavailable.response())
            });
            Ok(send(outgoing, &head)?.into())
        })
        .into())
    }
}

/// Changes the operator's lists: texts with commas between all blocked hosts, or ids.
///
/// # Errors
/// The Worker is not configured.
#[wasm_bindgen(js_name = changeOperatorLists)]
pub fn change_operator_lists(
    hosts: &str,
    removed: &str,
    lifted: &str,
    env: &Env,
) -> std::result::Result<(), JsValue> {
    isolate::block_hosts(hosts, &*isolate::config(env)?);
    isolate::list_removed(removed, true);
    isolate::list_removed(lifted, false);
    Ok(())
}

/// Returns the name of the operator whose token is in an `Authorization` header; empty if the token is wrong. `None`:
/// the `tokens` of the service are malformed.
#[wasm_bindgen(js_name = operatorNamed)]
pub fn operator_named(authorization: &str, tokens: &str) -> Option<String> {
    let tokens = OperatorTokens::parse(tokens)?;
    Some(tokens.name(authorization).unwrap_or_default().to_owned())
}

/// Returns true if a tiler in a container may use objects: [`claims::admit`]. `keys` and `claims` are JSON.
#[wasm_bindgen(js_name = admitToStore)]
pub fn admit_to_store(operation: &str, keys: &str, claims: &str) -> bool {
    let keys = serde_json::from_str::<Vec<String>>(keys);
    let (Ok(keys), Ok(claims)) = (keys, serde_json::from_str::<Vec<Claim>>(claims)) else { return false };
    keys.iter().all(|key| claims::admit(operation, key, &claims))
}

/// Returns a host that the operator names as the list of blocked hosts stores it. `None`: the text is not one host.
#[wasm_bindgen(js_name = hostNamed)]
pub fn host_named(text: &str) -> Option<String> {
    let pattern: Option<HostPattern> = text.parse().ok().filter(|_| !text.contains(','));
    pattern.map(|pattern| pattern.to_string())
}

/// A content that the operator names.
#[derive(Serialize)]
struct NamedContent {
    /// URL of its source, unless it was named by its id or a share link.
    url: Option<SourceUrl>,
    /// The ids that it may have.
    ids: Vec<ContentId>,
}

/// Returns the content that the operator names, as JSON of a [`NamedContent`]. `None`: the text is neither an id, nor a
/// share link, nor a URL.
#[wasm_bindgen(js_name = namedContent)]
pub fn named_content(text: &str, env: &Env) -> Option<String> {
    let addresses = isolate::config(env).ok()?.addresses("");
    let shared = || shared_content(text, &addresses?.share);
    let named = match text.parse().ok().or_else(shared) {
        Some(id) => NamedContent { url: None, ids: vec![id] },
        None => {
            let url = SourceUrl::parse(text).or_else(|_| SourceUrl::try_from(text.to_owned())).ok()?;
            NamedContent { ids: ContentId::candidates(&url).collect(), url: Some(url) }
        }
    };
    serde_json::to_string(&named).ok()
}

fn find_route(head: &RequestHead, env: &Env) -> std::result::Result<RoutedRequest, Response> {
    let config = isolate::config(env).map_err(|error| {
        console_error!("{error}");
        ApiError::Unavailable.response()
    })?;
    let (origin, path, query) = (head.url.origin(), head.url.path(), head.url.query());
    let addresses = config.addresses(origin).ok_or_else(|| {
        console_error!("BASE_URL is not set, and the request is for {origin}");
        plain::no_base_url()
    })?;
    let accept = head.accept.as_deref();
    let parts = RequestParts { method: &head.method, path, query, accept, share: &addresses.share };
    let blocking = isolate::blocking_policy();
    let route = route(parts, blocking.as_deref().unwrap_or(&config.policy));
    Ok(RoutedRequest { config, addresses, route })
}

fn send(outgoing: Outgoing, head: &RequestHead) -> Result<web_sys::Response> {
    match outgoing {
        Outgoing::Buffered(response) => head.respond(response),
        Outgoing::Made(response) => Ok(response),
        Outgoing::Streamed(response) => {
            for (name, value) in COMMON_HEADERS {
                response.headers().set(name, value)?;
            }
            Ok(response.into())
        }
    }
}
