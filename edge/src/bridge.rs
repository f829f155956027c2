//! What nearly every request needs of the platform, by `bridge.js` instead of the `worker` crate: one call for what is
//! asked and one for the answer, instead of one for each header.

use http::Method;
use worker::js_sys::{Promise, Reflect};
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Env, Error, Result, web_sys};

use crate::answer::{Answer, HEADERS_OF_ALL};

#[wasm_bindgen(module = "/src/bridge.js")]
extern "C" {
    fn asked(request: &web_sys::Request) -> String;
    #[wasm_bindgen(catch)]
    fn tell(objects: &JsValue, name: &str, path: &str, body: &str) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch)]
    fn respond(
        status: u16,
        headers: &str,
        body: Option<&[u8]>,
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
        let own = headers.iter().map(|(name, value)| (*name, value.as_str()));
        let mut lines = String::with_capacity(1024);
        for (name, value) in own.chain(HEADERS_OF_ALL) {
            lines.extend([name, ":", value, "\n"]);
        }
        let bodiless = self.method == Method::HEAD || matches!(status.as_u16(), 204 | 304);
        Ok(respond(status.as_u16(), &lines, (!bodiless).then_some(body.as_bytes()))?)
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
