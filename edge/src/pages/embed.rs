//! The embed script, `/<id>.js`: the same text for every content. It takes the content's id, the size and all else from the
//! address that it was loaded from, so that nothing has to be looked up, and nothing foreign is ever written into a script.

use http::StatusCode;

use crate::response::{Answer, Keep};

/// The loader: `edge/viewer/embed/loader.js` says what it does.
const LOADER: &str = include_str!("../../viewer/embed/loader.js");

/// The script.
#[must_use]
pub fn script() -> Answer {
    Answer::new(StatusCode::OK, "text/javascript; charset=utf-8", Keep::AnHour, LOADER.to_owned()).tagged()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_may_be_kept_and_is_revalidated() {
        let answer = script();
        assert_eq!(answer.header("Content-Type"), Some("text/javascript; charset=utf-8"));
        assert_eq!(answer.header("Cache-Control"), Some("public, max-age=3600"));
        let known = answer.header("ETag").map(str::to_owned);
        assert_eq!(script().unless_known(known.as_deref()).status, StatusCode::NOT_MODIFIED);
    }
}
