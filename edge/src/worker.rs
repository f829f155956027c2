//! Takes requests and sends answers: finds the route, asks the other modules of the rim for what is needed, and turns the
//! pure answer into the platform's.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use edgezoom_content::{Content, ContentId};
use http::{Method, StatusCode};
use worker::js_sys::futures::future_to_promise;
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::{Env, Headers, Request, Response, Result, console_error, web_sys};

use crate::answer::content::ContentAnswer;
use crate::answer::{Answer, HEADERS_OF_ALL, Keep, Refusal, descriptor, embed, events, page, plain};
use crate::config::{Addresses, Config};
use crate::contents::{Contents, ContentsError, Read};
use crate::gate::Gate;
use crate::href::Href;
use crate::known::Known;
use crate::object_key::ObjectKey;
use crate::record::Record;
use crate::router::{Asked, Entry, Route, Wish, route};
use crate::{bridge, finished, internal, tiles};

/// A request, from its route to its answer. `entry.js` reads the record in between, so that what is finished is answered in two
/// calls without a future: an executor in wasm would cost as much as all the rest.
struct Asking {
    asked: bridge::Asked,
    /// None when what the operator chose is not understood: logged, and all that is answered is 503.
    begun: Option<Begun>,
}

struct Begun {
    config: Rc<Config>,
    addresses: Addresses,
    route: Route,
}

/// How many requests wait for their records at most as they were read; older ones are read again.
const MOST_UNDER_WAY: usize = 256;

thread_local! {
    /// Requests between their two calls, each where its number says. `entry.js` has the number: an object of a class would have to be
    /// registered with the garbage collector. A client that leaves meanwhile makes no second call, so that others must be able to take its place.
    static UNDER_WAY: RefCell<[Option<(u32, Asking)>; MOST_UNDER_WAY]> =
        const { RefCell::new([const { None }; MOST_UNDER_WAY]) };
}

/// Finds a request's route, and gives the key of the record that may answer it.
#[wasm_bindgen]
pub fn begin(number: u32, request: &web_sys::Request, env: &Env) -> Option<String> {
    let asking = Asking::new(request, env);
    let key = asking.record_key();
    UNDER_WAY.with_borrow_mut(|requests| requests[number as usize % MOST_UNDER_WAY] = Some((number, asking)));
    key
}

/// The response to a request, or the promise of one. `record` is what KV has under the key.
///
/// # Errors
/// The platform makes no response.
#[wasm_bindgen]
pub fn answer(
    number: u32,
    request: web_sys::Request,
    env: Env,
    record: Option<Vec<u8>>,
) -> std::result::Result<JsValue, JsValue> {
    let place = number as usize % MOST_UNDER_WAY;
    let asking = UNDER_WAY.with_borrow_mut(|requests| requests[place].take_if(|(taken, _)| *taken == number));
    let asking = asking.map_or_else(|| Asking::new(&request, &env), |(_, asking)| asking);
    asking.answer(request, env, record)
}

impl Asking {
    fn new(request: &web_sys::Request, env: &Env) -> Self {
        let asked = bridge::Asked::of(request);
        let config = config(env).inspect_err(|error| console_error!("{error}"));
        let begun = config.ok().map(|config| {
            let Href { origin, path, query } = Href::of(&asked.url);
            let addresses = config.addresses(origin);
            let accept = asked.accept.as_deref();
            let route = route(Asked { method: &asked.method, path, query, accept }, &config.policy);
            Begun { config, addresses, route }
        });
        Self { asked, begun }
    }

    fn record_key(&self) -> Option<String> {
        self.begun.as_ref()?.route.content_id().map(|id| id.to_string())
    }

    fn answer(
        self,
        request: web_sys::Request,
        env: Env,
        record: Option<Vec<u8>>,
    ) -> std::result::Result<JsValue, JsValue> {
        let Self { asked, begun } = self;
        let Some(begun) = begun else {
            return Ok(asked.respond(Refusal::Unavailable.answer())?.into());
        };
        let id = begun.route.content_id();
        let record = id.zip(record).and_then(|(id, kept)| finished::read(id, kept));
        let record = match (&begun.route, record) {
            (Route::Content { wish: Ok(wish), variant }, Some(record)) if answers(wish, &record) => {
                let known = Known::Kept(record);
                let answer = match wish {
                    Wish::Id(_) => ContentAnswer::Found(known),
                    Wish::Source(_) => ContentAnswer::Moved(known),
                };
                return Ok(asked.respond(answer.write(variant, &begun.addresses))?.into());
            }
            (_, record) => record,
        };
        let read = id.map(|id| (id, record));
        Ok(future_to_promise(async move {
            let answered = perform(&asked, &begun, read, &request, &env).await.unwrap_or_else(|error| {
                console_error!("{error}");
                Answered::Whole(Refusal::Unavailable.answer())
            });
            Ok(send(answered, &asked)?.into())
        })
        .into())
    }
}

/// Whether a record is of the content that is wanted: an id may belong to another URL.
fn answers(wish: &Wish, record: &Record) -> bool {
    match wish {
        Wish::Id(_) => true,
        Wish::Source(url) => record.is_of(url),
    }
}

