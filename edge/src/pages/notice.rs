//! Pages that only say something: that there is nothing here, that the service is unavailable.

use http::StatusCode;

use super::{Frames, Page, home_address, icon};
use crate::config::Addresses;
use crate::response::escape;
use crate::response::{Answer, Keep, Refusal};

/// 404 for people.
#[must_use]
pub fn nothing(addresses: &Addresses) -> Answer {
    notice(StatusCode::NOT_FOUND, "Nothing here", "There is no picture at this address.", addresses)
}

/// 503 for people.
#[must_use]
pub fn unavailable(refusal: Refusal, addresses: &Addresses) -> Answer {
    refusal.say_when(notice(refusal.status(), "Not now", &refusal.to_string(), addresses))
}

fn notice(status: StatusCode, title: &str, text: &str, addresses: &Addresses) -> Answer {
    let body = format!(
        include_str!("../../viewer/pages/notice.html"),
        home = home_address(addresses),
        icon = icon(addresses),
        title = escape::html(title),
        text = escape::html(text),
    );
    let head = "<meta name=\"robots\" content=\"noindex\">\n".to_owned();
    let title = format!("{title} – Edgezoom");
    Page { status, keep: Keep::Never, title: &title, head, body, frames: Frames::None }.answer(addresses)
}
