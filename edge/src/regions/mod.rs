//! Pictures that are rendered from tiles: images of IIIF's level 2, and cards of places. An image has one address,
//! under which the platform's cache keeps it. Renderings are limited: for each client and network by the minute, and
//! for all of them by the day. All tiles are read before the first is decoded, so that few pictures are in memory at a
//! time.

pub(crate) mod pictures;
pub mod tile_runs;

use edgezoom_content::{Attempt, ContentId, Finished, Status, tile_number};
use edgezoom_regions::{Plan, Rendering};
use http::StatusCode;
use worker::{Env, Method, Request, Result, console_error};

use crate::admission::client::Client;
use crate::config::{Addresses, Regions};
use crate::durable::admit::{admit_search, uncounted};
use crate::lookup::content::by_id;
use crate::lookup::pyramid::{NotStored, stored};
use crate::lookup::repository::Repository;
use crate::platform::bridge::{Outgoing, measure, push_header};
use crate::request::object_key::{ObjectKey, PyramidObject};
use crate::request::place::Place;
use crate::response::conditional::none_match_names;
use crate::response::{ApiError, COMMON_HEADERS, CachePolicy, Response, plain};
use pictures::Job;
use tile_runs::TileRuns;

/// Maximum number of bytes of a picture's tiles: 48 tiles of half a megabyte. An isolate has 128 MB, and files that are
/// being received leave this much of what all requests may hold (`edge/src/platform/bounds.js`).
const MAX_BYTES: u64 = 24 << 20;

/// A picture to render.
pub struct Picture<'a> {
    pub id: ContentId,
    pub attempt: Attempt,
    pub finished: &'a Finished,
    pub rendering: Rendering,
    /// The purpose, as it is measured.
    pub purpose: &'static str,
    /// The picture's canonical address.
    pub address: String,
    /// Value of the header `Link`, if there is one.
    pub link: Option<String>,
    /// Seconds for which caches may keep it.
    pub seconds: u32,
}

/// Returns the response with the card of a place.
pub async fn card(
    (id, place): (ContentId, Place),
    regions: Option<&Regions>,
    addresses: &Addresses,
    client: Option<&Client>,
    repository: &Repository<'_>,
    (request, env): (&Request, &Env),
) -> Result<Outgoing> {
    let Some(regions) = regions else { return Ok(Outgoing::Buffered(plain::not_found())) };
    let content = match by_id(id, repository).await {
        Ok(content) => content,
        Err(error) => return Ok(Outgoing::Buffered(error.response())),
    };
    let Status::Ready { attempt, finished } = &content.status else {
        return Ok(Outgoing::Buffered(ApiError::NotReady.response()));
    };
    let picture = Picture {
        id,
        attempt: *attempt,
        finished,
        rendering: place.within(finished.dzi.size).card(finished.dzi.size).rendering,
        purpose: "card",
        address: place.card_address(id, finished.dzi.size, addresses),
        link: None,
        seconds: CachePolicy::HOUR,
    };
    serve(&picture, regions, client, repository, (request, env)).await
}

