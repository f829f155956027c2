//! `/`: a form with one field, which works without scripts and requests `/?url=`, a picture to try, examples of
//! sources, and recent pictures, which the page's script adds.

use http::StatusCode;
use url::form_urlencoded;

use super::{Frames, Page, home_address, icon, meta, script};
use crate::config::{Addresses, Uploads};
use crate::request::upload::UPLOADS;
use crate::response::escape;
use crate::response::{ApiError, CachePolicy, Response};

const DESCRIPTION: &str = "Turn the address of a large picture, a PDF, an SVG or a web page into an image that anyone \
                           can zoom into, share and embed.";

/// A source of each kind: its description, its kind and its address. All are in the public domain or freely licensed.
const EXAMPLES: [(&str, &str, &str); 6] = [
    (
        "The plain around Troy, on Mars",
        "Panorama",
        "https://upload.wikimedia.org/wikipedia/commons/7/72/%27Calypso%27_Panorama_of_Spirit%27s_View_from_%27Troy%27_%28Stereo%29.jpg",
    ),
    (
        "A sea chart of 1367",
        "Scanned map",
        "https://upload.wikimedia.org/wikipedia/commons/f/ff/Pizigani_1367_Chart_10MB.jpg",
    ),
    ("The paper that began Bitcoin", "PDF", "https://bitcoin.org/bitcoin.pdf"),
    (
        "The Ghostscript tiger",
        "SVG",
        "https://upload.wikimedia.org/wikipedia/commons/f/fd/Ghostscript_Tiger.svg",
    ),
    ("Deep Zoom in Wikipedia", "Web page", "https://en.wikipedia.org/wiki/Deep_Zoom"),
    (
        "Tissue under a microscope",
        "Slide",
        "https://openslide.cs.cmu.edu/download/openslide-testdata/Aperio/CMU-1-Small-Region.svs",
    ),
];

/// Returns the home page; after an error, with the entered text and the message. `notice` is the address of the legal
/// notice.
pub fn home(
    failed: Option<(&str, &ApiError)>,
    notice: Option<&str>,
    uploads: Option<&Uploads>,
    addresses: &Addresses,
) -> Response {
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
    let link = |address: &str| format!("<a href=\"{}\">Legal notice</a>", escape::html(address));
    let body = format!(
        include_str!("../../viewer/pages/home.html"),
        home = home_address(addresses),
        icon = icon(addresses),
        repository = env!("CARGO_PKG_REPOSITORY"),
        picture = escape::html(&addresses.asset("hero")),
        viewer = escape::html(&addresses.asset("viewer.js")),
        api = escape::html(&format!("{}/v1/content/", addresses.base)),
        entered = escape::html(entered),
        described = described,
        problem = problem,
        files = uploads.map(|uploads| files(uploads, addresses)).unwrap_or_default(),
        examples = EXAMPLES.map(|example| self::example(example, addresses)).concat(),
        notice = notice.map(link).unwrap_or_default(),
    );
    let head = head(addresses) + &script("home.js", addresses);
    Page { status, cache, title: "Edgezoom: look closer", head, body, frames: Frames::None }
        .response(addresses)
}

fn head(addresses: &Addresses) -> String {
    let home = format!("{}/", addresses.share);
    let picture = addresses.asset("icon-512.png");
    [
        format!("<link rel=\"canonical\" href=\"{}\">\n", escape::html(&home)),
        meta("name", "description", DESCRIPTION),
        meta("property", "og:type", "website"),
        meta("property", "og:site_name", "Edgezoom"),
        meta("property", "og:title", "Edgezoom: look closer"),
        meta("property", "og:description", DESCRIPTION),
        meta("property", "og:url", &home),
        meta("property", "og:image", &picture),
        meta("property", "og:image:width", "512"),
        meta("property", "og:image:height", "512"),
        meta("property", "og:image:alt", "Edgezoom"),
        meta("name", "twitter:card", "summary"),
    ]
    .concat()
}

/// Returns the line to choose a file, which the page's script shows.
fn files(uploads: &Uploads, addresses: &Addresses) -> String {
    format!(
        include_str!("../../viewer/pages/files.html"),
        address = escape::html(&format!("{}/v1/content/", addresses.base)),
        uploads = escape::html(&format!("{}{UPLOADS}/", addresses.base)),
        most = uploads.max_bytes,
    )
}

fn example((name, kind, source): (&str, &str, &str), addresses: &Addresses) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("url", source).finish();
    let address = format!("{}/?{query}", addresses.share);
    format!(
        "<li><a href=\"{}\" rel=\"nofollow\"><b>{}</b><span>{}</span></a></li>\n",
        escape::html(&address),
        escape::html(name),
        escape::html(kind)
    )
}
