//! From a route to its response: looks up what the route names, and lets the pure rooms make the response.

pub mod content;
mod iiif;
mod object;

use std::rc::Rc;

use edgezoom_content::Timestamp;
use worker::{Env, Request, Result, console_error, web_sys};

use crate::admission::client::Client;
use crate::config::{Addresses, Config, SigningKeys};
use crate::lookup::content::{by_id, find};
use crate::lookup::repository::{LookedUp, Repository};
use crate::pages::{self, Cards, embed};
use crate::platform::bridge::{Outgoing, RequestHead};
use crate::platform::isolate::now;
use crate::regions;
use crate::representation::response::{ContentResponse, descriptor_script};
use crate::request::route::{Methods, Opening, Route};
use crate::request::upload::UploadHeaders;
use crate::request::url::signature;
use crate::response::plain;
use crate::text;
use crate::tiler_api;
use crate::uploads::Upload;

/// A request whose route is known.
pub struct RoutedRequest {
    pub config: Rc<Config>,
    pub addresses: Addresses,
    pub route: Route,
}

/// Makes the response to a request. `looked_up` is the record in KV of the content that the route names.
pub async fn handle(
    head: &RequestHead,
    routed: &RoutedRequest,
    looked_up: LookedUp,
    sent: &web_sys::Request,
    env: &Env,
) -> Result<Outgoing> {
    let RoutedRequest { config, addresses, route } = routed;
    let client = || client(sent, head.url.query(), route, config, now());
    let repository = &Repository::new(env, looked_up, &client, head.url.query());
    let request = || Request::from(Clone::clone(sent));
    let upload = |uploads| Upload {
        config,
        addresses,
        uploads,
        client: client(),
        request: sent,
        headers: UploadHeaders::of(sent),
        repository,
        env,
    };
    let has_uploads = config.uploads.is_some();
    let uploads_off = |methods: Methods| plain::uploads_off(methods.names(has_uploads));
    let response = match route {
        Route::Content { key, variant, retry } => {
            find(key, *retry, repository).await.write(variant, addresses, now())
        }
        Route::Upload { query, variant } => match (&config.uploads, query) {
            (None, _) => uploads_off(Methods::ReadOrUpload),
            (Some(_), Err(error)) => ContentResponse::Failed(error.clone()).write(variant, addresses, now()),
            (Some(uploads), Ok(query)) => {
                upload(uploads).receive(query).await.write(variant, addresses, now()).uncached()
            }
        },
        Route::Delete(id) => {
            let authorization = request().headers().get("Authorization")?;
            content::delete(*id, authorization.as_deref(), client().as_ref(), repository, env).await
        }
        Route::UploadInParts(step) => match &config.uploads {
            None => uploads_off(Methods::Upload),
            Some(uploads) => upload(uploads).step(step).await,
        },
        Route::Dzi { key, variant } => content::dzi(find(key, false, repository).await, variant, addresses),
        Route::Events(id) => {
            let last = request().headers().get("Last-Event-ID")?;
            return content::events(*id, &head.method, last.as_deref(), addresses, repository).await;
        }
        Route::Text(id, form) => {
            return object::text(*id, *form, addresses, &request(), repository, env).await;
        }
        Route::DescriptorScript(id) => match by_id(*id, repository).await {
            Ok(content) => descriptor_script(&content, addresses),
            Err(error) => error.response(),
        },
        Route::Preview(id, kind) => return object::preview(*id, *kind, &request(), repository, env).await,
        Route::Card(id, place) => {
            let client = client();
            let request = request();
            return regions::card(
                (*id, *place),
                config.regions.as_ref(),
                addresses,
                client.as_ref(),
                repository,
                (&request, env),
            )
            .await;
        }
        Route::Download(id) => return object::download(*id, &request(), repository, env).await,
        Route::Search(id, search) => {
            let renders = config.regions.is_some();
            text::search(*id, search, addresses, renders, client().as_ref(), repository, env).await?
        }
        Route::Iiif(id, page, asked) => {
            let service = iiif::Service { addresses, regions: config.regions.as_ref(), client: &client };
            return iiif::serve(*id, *page, asked, &service, repository, (&request(), env)).await;
        }
        Route::Oembed(oembed) => match oembed.content(addresses) {
            Ok(id) => match by_id(id, repository).await {
                Ok(content) => oembed.response(&content, config.regions.is_some(), addresses),
                Err(error) => error.response(),
            },
            Err(response) => response,
        },
        Route::Home(form) => content::home(form.as_ref(), config, addresses, repository).await,
        Route::Share(id, opening) => {
            let place = match opening {
                Some(Opening::Place(place)) => Some(*place),
                Some(opening) if config.regions.is_some() => {
                    let place = text::place_of(*id, opening, client().as_ref(), repository, env).await;
                    place.unwrap_or_else(|error| {
                        console_error!("{id}: no card: {error}");
                        None
                    })
                }
                Some(_) | None => None,
            };
            let cards = Cards { places: config.regions.is_some(), quotes: config.quotes };
            let share = |content: &_, addresses: &_, now| pages::share(content, place, cards, addresses, now);
            content::picture(*id, share, addresses, repository).await
        }
        Route::Frame(id) => content::picture(*id, pages::frame, addresses, repository).await,
        Route::EmbedScript => embed::script(),
        Route::Object(key) => match object::serve(key, &request(), repository, env).await? {
            Some(response) => return Ok(Outgoing::Streamed(response)),
            None => plain::not_found(),
        },
        Route::TilerCall(id, call) => tiler_api::handle(*id, *call, request(), config, env).await,
        Route::Backlog => tiler_api::handle_backlog(request(), config, env).await,
        Route::Health => plain::health(),
        Route::Version => plain::version(),
        Route::Robots => plain::robots(addresses),
        Route::Sitemap => plain::sitemap(addresses),
        Route::Preflight(methods) => plain::preflight(methods.names(has_uploads)),
        Route::MethodNotAllowed(methods) => plain::method_not_allowed(methods.names(has_uploads)),
        Route::NotFound { page: true } => pages::not_found(addresses),
        Route::NotFound { page: false } => plain::not_found(),
    };
    Ok(Outgoing::Buffered(response))
}

/// Returns the client to count for a request: the name of its key if it is signed, else its address.
fn client(
    request: &web_sys::Request,
    query: &str,
    route: &Route,
    config: &Config,
    now: Timestamp,
) -> Option<Client> {
    let signer = config.signing.as_ref().and_then(|keys| signer(keys, query, route, now));
    signer.map(Client::signed).or_else(|| {
        let address = request.headers().get("CF-Connecting-IP").ok().flatten();
        Client::at(address.as_deref(), config.development)
    })
}

fn signer<'a>(keys: &'a SigningKeys, query: &str, route: &Route, now: Timestamp) -> Option<&'a str> {
    keys.signer(signature(query)?, &route.signed_text(query)?, now)
}
