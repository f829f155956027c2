//! `/oembed`: the HTML that embeds a share link (oEmbed 1.0, <https://oembed.com>), a frame with the picture's aspect
//! ratio and the largest size that the site allows.

use edgezoom_content::{Content, ContentId, PreviewKind, Size, Status};
use http::StatusCode;

use super::picture::{alternative, name};
use crate::config::{Addresses, shared_content};
use crate::request::place::{Card, Place};
use crate::request::route::{ContentKey, OembedRequest};
use crate::request::url::parameter;
use crate::response::element::Element::{self, Count, Object, Text};
use crate::response::escape;
use crate::response::{ApiError, CachePolicy, Response};

/// Maximum size of the frame if the site sets none: the width of a text column, the height of a small screen.
const DEFAULT: Size = Size { width: 800, height: 600 };
/// Minimum side of a usable viewer, for pictures with an extreme aspect ratio.
const MIN_SIDE: u32 = 200;

impl OembedRequest {
    /// Returns the content of the share link, or of the address of the home page's form.
    ///
    /// # Errors
    /// Returns the response of an error: 400, 404, or 501 for an unknown format.
    pub fn content(&self, addresses: &Addresses) -> Result<Result<ContentKey, ApiError>, Response> {
        if !matches!(self.format.as_deref(), None | Some("json" | "xml")) {
            return Err(Response::text(StatusCode::NOT_IMPLEMENTED, "The format must be json or xml."));
        }
        let url = self.url.as_deref().ok_or_else(|| {
            Response::text(StatusCode::BAD_REQUEST, "Give a share link: /oembed?url=<share link>.")
        })?;
        match &self.form {
            Some(form) => Ok(form.key.clone()),
            None => {
                shared_content(url, &addresses.share).map(|id| Ok(ContentKey::Id(id))).ok_or_else(not_found)
            }
        }
    }

    /// Returns the response. With `renders`, the thumbnail of a link to a place shows the place.
    pub fn response(&self, content: &Content, renders: bool, addresses: &Addresses) -> Response {
        if matches!(content.status, Status::Failed { .. }) {
            return not_found();
        }
        let cache = if content.is_finished() { CachePolicy::OneHour } else { CachePolicy::NoStore };
        let object = self.object(content, renders, addresses);
        let (media_type, body) = match self.format.as_deref() {
            Some("xml") => ("text/xml; charset=utf-8", object.xml("oembed")),
            _ => ("application/json; charset=utf-8", object.json()),
        };
        Response::new(StatusCode::OK, media_type, cache, body).tagged()
    }

    fn object(&self, content: &Content, renders: bool, addresses: &Addresses) -> Element {
        let shape = match &content.status {
            Status::Ready { finished, .. } => finished.dzi.size,
            Status::Processing { .. } | Status::Failed { .. } => DEFAULT,
        };
        let Size { width, height } = self.fit(shape);
        let mut fields = vec![
            ("type", Text("rich".to_owned())),
            ("version", Text("1.0".to_owned())),
            ("title", Text(name(content))),
            ("provider_name", Text("Edgezoom".to_owned())),
            ("provider_url", Text(format!("{}/", addresses.share))),
            ("cache_age", Count(if content.is_finished() { 3600 } else { 0 })),
            ("width", Count(width.into())),
            ("height", Count(height.into())),
            (
                "html",
                Text(format!(
                    "<iframe src=\"{}\" width=\"{width}\" height=\"{height}\" title=\"{}\" frameborder=\"0\" \
                     allow=\"fullscreen\" loading=\"lazy\"></iframe>",
                    escape::html(&self.frame(content.id, addresses)),
                    escape::html(&alternative(content)),
                )),
            ),
        ];
        let author =
            content.credits().and_then(|credits| credits.creator.as_ref().or(credits.credit.as_ref()));
        fields.extend(author.map(|author| ("author_name", Text(author.as_str().to_owned()))));
        if let Some((address, size)) = self.thumbnail(content, renders, addresses) {
            fields.push(("thumbnail_url", Text(address)));
            fields.push(("thumbnail_width", Count(size.width.into())));
            fields.push(("thumbnail_height", Count(size.height.into())));
        }
        Object(fields)
    }

    /// Returns the card of the place in the link, or else the largest preview image within the site's limits, or else a
    /// level of the pyramid.
    fn thumbnail(&self, content: &Content, renders: bool, addresses: &Addresses) -> Option<(String, Size)> {
        let Status::Ready { attempt, finished } = &content.status else { return None };
        let dzi = &finished.dzi;
        let most = self.most(Size { width: u32::MAX, height: u32::MAX });
        let fits = |size: Size| size.width <= most.width && size.height <= most.height;
        let place = self.place().filter(|place| renders && !place.is_opening());
        if let Some(place) = place.filter(|_| fits(Card::SIZE)) {
            return Some((place.card_address(content.id, dzi.size, addresses), Card::SIZE));
        }
        let made = PreviewKind::ALL.map(|kind| (addresses.preview(content.id, kind), kind.size(dzi.size)));
        if let Some(made) = made.into_iter().find(|(_, size)| fits(*size)) {
            return Some(made);
        }
        let level = dzi.preview_level(most);
        let tile = format!("{}{}", addresses.tiles(content.id, *attempt), dzi.tile_path(level, 0, 0));
        Some((tile, dzi.level_size(level)))
    }

    /// Returns the address of the frame, which opens at the place in the link.
    fn frame(&self, id: ContentId, addresses: &Addresses) -> String {
        let frame = addresses.frame(id);
        match self.place() {
            Some(place) => format!("{frame}?at={place}"),
            None => frame,
        }
    }

    /// Returns the place in the link.
    fn place(&self) -> Option<Place> {
        let (_, query) = self.url.as_deref()?.split_once('?')?;
        let query = query.split('#').next().unwrap_or_default();
        parameter(query, "at").and_then(|at| Place::parse(&at))
    }

    fn most(&self, otherwise: Size) -> Size {
        let or = |most: Option<u32>, otherwise| most.filter(|most| *most > 0).unwrap_or(otherwise);
        Size { width: or(self.max_width, otherwise.width), height: or(self.max_height, otherwise.height) }
    }

    /// Returns the largest frame with an aspect ratio within the site's limits. No side is below [`MIN_SIDE`] unless
    /// they demand it.
    fn fit(&self, shape: Size) -> Size {
        let most = self.most(DEFAULT);
        let scaled =
            |side: u32, by: u32, of: u32| (u64::from(side) * u64::from(by) / u64::from(of.max(1))) as u32;
        let height = scaled(most.width, shape.height, shape.width);
        if height <= most.height {
            return Size { width: most.width, height: height.max(MIN_SIDE.min(most.height)) };
        }
        Size {
            width: scaled(most.height, shape.width, shape.height).max(MIN_SIDE.min(most.width)),
            height: most.height,
        }
    }
}

fn not_found() -> Response {
    Response::text(StatusCode::NOT_FOUND, "This link has nothing to embed.")
}

#[cfg(test)]
mod tests;
