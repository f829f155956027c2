//! A picture's name, its origin, and its preview without JavaScript, as pages show them.

use edgezoom_content::{Content, Failure, NextTry, PreviewKind, Status, source_name};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::{Url, form_urlencoded};

use crate::config::Addresses;
use crate::representation::credit_lines;
use crate::response::escape;

/// The characters to percent-encode in a `filename*`: all but attr-char (RFC 8187, section 3.2.1).
const ATTRIBUTE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Origin of an uploaded file, and its name if it has none.
const UPLOADED_FILE: &str = "Uploaded file";

/// Returns the name of the source: its title, the name of its file, or its host.
pub(crate) fn name(content: &Content) -> String {
    if let Some(title) = content.title() {
        return title.to_string();
    }
    if content.url.is_file() {
        return UPLOADED_FILE.to_owned();
    }
    source_name(content.url.address())
}

/// Returns the alternative text of the picture; its name if it has none.
pub(super) fn alternative(content: &Content) -> String {
    content.alternative_text().map_or_else(|| name(content), |text| text.as_str().to_owned())
}

/// Returns a `Content-Disposition` header (RFC 6266) with the name of a picture and another extension.
pub(crate) fn attachment(name: &str, extension: &str) -> String {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let stem = if stem.is_empty() { "picture" } else { stem };
    let ascii: String = stem
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_. ()".contains(c) { c } else { '_' })
        .collect();
    let encoded = utf8_percent_encode(stem, ATTRIBUTE);
    format!("attachment; filename=\"{ascii}.{extension}\"; filename*=UTF-8''{encoded}.{extension}")
}

/// Returns an element with the source's origin: a link to it, unless it is an uploaded file, which is not kept.
pub(super) fn origin(content: &Content) -> String {
    if content.url.is_file() {
        return format!("<span class=\"origin\">{UPLOADED_FILE}</span>");
    }
    let source = escape::html(content.url.address());
    let host = escape::html(&host(content));
    format!("<a href=\"{source}\" rel=\"nofollow noopener noreferrer\">{host}</a>")
}

pub(super) fn host(content: &Content) -> String {
    let url = Url::parse(content.url.address()).ok();
    url.as_ref().and_then(Url::host_str).unwrap_or_default().to_owned()
}

/// Returns the preview image for browsers without JavaScript, with the credits; empty if the content is not ready.
pub(super) fn preview(content: &Content, addresses: &Addresses) -> String {
    if !matches!(content.status, Status::Ready { .. }) {
        return String::new();
    }
    let address = addresses.preview(content.id, PreviewKind::Large);
    let (address, alternative) = (escape::html(&address), escape::html(&alternative(content)));
    format!("<img src=\"{address}\" alt=\"{alternative}\">{}", credits(content))
}

/// Returns a paragraph with the credits; empty if there are none.
fn credits(content: &Content) -> String {
    let Some(credits) = content.credits() else { return String::new() };
    let mut parts: Vec<_> = credit_lines(credits).into_iter().map(|(_, line)| escape::html(line)).collect();
    if let Some(uri) = &credits.rights {
        let uri = escape::html(uri.as_str());
        parts
            .push(format!("<a href=\"{uri}\" target=\"_blank\" rel=\"license noopener nofollow\">{uri}</a>"));
    }
    format!("<p>{}</p>", parts.join(" · "))
}

/// Returns what the share page shows without JavaScript: the preview image, or why there is none, with links that help.
pub(super) fn without_script(content: &Content, addresses: &Addresses) -> String {
    let failure = match &content.status {
        Status::Ready { finished, .. } => {
            let words = format!(
                "<p><a href=\"{}/text\">Words in the picture</a></p>",
                escape::html(&addresses.share(content.id))
            );
            return preview(content, addresses) + if finished.text.is_some() { &words } else { "" };
        }
        Status::Failed { failure, .. }
        | Status::Processing { next: Some(NextTry { reason: failure, .. }), .. } => Some(failure),
        Status::Processing { .. } => None,
    };
    let text = failure.map_or_else(|| "The picture is not ready yet.".to_owned(), Failure::line);
    let mut links = vec![(addresses.share(content.id), "Reload")];
    // The home page assumes https for a URL without a scheme. The page's script would try http now.
    if let Some(rest) = content.url.address().strip_prefix("https://").filter(|_| failure.is_some()) {
        let by_http = format!("http://{rest}");
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("url", &by_http).finish();
        let options = content.url.options();
        let end = if options.is_empty() { "" } else { "&" };
        links.push((format!("{}/?{query}{end}{options}", addresses.share), "Try http://"));
    }
    links.push((format!("{}/", addresses.share), "Another picture"));
    let links: Vec<_> = links
        .iter()
        .map(|(address, text)| format!("<a href=\"{}\">{text}</a>", escape::html(address)))
        .collect();
    format!("<p>{}</p><p>{}</p>", escape::html(&text), links.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_has_the_name_of_the_picture() {
        for (name, header) in [
            ("old town.jpg", "attachment; filename=\"old town.szi\"; filename*=UTF-8''old%20town.szi"),
            ("地图", "attachment; filename=\"__.szi\"; filename*=UTF-8''%E5%9C%B0%E5%9B%BE.szi"),
            ("a\"\r\nb/c", "attachment; filename=\"a___b_c.szi\"; filename*=UTF-8''a%22%0D%0Ab%2Fc.szi"),
            (".png", "attachment; filename=\"picture.szi\"; filename*=UTF-8''picture.szi"),
        ] {
            assert_eq!(attachment(name, "szi"), header);
        }
    }
}
