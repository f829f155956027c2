//! From a route to its response: looks up what the route names and lets the rooms below make the response.

pub mod content;
mod download;
mod events;
mod iiif;
mod object;
mod pages;

use std::rc::Rc;

use worker::{Env, Request, Result, web_sys};

use crate::admission::policy::client_key;
use crate::config::{Addresses, Config};
use crate::content::descriptor;
use crate::content::repository::{LookedUp, Repository};
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
    let repository = &Repository::new(env, looked_up);
    let client = || {
        let address = request.headers().get("CF-Connecting-IP").ok().flatten();
        address.as_deref().and_then(client_key)
    };
    let request = || Request::from(Clone::clone(request));
    let response = match route {
        Route::Content { key, variant, retry } => {
            content::find(key, *retry, client, repository).await.write(variant, addresses, now())
        }
        Route::Dzi { key, variant } => {
            content::dzi(content::find(key, false, client, repository).await, variant, addresses)
        }
        Route::Events(id) => {
            let last = request().headers().get("Last-Event-ID")?;
            return events::stream(*id, &head.method, last.as_deref(), addresses, repository).await;
        }
        Route::DescriptorScript(id) => match content::by_id(*id, repository).await {
            Ok(content) => descriptor::script(&content, addresses),
            Err(error) => error.response(),
        },
        Route::Preview(id) => match pages::preview(*id, repository).await {
            Ok(key) => match object::serve(&key, &request(), repository, env).await? {
                Some(response) => return Ok(Outgoing::Streamed(response)),
                None => plain::not_found(),
            },
            Err(response) => response,
        },
        Route::Download(id) => match download::serve(*id, &request(), repository, env).await? {
            Some(response) => return Ok(Outgoing::Streamed(response)),
            None => plain::not_found(),
        },
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
        Route::Home(form) => {
            let notice = config.notice.as_deref();
            pages::home(form.as_ref(), notice, addresses, client, repository).await
        }
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
        Route::Preflight => plain::preflight(),
        Route::MethodNotAllowed(allowed) => plain::method_not_allowed(allowed),
        Route::NotFound { page: true } => page::not_found(addresses),
        Route::NotFound { page: false } => plain::not_found(),
    };
    Ok(Outgoing::Buffered(response))
}
