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

use crate::admission::admit_search;
use crate::admission::client::Client;
use crate::config::Addresses;
use crate::handlers::content::ready;
use crate::platform::r2::{self, BINDING};
use crate::repository::Repository;
use crate::representation::iiif::has_canvases;
use crate::request::place::Place;
use crate::request::route::{Search, SearchVersion};
use crate::response::{ApiError, CachePolicy, Response, plain};

#[wasm_bindgen(module = "/src/words/words.js")]
extern "C" {
    #[wasm_bindgen(catch, js_name = annotationsOf)]
    fn annotations_of(bucket: &JsValue, asked: &str) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_name = searchIn)]
    fn search_in(bucket: &JsValue, asked: &str) -> std::result::Result<Promise, JsValue>;
}

/// The words of a ready content.
pub struct Words<'a> {
    id: ContentId,
    /// Key of the archive.
    archive: String,
    text: &'a StoredText,
}

/// A request to the functions of `words.js`.
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
    /// The places of `query`, from a page on.
    Places { query: &'a str, from: u32, address: String, version: u8 },
}

impl<'a> Words<'a> {
    /// Returns the words of a content; `None` if it has none.
    pub fn of(id: ContentId, attempt: Attempt, finished: &'a Finished) -> Option<Self> {
        Some(Self { id, archive: attempt.archive_key(id), text: finished.text.as_deref()? })
    }

    /// Returns the table of pages. It is empty if it cannot be read.
    pub async fn table(&self, env: &Env) -> Result<PageTable> {
        let json = r2::read(&self.archive, self.text.table, env).await?;
        let table = json.map(|json| serde_json::from_slice(&json)).transpose();
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
        let found = JsFuture::from(annotations_of(&bucket, &asked)?).await?;
        let media_type = "application/ld+json;profile=\"http://iiif.io/api/presentation/3/context.json\"";
        Ok(response(found.as_string(), media_type))
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

/// Returns the place of the page with a number, for its card.
pub async fn place_of_page(
    id: ContentId,
    number: u32,
    repository: &Repository<'_>,
    env: &Env,
) -> Result<Option<Place>> {
    let Ok((attempt, finished)) = ready(id, repository).await else { return Ok(None) };
    let Some(words) = Words::of(id, attempt, &finished) else { return Ok(None) };
    let table = words.table(env).await?;
    let page = table.pages.get(number as usize - 1);
    Ok(page.map(|page| Place::of_part(page.at, finished.dzi.size)))
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
    let Some(words) = Words::of(id, attempt, &finished) else { return Ok(plain::not_found()) };
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
    match JsFuture::from(search_in(&bucket, &asked)?).await {
        Ok(found) => Ok(response(found.as_string(), media_type)),
        Err(error) => {
            console_error!("{id}: cannot search: {error:?}");
            Ok(ApiError::Unavailable.response())
        }
    }
}

fn response(found: Option<String>, media_type: &'static str) -> Response {
    found.map_or_else(plain::not_found, |body| {
        Response::new(StatusCode::OK, media_type, CachePolicy::OneHour, body).tagged()
    })
}
