//! Takes requests and sends answers: finds the route, asks the other modules of the rim for what is needed, and turns the
//! pure answer into the platform's.

use std::cell::OnceCell;
use std::rc::Rc;

use edgezoom_content::{Content, ContentId};
use http::{Method, StatusCode};
use worker::{Context, Env, Headers, Request, Response, Result, console_error, event};

use crate::answer::content::ContentAnswer;
use crate::answer::{Answer, HEADERS_OF_ALL, Keep, Refusal, embed, events, page, plain};
use crate::config::{Addresses, Config};
use crate::contents::{Contents, ContentsError};
use crate::gate::Gate;
use crate::object_key::ObjectKey;
use crate::router::{Asked, Entry, Route, Wish, route};
use crate::{internal, tiles};

#[event(fetch)]
async fn fetch(mut request: Request, env: Env, _context: Context) -> Result<Response> {
    let method = Method::from_bytes(request.inner().method().as_bytes()).unwrap_or_default();
    let answered = match answer(&mut request, &method, &env).await {
        Ok(answered) => answered,
        Err(error) => {
            console_error!("{error}");
            Answered::Whole(Refusal::Unavailable.answer())
        }
    };
    send(answered, &method, request.headers().get("If-None-Match")?.as_deref())
}

thread_local! {
    /// What the operator chose: it does not change while an instance of the Worker lives.
    static CONFIG: OnceCell<Rc<Config>> = const { OnceCell::new() };
}

/// What the operator chose, read from the Worker's variables and secrets once.
pub fn config(env: &Env) -> Result<Rc<Config>> {
    if let Some(config) = CONFIG.with(|known| known.get().cloned()) {
        return Ok(config);
    }
    let variable = |name: &str| env.var(name).ok().map(|value| value.to_string());
    let config = Config::read(variable).map_err(|error| worker::Error::RustError(error.to_string()))?;
    Ok(CONFIG.with(|known| Rc::clone(known.get_or_init(|| Rc::new(config)))))
}

/// What is to be sent.
enum Answered {
    /// An answer, all of it.
    Whole(Answer),
    /// A response whose body the runtime streams.
    Streamed(Response),
}

