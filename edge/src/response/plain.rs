//! The small responses: health, version, robots.txt, preflight, 404, 405.

use http::StatusCode;

use super::{CachePolicy, Response};

/// `/health`: the Worker runs.
#[must_use]
pub fn health() -> Response {
    json(r#"{"status":"ok"}"#.to_owned())
}

/// `/version`: the name and the version of the service.
#[must_use]
pub fn version() -> Response {
    json(format!(r#"{{"name":"edgezoom","version":"{}"}}"#, env!("CARGO_PKG_VERSION")))
}

/// `/robots.txt`: crawlers may read pages, but not the interface, which starts conversions, nor tiles.
#[must_use]
pub fn robots() -> Response {
    let rules = "User-agent: *\nDisallow: /v1/\nDisallow: /cache/\nDisallow: /internal/\nDisallow: /?url=\n";
    Response::new(StatusCode::OK, "text/plain; charset=utf-8", CachePolicy::OneHour, rules.to_owned())
        .tagged()
}

/// The response to a preflight request: any origin may read, with any header.
#[must_use]
pub fn preflight() -> Response {
    Response::empty(StatusCode::NO_CONTENT)
        .with("Allow", "GET, HEAD, OPTIONS")
        .with("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
        .with("Access-Control-Allow-Headers", "*")
        .with("Access-Control-Max-Age", "86400")
}

/// 405 with the allowed methods.
#[must_use]
pub fn method_not_allowed(allowed: &'static str) -> Response {
    Response::text(StatusCode::METHOD_NOT_ALLOWED, format!("Only {allowed} can be used here."))
        .with("Allow", allowed)
}

/// 404 for programs.
#[must_use]
pub fn not_found() -> Response {
    Response::text(StatusCode::NOT_FOUND, "This address does not exist.")
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
