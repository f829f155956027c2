//! From a route to its answer: which content is looked up, and which answer is made of it.

pub mod content;
mod events;
mod pages;

use std::rc::Rc;

use worker::{Env, Request, Response, Result, web_sys};

use crate::admission::check::Gate;
use crate::config::{Addresses, Config};
use crate::content::descriptor;
use crate::content::repository::{Contents, Read};
use crate::pages as page;
use crate::pages::embed;
use crate::platform::{bridge, r2};
use crate::request::route::Route;
use crate::response::{Answer, plain};
use crate::tiler_api;

/// What is to be sent.
pub enum Answered {
    /// An answer, all of it.
    Whole(Answer),
    /// A response whose body the runtime streams.
    Streamed(Response),
}

/// A request whose route is found.
pub struct RoutedRequest {
    pub config: Rc<Config>,
    pub addresses: Addresses,
    pub route: Route,
}

/// Makes the response to a request. `read` is what KV has of the content that the route names.
pub async fn handle(
    asked: &bridge::Asked,
    RoutedRequest { config, addresses, route }: &RoutedRequest,
    read: Read,
    request: &web_sys::Request,
    env: &Env,
) -> Result<Answered> {
    let gate = &Gate::new(request, config, env);
    let contents = &Contents::of(env, read);
    let request = || Request::from(Clone::clone(request));
    let answer = match route {
        Route::Content { wish, variant } => {
            content::find(wish, gate, contents).await.write(variant, addresses)
        }
        Route::Events(id) => {
            let last = request().headers().get("Last-Event-ID")?;
            return events::stream(*id, &asked.method, last.as_deref(), addresses, contents).await;
        }
        Route::DescriptorScript(id) => match content::by_id(*id, contents).await {
            Ok(content) => descriptor::script(&content, addresses),
            Err(refusal) => refusal.answer(),
        },
        Route::Preview(id) => match pages::preview(*id, contents).await {
            Ok(key) => match r2::serve(&key, &request(), env).await? {
                Some(response) => return Ok(Answered::Streamed(response)),
                None => plain::nothing(),
            },
            Err(answer) => answer,
        },
        Route::Oembed(oembed) => match oembed.content(addresses) {
            Ok(id) => match content::by_id(id, contents).await {
                Ok(content) => oembed.answer(&content, addresses),
                Err(refusal) => refusal.answer(),
            },
            Err(answer) => answer,
        },
        Route::Home(entry) => pages::home(entry.as_ref(), addresses, gate, contents).await,
        Route::Share(id) => pages::picture(*id, page::share, addresses, contents).await,
        Route::Framed(id) => pages::picture(*id, page::framed, addresses, contents).await,
        Route::Embed => embed::script(),
        Route::Object(key) => match r2::serve(key, &request(), env).await? {
            Some(response) => return Ok(Answered::Streamed(response)),
            None => plain::nothing(),
        },
        Route::Internal(id, said) => tiler_api::hear(*id, *said, request(), config, env).await,
        Route::Backlog => tiler_api::hear_backlog(request(), config, env).await,
        Route::Health => plain::health(),
        Route::Version => plain::version(),
        Route::Robots => plain::robots(),
        Route::Preflight => plain::preflight(),
        Route::WrongMethod(allowed) => plain::wrong_method(allowed),
        Route::Nothing { page: true } => page::nothing(addresses),
        Route::Nothing { page: false } => plain::nothing(),
    };
    Ok(Answered::Whole(answer))
}
