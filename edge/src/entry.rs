//! Where requests enter: `entry.js` calls twice for a request, and reads KV in between. So a finished content is answered without a future: an
//! executor in wasm would cost as much as all the rest of the request.

use std::cell::RefCell;

use worker::js_sys::futures::future_to_promise;
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::{Env, Result, console_error, web_sys};

use crate::content::kv_cache;
use crate::handlers::content::from_cache;
use crate::handlers::{self, Outgoing, RoutedRequest};
use crate::platform::bridge::RequestHead;
use crate::platform::environment::config;
use crate::request::router::{RequestParts, route};
use crate::request::url::RequestUrl;
use crate::response::{ApiError, COMMON_HEADERS};

/// A request between the two calls.
struct ParsedRequest {
    head: RequestHead,
    /// None when the configuration is malformed: that is logged, and the response is 503.
    routed: Option<RoutedRequest>,
}

/// How many requests are stored between their calls; older ones are parsed again.
const MOST_STORED: usize = 256;

thread_local! {
    /// Requests between their two calls, each at the place that its number gives. `entry.js` has the number: an object of a class would have
    /// to be registered with the garbage collector. A request that its client aborts has no second call, so others may take its place.
    static STORED: RefCell<[Option<(u32, ParsedRequest)>; MOST_STORED]> =
        const { RefCell::new([const { None }; MOST_STORED]) };
}

/// Parses a request, and gives the key of KV whose value may be all that the response takes.
#[wasm_bindgen(js_name = cacheKey)]
pub fn cache_key(number: u32, request: &web_sys::Request, env: &Env) -> Option<String> {
    let parsed = ParsedRequest::new(request, env);
    let key = parsed.cache_key();
    STORED.with_borrow_mut(|requests| requests[number as usize % MOST_STORED] = Some((number, parsed)));
    key
}

/// The response to a request, or the promise of one. `cached` is the value that KV has.
///
/// # Errors
/// The platform makes no response.
#[wasm_bindgen]
pub fn respond(
    number: u32,
    request: web_sys::Request,
    env: Env,
    cached: Option<Vec<u8>>,
) -> std::result::Result<JsValue, JsValue> {
    let place = number as usize % MOST_STORED;
    let stored = STORED.with_borrow_mut(|requests| requests[place].take_if(|(of, _)| *of == number));
    let parsed = stored.map_or_else(|| ParsedRequest::new(&request, &env), |(_, parsed)| parsed);
    parsed.respond(request, env, cached)
}

impl ParsedRequest {
    fn new(request: &web_sys::Request, env: &Env) -> Self {
        let head = RequestHead::of(request);
        let config = config(env).inspect_err(|error| console_error!("{error}"));
        let routed = config.ok().map(|config| {
            let RequestUrl { origin, path, query } = RequestUrl::split(&head.url);
            let addresses = config.addresses(origin);
            let accept = head.accept.as_deref();
            let route = route(RequestParts { method: &head.method, path, query, accept }, &config.policy);
            RoutedRequest { config, addresses, route }
        });
        Self { head, routed }
    }

    fn cache_key(&self) -> Option<String> {
        self.routed.as_ref()?.route.content_id().map(|id| id.to_string())
    }

    fn respond(
        self,
        request: web_sys::Request,
        env: Env,
        cached: Option<Vec<u8>>,
    ) -> std::result::Result<JsValue, JsValue> {
        let Self { head, routed } = self;
        let Some(routed) = routed else {
            return Ok(head.respond(ApiError::Unavailable.response())?.into());
        };
        let id = routed.route.content_id();
        let cached = id.zip(cached).and_then(|(id, value)| kv_cache::parse(id, value));
        let cached = match cached.map(|cached| from_cache(&routed.route, cached, &routed.addresses)) {
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
