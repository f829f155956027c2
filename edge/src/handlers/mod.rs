//! From a route to its response: looks up what the route names, and lets the pure rooms make the response.

mod collections;
pub mod content;
mod iiif;
mod object;

use std::rc::Rc;

use edgezoom_content::{ContentId, Timestamp};
use worker::{Env, Request, Result, console_error, web_sys};

use crate::admission::client::Client;
use crate::config::{Addresses, Config, SigningKeys, Uploads};
use crate::durable::admit::admit_search;
use crate::lookup::content::{by_id, find, value};
use crate::lookup::repository::{LookedUp, Repository};
use crate::pages::{self, Cards, embed};
use crate::platform::bridge::{Outgoing, RequestHead};
use crate::platform::isolate::now;
use crate::regions;
use crate::representation::response::{ContentResponse, descriptor_script};
use crate::request::route::{CollectionCall, Methods, OembedRequest, Opening, Route};
use crate::request::upload::{UploadHeaders, UploadQuery};
use crate::request::url::signature;
use crate::response::negotiation::Variant;
use crate::response::{ApiError, Response, plain};
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
    let client = || client(sent, head.url.query(), &routed.route, &routed.config, now());
    let repository = &Repository::new(env, looked_up, &client, head.url.query());
    Handler { head, routed, client: &client, repository, sent, env }.respond().await
}

/// A request with all that its response needs.
struct Handler<'a> {
    head: &'a RequestHead,
    routed: &'a RoutedRequest,
    client: &'a dyn Fn() -> Option<Client>,
    repository: &'a Repository<'a>,
    sent: &'a web_sys::Request,
    env: &'a Env,
}

impl Handler<'_> {
    async fn respond(&self) -> Result<Outgoing> {
        let Self { head, client, repository, env, .. } = *self;
        let RoutedRequest { config, addresses, route } = self.routed;
        let request = || Request::from(Clone::clone(self.sent));
        let methods = |methods: Methods| methods.names(config.uploads.is_some());
        let response = match route {
            Route::Content { key, variant, retry } => {
                find(key, *retry, repository).await.write(variant, addresses, now())
            }
            Route::Upload { query, variant } => self.receive(query, variant).await,
            Route::UploadInParts(step) => match &config.uploads {
                None => plain::uploads_off(Methods::Upload.names(false)),
                Some(uploads) => self.upload(uploads).step(step).await,
            },
            Route::Collection(_, CollectionCall::File(_)) if config.uploads.is_none() => {
                plain::uploads_off(Methods::Upload.names(false))
            }
            Route::Collection(name, call) => {
                // Words that most titles have take as long as a search in a picture.
                if let CollectionCall::List(query) = call
                    && query.contains("q=")
                    && let Err(error) = admit_search(client().as_ref(), env).await
                {
                    return Ok(Outgoing::Buffered(error.response()));
                }
                let (headers, may_begin) =
                    (UploadHeaders::of(self.sent), || client().is_none_or(|client| client.is_trusted()));
                let (request, uploads) = (request(), config.uploads.as_ref());
                let by = collections::Sender { request, headers, uploads, addresses, may_begin: &may_begin };
                collections::handle(name, call, by, repository, env).await
            }
            Route::Delete(id) => {
                let authorization = request().headers().get("Authorization")?;
                content::delete(*id, authorization.as_deref(), client().as_ref(), repository, env).await
            }
            Route::Dzi { key, variant } => {
                content::dzi(find(key, false, repository).await, variant, addresses)
            }
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
            Route::Preview(id, kind) => {
                return object::preview(*id, *kind, &request(), repository, env).await;
            }
            Route::Card(id, place) => {
                let regions = config.regions.as_ref();
                let by = (&request(), env);
                return regions::card((*id, *place), regions, addresses, client().as_ref(), repository, by)
                    .await;
            }
            Route::Download(id) => return object::download(*id, &request(), repository, env).await,
            Route::Search(id, search) => {
                let renders = config.regions.is_some();
                text::search(*id, search, addresses, renders, client().as_ref(), repository, env).await?
            }
            Route::Iiif(id, page, asked) => {
                let service = iiif::Service { addresses, regions: config.regions.as_ref(), client };
                return iiif::serve(*id, *page, asked, &service, repository, (&request(), env)).await;
            }
            Route::Oembed(oembed) => self.oembed(oembed).await,
            Route::Home(form) => content::home(form.as_ref(), config, addresses, repository).await,
            Route::Share(id, opening) => self.share(*id, opening.as_ref()).await,
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
            Route::Preflight(allowed) => plain::preflight(methods(*allowed)),
            Route::MethodNotAllowed(allowed) => plain::method_not_allowed(methods(*allowed)),
            Route::NotFound { page: true } => pages::not_found(addresses),
            Route::NotFound { page: false } => plain::not_found(),
        };
        Ok(Outgoing::Buffered(response))
    }

    fn upload<'a>(&'a self, uploads: &'a Uploads) -> Upload<'a> {
        let RoutedRequest { config, addresses, .. } = self.routed;
        let headers = UploadHeaders::of(self.sent);
        let Self { repository, env, sent: request, .. } = *self;
        Upload { config, addresses, uploads, client: (self.client)(), request, headers, repository, env }
    }

    /// Returns the response to a file that is uploaded in one request.
    async fn receive(
        &self,
        query: &std::result::Result<UploadQuery, ApiError>,
        variant: &Variant,
    ) -> Response {
        let RoutedRequest { config, addresses, .. } = self.routed;
        match (&config.uploads, query) {
            (None, _) => plain::uploads_off(Methods::ReadOrUpload.names(false)),
            (Some(_), Err(error)) => ContentResponse::Failed(error.clone()).write(variant, addresses, now()),
            (Some(uploads), Ok(query)) => {
                self.upload(uploads).receive(query).await.write(variant, addresses, now()).uncached()
            }
        }
    }

    async fn oembed(&self, oembed: &OembedRequest) -> Response {
        let RoutedRequest { config, addresses, .. } = self.routed;
        let key = match oembed.content(addresses) {
            Ok(key) => key,
            Err(response) => return response,
        };
        let content = match find(&key, false, self.repository).await {
            ContentResponse::Moved(found) | ContentResponse::Found(found) => value(Ok(Some(found))),
            ContentResponse::Failed(error) => Err(error),
        };
        match content {
            Ok(content) => oembed.response(&content, config.regions.is_some(), addresses),
            Err(error) => error.response(),
        }
    }

    /// Returns the share page. Its card shows the place at which the picture opens, if that is known.
    async fn share(&self, id: ContentId, opening: Option<&Opening>) -> Response {
        let RoutedRequest { config, addresses, .. } = self.routed;
        let renders = config.regions.is_some();
        let place = match opening {
            Some(Opening::Place(place)) => Some(*place),
            Some(opening) if renders => {
                text::place_of(id, opening, (self.client)().as_ref(), self.repository, self.env)
                    .await
                    .unwrap_or_else(|error| {
                        console_error!("{id}: no card: {error}");
                        None
                    })
            }
            Some(_) | None => None,
        };
        let cards = Cards { places: renders, quotes: config.quotes };
        let share = |content: &_, addresses: &_, now| pages::share(content, place, cards, addresses, now);
        content::picture(id, share, addresses, self.repository).await
    }
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
