//! The functions of `bridge.js`: what Rust needs of the platform, each in one call. A call from wasm into JavaScript
//! often costs more than what it does, and so does each string that crosses.
//!
//! Numbers and single strings cross as arguments. Everything else is one text: JSON of a type with serde, whose Rust
//! definition says what it has. So are the messages to Durable Objects and their replies, the results of
//! `uploads/files.js`, the operator's lists, and the contents that the operator names.
//!
//! The exceptions are on the path of a finished content, where parsing JSON would be a part of the cost. They are
//! lines, and none of their values has a line end, except for the last line of a record:
//!
//! - A request: method, URL, `Accept` and `If-None-Match`, of which the last two may be empty. `readRequest` writes it,
//!   [`RequestHead::parse`] reads it.
//! - Headers: `<name>:<value>` each, with a line end. [`push_header`] writes them, `makeResponse` reads them.
//! - A record in KV: see [`cached_content`](crate::representation::cached_content), which writes and reads it.

use std::borrow::Cow;
use std::time::Duration;

use edgezoom_content::conversion::Change;
use edgezoom_content::protocol::{DURATION_BOUNDS, Job};
use edgezoom_content::{ContentId, FailureCode};
use http::{Method, StatusCode};
use worker::js_sys::{Array, Promise, Reflect, Uint8Array};
use worker::wasm_bindgen::JsCast;
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Env, Error, Result, console_log, web_sys};

use crate::containers::fleet::Event;
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
        may_repeat: bool,
    ) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = sendJob)]
    fn send(env: &Env, job: &str) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = subscribeTo)]
    fn subscribe_to(objects: &JsValue, name: &str, addresses: &str) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = readRecord)]
    fn read(env: &Env, id: &str) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = writeRecord)]
    fn write(env: &Env, id: &str, record: Option<&str>, ttl: u32) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = makeResponse)]
    fn make_response(
        status: u16,
        shared: &str,
        own: &str,
        body: Option<&str>,
        counts_as: u16,
    ) -> std::result::Result<web_sys::Response, JsValue>;
    #[wasm_bindgen(js_name = measure)]
    fn write_point(what: &str, labels: Array, count: u32, figure: f64);
}

#[wasm_bindgen(module = "/src/platform/bounds.js")]
extern "C" {
    #[wasm_bindgen(js_name = waitFor)]
    fn wait(key: &str, milliseconds: u32) -> Promise;
    /// Wakes all requests that [`wait_for`] a key.
    pub fn wake(key: &str);
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
            push_header(&mut shared, name, value);
        }
        for (name, value) in headers {
            let lines = if matches!(value, Cow::Borrowed(_)) { &mut shared } else { &mut own };
            push_header(lines, name, &value);
        }
        let is_head = self.method == Method::HEAD;
        if is_head && !body.is_empty() {
            push_header(&mut own, "Content-Length", &body.len().to_string());
        }
        let body = (!is_head && !body.is_empty()).then_some(body.as_str());
        let counts_as = wrapped.filter(|_| status == StatusCode::OK).unwrap_or(status).as_u16();
        Ok(make_response(status.as_u16(), &shared, &own, body, counts_as)?)
    }
}

/// Adds a header to lines for `makeResponse`.
pub fn push_header(lines: &mut String, name: &str, value: &str) {
    lines.extend([name, ":", value, "\n"]);
}

/// Returns the record of a finished content in KV.
pub async fn read_record(id: ContentId, env: &Env) -> Result<Option<Vec<u8>>> {
    let record = JsFuture::from(read(env, &id.to_string())?).await?;
    Ok(record.dyn_into().ok().map(|record: Uint8Array| record.to_vec()))
}

/// Writes the record of a content, with a time to live in seconds if that is not 0; deletes it if there is none.
pub async fn write_record(id: ContentId, record: Option<&str>, ttl: u32, env: &Env) -> Result<()> {
    JsFuture::from(write(env, &id.to_string(), record, ttl)?).await.map(drop).map_err(Error::from)
}

/// What to do with a call if its Durable Object is reset before it replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterReset {
    /// Make it once more, because two calls have the result of one.
    Repeat,
    Fail,
}

/// Calls a method of a Durable Object with a message in JSON. Returns the reply, in JSON, if the method has one.
pub async fn call_object(
    env: &Env,
    binding: &str,
    [name, method]: [&str; 2],
    message: &str,
    after_reset: AfterReset,
) -> Result<String> {
    let objects = Reflect::get(env, &binding.into())?;
    let reply = call(&objects, name, method, message, after_reset == AfterReset::Repeat)?;
    Ok(JsFuture::from(reply).await?.as_string().unwrap_or_default())
}

/// Sends a job to the queue.
pub async fn send_job(job: Job, env: &Env) -> Result<()> {
    Ok(JsFuture::from(send(env, &serde_json::to_string(&job)?)?).await.map(drop)?)
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

/// Counts a thing with these labels, and adds up a figure.
pub fn measure(what: &str, labels: &[&str], figure: f64) {
    write_point(what, labels.iter().copied().map(JsValue::from).collect(), 1, figure);
}

/// Returns the bucket of a histogram.
fn bucket(seconds: f64) -> &'static str {
    DURATION_BOUNDS.iter().find(|(_, bound)| seconds <= *bound).map_or("+Inf", |(name, _)| name)
}

/// Logs and counts a change of a content's state. No value in the line needs escaping.
pub fn note_change(Change { id, from, to, seconds, since_asked }: &Change) {
    let (state, code) = (to.name, to.code.map_or("", FailureCode::name));
    let attempt = to.attempt.map(|attempt| attempt.to_string()).unwrap_or_default();
    console_log!(
        r#"{{"level":"INFO","id":"{id}","attempt":"{attempt}","from":"{from}","state":"{state}","code":"{code}","seconds":{seconds},"sinceAsked":{since_asked},"message":"content {state}"}}"#
    );
    measure("content", &[state, from, code, bucket(*seconds), &id.to_string()], *seconds);
    if matches!(state, "ready" | "failed") {
        measure("answer", &[state, "", "", bucket(*since_asked)], *since_asked);
    }
}

/// Logs and counts something that happened to a container.
pub fn note_container(event: &Event) {
    let (name, seconds) = (event.name(), event.time().as_secs_f64());
    console_log!(r#"{{"level":"INFO","seconds":{seconds},"message":"container {name}"}}"#);
    measure("container", &[name, "", "", bucket(seconds)], seconds);
}
