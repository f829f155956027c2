//! Reads the words in a picture: the table of its pages, the lines of a page as annotations of IIIF, and the
//! places of words that a client searches for. Whole forms of the words are passed on as they are stored
//! (`handlers/object.rs`).

use edgezoom_content::{Attempt, ContentId, Finished, PageTable, StoredPage, StoredText};
use http::StatusCode;
use serde::Serialize;
use worker::js_sys::{Promise, Reflect};
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Env, Result, console_error};

use crate::admission::client::Client;
use crate::config::Addresses;
use crate::durable::admit::admit_search;
use crate::lookup::content::ready;
use crate::lookup::repository::Repository;
use crate::platform::r2::{self, BINDING};
use crate::representation::iiif::has_canvases;
use crate::request::place::{Card, Place};
use crate::request::route::{Opening, Search, SearchVersion};
use crate::response::{ApiError, CachePolicy, Response, plain};

#[wasm_bindgen(module = "/src/text/late.js")]
extern "C" {
    #[wasm_bindgen(catch, js_name = annotationsOf)]
    fn annotations_of(bucket: &JsValue, asked: &str) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = firstIn)]
    fn first_in(bucket: &JsValue, asked: &str) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = searchIn)]
    fn search_in(bucket: &JsValue, asked: &str) -> std::result::Result<Promise, JsValue>;
}

/// The words of a ready content.
pub struct TextLayer<'a> {
    id: ContentId,
    /// Key of the archive.
    archive: String,
    text: &'a StoredText,
}

