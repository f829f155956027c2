//! `/`: one field. It is a plain form, so that it works in any browser; what it sends comes back as `/?url=`.

use http::StatusCode;

use super::Page;
use crate::answer::{Answer, Keep, Refusal};
use crate::config::Addresses;
use crate::escape;

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
        concat!(
            "<main class=\"home\">\n<h1>Edgezoom</h1>\n",
            "<p>Paste the address of a large picture, and look into it.</p>\n",
            "<form action=\"{action}/\" method=\"get\">\n",
            "<label for=\"url\">Address of a picture</label>\n",
            "<div class=\"field\">\n",
            "<input id=\"url\" name=\"url\" type=\"text\" inputmode=\"url\" autocomplete=\"url\" autocapitalize=\"off\" ",
            "spellcheck=\"false\" placeholder=\"https://\" value=\"{entered}\" required autofocus{described}>\n",
            "<button type=\"submit\">Zoom</button>\n</div>\n{problem}</form>\n</main>\n"
        ),
        action = escape::html(&addresses.share),
        entered = escape::html(entered),
        described = described,
        problem = problem,
    );
    Page { status, keep, title: "Edgezoom", head: String::new(), body }.answer(addresses)
}
