//! What is read of the words in a picture: the table of its pages, the lines of a page as annotations of IIIF, and the
//! places of words that a client searches for. Whole forms of the words are passed on as they are stored
//! (`handlers/object.rs`).

use edgezoom_content::{Attempt, Content, ContentId, Finished, PageTable, Status, StoredPage};
use http::StatusCode;
use serde::Serialize;
use worker::js_sys::{Promise, Reflect};
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Env, Result, console_error};

use crate::admission::admit_search;
use crate::admission::client::Client;
use crate::config::Addresses;
use crate::handlers::content::by_id;
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

/// What the functions of `words.js` are asked.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Asked<'a> {
    /// Key of the archive.
    archive: String,
    /// Places in it, each an offset and a length.
    json: [u64; 2],
    plain: [u64; 2],
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

/// Returns the table of pages; `None` if the picture has no words.
pub async fn table(
    id: ContentId,
    attempt: Attempt,
    finished: &Finished,
    env: &Env,
) -> Result<Option<PageTable>> {
    let Some(text) = &finished.text else { return Ok(None) };
    let json = r2::read(&attempt.archive_key(id), text.table, env).await?;
    let table = json.map(|json| serde_json::from_slice(&json)).transpose();
    Ok(table.inspect_err(|error| console_error!("{id}: the table of pages: {error}")).unwrap_or_default())
}

/// Returns the place of the page with a number, for its card.
pub async fn place_of_page(
    id: ContentId,
    number: u32,
    repository: &Repository<'_>,
    env: &Env,
) -> Result<Option<Place>> {
    let Ok(Content { status: Status::Ready { attempt, finished }, .. }) = by_id(id, repository).await else {
        return Ok(None);
    };
    let table = table(id, attempt, &finished, env).await?.unwrap_or_default();
    let page = table.pages.get(number as usize - 1);
    Ok(page.map(|page| Place::of_part(page.at, finished.dzi.size)))
}

/// Returns the response with the lines of the page with a number.
pub async fn annotations(
    (id, attempt, finished): (ContentId, Attempt, &Finished),
    number: u32,
    pages: &[StoredPage],
    base: &str,
    renders: bool,
    env: &Env,
) -> Result<Response> {
    if pages.get(number as usize - 1).is_none() {
        return Ok(plain::not_found());
    }
    let Some(asked) = Asked::new((id, attempt, finished), pages, base, renders, What::Lines { number })
    else {
        return Ok(plain::not_found());
    };
    let bucket = Reflect::get(env, &BINDING.into())?;
    let found = JsFuture::from(annotations_of(&bucket, &serde_json::to_string(&asked)?)?).await?;
    let media_type = "application/ld+json;profile=\"http://iiif.io/api/presentation/3/context.json\"";
    Ok(response(found.as_string(), media_type))
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
    let content = match by_id(id, repository).await {
        Ok(content) => content,
        Err(error) => return Ok(error.response()),
    };
    let Content { status: Status::Ready { attempt, finished }, .. } = &content else {
        return Ok(plain::not_found());
    };
    if finished.text.is_none() {
        return Ok(plain::not_found());
    }
    if let Err(error) = admit_search(client, env).await {
        return Ok(error.response());
    }
    let table = table(id, *attempt, finished, env).await?.unwrap_or_default();
    let (version, ending, media_type) = match version {
        SearchVersion::One => (1, "/1", "application/ld+json"),
        SearchVersion::Two => {
            (2, "", "application/ld+json;profile=\"http://iiif.io/api/search/2/context.json\"")
        }
    };
    let address = format!("{}/search{ending}", addresses.content(id));
    let what = What::Places { query, from: *from, address, version };
    let base = addresses.iiif(id);
    let Some(asked) = Asked::new((id, *attempt, finished), &table.pages, &base, renders, what) else {
        return Ok(plain::not_found());
    };
    let bucket = Reflect::get(env, &BINDING.into())?;
    match JsFuture::from(search_in(&bucket, &serde_json::to_string(&asked)?)?).await {
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

impl<'a> Asked<'a> {
    fn new(
        (id, attempt, finished): (ContentId, Attempt, &Finished),
        pages: &'a [StoredPage],
        base: &'a str,
        renders: bool,
        what: What<'a>,
    ) -> Option<Self> {
        let text = finished.text.as_ref()?;
        let [json, plain] = [text.json, text.plain].map(|range| [range.offset, range.length.into()]);
        let has_canvases = has_canvases(pages, renders);
        Some(Self { archive: attempt.archive_key(id), json, plain, pages, has_canvases, base, what })
    }
}
