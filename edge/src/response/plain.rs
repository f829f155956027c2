//! The small responses: health, version, robots.txt, sitemap, preflight, 404, 405.

use http::StatusCode;

use super::element::Element::{Object, Printed, Text};
use super::{CachePolicy, Response};
use crate::config::Addresses;

pub fn health() -> Response {
    json(r#"{"status":"ok"}"#.to_owned())
}

/// `/version`: the name and the version of the service, with the commit and its date in a Worker that `cargo xtask
/// deploy` built.
pub fn version() -> Response {
    let build = option_env!("EDGEZOOM_BUILD").and_then(|build| build.split_once(' '));
    let text = |text: &str| Text(text.to_owned());
    let or_null = |known: Option<&str>| known.map_or_else(|| Printed("null".to_owned()), text);
    let version = vec![
        ("name", text("edgezoom")),
        ("version", text(env!("CARGO_PKG_VERSION"))),
        ("commit", or_null(build.map(|(commit, _)| commit))),
        ("date", or_null(build.map(|(_, date)| date))),
    ];
    json(Object(version).json())
}

/// `/robots.txt`: crawlers may read pages and the preview images of link cards, but neither tiles nor the API, which
/// starts conversions.
pub fn robots(addresses: &Addresses) -> Response {
    let rules = "User-agent: *\nAllow: /*/preview.jpg\nAllow: /*/thumbnail.jpg\nAllow: /cache/*/0_0.\nDisallow: /v1/\n\
                 Disallow: /cache/\nDisallow: /internal/\nDisallow: /?url=\nDisallow: /http:\nDisallow: /https:\n";
    let rules = format!("{rules}\nSitemap: {}/sitemap.xml\n", addresses.share);
    Response::new(StatusCode::OK, "text/plain; charset=utf-8", CachePolicy::OneHour, rules).tagged()
}

/// `/sitemap.xml` (<https://www.sitemaps.org/protocol.html>): the service's own pages. Contents are found by links.
pub fn sitemap(addresses: &Addresses) -> Response {
    let pages = ["/", "/docs"].map(|path| format!("<url><loc>{}{path}</loc></url>", addresses.share));
    let sitemap = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\
         {}</urlset>",
        pages.concat()
    );
    Response::new(StatusCode::OK, "application/xml; charset=utf-8", CachePolicy::OneHour, sitemap).tagged()
}

/// The response to a preflight request: pages of all sites may use the methods of the path, with any header. Whether
/// one may upload is decided at the upload. Deleting needs a key that only the uploader has, and browsers add no
/// credentials of their own.
pub fn preflight(methods: &'static str) -> Response {
    Response::empty(StatusCode::NO_CONTENT)
        .with("Allow", methods)
        .with("Access-Control-Allow-Methods", methods)
        // The asterisk does not include `Authorization` (Fetch standard, section 3.3.6).
        .with("Access-Control-Allow-Headers", "*, Authorization")
        .with("Access-Control-Max-Age", "86400")
}

/// 503 if the service does not know its address: for the operator at the first request, and for `tiler doctor`.
pub fn no_base_url() -> Response {
    let message = "The service is not set up yet. Set BASE_URL to its address.";
    Response::text(StatusCode::SERVICE_UNAVAILABLE, message)
}

/// 405 with the allowed methods.
pub fn method_not_allowed(allowed: &'static str) -> Response {
    Response::text(StatusCode::METHOD_NOT_ALLOWED, format!("Use {allowed}.")).with("Allow", allowed)
}

/// 405 to an upload while uploads are off.
pub fn uploads_off(allowed: &'static str) -> Response {
    let message =
        "Uploads are off. To convert a file on the web, use GET /v1/content/?url=<URL of the file>.";
    Response::text(StatusCode::METHOD_NOT_ALLOWED, message).with("Allow", allowed)
}

/// 404 in plain text, for programs.
pub fn not_found() -> Response {
    Response::text(StatusCode::NOT_FOUND, "This address does not exist. See /docs.")
}

fn json(body: String) -> Response {
    Response::new(StatusCode::OK, "application/json; charset=utf-8", CachePolicy::NoStore, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_and_version_are_json() {
        let health: serde_json::Value = serde_json::from_str(&health().body).unwrap();
        assert_eq!(health["status"], "ok");
        let version: serde_json::Value = serde_json::from_str(&version().body).unwrap();
        assert_eq!(version["name"], "edgezoom");
        assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn a_405_names_the_allowed_methods() {
        let response = method_not_allowed("POST");
        assert_eq!((response.status.as_u16(), response.header("Allow")), (405, Some("POST")));
    }
}
