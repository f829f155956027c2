//! The functions of `bridge.js`, which nearly every request uses instead of the `worker` crate: the request is one
//! text, and one call makes the response, instead of a call per header.

use std::borrow::Cow;
use std::time::Duration;

use edgezoom_content::FailureCode;
use edgezoom_content::conversion::Change;
use edgezoom_content::protocol::Job;
use http::{Method, StatusCode};
use worker::js_sys::{Promise, Reflect};
use worker::wasm_bindgen::JsCast;
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Env, Error, Result, web_sys};

use crate::request::url::RequestUrl;
use crate::response::{COMMON_HEADERS, Response};

#[wasm_bindgen(module = "/src/platform/bridge.js")]
extern "C" {
    #[wasm_bindgen(catch, js_name = callObject)]
    fn call(
        objects: &JsValue,
        name: &str,
        method: &str,
        message: &str,
    ) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = sendMessage)]
    fn send_message(queue: &JsValue, message: &str) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = subscribeTo)]
    fn subscribe_to(objects: &JsValue, name: &str, addresses: &str) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = readKv)]
    fn read_kv(kv: &JsValue, key: &str) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = writeKv)]
    fn write_kv(
        kv: &JsValue,
        key: &str,
        value: Option<&str>,
        ttl: u32,
    ) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = makeResponse)]
    fn make_response(
        status: u16,
        shared: &str,
        own: &str,
        body: Option<&str>,
        counts_as: u16,
    ) -> std::result::Result<web_sys::Response, JsValue>;
    #[wasm_bindgen(js_name = waitFor)]
    fn wait(key: &str, milliseconds: u32) -> Promise;
    /// Wakes all requests that [`wait_for`] a key.
    pub fn wake(key: &str);
    #[wasm_bindgen(js_name = noteChange)]
    fn note(id: &str, attempt: &str, from: &str, state: &str, code: &str, seconds: f64, since_asked: f64);
}

/// A response as it is sent.
pub enum Outgoing {
    Buffered(Response),
    /// A response whose body the runtime streams.
    Streamed(worker::Response),
    /// A response of JavaScript's, complete.
    Made(web_sys::Response),
}

/// The parts of a request that its route and its response depend on.
pub struct RequestHead {
    pub method: Method,
    pub url: RequestUrl,
    pub accept: Option<String>,
    pub if_none_match: Option<String>,
}

impl RequestHead {
    /// Parses the result of `readRequest` of `bridge.js`.
    pub fn parse(text: &str) -> Self {
        let mut lines = text.split('\n');
        let mut line = || lines.next().unwrap_or_default();
        let filled = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Self {
            method: Method::from_bytes(line().as_bytes()).unwrap_or_default(),
            url: RequestUrl::new(line().to_owned()),
            accept: filled(line()),
            if_none_match: filled(line()),
        }
    }

    /// Makes the platform's response to this request: for `HEAD` with the length of the body instead of the body, and
    /// 304 if `If-None-Match` names the entity tag.
    pub fn respond(&self, response: Response) -> Result<web_sys::Response> {
        let Response { status, headers, body, wrapped } =
            response.or_not_modified(self.if_none_match.as_deref());
        let (mut shared, mut own) = (String::with_capacity(512), String::with_capacity(512));
        for (name, value) in COMMON_HEADERS {
            shared.extend([name, ":", value, "\n"]);
        }
        for (name, value) in headers {
            let lines = if matches!(value, Cow::Borrowed(_)) { &mut shared } else { &mut own };
            lines.extend([name, ":", value.as_ref(), "\n"]);
        }
        let body = (!body.is_empty()).then_some(body.as_str());
        let body = if self.method == Method::HEAD {
            let length = body.map(|body| format!("Content-Length:{}\n", body.len()));
            own.push_str(length.as_deref().unwrap_or_default());
            None
        } else {
            body
        };
        let counts_as = wrapped.filter(|_| status == StatusCode::OK).unwrap_or(status).as_u16();
        Ok(make_response(status.as_u16(), &shared, &own, body, counts_as)?)
    }
}

/// Returns the value of KV under a key.
pub async fn kv_value(env: &Env, binding: &str, key: &str) -> Result<Option<String>> {
    let kv = Reflect::get(env, &binding.into())?;
    Ok(JsFuture::from(read_kv(&kv, key)?).await?.as_string())
}

/// Writes a value to KV, with a time to live in seconds if that is not 0; deletes the key if there is no value.
pub async fn set_kv_value(env: &Env, binding: &str, key: &str, value: Option<&str>, ttl: u32) -> Result<()> {
    let kv = Reflect::get(env, &binding.into())?;
    JsFuture::from(write_kv(&kv, key, value, ttl)?).await.map(drop).map_err(Error::from)
}

/// Calls a method of a Durable Object with a message in JSON. Returns the reply, in JSON, if the method has one.
pub async fn call_object(
    env: &Env,
    binding: &str,
    name: &str,
    method: &str,
    message: &str,
) -> Result<String> {
    let objects = Reflect::get(env, &binding.into())?;
    Ok(JsFuture::from(call(&objects, name, method, message)?).await?.as_string().unwrap_or_default())
}

/// Sends a job to the queue.
pub async fn send_job(job: Job, env: &Env) -> Result<()> {
    let queue = Reflect::get(env, &"JOBS".into())?;
    Ok(JsFuture::from(send_message(&queue, &serde_json::to_string(&job)?)?).await.map(drop)?)
}

/// Subscribes to the events of a Durable Object. Returns the response with the stream.
pub async fn subscribe(env: &Env, binding: &str, name: &str, addresses: &str) -> Result<web_sys::Response> {
    let objects = Reflect::get(env, &binding.into())?;
    Ok(JsFuture::from(subscribe_to(&objects, name, addresses)?).await?.dyn_into()?)
}

/// Waits until another request [wakes](wake) those that wait for a key, but at most for this time.
pub async fn wait_for(key: &str, most: Duration) -> Result<()> {
    Ok(JsFuture::from(wait(key, most.as_millis() as u32)).await.map(drop)?)
}

/// Logs and counts a change of a content's state.
pub fn note_change(Change { id, from, to, seconds, since_asked }: &Change) {
    let attempt = to.attempt.map(|attempt| attempt.to_string()).unwrap_or_default();
    let code = to.code.map_or("", FailureCode::name);
    note(&id.to_string(), &attempt, from, to.name, code, *seconds, *since_asked);
}
