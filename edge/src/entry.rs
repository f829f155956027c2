//! Where requests enter: `entry.js` calls twice for a request, and reads KV in between. So a finished content is
//! answered without a future: an executor in wasm would cost as much as all the rest of the request.

use edgezoom_content::{ContentId, SourceUrl};
use worker::js_sys::futures::future_to_promise;
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::{Env, Result, console_error, web_sys};

use crate::config::shared_content;
use crate::content::kv_cache;
use crate::handlers::content::from_cache;
use crate::handlers::{self, Outgoing, RoutedRequest};
use crate::platform::bridge::RequestHead;
use crate::platform::isolate::{
    blocking_policy, config, is_taken_down, now, set_operator_lists as set_lists,
};
use crate::request::router::{RequestParts, route};
use crate::request::url::RequestUrl;
use crate::response::{ApiError, COMMON_HEADERS, plain};

/// A request, parsed. Both calls parse it: that costs less than to keep it between them (a slot in the memory of wasm
/// that aborted requests must not hold, or an object that the garbage collector has to know).
struct ParsedRequest {
    head: RequestHead,
    routed: std::result::Result<RoutedRequest, Unconfigured>,
}

/// The Worker is not configured as it has to be: that is logged, and the response is 503.
enum Unconfigured {
    /// A variable is malformed.
    Malformed,
    /// The service does not know where it is.
    NoBaseUrl,
}

/// The key of KV whose value may be all that the response takes. `head` is the request as `readRequest` of `bridge.js`
/// gives it.
#[wasm_bindgen(js_name = cacheKey)]
pub fn cache_key(head: &str, env: &Env) -> Option<String> {
    ParsedRequest::new(head, env).cache_key()
}

/// The response to a request, or the promise of one. `cached` is the value that KV has.
///
/// # Errors
/// The platform makes no response.
#[wasm_bindgen]
pub fn respond(
    head: &str,
    request: web_sys::Request,
    env: Env,
    cached: Option<Vec<u8>>,
) -> std::result::Result<JsValue, JsValue> {
    ParsedRequest::new(head, &env).respond(request, env, cached)
}

/// Sets what the operator forbids: hosts, separated by commas, and ids of contents, separated by spaces.
#[wasm_bindgen(js_name = setOperatorLists)]
pub fn set_operator_lists(hosts: &str, taken_down: &str, env: &Env) {
    match config(env) {
        Ok(config) => set_lists(hosts, taken_down, &config),
        Err(error) => console_error!("{error}"),
    }
}

/// The content that the operator names: the canonical URL of its source on the first line, empty where an id is given,
/// and on the others the ids that it may have. `None`: a text that is neither an id, nor a share link, nor a URL.
#[wasm_bindgen(js_name = namedContent)]
pub fn named_content(text: &str, env: &Env) -> Option<String> {
    let addresses = config(env).ok()?.addresses("");
    let shared = || shared_content(text, &addresses?.share);
    if let Some(id) = text.parse().ok().or_else(shared) {
        return Some(format!("\n{id}"));
    }
    let url = SourceUrl::parse(text).or_else(|_| SourceUrl::try_from(text.to_owned())).ok()?;
    let ids = ContentId::candidates(&url).map(|id| id.to_string());
    Some(format!("{url}\n{}", ids.collect::<Vec<_>>().join("\n")))
}

impl ParsedRequest {
    fn new(head: &str, env: &Env) -> Self {
        let head = RequestHead::parse(head);
        let routed = Self::route(&head, env);
        Self { head, routed }
    }

    fn route(head: &RequestHead, env: &Env) -> std::result::Result<RoutedRequest, Unconfigured> {
        let config = config(env).map_err(|error| {
            console_error!("{error}");
            Unconfigured::Malformed
        })?;
        let RequestUrl { origin, path, query } = RequestUrl::split(&head.url);
        let addresses = config.addresses(origin).ok_or_else(|| {
            console_error!("BASE_URL is not set, and the request is for {origin}");
            Unconfigured::NoBaseUrl
        })?;
        let accept = head.accept.as_deref();
        let parts = RequestParts { method: &head.method, path, query, accept, share: &addresses.share };
        let blocked = blocking_policy();
        let route = route(parts, blocked.as_deref().unwrap_or(&config.policy));
        Ok(RoutedRequest { config, addresses, route })
    }

    fn cache_key(&self) -> Option<String> {
        self.routed.as_ref().ok()?.route.content_id().map(|id| id.to_string())
    }

    fn respond(
        self,
        request: web_sys::Request,
        env: Env,
        cached: Option<Vec<u8>>,
    ) -> std::result::Result<JsValue, JsValue> {
        let Self { head, routed } = self;
        let routed = match routed {
            Ok(routed) => routed,
            Err(Unconfigured::Malformed) => {
                return Ok(head.respond(ApiError::Unavailable.response())?.into());
            }
            Err(Unconfigured::NoBaseUrl) => return Ok(head.respond(plain::no_base_url())?.into()),
        };
        let (id, now) = (routed.route.content_id(), now());
        // KV may have a content for a minute after it was taken down.
        let cached = id.zip(cached).filter(|(id, _)| !is_taken_down(*id));
        let cached = cached.and_then(|(id, value)| kv_cache::parse(id, value, now));
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

fn send(outgoing: Outgoing, head: &RequestHead) -> Result<web_sys::Response> {
    match outgoing {
        Outgoing::Buffered(response) => head.respond(response),
        Outgoing::Streamed(response) => {
            for (name, value) in COMMON_HEADERS {
                response.headers().set(name, value)?;
            }
            Ok(response.into())
        }
    }
}
