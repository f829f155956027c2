//! `/`: a form with one field. It works without scripts, and sends `/?url=`.

use http::StatusCode;

use super::{Frames, Page, home_address, icon, script};
use crate::config::Addresses;
use crate::response::escape;
use crate::response::{ApiError, CachePolicy, Response};

/// The home page; after an error, with the entered text and the message.
#[must_use]
pub fn home(failed: Option<(&str, ApiError)>, addresses: &Addresses) -> Response {
    let (status, cache, entered, problem) = match failed {
        None => (StatusCode::OK, CachePolicy::OneHour, "", String::new()),
        Some((entered, error)) => (
            error.status(),
            CachePolicy::NoStore,
            entered,
            format!(
                "<p class=\"problem\" id=\"problem\" role=\"alert\">{}</p>\n",
                escape::html(&error.to_string())
            ),
        ),
    };
    let described = if failed.is_some() { " aria-describedby=\"problem\" aria-invalid=\"true\"" } else { "" };
    let body = format!(
        include_str!("../../viewer/pages/home.html"),
        home = home_address(addresses),
        icon = icon(addresses),
        api = escape::html(&format!("{}/v1/content/", addresses.base)),
        entered = escape::html(entered),
        described = described,
        problem = problem,
    );
    let head = script("home.js", addresses);
    Page { status, cache, title: "Edgezoom", head, body, frames: Frames::None }.response(addresses)
}