/// A request to the functions of `text.js`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Asked<'a> {
    archive: &'a str,
    /// Places in the archive, each an offset and a length.
    json: [u64; 2],
    plain: [u64; 2],
    /// Length of the plain text unpacked.
    plain_bytes: u32,
    pages: &'a [StoredPage],
    /// True if each page is a canvas of its own.
    has_canvases: bool,
    /// Base URI of the picture in IIIF's APIs.
    base: &'a str,
    #[serde(flatten)]
    what: What<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum What<'a> {
    /// The lines of the page with this number.
    Lines { number: u32 },
    /// The first place of `query`, from a page on.
    First { query: &'a str, from: u32 },
    /// The places of `query`, from a page on.
    Places { query: &'a str, from: u32, address: String, version: u8 },
}

impl<'a> TextLayer<'a> {
    /// Returns the words of a content; `None` if it has none.
    pub fn of(id: ContentId, attempt: Attempt, finished: &'a Finished) -> Option<Self> {
        Some(Self { id, archive: attempt.archive_key(id), text: finished.text.as_deref()? })
    }

    /// Returns the table of pages. It is empty if it cannot be read.
    pub async fn table(&self, env: &Env) -> Result<PageTable> {
        let json = r2::read(&self.archive, self.text.table, env).await?;
        let table = json.map(|json| serde_json::from_str(&String::from_utf8_lossy(&json))).transpose();
        let table = table.inspect_err(|error| console_error!("{}: the table of pages: {error}", self.id));
        Ok(table.ok().flatten().unwrap_or_default())
    }

    /// Returns the response with the lines of the page with a number.
    pub async fn annotations(
        &self,
        number: u32,
        pages: &[StoredPage],
        base: &str,
        renders: bool,
        env: &Env,
    ) -> Result<Response> {
        if pages.get(number as usize - 1).is_none() {
            return Ok(plain::not_found());
        }
        let asked = self.ask(pages, base, renders, What::Lines { number })?;
        let bucket = Reflect::get(env, &BINDING.into())?;
        let media_type = "application/ld+json;profile=\"http://iiif.io/api/presentation/3/context.json\"";
        Ok(response(self.id, JsFuture::from(annotations_of(&bucket, &asked)?).await, media_type))
    }

    fn ask(&self, pages: &[StoredPage], base: &str, renders: bool, what: What<'_>) -> Result<String> {
        let [json, plain] =
            [self.text.json, self.text.plain].map(|range| [range.offset, range.length.into()]);
        let (archive, has_canvases) = (self.archive.as_str(), has_canvases(pages, renders));
        let plain_bytes = self.text.plain_bytes;
        Ok(serde_json::to_string(&Asked {
            archive,
            json,
            plain,
            plain_bytes,
            pages,
            has_canvases,
            base,
            what,
        })?)
    }
}

/// Returns the place of a page or of the first words that are found, for its card. `None`: there is none, or the client
/// has searched too often.
pub async fn place_of(
    id: ContentId,
    opening: &Opening,
    client: Option<&Client>,
    repository: &Repository<'_>,
    env: &Env,
) -> Result<Option<Place>> {
    let Ok((attempt, finished)) = ready(id, repository).await else { return Ok(None) };
    let Some(words) = TextLayer::of(id, attempt, &finished) else { return Ok(None) };
    let size = finished.dzi.size;
    let pages = words.table(env).await?.pages;
    let page = |number: u32| pages.get(number as usize - 1).map(|page| page.at);
    match opening {
        Opening::Place(place) => Ok(Some(*place)),
        Opening::Page(number) => Ok(page(*number).map(|at| Place::of_part(at, size))),
        Opening::Words { query, from } => {
            if admit_search(client, env).await.is_err() {
                return Ok(None);
            }
            let asked = words.ask(&pages, "", false, What::First { query, from: *from })?;
            let bucket = Reflect::get(env, &BINDING.into())?;
            let found = JsFuture::from(first_in(&bucket, &asked)?).await?.as_string();
            let found: Option<(u32, [u32; 4])> =
                found.map(|found| serde_json::from_str(&found)).transpose()?;
            let around = found.and_then(|(number, hit)| Some(around(hit, page(number)?)));
            Ok(around.map(|part| Place::of_part(part, size)))
        }
    }
}

/// Returns the part of a page around a hit (left, top, width and height) in which a card can be read: a column of the
/// card's width, or the page's.
fn around([left, top, width, height]: [u32; 4], page: [u32; 4]) -> [u32; 4] {
    let column = page[2].min(Card::SIZE.width).max(width);
    let last = page[0].saturating_add(page[2]).saturating_sub(column);
    let centred = left.saturating_add(width / 2).saturating_sub(column / 2);
    [centred.min(last).max(page[0]), top, column, height]
}

/// Returns the response with the places of words in a picture, by IIIF's Content Search API.
pub async fn search(
    id: ContentId,
    search: &Search,
    addresses: &Addresses,
    renders: bool,
    client: Option<&Client>,
    repository: &Repository<'_>,
    env: &Env,
) -> Result<Response> {
    let Search { query, from, version } = search;
    let (attempt, finished) = match ready(id, repository).await {
        Ok(ready) => ready,
        Err(response) => return Ok(response),
    };
    let Some(words) = TextLayer::of(id, attempt, &finished) else { return Ok(plain::not_found()) };
    if let Err(error) = admit_search(client, env).await {
        return Ok(error.response());
    }
    let (version, ending, media_type) = match version {
        SearchVersion::One => (1, "/1", "application/ld+json"),
        SearchVersion::Two => {
            (2, "", "application/ld+json;profile=\"http://iiif.io/api/search/2/context.json\"")
        }
    };
    let address = format!("{}/search{ending}", addresses.content(id));
    let what = What::Places { query, from: *from, address, version };
    let asked = words.ask(&words.table(env).await?.pages, &addresses.iiif(id), renders, what)?;
    let bucket = Reflect::get(env, &BINDING.into())?;
    Ok(response(id, JsFuture::from(search_in(&bucket, &asked)?).await, media_type))
}

/// Returns the response with what `text.js` found in the words of a content.
fn response(
    id: ContentId,
    found: std::result::Result<JsValue, JsValue>,
    media_type: &'static str,
) -> Response {
    match found.map(|found| found.as_string()) {
        Ok(Some(body)) => Response::new(StatusCode::OK, media_type, CachePolicy::OneHour, body).tagged(),
        Ok(None) => plain::not_found(),
        Err(error) => {
            console_error!("{id}: cannot read words: {error:?}");
            ApiError::Unavailable.response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_shows_a_column_around_a_hit_within_its_page() {
        let wide = [100, 0, 3000, 4000];
        assert_eq!(around([1500, 50, 100, 20], wide), [950, 50, 1200, 20]);
        assert_eq!(around([100, 50, 100, 20], wide), [100, 50, 1200, 20]);
        assert_eq!(around([3000, 50, 100, 20], wide), [1900, 50, 1200, 20]);
        assert_eq!(around([300, 50, 100, 20], [200, 0, 800, 900]), [200, 50, 800, 20]);
        assert_eq!(around([300, 50, 1400, 20], [200, 0, 3000, 900]), [300, 50, 1400, 20], "a long line");
        assert_eq!(around([u32::MAX - 9, 0, 9, 9], [0, 0, 10, 10]), [0, 0, 10, 9], "outside");
    }
}