/// Returns the response with a picture.
pub async fn serve(
    picture: &Picture<'_>,
    regions: &Regions,
    client: Option<&Client>,
    repository: &Repository<'_>,
    (request, env): (&Request, &Env),
) -> Result<Outgoing> {
    let response = picture.head();
    let known = request.headers().get("If-None-Match")?;
    if known.is_some_and(|known| response.header("ETag").is_some_and(|tag| none_match_names(&known, tag))) {
        return Ok(Outgoing::Buffered(response.or_not_modified(Some("*"))));
    }
    if request.method() == Method::Head {
        return Ok(Outgoing::Buffered(response));
    }
    if let Some(kept) = pictures::kept(&picture.address).await? {
        return Ok(Outgoing::Made(kept));
    }
    if let Err(error) = admit_rendering(client, regions.a_day, env).await {
        let result = if error == ApiError::NoRegionsLeft { "exhausted" } else { "limited" };
        measure("region", &[picture.purpose, result], 0.0);
        return Ok(Outgoing::Buffered(error.response()));
    }
    let tiles = match picture.tiles(repository, env).await? {
        Ok(tiles) => tiles,
        Err(response) => return Ok(Outgoing::Buffered(response)),
    };
    let Picture { finished, rendering, purpose, address, .. } = picture;
    let words = rendering.to_words(&finished.dzi);
    let mut headers = String::new();
    let own = response.headers.iter().map(|(name, value)| (*name, value.as_ref()));
    for (name, value) in COMMON_HEADERS.into_iter().chain(own) {
        push_header(&mut headers, name, value);
    }
    let archive = &picture.attempt.archive_key(picture.id);
    let job = Job { words: &words, archive, tiles, headers: &headers, address };
    match pictures::render(&job, env).await {
        Ok(Some(made)) => {
            measure("region", &[purpose, "rendered"], job.tiles.bytes() as f64);
            Ok(Outgoing::Made(made))
        }
        Ok(None) => Ok(Outgoing::Buffered(plain::not_found())),
        Err(error) => {
            console_error!("{}: cannot render {address}: {error}", picture.id);
            measure("region", &[purpose, "failed"], 0.0);
            Ok(Outgoing::Buffered(ApiError::Unavailable.response()))
        }
    }
}

/// Admits and counts a rendering of a client: by its rate, and by its share of the operator's allowance for the day. If
/// a part of the check fails, the rendering is refused: it would cost money, and stored tiles do without.
async fn admit_rendering(
    client: Option<&Client>,
    a_day: u64,
    env: &Env,
) -> std::result::Result<(), ApiError> {
    admit_search(client, env).await?;
    let party = Client::party_of(client);
    if pictures::take(&party, a_day, env).await.map_err(uncounted)? {
        Ok(())
    } else {
        Err(ApiError::NoRegionsLeft)
    }
}

impl Picture<'_> {
    /// Returns the response without its body. The entity tag is weak, because another version of the service may encode
    /// the picture in another way.
    fn head(&self) -> Response {
        let Self { id, attempt, rendering, address, link, seconds, .. } = self;
        let path = address.rsplit_once(&id.to_string()).map_or(address.as_str(), |(_, path)| path);
        let response = Response::empty(StatusCode::OK)
            .with("Content-Type", rendering.format.media_type())
            .with("Cache-Control", format!("public, max-age={seconds}"))
            .with("ETag", format!("W/\"{id}/{attempt}{path}\""));
        match link {
            Some(link) => response.with("Link", link.clone()),
            None => response,
        }
    }

    /// Finds the tiles. The other response: they do not exist, or have too many bytes.
    async fn tiles(
        &self,
        repository: &Repository<'_>,
        env: &Env,
    ) -> Result<std::result::Result<TileRuns, Response>> {
        let Self { id, attempt, finished, rendering, .. } = self;
        let id = *id;
        let attempt = *attempt;
        let dzi = &finished.dzi;
        let plan = match Plan::new(dzi, rendering) {
            Ok(plan) => plan,
            Err(error) => {
                console_error!("{id}: {error}");
                return Ok(Err(ApiError::Unavailable.response()));
            }
        };
        let key = ObjectKey { id, attempt, object: PyramidObject::Descriptor };
        let pyramid = match stored(&key, repository, env).await? {
            Ok(pyramid) => pyramid,
            Err(NotStored::Missing) => return Ok(Err(plain::not_found())),
            Err(NotStored::Removed(error)) => return Ok(Err(error.response())),
        };
        let find = |(column, row)| pyramid.index.find(tile_number(dzi, plan.level, column, row)?);
        let Some(ranges) = plan.tiles().map(find).collect::<Option<Vec<_>>>() else {
            return Ok(Err(plain::not_found()));
        };
        let tiles = TileRuns::new(&ranges);
        if tiles.bytes() > MAX_BYTES {
            return Ok(Err(ApiError::TooManyTileBytes.response()));
        }
        Ok(Ok(tiles))
    }
}
