//! The page of a collection, `/c/<name>`, and the same for frames, `/c/<name>/embed`. It has the first previews, so that
//! browsers load them before any script, and the title and card for programs that run none. Its script (`edge/viewer/pages/collection.js`)
//! reads the rest.

use std::collections::BTreeMap;

use edgezoom_content::escape;
use serde_json::json;
use url::{Url, form_urlencoded};

use super::{Found, Response, Shown};
use crate::entry::Row;

/// Number of previews in the page, all among the entries of the wall's first section.
pub const PREVIEWS: u64 = 24;
/// Number of previews that load at once. The others wait for the layout. As in `collection.js`.
const AT_ONCE: usize = 12;
/// Link to the home page.
const LOGO: &str = include_str!("../../../viewer/pages/collection_logo.html");
/// Field for the owner's key.
const OWNER: &str = include_str!("../../../viewer/pages/collection_owner.html");

impl Shown<'_> {
    /// Returns the page, with the links of the previews in a window of their own if it is for frames.
    pub fn page(&self, found: &Found, is_framed: bool) -> Response {
        let name = &self.settings.name;
        let title = escape::html(self.title());
        let (logo, owner) = if is_framed { ("", "") } else { (LOGO, OWNER) };
        let items: String = found.rows.iter().enumerate().map(item).collect();
        // Without a preview the script makes the section.
        let wall = format!(
            "<section data-index=\"0\" aria-labelledby=\"from-1\"><h2 id=\"from-1\">From 1</h2><ul class=\"entries\">{items}</ul></section>"
        );
        let settings = self.settings;
        let collection = json!({
            "name": name, "title": settings.title, "credit": settings.credit, "rights": settings.rights,
            "counts": self.states(), "last": self.counts.get("last"),
        });
        let body = format!(
            include_str!("../../../viewer/pages/collection.html"),
            logo = logo.replace("{home}", &escape::html(&format!("{}/", self.base))),
            title = title,
            counts = self.pictures(),
            credits = self.credits(),
            wall = if found.rows.is_empty() { "" } else { &wall },
            owner = owner,
            collection = escape::script(&collection.to_string()),
        );
        let script =
            format!("<script type=\"module\" src=\"{}/assets/collection.js\"></script>\n", self.base);
        let head = if is_framed {
            format!("<base target=\"_blank\">\n<meta name=\"robots\" content=\"noindex\">\n{script}")
        } else {
            self.card(found) + &script
        };
        document(200, &title, &head, &body, self.base, is_framed)
    }

    /// Returns the elements of the head for search engines and the cards of links.
    fn card(&self, found: &Found) -> String {
        let address = format!("{}/c/{}", self.base, self.settings.name);
        let credit = self.settings.credit.as_ref().map(|credit| format!(" {}", credit.as_str()));
        let description = format!("{}.{}", self.pictures(), credit.unwrap_or_default());
        let mut tags = vec![
            meta("name", "description", &description),
            meta("property", "og:type", "website"),
            meta("property", "og:site_name", "Edgezoom"),
            meta("property", "og:title", self.title()),
            meta("property", "og:description", &description),
            meta("property", "og:url", &address),
        ];
        match found.rows.first() {
            Some(Row { id, entry, .. }) => tags.extend([
                meta("property", "og:image", &format!("{}/{id}/preview.jpg", self.base)),
                meta("property", "og:image:type", "image/jpeg"),
                meta("property", "og:image:alt", &entry.alternative()),
                meta("name", "twitter:card", "summary_large_image"),
            ]),
            None => tags.push(meta("name", "twitter:card", "summary")),
        }
        let link = |kind: &str, address: &str| {
            let (address, title) = (escape::html(address), escape::html(self.title()));
            format!("<link rel=\"alternate\" type=\"{kind}\" href=\"{address}\" title=\"{title}\">\n")
        };
        for (format, kind) in [("json", "application/json+oembed"), ("xml", "text/xml+oembed")] {
            let query = form_urlencoded::Serializer::new(String::new())
                .extend_pairs([("url", address.as_str()), ("format", format)])
                .finish();
            tags.push(link(kind, &format!("{}/oembed?{query}", self.base)));
        }
        tags.push(link("application/ld+json", &self.collection()));
        tags.concat()
    }

    /// Returns the number of entries in each state.
    fn states(&self) -> BTreeMap<&str, u64> {
        let of_state =
            self.counts.iter().filter(|(name, _)| !matches!(name.as_str(), "last" | "entries" | "left"));
        of_state.map(|(name, count)| (name.as_str(), *count)).collect()
    }

    /// Returns the number of pictures in words.
    fn pictures(&self) -> String {
        let ready = self.counts.get("ready").copied().unwrap_or(0).to_string();
        let digits = ready.len();
        let grouped: String = ready
            .char_indices()
            .flat_map(|(at, digit)| {
                (at > 0 && (digits - at).is_multiple_of(3)).then_some(',').into_iter().chain([digit])
            })
            .collect();
        format!("{grouped} {}", if ready == "1" { "picture" } else { "pictures" })
    }

    fn credits(&self) -> String {
        let credit = self.settings.credit.as_ref().map(|credit| escape::html(credit.as_str()));
        let rights = self.settings.rights.as_ref().map(|rights| {
            let rights = escape::html(rights);
            format!("<a href=\"{rights}\" rel=\"license\">{rights}</a>")
        });
        credit.into_iter().chain(rights).collect::<Vec<_>>().join(" · ")
    }
}

