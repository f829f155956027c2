//! How a Durable Object is told something: a text by `POST`. (`worker`'s own `RequestInit` brings along all options for
//! Cloudflare's picture service, a twentieth of the Worker.)

use worker::wasm_bindgen::JsValue;
use worker::{Request, Response, Result, Stub, web_sys};

/// Sends a text to a path of an object, and gives what is answered.
pub async fn post(object: &Stub, path: &str, text: &str) -> Result<Response> {
    let init = web_sys::RequestInit::new();
    init.set_method("POST");
    init.set_body(&JsValue::from_str(text));
    let address = format!("http://object{path}"); // the host means nothing, but there has to be one
    let request = web_sys::Request::new_with_str_and_init(&address, &init)?;
    object.fetch_with_request(Request::from(request)).await
}
