//! Takes requests and sends answers: `entry.js` calls it twice for a request, and reads KV in between.

use std::cell::RefCell;

use worker::js_sys::futures::future_to_promise;
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::{Env, Result, console_error, web_sys};

use crate::content::kv_cache;
use crate::handlers::content::from_record;
use crate::handlers::{self, Answered, RoutedRequest};
use crate::platform::bridge;
use crate::platform::environment::config;
use crate::request::router::{Asked, route};
use crate::request::url::Href;
use crate::response::{HEADERS_OF_ALL, Refusal};

/// A request, from its route to its answer. `entry.js` reads the record in between, so that what is finished is answered in two
/// calls without a future: an executor in wasm would cost as much as all the rest.
struct Asking {
    asked: bridge::Asked,
    /// None when what the operator chose is not understood: logged, and all that is answered is 503.
    begun: Option<RoutedRequest>,
}

/// How many requests wait for their records at most as they were read; older ones are read again.
const MOST_UNDER_WAY: usize = 256;

thread_local! {
    /// Requests between their two calls, each where its number says. `entry.js` has the number: an object of a class would have to be
    /// registered with the garbage collector. A client that leaves meanwhile makes no second call, so that others must be able to take its place.
    static UNDER_WAY: RefCell<[Option<(u32, Asking)>; MOST_UNDER_WAY]> =
        const { RefCell::new([const { None }; MOST_UNDER_WAY]) };
}

/// Finds a request's route, and gives the key of the record that may answer it.
#[wasm_bindgen]
pub fn begin(number: u32, request: &web_sys::Request, env: &Env) -> Option<String> {
    let asking = Asking::new(request, env);
    let key = asking.record_key();
    UNDER_WAY.with_borrow_mut(|requests| requests[number as usize % MOST_UNDER_WAY] = Some((number, asking)));
    key
}

/// The response to a request, or the promise of one. `record` is what KV has under the key.
///
/// # Errors
/// The platform makes no response.
#[wasm_bindgen]
pub fn answer(
    number: u32,
    request: web_sys::Request,
    env: Env,
    record: Option<Vec<u8>>,
) -> std::result::Result<JsValue, JsValue> {
    let place = number as usize % MOST_UNDER_WAY;
    let asking = UNDER_WAY.with_borrow_mut(|requests| requests[place].take_if(|(taken, _)| *taken == number));
    let asking = asking.map_or_else(|| Asking::new(&request, &env), |(_, asking)| asking);
    asking.answer(request, env, record)
}

impl Asking {
    fn new(request: &web_sys::Request, env: &Env) -> Self {
        let asked = bridge::Asked::of(request);
        let config = config(env).inspect_err(|error| console_error!("{error}"));
        let begun = config.ok().map(|config| {
            let Href { origin, path, query } = Href::of(&asked.url);
            let addresses = config.addresses(origin);
            let accept = asked.accept.as_deref();
            let route = route(Asked { method: &asked.method, path, query, accept }, &config.policy);
            RoutedRequest { config, addresses, route }
        });
        Self { asked, begun }
    }

    fn record_key(&self) -> Option<String> {
        self.begun.as_ref()?.route.content_id().map(|id| id.to_string())
    }

    fn answer(
        self,
        request: web_sys::Request,
        env: Env,
        record: Option<Vec<u8>>,
    ) -> std::result::Result<JsValue, JsValue> {
        let Self { asked, begun } = self;
        let Some(begun) = begun else {
            return Ok(asked.respond(Refusal::Unavailable.answer())?.into());
        };
        let id = begun.route.content_id();
        let record = id.zip(record).and_then(|(id, kept)| kv_cache::read(id, kept));
        let record = match record.map(|record| from_record(&begun.route, record, &begun.addresses)) {
            Some(Ok(answer)) => return Ok(asked.respond(answer)?.into()),
            Some(Err(of_another)) => Some(of_another),
            None => None,
        };
        let read = id.map(|id| (id, record));
        Ok(future_to_promise(async move {
            let answered =
                handlers::handle(&asked, &begun, read, &request, &env).await.unwrap_or_else(|error| {
                    console_error!("{error}");
                    Answered::Whole(Refusal::Unavailable.answer())
                });
            Ok(send(answered, &asked)?.into())
        })
        .into())
    }
}

fn send(answered: Answered, asked: &bridge::Asked) -> Result<web_sys::Response> {
    match answered {
        Answered::Whole(answer) => asked.respond(answer),
        Answered::Streamed(response) => {
            for (name, value) in HEADERS_OF_ALL {
                response.headers().set(name, value)?;
            }
            Ok(response.into())
        }
    }
}