/// Returns a preview as `item` in `collection.js` makes it.
fn item((index, row): (usize, &Row)) -> String {
    let Row { id, entry, .. } = row;
    let alt = entry.alt.as_ref().map(|alt| escape::html(alt.as_str())).unwrap_or_default();
    let lazy = if index < AT_ONCE { "" } else { " loading=\"lazy\"" };
    let label = escape::html(&entry.label());
    format!(
        "<li><a class=\"entry\" href=\"/{id}\"><img src=\"/{id}/thumbnail.jpg\" alt=\"{alt}\"{lazy} decoding=\"async\" \
         width=\"160\" height=\"146\"><b>{label}</b></a></li>"
    )
}

/// Returns the page of an address without a collection.
pub fn not_found(base: &str, text: &str) -> Response {
    let body = format!(
        include_str!("../../../viewer/pages/notice.html"),
        home = escape::html(&format!("{base}/")),
        icon = escape::html(&format!("{base}/assets/icon.svg")),
        title = "Not found",
        text = text,
    );
    document(404, "Not found", "<meta name=\"robots\" content=\"noindex\">\n", &body, base, false)
}

/// Returns a page. `title` is escaped.
fn document(status: u16, title: &str, head: &str, body: &str, base: &str, is_framed: bool) -> Response {
    let assets = format!("{base}/assets");
    let html = format!(
        include_str!("../../../viewer/pages/frame.html"),
        title = format_args!("{title} – Edgezoom"),
        icon = format_args!("{assets}/icon.svg"),
        assets = assets,
        styles = format_args!("{assets}/page.css"),
        head = head,
        body = body,
    );
    let origin = Url::parse(base).map(|url| url.origin().ascii_serialization()).unwrap_or_default();
    let ancestors = if is_framed { "*" } else { "'none'" };
    let policy = format!(
        "default-src 'none'; script-src {origin}/assets/; style-src {origin}; img-src 'self' {origin}; connect-src 'self'; \
         manifest-src {origin}; base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}"
    );
    let mut response = Response::new(status, "text/html; charset=utf-8".to_owned(), html);
    response.headers.extend([
        ("Content-Security-Policy", policy),
        ("Referrer-Policy", "strict-origin-when-cross-origin".to_owned()),
        ("Strict-Transport-Security", "max-age=31536000".to_owned()),
    ]);
    if is_framed {
        // Pages that isolate themselves only show frames that do so, too.
        response.headers.insert("Cross-Origin-Embedder-Policy", "require-corp".to_owned());
    }
    response
}

fn meta(kind: &str, name: &str, value: &str) -> String {
    format!("<meta {kind}=\"{name}\" content=\"{}\">\n", escape::html(value))
}
