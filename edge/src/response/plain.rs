//! What programs and people ask beside the interface: health, version, robots, preflight, and the ways to say no.

use http::StatusCode;

use super::{Answer, Keep};

/// `/health`: the Worker runs.
#[must_use]
pub fn health() -> Answer {
    json(r#"{"status":"ok"}"#.to_owned())
}

/// `/version`: which one it is.
#[must_use]
pub fn version() -> Answer {
    json(format!(r#"{{"name":"edgezoom","version":"{}"}}"#, env!("CARGO_PKG_VERSION")))
}

/// `/robots.txt`: pages may be found; the interface, which starts conversions, and tiles are not for robots.
#[must_use]
pub fn robots() -> Answer {
    let rules = "User-agent: *\nDisallow: /v1/\nDisallow: /cache/\nDisallow: /internal/\nDisallow: /?url=\n";
    Answer::new(StatusCode::OK, "text/plain; charset=utf-8", Keep::AnHour, rules.to_owned()).tagged()
}

/// The answer to a browser that asks whether a page of another origin may read here: yes, with any header.
#[must_use]
pub fn preflight() -> Answer {
    Answer::empty(StatusCode::NO_CONTENT)
        .with("Allow", "GET, HEAD, OPTIONS")
        .with("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
        .with("Access-Control-Allow-Headers", "*")
        .with("Access-Control-Max-Age", "86400")
}

/// 405, naming the methods that are allowed.
#[must_use]
pub fn wrong_method(allowed: &'static str) -> Answer {
    Answer::text(StatusCode::METHOD_NOT_ALLOWED, format!("Only {allowed} can be used here."))
        .with("Allow", allowed)
}

/// 404 for programs.
#[must_use]
pub fn nothing() -> Answer {
    Answer::text(StatusCode::NOT_FOUND, "There is nothing at this address.")
}

fn json(body: String) -> Answer {
    Answer::new(StatusCode::OK, "application/json; charset=utf-8", Keep::Never, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_read_health_and_version_as_json() {
        let health: serde_json::Value = serde_json::from_str(&health().body).unwrap();
        assert_eq!(health["status"], "ok");
        let version: serde_json::Value = serde_json::from_str(&version().body).unwrap();
        assert_eq!(version["name"], "edgezoom");
        assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn a_wrong_method_is_told_the_right_ones() {
        let answer = wrong_method("POST");
        assert_eq!((answer.status.as_u16(), answer.header("Allow")), (405, Some("POST")));
    }
}