async fn answer(request: &mut Request, method: &Method, env: &Env) -> Result<Answered> {
    let config = &*config(env)?;
    let url = request.url()?;
    let addresses = &config.addresses(&url.origin().ascii_serialization());
    let accept = request.headers().get("Accept")?;
    let query = url.query().unwrap_or_default();
    let asked = Asked { method, path: url.path(), query, accept: accept.as_deref() };
    let gate = &Gate::new(request, config, env);
    let answer = match route(asked, &config.policy) {
        Route::Content { wish, variant } => content(wish, gate, env).await.write(&variant, addresses),
        Route::Events(id) => {
            let last = request.headers().get("Last-Event-ID")?;
            return listen(id, method, last.as_deref(), addresses, env).await;
        }
        Route::Preview(id) => match preview(id, env).await {
            Ok(key) => match tiles::serve(&key, request, env).await? {
                Some(response) => return Ok(Answered::Streamed(response)),
                None => plain::nothing(),
            },
            Err(answer) => answer,
        },
        Route::Oembed(oembed) => match oembed.content(addresses) {
            Ok(id) => match by_id(id, env).await {
                Ok(content) => oembed.answer(&content, addresses),
                Err(refusal) => refusal.answer(),
            },
            Err(answer) => answer,
        },
        Route::Home(entry) => home(entry, addresses, gate, env).await,
        Route::Share(id) => picture(id, page::share, addresses, env).await,
        Route::Framed(id) => picture(id, page::framed, addresses, env).await,
        Route::Embed => embed::script(),
        Route::Object(key) => match tiles::serve(&key, request, env).await? {
            Some(response) => return Ok(Answered::Streamed(response)),
            None => plain::nothing(),
        },
        Route::Internal(id, said) => internal::hear(id, said, request, config, env).await,
        Route::Backlog => internal::hear_backlog(request, config, env).await,
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

async fn content(wish: std::result::Result<Wish, Refusal>, gate: &Gate<'_>, env: &Env) -> ContentAnswer {
    let found = match wish {
        Ok(Wish::Source(url)) => Contents::of(env).of_source(&url, gate).await.map(ContentAnswer::Moved),
        Ok(Wish::Id(id)) => Contents::of(env).by_id(id).await.map(|known| match known {
            Some(known) => ContentAnswer::Found(known),
            None => ContentAnswer::Refused(Refusal::NoSuchContent),
        }),
        Err(refusal) => Ok(ContentAnswer::Refused(refusal)),
    };
    found.unwrap_or_else(|error| ContentAnswer::Refused(error.refusal()))
}

/// All that is known of a content.
async fn by_id(id: ContentId, env: &Env) -> std::result::Result<Content, Refusal> {
    let known = Contents::of(env).by_id(id).await.map_err(ContentsError::refusal)?;
    let known = known.ok_or(Refusal::NoSuchContent)?;
    known.content().map_err(|unread| ContentsError::from(unread).refusal())
}

/// A content as it changes. One that is finished needs no object, and who only asks whether there is one holds none.
async fn listen(
    id: ContentId,
    method: &Method,
    last: Option<&str>,
    addresses: &Addresses,
    env: &Env,
) -> Result<Answered> {
    let content = match by_id(id, env).await {
        Ok(content) => content,
        Err(refusal) => return Ok(Answered::Whole(refusal.answer())),
    };
    if content.is_finished() {
        return Ok(Answered::Whole(events::finished(&content, last, addresses)));
    }
    if method == Method::HEAD {
        return Ok(Answered::Whole(events::begun()));
    }
    Ok(match Contents::of(env).stream(id, addresses).await {
        Ok(Some(body)) => {
            let begun = events::begun();
            Answered::Streamed(Response::builder().with_headers(headers(begun.headers)?).body(body))
        }
        Ok(None) => Answered::Whole(Refusal::Unavailable.answer()),
        Err(error) => Answered::Whole(error.refusal().answer()),
    })
}

/// The tile that holds a small picture of the whole content.
async fn preview(id: ContentId, env: &Env) -> std::result::Result<ObjectKey, Answer> {
    match by_id(id, env).await {
        Ok(content) => page::preview_key(&content).ok_or_else(plain::nothing),
        Err(Refusal::NoSuchContent) => Err(plain::nothing()),
        Err(refusal) => Err(refusal.answer()),
    }
}

/// The home page; or, when a source was entered, on to its share page.
async fn home(entry: Option<Entry>, addresses: &Addresses, gate: &Gate<'_>, env: &Env) -> Answer {
    let Some(Entry { text, source }) = entry else {
        return page::home(None, addresses);
    };
    let url = match source {
        Ok(url) => url,
        Err(refusal) => return page::home(Some((&text, refusal)), addresses),
    };
    match Contents::of(env).of_source(&url, gate).await {
        Ok(known) => Answer::new(StatusCode::FOUND, "text/plain; charset=utf-8", Keep::Never, String::new())
            .with("Location", addresses.share(known.id())),
        Err(error) => {
            let refusal = error.refusal();
            refusal.say_when(page::home(Some((&text, refusal)), addresses))
        }
    }
}

/// A page that shows a content.
async fn picture(
    id: ContentId,
    page: fn(&Content, &Addresses) -> Answer,
    addresses: &Addresses,
    env: &Env,
) -> Answer {
    match by_id(id, env).await {
        Ok(content) => page(&content, addresses),
        Err(Refusal::NoSuchContent) => page::nothing(addresses),
        Err(refusal) => page::unavailable(refusal, addresses),
    }
}

fn send(answered: Answered, method: &Method, if_none_match: Option<&str>) -> Result<Response> {
    let response = match answered {
        Answered::Streamed(response) => response,
        Answered::Whole(answer) => {
            let Answer { status, headers, body } = answer.unless_known(if_none_match);
            let response =
                Response::builder().with_status(status.as_u16()).with_headers(self::headers(headers)?);
            let bodiless = method == Method::HEAD || matches!(status.as_u16(), 204 | 304);
            if bodiless { response.empty() } else { response.fixed(body.into_bytes()) }
        }
    };
    for (name, value) in HEADERS_OF_ALL {
        response.headers().set(name, value)?;
    }
    Ok(response)
}

fn headers(own: Vec<(&'static str, String)>) -> Result<Headers> {
    let headers = Headers::new();
    for (name, value) in own {
        headers.set(name, &value)?;
    }
    Ok(headers)
}
