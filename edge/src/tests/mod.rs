//! The API's contract: requests and their responses, without the platform. `responses.test.mjs` tests what the runtime
//! adds, such as CORS, HEAD and conditions.

mod content;
mod credits;
mod failure_codes;
mod format_selection;
mod requests;

use crate::admission::policy::AdmissionError;
use crate::config::Addresses;
use crate::representation::response::{ContentResponse, dzi_response};
use crate::request::route::{ContentKey, Methods, Route};
use crate::request::router::{RequestParts, route};
use crate::response::{ApiError, Response, plain};
use edgezoom_content::{
    AddressPolicy, Archive, Attempt, Content, Dzi, Failure, FailureCode, Finished, NextTry, Previews,
    Progress, Size, SourceUrl, Stage, Status, TileFormat, Timestamp,
};
use http::Method;

const ID: &str = "6qy4OXfXSid";
const BY_URL: &str = "/v1/content/?url=http%3A%2F%2Fexample.com%2Fa.jpg";
const BY_ID: &str = "/v1/content/6qy4OXfXSid";
const DZI_BY_URL: &str = "/v1/dzi/?url=http%3A%2F%2Fexample.com%2Fa.jpg";
const DZI_BY_ID: &str = "/v1/dzi/6qy4OXfXSid";

/// The time of the request, 9 minutes and 7.5 seconds before the retry of a failed content.
const NOW: Timestamp = Timestamp(1_700_000_000_000);
const RETRY_AT: Timestamp = Timestamp(NOW.0 + 547_500);

/// The state of the content, or of the service.
#[derive(Clone, Copy, PartialEq)]
enum There {
    Nothing,
    Queued,
    Waiting,
    Rendering,
    Ready,
    Failed,
    Outage,
    Maintenance,
}
use There::*;

fn content(there: There) -> Content {
    let url = SourceUrl::parse("http://example.com/a.jpg").unwrap();
    let size = Size { width: 8000, height: 6000 };
    let dzi = Dzi { size, tile_size: 510, tile_overlap: 1, tile_format: TileFormat::Jpg };
    let (progress, status) = match there {
        Ready => (
            1.0,
            Status::Ready {
                attempt: Attempt::FIRST,
                finished: Finished::new(dzi, Archive::default(), Previews::default()),
            },
        ),
        Failed => {
            let failure = Failure::new(FailureCode::SourceNotFound, "404 <&>.");
            (0.0625, Status::Failed { failure, retry_at: RETRY_AT })
        }
        Waiting => {
            let reason = Failure::new(FailureCode::SourceUnreachable, "It is down.");
            let next = Some(NextTry { until: RETRY_AT, left: 2, reason });
            (0.125, Status::Processing { stage: Stage::Waiting, coarse: None, next })
        }
        Rendering => (0.25, Status::processing(Stage::Rendering)),
        Queued | Nothing | Outage | Maintenance => (0.0, Status::processing(Stage::Queued)),
    };
    Content { id: ID.parse().unwrap(), url, alternative: None, progress: Progress::from(progress), status }
}

fn answer(method: Method, target: &str, accept: Option<&str>, there: There) -> Response {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let addresses = Addresses {
        base: "https://api.example".into(),
        share: "https://zoom.example".into(),
        cache: "https://cache.example".into(),
    };
    let share = &addresses.share;
    match route(RequestParts { method: &method, path, query, accept, share }, &AddressPolicy::default()) {
        Route::Content { key, variant, .. } => match key {
            Err(error) => ContentResponse::Failed(error),
            Ok(_) if there == Outage => ContentResponse::Failed(ApiError::Unavailable),
            Ok(_) if there == Maintenance => ContentResponse::Failed(AdmissionError::Maintenance.into()),
            Ok(ContentKey::Source { .. } | ContentKey::Shared { .. }) => {
                ContentResponse::Moved(content(there).into())
            }
            Ok(ContentKey::Id(_)) if there == Nothing => ContentResponse::Failed(ApiError::NoSuchContent),
            Ok(ContentKey::Id(_)) => ContentResponse::Found(content(there).into()),
        }
        .write(&variant, &addresses, NOW),
        Route::Dzi { key, variant } => {
            let by_url = !matches!(key, Ok(ContentKey::Id(_)));
            dzi_response(key.map(|_| content(there)), by_url, &variant, &addresses)
        }
        Route::Preflight(methods) => plain::preflight(methods.names(false)),
        // Uploads are disabled by default.
        Route::Upload { .. } => plain::uploads_off(Methods::ReadOrUpload.names(false)),
        Route::MethodNotAllowed(methods) => plain::method_not_allowed(methods.names(false)),
        other => panic!("{target} has the route {other:?}"),
    }
}

/// Returns the response as it is sent, without the value of the entity tag, which depends on the build.
fn wire(answer: &Response) -> String {
    let headers = answer.headers.iter().map(|(name, value)| match *name {
        "ETag" => "ETag: …\n".to_owned(),
        _ => format!("{name}: {value}\n"),
    });
    format!("{}\n{}\n{}", answer.status, headers.collect::<String>(), answer.body)
}

fn get(target: &str, there: There) -> String {
    wire(&answer(Method::GET, target, None, there))
}

fn accepting(accept: &str, target: &str, there: There) -> String {
    wire(&answer(Method::GET, target, Some(accept), there))
}

fn with(target: &str, parameters: &str) -> String {
    format!("{target}{}{parameters}", if target.contains('?') { '&' } else { '?' })
}

/// Returns the media type of the response and the beginning of its body.
fn form(target: &str, accept: Option<&str>) -> (String, String) {
    let answer = answer(Method::GET, target, accept, Ready);
    (answer.header("Content-Type").unwrap().to_owned(), answer.body.chars().take(20).collect())
}
