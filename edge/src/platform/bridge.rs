//! What nearly every request needs of the platform, by `bridge.js` instead of the `worker` crate: one call for what is
//! asked and one for the answer, instead of one for each header.

use std::borrow::Cow;

use http::Method;
use worker::js_sys::{Promise, Reflect};
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Env, Error, Result, web_sys};

use crate::response::{Answer, HEADERS_OF_ALL};

#[wasm_bindgen(module = "/src/platform/bridge.js")]
extern "C" {
    fn asked(request: &web_sys::Request) -> String;
    #[wasm_bindgen(catch)]
    fn tell(objects: &JsValue, name: &str, path: &str, body: &str) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch)]
    fn respond(
        status: u16,
        shared: &str,
        own: &str,
        body: Option<&str>,
    ) -> std::result::Result<web_sys::Response, JsValue>;
}

/// What a request asks for, as far as that is known before its route is.
pub struct Asked {
    pub method: Method,
    pub url: String,
    pub accept: Option<String>,
    pub if_none_match: Option<String>,
}

impl Asked {
    /// Reads a request.
    pub fn of(request: &web_sys::Request) -> Self {
        let text = asked(request);
        let mut lines = text.split('\n');
        let mut line = || lines.next().unwrap_or_default();
        let filled = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Self {
            method: Method::from_bytes(line().as_bytes()).unwrap_or_default(),
            url: line().to_owned(),
            accept: filled(line()),
            if_none_match: filled(line()),
        }
    }

    /// Makes an answer a response: without its body to `HEAD`, and 304 where the client has it already.
    pub fn respond(&self, answer: Answer) -> Result<web_sys::Response> {
        let Answer { status, headers, body } = answer.unless_known(self.if_none_match.as_deref());
        let (mut shared, mut own) = (String::with_capacity(512), String::with_capacity(512));
        for (name, value) in HEADERS_OF_ALL {
            shared.extend([name, ":", value, "\n"]);
        }
        for (name, value) in headers {
            let lines = if matches!(value, Cow::Borrowed(_)) { &mut shared } else { &mut own };
            lines.extend([name, ":", value.as_ref(), "\n"]);
        }
        let body = (self.method != Method::HEAD && !body.is_empty()).then_some(body.as_str());
        Ok(respond(status.as_u16(), &shared, &own, body)?)
    }
}

/// Tells the Durable Object with a name something, and gives the status and the body of its reply.
pub async fn tell_object(
    env: &Env,
    binding: &str,
    name: &str,
    path: &str,
    body: &str,
) -> Result<(u16, String)> {
    let objects = Reflect::get(env, &binding.into())?;
    let reply = JsFuture::from(tell(&objects, name, path, body)?).await?.as_string().unwrap_or_default();
    let (status, body) = reply.split_once(' ').unwrap_or_default();
    let status = status.parse().map_err(|_| Error::RustError(format!("{binding} replies nothing")))?;
    Ok((status, body.to_owned()))
}