fn send(answered: Answered, asked: &bridge::Asked) -> Result<web_sys::Response> {
    match answered {
        Answered::Whole(answer) => asked.respond(answer),
        Answered::Streamed(response) => {
            for (name, value) in HEADERS_OF_ALL {
                response.headers().set(name, value)?;
            }
            Ok(response.into())
        }
    }
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

async fn perform(
    asked: &bridge::Asked,
    Begun { config, addresses, route }: &Begun,
    read: Read,
    request: &web_sys::Request,
    env: &Env,
) -> Result<Answered> {
    let gate = &Gate::new(request, config, env);
    let contents = &Contents::of(env, read);
    let request = || Request::from(Clone::clone(request));
    let answer = match route {
        Route::Content { wish, variant } => content(wish, gate, contents).await.write(variant, addresses),
        Route::Events(id) => {
            let last = request().headers().get("Last-Event-ID")?;
            return listen(*id, &asked.method, last.as_deref(), addresses, contents).await;
        }
        Route::DescriptorScript(id) => match by_id(*id, contents).await {
            Ok(content) => descriptor::script(&content, addresses),
            Err(refusal) => refusal.answer(),
        },
        Route::Preview(id) => match preview(*id, contents).await {
            Ok(key) => match tiles::serve(&key, &request(), env).await? {
                Some(response) => return Ok(Answered::Streamed(response)),
                None => plain::nothing(),
            },
            Err(answer) => answer,
        },
        Route::Oembed(oembed) => match oembed.content(addresses) {
            Ok(id) => match by_id(id, contents).await {
                Ok(content) => oembed.answer(&content, addresses),
                Err(refusal) => refusal.answer(),
            },
            Err(answer) => answer,
        },
        Route::Home(entry) => home(entry.as_ref(), addresses, gate, contents).await,
        Route::Share(id) => picture(*id, page::share, addresses, contents).await,
        Route::Framed(id) => picture(*id, page::framed, addresses, contents).await,
        Route::Embed => embed::script(),
        Route::Object(key) => match tiles::serve(key, &request(), env).await? {
            Some(response) => return Ok(Answered::Streamed(response)),
            None => plain::nothing(),
        },
        Route::Internal(id, said) => internal::hear(*id, *said, request(), config, env).await,
        Route::Backlog => internal::hear_backlog(request(), config, env).await,
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

async fn content(
    wish: &std::result::Result<Wish, Refusal>,
    gate: &Gate<'_>,
    contents: &Contents<'_>,
) -> ContentAnswer {
    let found = match wish {
        Ok(Wish::Source(url)) => contents.of_source(url, gate).await.map(ContentAnswer::Moved),
        Ok(Wish::Id(id)) => contents.by_id(*id).await.map(|known| match known {
            Some(known) => ContentAnswer::Found(known),
            None => ContentAnswer::Refused(Refusal::NoSuchContent),
        }),
        Err(refusal) => Ok(ContentAnswer::Refused(*refusal)),
    };
    found.unwrap_or_else(|error| ContentAnswer::Refused(error.refusal()))
}

/// All that is known of a content.
async fn by_id(id: ContentId, contents: &Contents<'_>) -> std::result::Result<Content, Refusal> {
    let known = contents.by_id(id).await.map_err(ContentsError::refusal)?;
    let known = known.ok_or(Refusal::NoSuchContent)?;
    known.content().map_err(|unread| ContentsError::from(unread).refusal())
}

/// A content as it changes. One that is finished needs no object, and who only asks whether there is one holds none.
async fn listen(
    id: ContentId,
    method: &Method,
    last: Option<&str>,
    addresses: &Addresses,
    contents: &Contents<'_>,
) -> Result<Answered> {
    let content = match by_id(id, contents).await {
        Ok(content) => content,
        Err(refusal) => return Ok(Answered::Whole(refusal.answer())),
    };
    if content.is_finished() {
        return Ok(Answered::Whole(events::finished(&content, last, addresses)));
    }
    if method == Method::HEAD {
        return Ok(Answered::Whole(events::begun()));
    }
    Ok(match contents.stream(id, addresses).await {
        Ok(Some(body)) => {
            let begun = events::begun();
            Answered::Streamed(Response::builder().with_headers(headers(begun.headers)?).body(body))
        }
        Ok(None) => Answered::Whole(Refusal::Unavailable.answer()),
        Err(error) => Answered::Whole(error.refusal().answer()),
    })
}

/// The tile that holds a small picture of the whole content.
async fn preview(id: ContentId, contents: &Contents<'_>) -> std::result::Result<ObjectKey, Answer> {
    match by_id(id, contents).await {
        Ok(content) => page::preview_key(&content).ok_or_else(plain::nothing),
        Err(Refusal::NoSuchContent) => Err(plain::nothing()),
        Err(refusal) => Err(refusal.answer()),
    }
}

/// The home page; or, when a source was entered, on to its share page.
async fn home(
    entry: Option<&Entry>,
    addresses: &Addresses,
    gate: &Gate<'_>,
    contents: &Contents<'_>,
) -> Answer {
    let Some(Entry { text, source }) = entry else {
        return page::home(None, addresses);
    };
    let url = match source {
        Ok(url) => url,
        Err(refusal) => return page::home(Some((text, *refusal)), addresses),
    };
    match contents.of_source(url, gate).await {
        Ok(known) => Answer::new(StatusCode::FOUND, "text/plain; charset=utf-8", Keep::Never, String::new())
            .with("Location", addresses.share(known.id())),
        Err(error) => {
            let refusal = error.refusal();
            refusal.say_when(page::home(Some((text, refusal)), addresses))
        }
    }
}

/// A page that shows a content.
async fn picture(
    id: ContentId,
    page: fn(&Content, &Addresses) -> Answer,
    addresses: &Addresses,
    contents: &Contents<'_>,
) -> Answer {
    match by_id(id, contents).await {
        Ok(content) => page(&content, addresses),
        Err(Refusal::NoSuchContent) => page::nothing(addresses),
        Err(refusal) => page::unavailable(refusal, addresses),
    }
}

fn headers(own: Vec<(&'static str, Cow<'static, str>)>) -> Result<Headers> {
    let headers = Headers::new();
    for (name, value) in own {
        headers.set(name, &value)?;
    }
    Ok(headers)
}
