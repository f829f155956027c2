//! From a route to its response: looks up what the route names and lets the rooms below make the response.

mod client;
pub mod content;
mod download;
mod events;
mod iiif;
mod object;
mod pages;
mod preview;
mod upload;
mod upload_parts;

use std::rc::Rc;

use worker::{Env, Request, Result, web_sys};

use crate::config::{Addresses, Config};
use crate::content::descriptor;
use crate::content::repository::{LookedUp, Repository};
use crate::content::response::ContentResponse;
use crate::pages::{self as page, embed};
use crate::platform::bridge;
use crate::platform::clock::now;
use crate::request::route::Route;
use crate::response::{Response, plain};
use crate::tiler_api;

/// A response, as it is sent.
pub enum Outgoing {
    /// A response whose body is in memory.
    Buffered(Response),
    /// A response whose body the runtime streams.
    Streamed(worker::Response),
}

/// A request whose route is found.
pub struct RoutedRequest {
    pub config: Rc<Config>,
    pub addresses: Addresses,
    pub route: Route,
}

/// Makes the response to a request. `looked_up` is what KV has of the content that the route names.
pub async fn handle(
    head: &bridge::RequestHead,
    RoutedRequest { config, addresses, route }: &RoutedRequest,
    looked_up: LookedUp,
    request: &web_sys::Request,
    env: &Env,
) -> Result<Outgoing> {
    let client = || client::of(request, &head.url, route, config, now());
    let repository = &Repository::new(env, looked_up, &client);
    let sent = request;
    let request = || Request::from(Clone::clone(sent));
    let response = match route {
        Route::Content { key, variant, retry } => {
            content::find(key, *retry, repository).await.write(variant, addresses, now())
        }
        Route::Upload { name, variant } => match (&config.uploads, name) {
            (None, _) => plain::method_not_allowed(plain::READ_METHODS),
            (Some(_), Err(error)) => ContentResponse::Failed(error.clone()).write(variant, addresses, now()),
            (Some(uploads), Ok(name)) => {
                let own = (&**config, addresses);
                let name = name.as_deref();
                let received =
                    upload::receive(name, uploads, client().as_ref(), sent, own, repository, env).await?;
                received.write(variant, addresses, now()).uncached()
            }
        },
        Route::UploadInParts(step) => match &config.uploads {
            None => plain::method_not_allowed(plain::READ_METHODS),
            Some(uploads) => {
                let own = (&**config, addresses);
                upload_parts::handle(step, uploads, client().as_ref(), sent, own, repository, env).await?
            }
        },
        Route::Dzi { key, variant } => {
            content::dzi(content::find(key, false, repository).await, variant, addresses)
        }
        Route::Events(id) => {
            let last = request().headers().get("Last-Event-ID")?;
            return events::stream(*id, &head.method, last.as_deref(), addresses, repository).await;
        }
        Route::DescriptorScript(id) => match content::by_id(*id, repository).await {
            Ok(content) => descriptor::script(&content, addresses),
            Err(error) => error.response(),
        },
        Route::Preview(id, kind) => return preview::serve(*id, *kind, &request(), repository, env).await,
        Route::Download(id) => return download::serve(*id, &request(), repository, env).await,
        Route::Iiif(id, asked) => {
            return iiif::serve(*id, asked, addresses, repository, (&request(), env)).await;
        }
        Route::Oembed(oembed) => match oembed.content(addresses) {
            Ok(id) => match content::by_id(id, repository).await {
                Ok(content) => oembed.response(&content, addresses),
                Err(error) => error.response(),
            },
            Err(response) => response,
        },
        Route::Home(form) => pages::home(form.as_ref(), config, addresses, repository).await,
        Route::Share(id) => pages::picture(*id, page::share, addresses, repository).await,
        Route::Frame(id) => pages::picture(*id, page::frame, addresses, repository).await,
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
        Route::Preflight => plain::preflight(config.uploads.is_some()),
        Route::MethodNotAllowed(allowed) => plain::method_not_allowed(allowed),
        Route::NotFound { page: true } => page::not_found(addresses),
        Route::NotFound { page: false } => plain::not_found(),
    };
    Ok(Outgoing::Buffered(response))
}
