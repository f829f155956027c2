//! Pages that only say something: that there is nothing here, that the service is unavailable.

use http::StatusCode;

use super::Page;
use crate::answer::{Answer, Keep, Refusal};
use crate::config::Addresses;
use crate::escape;

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
        "<main class=\"notice\">\n<h1>{}</h1>\n<p>{}</p>\n<p><a href=\"{}/\">Zoom into a picture</a></p>\n</main>\n",
        escape::html(title),
        escape::html(text),
        escape::html(&addresses.share),
    );
    let head = "<meta name=\"robots\" content=\"noindex\">\n".to_owned();
    Page { status, keep: Keep::Never, title: &format!("{title} – Edgezoom"), head, body }.answer(addresses)
}
