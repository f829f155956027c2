//! The embed script, `/<id>.js`: the same text for every content. It reads the content's id, the size and all other
//! parameters from its own address, so nothing has to be looked up, and no text of a client is written into a script.

use http::StatusCode;

use crate::response::{CachePolicy, Response};

/// The loader, described in `edge/viewer/embed/loader.js`.
const LOADER: &str = include_str!("../../viewer/embed/loader.js");

/// The script.
#[must_use]
pub fn script() -> Response {
    Response::new(StatusCode::OK, "text/javascript; charset=utf-8", CachePolicy::OneHour, LOADER.to_owned())
        .tagged()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_cached_and_revalidated() {
        let answer = script();
        assert_eq!(answer.header("Content-Type"), Some("text/javascript; charset=utf-8"));
        assert_eq!(answer.header("Cache-Control"), Some("public, max-age=3600"));
        let tag = answer.header("ETag").map(str::to_owned);
        assert_eq!(script().or_not_modified(tag.as_deref()).status, StatusCode::NOT_MODIFIED);
    }
}
