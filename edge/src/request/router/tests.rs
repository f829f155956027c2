//! Each path of the interface, and paths that are nearly one.

use edgezoom_content::protocol::{claim_path, report_path};
use edgezoom_content::source_url::SourceUrlError;

use super::*;
use crate::response::negotiation::{Format, NegotiationError};

const ID: &str = "6qy4OXfXSid";

fn ask(method: Method, target: &str) -> Route {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    route(RequestParts { method: &method, path, query, accept: None }, &AddressPolicy::default())
}

fn get(target: &str) -> Route {
    ask(Method::GET, target)
}

fn id() -> ContentId {
    ID.parse().unwrap()
}

fn key(target: &str) -> Result<ContentKey, ApiError> {
    match get(target) {
        Route::Content { key, variant: Variant::Standard(Format::Json), retry: false } => key,
        other => panic!("{target} is routed to {other:?}"),
    }
}

#[test]
fn content_is_asked_for_by_url_with_or_without_a_slash() {
    let source = Ok(ContentKey::Source(SourceUrl::parse("http://example.com/a?b=1&c").unwrap()));
    assert_eq!(key("/v1/content/?url=http%3A%2F%2Fexample.com%2Fa%3Fb%3D1%26c"), source);
    assert_eq!(key("/v1/content?_=1&url=HTTP://example.com/a?b=1%26c&url=http://other.example/"), source);
}

#[test]
fn content_is_asked_for_by_id_with_or_without_a_slash() {
    assert_eq!(key(&format!("/v1/content/{ID}")), Ok(ContentKey::Id(id())));
    assert_eq!(key(&format!("/v1/content/{ID}/?x=y")), Ok(ContentKey::Id(id())));
}

#[test]
fn a_client_asks_for_a_retry_with_one_value() {
    let is_retry = |target: &str| match get(target) {
        Route::Content { retry, .. } => retry,
        other => panic!("{target} is routed to {other:?}"),
    };
    assert!(is_retry("/v1/content/?url=http://example.com/&retry=1"));
    assert!(is_retry(&format!("/v1/content/{ID}?format=json&retry=1")));
    for query in ["", "retry", "retry=", "retry=0", "retry=true", "retry=0&retry=1", "Retry=1"] {
        assert!(!is_retry(&format!("/v1/content/{ID}?{query}")), "{query}");
    }
}

#[test]
fn a_text_that_is_no_id_is_no_content() {
    for text in ["x", "..%2f", "6qy4OXfXSi", "6qy4OXfXSidd", "6qy4OXfXSid//", "%00"] {
        assert_eq!(key(&format!("/v1/content/{text}")), Err(ApiError::NoSuchContent), "{text}");
    }
}

#[test]
fn a_url_that_is_no_source_is_refused_with_the_reason() {
    assert_eq!(key("/v1/content/"), Err(ApiError::NeitherIdNorUrl));
    assert_eq!(key("/v1/content/?url="), Err(ApiError::Url(SourceUrlError::Scheme)));
    assert_eq!(key("/v1/content/?url=http://nodots/"), Err(ApiError::Url(SourceUrlError::PrivateName)));
    assert!(matches!(key("/v1/content/?url=http://127.0.0.1/a.jpg"), Err(ApiError::Address(_))));
}

#[test]
fn the_error_of_an_unknown_format_is_wrapped() {
    let route = get(&format!("/v1/content/{ID}?format=yaml"));
    let variant = Variant::Wrapped(Format::Json);
    assert_eq!(
        route,
        Route::Content { key: Err(NegotiationError::UnknownFormat.into()), variant, retry: false }
    );
}

#[test]
fn share_embed_and_home_are_found() {
    assert_eq!(get("/"), Route::Home(None));
    assert_eq!(get("/?url="), Route::Home(None));
    assert!(matches!(get("/?url=http://a.example/"), Route::Home(Some(HomeForm { source: Ok(_), .. }))));
    assert!(matches!(get("/?url=nonsense"), Route::Home(Some(HomeForm { source: Err(_), .. }))));
    assert_eq!(get(&format!("/{ID}")), Route::Share(id()));
    assert_eq!(get(&format!("/{ID}/")), Route::Share(id()));
    assert_eq!(get(&format!("/{ID}.js?width=50%25&height=30&id=here")), Route::EmbedScript);
    assert_eq!(get(&format!("/{ID}/embed")), Route::Frame(id()));
    assert_eq!(get(&format!("/{ID}/embed/?fit=cover")), Route::Frame(id()));
    for unknown in ["/x.js", "/x/embed", "/embed", &format!("/{ID}/embed/embed"), &format!("/{ID}.js/")] {
        assert_eq!(get(unknown), Route::NotFound { page: true }, "{unknown}");
    }
}

#[test]
fn events_previews_and_oembed_are_found() {
    assert_eq!(get(&format!("/v1/content/{ID}/events")), Route::Events(id()));
    assert_eq!(key("/v1/content/x/events"), Err(ApiError::NoSuchContent));
    assert_eq!(get(&format!("/{ID}/preview.jpg")), Route::Preview(id()));
    let route = get("/oembed?url=a&format=xml&maxwidth=300&maxheight=-1");
    let (url, format) = (Some("a".to_owned()), Some("xml".to_owned()));
    assert_eq!(route, Route::Oembed(OembedRequest { url, format, max_width: Some(300), max_height: None }));
}

#[test]
fn only_keys_of_descriptors_and_tiles_reach_r2() {
    assert!(matches!(get(&format!("/cache/{ID}/1.dzi")), Route::Object(_)));
    assert!(matches!(get(&format!("/cache/{ID}/1_files/0/0_0.jpg")), Route::Object(_)));
    assert_eq!(get(&format!("/cache/{ID}/secrets")), Route::NotFound { page: false });
}

#[test]
fn tilers_and_the_operator_post() {
    assert_eq!(ask(Method::POST, &claim_path(id())), Route::TilerCall(id(), TilerCall::Claim));
    assert_eq!(ask(Method::POST, &report_path(id())), Route::TilerCall(id(), TilerCall::Report));
    assert_eq!(
        ask(Method::POST, &format!("/internal/content/{ID}/reset")),
        Route::TilerCall(id(), TilerCall::Reset)
    );
    assert_eq!(ask(Method::POST, BACKLOG_PATH), Route::Backlog);
    assert_eq!(get(BACKLOG_PATH), Route::MethodNotAllowed("POST"));
    assert_eq!(get(&claim_path(id())), Route::MethodNotAllowed("POST"));
    for unknown in ["/internal/", "/internal/content/x/claim", "/internal/content/6qy4OXfXSid/steal"] {
        assert_eq!(ask(Method::POST, unknown), Route::NotFound { page: false }, "{unknown}");
    }
}

#[test]
fn only_reading_is_allowed_elsewhere() {
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH, Method::TRACE] {
        assert_eq!(ask(method, "/v1/content/"), Route::MethodNotAllowed("GET, HEAD, OPTIONS"));
    }
    assert_eq!(ask(Method::OPTIONS, "/v1/content/"), Route::Preflight);
    assert_eq!(ask(Method::HEAD, "/health"), Route::Health);
}

#[test]
fn a_person_at_a_wrong_address_gets_a_page() {
    for path in ["/nothing", "/6qy4OXfXSi", "/a/b/c", "//", "/%ff", "/favicon.ico"] {
        assert_eq!(get(path), Route::NotFound { page: true }, "{path}");
    }
    assert_eq!(get("/v1/nothing"), Route::NotFound { page: false });
}
