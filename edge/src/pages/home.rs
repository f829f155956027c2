//! `/`: one field. It is a plain form, so that it works in any browser; what it sends comes back as `/?url=`.

use http::StatusCode;

use super::{Frames, Page, home_address, icon, script};
use crate::config::Addresses;
use crate::response::escape;
use crate::response::{Answer, Keep, Refusal};

/// The home page, with what was entered and why it was refused, if it was.
#[must_use]
pub fn home(refused: Option<(&str, Refusal)>, addresses: &Addresses) -> Answer {
    let (status, keep, entered, problem) = match refused {
        None => (StatusCode::OK, Keep::AnHour, "", String::new()),
        Some((entered, refusal)) => (
            refusal.status(),
            Keep::Never,
            entered,
            format!(
                "<p class=\"problem\" id=\"problem\" role=\"alert\">{}</p>\n",
                escape::html(&refusal.to_string())
            ),
        ),
    };
    let described =
        if refused.is_some() { " aria-describedby=\"problem\" aria-invalid=\"true\"" } else { "" };
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
    Page { status, keep, title: "Edgezoom", head, body, frames: Frames::None }.answer(addresses)
}
