//! `/oembed?url=…/c/<name>`: a frame with the collection's page (oEmbed 1.0, <https://oembed.com>).

use edgezoom_content::conversion::Reply;
use edgezoom_content::{PreviewKind, Size, Status, escape};
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

use super::{Found, Response, Shown};

/// Size of the frame unless the site wants a smaller one.
const DEFAULT: Size = Size { width: 800, height: 600 };

/// The parameters of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oembed {
    link: String,
    format: Option<String>,
    max_width: Option<u32>,
    max_height: Option<u32>,
}

impl Oembed {
    pub fn parse(query: &str) -> Self {
        let mut request = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let most = value.parse().ok().filter(|most| *most > 0);
            match name.as_ref() {
                "url" => request.link = value.into_owned(),
                "format" => request.format = Some(value.into_owned()),
                "maxwidth" => request.max_width = most,
                "maxheight" => request.max_height = most,
                _ => {}
            }
        }
        request
    }

    /// Returns true if the link is one of this service.
    fn is_of(&self, base: &str) -> bool {
        let parts = |text: &str| {
            let url = Url::parse(text).ok()?;
            Some((url.host_str()?.to_owned(), url.port(), url.path().to_owned()))
        };
        let (Some((host, port, path)), Some((own, own_port, own_path))) = (parts(&self.link), parts(base))
        else {
            return false;
        };
        host == own && port == own_port && path.starts_with(&format!("{}/c/", own_path.trim_end_matches('/')))
    }
}

impl Shown<'_> {
    /// Returns the response. The thumbnail is that of the first entry, of which `found` has the content.
    pub fn oembed(&self, asked: &Oembed, found: &Found) -> Response {
        let plain = |status, text: &str| {
            Response::new(status, "text/plain; charset=utf-8".to_owned(), text.to_owned())
        };
        if !matches!(asked.format.as_deref(), None | Some("json" | "xml")) {
            return plain(501, "The format must be json or xml.");
        }
        if !asked.is_of(self.base) {
            return plain(404, "This link has nothing to embed.");
        }
        let within = |most: Option<u32>, default: u32| most.map_or(default, |most| most.min(default));
        let (width, height) =
            (within(asked.max_width, DEFAULT.width), within(asked.max_height, DEFAULT.height));
        let (page, title) = (format!("{}/c/{}/embed", self.base, self.settings.name), self.title());
        let mut fields = json!({
            "type": "rich",
            "version": "1.0",
            "title": title,
            "provider_name": "Edgezoom",
            "provider_url": format!("{}/", self.base),
            "cache_age": 3600,
            "width": width,
            "height": height,
            "html": format!(
                "<iframe src=\"{page}\" width=\"{width}\" height=\"{height}\" title=\"{}\" frameborder=\"0\" loading=\"lazy\"></iframe>",
                escape::html(title),
            ),
        });
        if let Some(credit) = &self.settings.credit {
            fields["author_name"] = json!(credit.as_str());
        }
        if let Some((address, size)) = self.thumbnail(asked, found) {
            fields["thumbnail_url"] = json!(address);
            fields["thumbnail_width"] = json!(size.width);
            fields["thumbnail_height"] = json!(size.height);
        }
        if asked.format.as_deref() == Some("xml") {
            Response::new(200, "text/xml; charset=utf-8".to_owned(), xml(&fields))
        } else {
            Response::new(200, "application/json; charset=utf-8".to_owned(), fields.to_string())
        }
    }

    /// Returns the largest preview image of the first entry within the site's limits.
    fn thumbnail(&self, asked: &Oembed, found: &Found) -> Option<(String, Size)> {
        let Some(Ok(Reply::Content(content))) = &found.content else { return None };
        let Status::Ready { finished, .. } = &content.status else { return None };
        let fits = |size: &Size| {
            size.width <= asked.max_width.unwrap_or(u32::MAX)
                && size.height <= asked.max_height.unwrap_or(u32::MAX)
        };
        PreviewKind::ALL.into_iter().find_map(|kind| {
            let size = Some(kind.size(finished.dzi.size)).filter(fits)?;
            Some((format!("{}/{}/{}.jpg", self.base, content.id, kind.name()), size))
        })
    }
}

/// Prints an object of texts and numbers.
fn xml(fields: &Value) -> String {
    let elements = fields.as_object().into_iter().flatten().map(|(name, value)| {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), |text| escape::html(&escape::xml_characters(text)));
        format!("<{name}>{text}</{name}>")
    });
    format!(r#"<?xml version="1.0" encoding="UTF-8"?><oembed>{}</oembed>"#, elements.collect::<String>())
}
