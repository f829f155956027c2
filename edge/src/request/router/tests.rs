//! Every path of the API, and paths that are nearly one.

use edgezoom_content::protocol::{claim_path, report_path};
use edgezoom_content::source_url::SourceUrlError;

use super::*;
use crate::response::negotiation::{Format, NegotiationError};

const ID: &str = "6qy4OXfXSid";
const SHARE: &str = "https://zoom.example";

fn ask(method: Method, target: &str) -> Route {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    route(
        RequestParts { method: &method, path, query, accept: None, share: SHARE },
        &AddressPolicy::default(),
    )
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
        other => panic!("{target} has the route {other:?}"),
    }
}

#[test]
fn a_content_is_requested_by_url_with_or_without_a_slash() {
    let source = Ok(ContentKey::of_source(SourceUrl::parse("http://example.com/a?b=1&c").unwrap()));
    assert_eq!(key("/v1/content/?url=http%3A%2F%2Fexample.com%2Fa%3Fb%3D1%26c"), source);
    assert_eq!(key("/v1/content?_=1&url=HTTP://example.com/a?b=1%26c&url=http://other.example/"), source);
}

#[test]
fn options_of_a_web_page_are_part_of_its_source() {
    let url = SourceUrl::parse("https://example.com/a").unwrap();
    let source = Ok(ContentKey::of_source(url.clone().with_options("web-width=390&web-hide=.b").unwrap()));
    let options = "web-hide=.b&_=1&web-scheme=&%77eb-width=390";
    assert_eq!(key(&format!("/v1/content/?url=https://example.com/a&{options}")), source);
    let Route::Home(Some(form)) = get(&format!("/?url=example.com/a&{options}")) else { panic!() };
    assert_eq!((form.key, form.assumes_https), (source, true));
    let Route::Home(Some(form)) = get("/https://example.com/a?web-width=1") else { panic!() };
    assert!(form.key.is_ok(), "what follows a source in the path is a part of it");
    let wrong = key("/v1/content/?url=https://example.com/a&web-width=1").unwrap_err();
    assert_eq!(wrong.status(), http::StatusCode::BAD_REQUEST);
    assert_eq!(wrong.to_string(), "web-width must be a number of CSS pixels from 320 to 2560.");
    assert!(
        key("/v1/content/?url=https://example.com/a&web-colour=red")
            .unwrap_err()
            .to_string()
            .contains("-hide")
    );
    for query in ["web-width=390", "web-width=1"] {
        let Route::Upload { query: Err(error), .. } = ask(Method::POST, &format!("/v1/content/?{query}"))
        else {
            panic!("{query}")
        };
        assert_eq!(error, SourceUrlError::from(CaptureError::NO_URL).into());
    }
}

#[test]
fn a_content_is_requested_by_id_with_or_without_a_slash() {
    assert_eq!(key(&format!("/v1/content/{ID}")), Ok(ContentKey::Id(id())));
    assert_eq!(key(&format!("/v1/content/{ID}/?x=y")), Ok(ContentKey::Id(id())));
}

#[test]
fn only_retry_1_asks_for_a_retry() {
    let is_retry = |target: &str| match get(target) {
        Route::Content { retry, .. } => retry,
        other => panic!("{target} has the route {other:?}"),
    };
    assert!(is_retry("/v1/content/?url=http://example.com/&retry=1"));
    assert!(is_retry(&format!("/v1/content/{ID}?format=json&retry=1")));
    for query in ["", "retry", "retry=", "retry=0", "retry=true", "retry=0&retry=1", "Retry=1"] {
        assert!(!is_retry(&format!("/v1/content/{ID}?{query}")), "{query}");
    }
}

#[test]
fn files_are_uploaded_to_the_path_of_contents_by_url() {
    let sent = |target| ask(Method::POST, target);
    let (json, wrapped) = (Variant::Standard(Format::Json), Variant::Wrapped(Format::Json));
    assert_eq!(sent("/v1/content"), Route::Upload { query: Ok(UploadQuery::default()), variant: json });
    let query = |no_vectors| Ok(UploadQuery { name: Some("a b.jpg".to_owned()), no_vectors, digest: None });
    for (vectors, is_off) in
        [("", false), ("&vectors=on", false), ("&vectors=off", true), ("&vectors=no", true)]
    {
        let target = format!("/v1/content/?name=a%20b.jpg&format=json{vectors}");
        let route = Route::Upload { query: query(is_off), variant: wrapped.clone() };
        assert_eq!(ask(Method::POST, &target), route, "{vectors}");
    }
    for target in [&format!("/v1/content/{ID}"), "/v1/dzi/", "/", "/v1/contents"] {
        assert!(matches!(sent(target), Route::MethodNotAllowed(_)), "{target}");
    }
}

#[test]
fn an_upload_in_parts_is_begun_sent_and_finished() {
    let file = "00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100";
    let sent = |method, path: &str| match ask(method, &format!("/v1/uploads{path}")) {
        Route::UploadInParts(step) => Some(step),
        Route::NotFound { page: false } | Route::MethodNotAllowed(_) => None,
        other => panic!("{other:?}"),
    };
    for path in ["", "/"] {
        assert_eq!(sent(Method::POST, path), Some(UploadStep::Begin(Ok(UploadQuery::default()))));
    }
    let digest = UploadQuery::parse("digest=short").map_err(ApiError::from);
    assert_eq!(sent(Method::POST, "/?digest=short"), Some(UploadStep::Begin(digest)));
    let part = UploadStep::Part(file.parse().unwrap(), 2);
    assert_eq!(sent(Method::PUT, &format!("/{file}/2")), Some(part));
    let query = Ok(UploadQuery { name: Some("a.jpg".to_owned()), no_vectors: true, digest: None });
    let finish =
        UploadStep::Finish { upload: file.parse().unwrap(), query, variant: Variant::Standard(Format::Json) };
    assert_eq!(sent(Method::POST, &format!("/{file}?name=a.jpg&vectors=off")), Some(finish));
    for (method, path) in [
        (Method::POST, format!("/{file}/1")),
        (Method::PUT, format!("/{file}")),
        (Method::PUT, "/".to_owned()),
        (Method::POST, "x".to_owned()),
        (Method::GET, format!("/{file}")),
        (Method::GET, format!("/{file}/1")),
    ] {
        assert_eq!(sent(method.clone(), &path), None, "{method} {path}");
    }
}

#[test]
fn a_collection_and_its_entries_have_paths() {
    let call = |method, path: &str| match ask(method, &format!("/v1/collections/{path}")) {
        Route::Collection(name, call) if name.as_str() == "drawings" => Some(call),
        Route::NotFound { page: false } => None,
        other => panic!("{other:?}"),
    };
    assert_eq!(call(Method::PUT, "drawings/"), Some(CollectionCall::Put));
    assert_eq!(call(Method::POST, "drawings/entries"), Some(CollectionCall::Post));
    let list = CollectionCall::List("order=added".to_owned());
    assert_eq!(call(Method::GET, "drawings/entries?order=added"), Some(list));
    let file = CollectionCall::File("digest=x".to_owned());
    assert_eq!(call(Method::POST, "drawings/files?digest=x"), Some(file));
    for path in
        ["", "ab", "Drawings", "drawings/entries/1", "drawings/other", "%2e%2e%2fx", "drawings%2fentries"]
    {
        assert_eq!(call(Method::GET, path), None, "{path}");
    }
    assert_eq!(
        ask(Method::PUT, "/v1/collections/drawings").signed_text("").as_deref(),
        Some("collection:drawings")
    );
}

#[test]
fn a_refused_method_gets_the_methods_of_its_path() {
    let file = "00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100";
    for (path, with_uploads, without) in [
        ("/v1/content/", "GET, HEAD, OPTIONS, POST", "GET, HEAD, OPTIONS"),
        ("/v1/content", "GET, HEAD, OPTIONS, POST", "GET, HEAD, OPTIONS"),
        (&format!("/v1/content/{ID}"), "GET, HEAD, OPTIONS, DELETE", "GET, HEAD, OPTIONS, DELETE"),
        (&format!("/v1/content/{ID}/events"), "GET, HEAD, OPTIONS", "GET, HEAD, OPTIONS"),
        ("/v1/dzi/", "GET, HEAD, OPTIONS", "GET, HEAD, OPTIONS"),
        ("/", "GET, HEAD, OPTIONS", "GET, HEAD, OPTIONS"),
        ("/v1/uploads", "OPTIONS, POST", "OPTIONS"),
        ("/v1/uploads/", "OPTIONS, POST", "OPTIONS"),
        (&format!("/v1/uploads/{file}"), "OPTIONS, POST", "OPTIONS"),
        (&format!("/v1/uploads/{file}/7"), "OPTIONS, PUT", "OPTIONS"),
        (&claim_path(id()), "POST", "POST"),
        ("/v1/collections/drawings", "GET, HEAD, OPTIONS, PUT, DELETE", "GET, HEAD, OPTIONS, PUT, DELETE"),
        ("/v1/collections/drawings/files", "OPTIONS, POST", "OPTIONS"),
        ("/v1/collections/drawings/entries/", "GET, HEAD, OPTIONS, POST", "GET, HEAD, OPTIONS, POST"),
    ] {
        let Route::MethodNotAllowed(methods) = ask(Method::PATCH, path) else { panic!("{path}") };
        assert_eq!((methods.names(true), methods.names(false)), (with_uploads, without), "{path}");
        if path.starts_with("/internal/") {
            continue;
        }
        assert_eq!(ask(Method::OPTIONS, path), Route::Preflight(methods), "{path}");
        for name in with_uploads.split(", ") {
            let allowed = ask(name.parse().unwrap(), path);
            assert!(!matches!(allowed, Route::MethodNotAllowed(_)), "{name} {path}");
        }
    }
}

#[test]
fn a_malformed_id_has_no_content() {
    for text in ["x", "..%2f", "6qy4OXfXSi", "6qy4OXfXSidd", "6qy4OXfXSid//", "%00"] {
        assert_eq!(key(&format!("/v1/content/{text}")), Err(ApiError::NoSuchContent), "{text}");
    }
}

#[test]
fn a_url_that_cannot_be_a_source_is_refused_with_the_reason() {
    assert_eq!(key("/v1/content/"), Err(ApiError::NeitherIdNorUrl));
    assert_eq!(key("/v1/content/?url="), Err(ApiError::Url(SourceUrlError::Scheme)));
    assert_eq!(key("/v1/content/?url=http://nodots/"), Err(ApiError::Url(SourceUrlError::NoDomain)));
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
fn share_links_embed_scripts_and_the_home_page_are_found() {
    assert_eq!(get("/"), Route::Home(None));
    assert_eq!(get("/?url="), Route::Home(None));
    assert!(matches!(
        get("/?url=http://a.example/"),
        Route::Home(Some(HomeForm { key: Ok(ContentKey::Source { .. }), .. }))
    ));
    assert!(matches!(get("/?url=nonsense"), Route::Home(Some(HomeForm { key: Err(_), .. }))));
    assert_eq!(get(&format!("/{ID}")), Route::Share(id(), None));
    assert_eq!(get(&format!("/{ID}/?at=top")), Route::Share(id(), None));
    let place = || Place::parse("500,400,6,90").map(Opening::Place);
    assert_eq!(get(&format!("/{ID}?a=b&at=500%2C400%2C6%2C90")), Route::Share(id(), place()));
    assert_eq!(get(&format!("/{ID}?page=12&at=500,400,6,90")), Route::Share(id(), place()));
    assert_eq!(get(&format!("/{ID}?page=12")), Route::Share(id(), Some(Opening::Page(12))));
    assert_eq!(get(&format!("/{ID}?page=x&q=+")), Route::Share(id(), None));
    let words = |from| Some(Opening::Words { query: "high tide".to_owned(), from });
    assert_eq!(get(&format!("/{ID}?q=high%20tide")), Route::Share(id(), words(1)));
    assert_eq!(get(&format!("/{ID}?page=3&q=high+tide")), Route::Share(id(), words(3)));
    assert_eq!(get(&format!("/{ID}.js?width=50%25&height=30&id=here")), Route::EmbedScript);
    assert_eq!(get(&format!("/{ID}/embed")), Route::Frame(id()));
    assert_eq!(get(&format!("/{ID}/embed/?fit=cover")), Route::Frame(id()));
    assert_eq!(get("/nope.js"), Route::EmbedScript);
    for unknown in
        ["/.js", "/a/b.js", "/x/embed", "/embed", &format!("/{ID}/embed/embed"), &format!("/{ID}.js/")]
    {
        assert_eq!(get(unknown), Route::NotFound { page: true }, "{unknown}");
    }
}

#[test]
fn events_previews_and_oembed_are_found() {
    assert_eq!(get(&format!("/v1/content/{ID}/events")), Route::Events(id()));
    assert_eq!(get(&format!("/v1/content/{ID}/text")), Route::Text(id(), TextForm::Json));
    assert_eq!(get(&format!("/{ID}/text")), Route::Text(id(), TextForm::Html));
    assert_eq!(key("/v1/content/x/events"), Err(ApiError::NoSuchContent));
    assert_eq!(get(&format!("/{ID}/preview.jpg")), Route::Preview(id(), PreviewKind::Large));
    assert_eq!(get(&format!("/{ID}/thumbnail.jpg")), Route::Preview(id(), PreviewKind::Thumbnail));
    let route = get("/oembed?url=a&format=xml&maxwidth=300&maxheight=-1");
    let (url, format) = (Some("a".to_owned()), Some("xml".to_owned()));
    assert_eq!(
        route,
        Route::Oembed(OembedRequest { url, format, max_width: Some(300), ..OembedRequest::default() })
    );
}

#[test]
fn oembed_knows_the_address_of_the_home_page_with_options() {
    let form = |address: &str| {
        let query: String =
            url::form_urlencoded::Serializer::new(String::new()).append_pair("url", address).finish();
        let Route::Oembed(asked) = get(&format!("/oembed?{query}")) else { panic!("{address}") };
        asked.form
    };
    let page = SourceUrl::parse("https://example.com/a").unwrap().with_options("web-width=390").unwrap();
    let address = |options: &str| format!("{SHARE}/?url=https%3A%2F%2Fexample.com%2Fa{options}");
    assert_eq!(form(&address("&web-width=390#x")).unwrap().key, Ok(ContentKey::of_source(page.clone())));
    assert_eq!(form(&address("")).unwrap().key, Ok(ContentKey::of_source(page.without_options())));
    assert!(form(&address("&web-width=1")).unwrap().key.is_err());
    for other in [
        format!("{SHARE}/"),
        format!("{SHARE}/?a=b"),
        format!("{SHARE}/{ID}?url=https://example.com/a"),
        format!("{SHARE}.example/?url=https://example.com/a"),
        "https://example.com/a".to_owned(),
    ] {
        assert_eq!(form(&other), None, "{other}");
    }
}

#[test]
fn only_addresses_of_a_pyramids_objects_reach_r2() {
    assert!(matches!(get(&format!("/cache/{ID}/1.dzi")), Route::Object(_)));
    assert!(matches!(get(&format!("/cache/{ID}/1_files/0/0_0.jpg")), Route::Object(_)));
    assert_eq!(get(&format!("/cache/{ID}/secrets")), Route::NotFound { page: false });
}

#[test]
fn iiif_has_its_own_addresses() {
    assert_eq!(get(&format!("/iiif/{ID}")), Route::Iiif(id(), None, IiifRequest::Base));
    assert_eq!(get(&format!("/iiif/{ID}/")), Route::Iiif(id(), None, IiifRequest::Base));
    assert_eq!(get(&format!("/iiif/{ID}/info.json")), Route::Iiif(id(), None, IiifRequest::Info));
    assert!(matches!(
        get(&format!("/iiif/{ID}/full/max/0/default.jpg")),
        Route::Iiif(_, None, IiifRequest::Image(Ok(_)))
    ));
    for third in [format!("/iiif/{ID}:3/info.json"), format!("/iiif/{ID}%3A3/info.json")] {
        assert_eq!(get(&third), Route::Iiif(id(), Some(3), IiifRequest::Info), "{third}");
    }
    assert_eq!(
        get(&format!("/iiif/{ID}/annotations/12.json")),
        Route::Iiif(id(), None, IiifRequest::Annotations(12))
    );
    for unknown in [
        "",
        "x/info.json",
        "ID/info.xml",
        "ID:0/info.json",
        "ID:03/info.json",
        "ID:+3/info.json",
        "ID:/info.json",
        "ID:3/manifest.json",
        "ID/annotations/0.json",
        "ID/annotations/x.json",
    ] {
        let unknown = format!("/iiif/{}", unknown.replace("ID", ID));
        assert_eq!(get(&unknown), Route::NotFound { page: false }, "{unknown}");
    }
}

#[test]
fn words_are_searched_from_a_page_on() {
    let search =
        |query: &str, from, version| Route::Search(id(), Search { query: query.to_owned(), from, version });
    for (path, expected) in [
        ("search?q=high+tide", search("high tide", 1, SearchVersion::Two)),
        ("search/?q=a&from=12", search("a", 12, SearchVersion::Two)),
        ("search/1?q=a&from=0", search("a", 1, SearchVersion::One)),
        ("search", search("", 1, SearchVersion::Two)),
    ] {
        assert_eq!(get(&format!("/v1/content/{ID}/{path}")), expected, "{path}");
    }
    let long = format!("/v1/content/{ID}/search?q=e{}", "%CC%81".repeat(2500));
    let cut = format!("e{}", "\u{301}".repeat(Search::MAX_CHARACTERS - 1));
    assert_eq!(get(&long), search(&cut, 1, SearchVersion::Two));
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
    assert_eq!(get(BACKLOG_PATH), Route::MethodNotAllowed(Methods::Call));
    assert_eq!(get(&claim_path(id())), Route::MethodNotAllowed(Methods::Call));
    for unknown in ["/internal/", "/internal/content/x/claim", "/internal/content/6qy4OXfXSid/steal"] {
        assert_eq!(ask(Method::POST, unknown), Route::NotFound { page: false }, "{unknown}");
    }
}

#[test]
fn all_other_paths_only_allow_reading() {
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH, Method::TRACE] {
        let path = format!("/v1/dzi/{ID}");
        assert_eq!(ask(method, &path), Route::MethodNotAllowed(Methods::Read));
    }
    for path in [format!("/v1/content/{ID}"), format!("/v1/content/{ID}/")] {
        assert_eq!(ask(Method::DELETE, &path), Route::Delete(id()));
    }
    assert_eq!(ask(Method::OPTIONS, "/v1/content/"), Route::Preflight(Methods::ReadOrUpload));
    assert_eq!(ask(Method::HEAD, "/health"), Route::Health);
}

#[test]
fn an_unknown_address_outside_the_api_gets_a_page() {
    for path in ["/nothing", "/6qy4OXfXSi", "/a/b/c", "//", "/%ff", "/favicon.ico"] {
        assert_eq!(get(path), Route::NotFound { page: true }, "{path}");
    }
    for path in ["/v1", "/v1/", "/v1/nothing", "/v1/content/x/y/"] {
        assert!(!matches!(get(path), Route::NotFound { page: true }), "{path}");
    }
}

#[test]
fn a_trailing_slash_changes_nothing() {
    for path in ["/health", "/version", "/robots.txt", "/sitemap.xml", "/oembed", "/v1/content", "/v1/dzi"] {
        assert_eq!(get(&format!("{path}/")), get(path), "{path}");
    }
    let events = format!("/v1/content/{ID}/events");
    assert_eq!(get(&format!("{events}/")), Route::Events(id()));
}

#[test]
fn the_dzi_object_is_requested_like_a_content() {
    let of = |target: &str| match get(target) {
        Route::Dzi { key, .. } => key,
        other => panic!("{target} has the route {other:?}"),
    };
    assert_eq!(of(&format!("/v1/dzi/{ID}?callback=a")), Ok(ContentKey::Id(id())));
    assert_eq!(of("/v1/dzi/x"), Err(ApiError::NoSuchContent));
    assert_eq!(of("/v1/dzi/"), Err(ApiError::NeitherIdNorUrl));
    let source = SourceUrl::parse("http://example.com/a").unwrap();
    assert_eq!(of("/v1/dzi/?callback=a&url=http://example.com/a"), Ok(ContentKey::of_source(source)));
}

#[test]
fn bytes_of_a_source_that_are_not_utf_8_stay_percent_encoded() {
    for (query, url) in [
        ("http%3A%2F%2Fexample.com%2F%FF.jpg", "http://example.com/%FF.jpg"),
        ("http://example.com/%25FF.jpg", "http://example.com/%FF.jpg"),
        ("http://example.com/caf%e9+au+lait%3F%C3%A9", "http://example.com/caf%E9%20au%20lait?%C3%A9"),
    ] {
        let source = SourceUrl::parse(url).unwrap();
        assert_eq!(
            key(&format!("/v1/content/?_=1&url={query}")),
            Ok(ContentKey::of_source(source)),
            "{query}"
        );
    }
}

#[test]
fn the_home_page_adds_a_missing_scheme() {
    for (text, assumes_https, url) in [
        ("example.com/a.jpg", true, "https://example.com/a.jpg"),
        (" example.com:8080/a%3Ab ", true, "https://example.com:8080/a:b"),
        ("%22example.com/a.jpg", true, "https://example.com/a.jpg"),
        ("%E2%80%9Chttp://example.com/a.jpg%E2%80%9D", false, "http://example.com/a.jpg"),
        ("[2606:4700::1111]:8080", true, "https://[2606:4700::1111]:8080/"),
        ("HTTP://example.com/", false, "http://example.com/"),
    ] {
        let Route::Home(Some(form)) = get(&format!("/?url={text}")) else { panic!("{text}") };
        assert_eq!(form.key, Ok(ContentKey::of_source(SourceUrl::parse(url).unwrap())), "{text}");
        assert_eq!(form.assumes_https, assumes_https, "{text}");
    }
    for text in ["ftp://example.com/", "javascript:alert(1)", "mailto:a@b.example"] {
        let Route::Home(Some(form)) = get(&format!("/?url={text}")) else { panic!("{text}") };
        assert_eq!(form.key, Err(ApiError::Url(SourceUrlError::Scheme)), "{text}");
    }
    for url in ["example.com/a.jpg", "%22http://example.com/%22"] {
        assert_eq!(
            key(&format!("/v1/content/?url={url}")),
            Err(ApiError::Url(SourceUrlError::Scheme)),
            "{url}"
        );
    }
    let Route::Home(Some(form)) = get("/?url=cats") else { panic!() };
    assert_eq!(form.key, Err(ApiError::Url(SourceUrlError::NoDomain)));
    assert_eq!(get("/?url=%22%22+"), Route::Home(None));
    let Route::Home(Some(form)) = get(&format!("/?url=zoom.example/{ID}")) else { panic!() };
    assert!(!form.assumes_https && form.key.is_ok(), "a share link");
}

#[test]
fn a_source_can_be_the_path_of_the_home_page() {
    for (path, url) in [
        ("/http://example.com/a.jpg", "http://example.com/a.jpg"),
        ("/https:/example.com/a.jpg?b=1&c", "https://example.com/a.jpg?b=1&c"),
    ] {
        let Route::Home(Some(form)) = get(path) else { panic!("{path}") };
        assert_eq!((form.text.as_str(), form.assumes_https), (url, false));
        assert_eq!(form.key, Ok(ContentKey::of_source(SourceUrl::parse(url).unwrap())), "{path}");
    }
    let Route::Home(Some(form)) = get("/https://cats") else { panic!() };
    assert_eq!(form.key, Err(ApiError::Url(SourceUrlError::NoDomain)));
    for path in ["/ftp://example.com/a.jpg", "/https:example.com", "/https"] {
        assert_eq!(get(path), Route::NotFound { page: true }, "{path}");
    }
}

#[test]
fn a_share_link_names_the_content_that_it_shows() {
    for link in ["", "/", "/embed", "?x=y", "%23100,100,4"] {
        let link = format!("https://zoom.example/{ID}{link}");
        let shown = key(&format!("/v1/content/?url={link}"));
        assert!(
            matches!(shown, Ok(ContentKey::Shared { id: shown, .. }) if shown == id()),
            "{link}: {shown:?}"
        );
    }
    for link in [
        "https://zoom.example/".to_owned(),
        format!("https://zoom.example/{ID}/preview.jpg"),
        format!("https://zoom.example.com/{ID}"),
        format!("https://other.example/{ID}"),
    ] {
        assert!(matches!(key(&format!("/v1/content/?url={link}")), Ok(ContentKey::Source { .. })), "{link}");
    }
}

#[test]
fn a_signature_names_what_its_route_does_and_not_what_the_query_adds() {
    let digest = "f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk";
    let file = "00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100";
    let url = "url=http%3A%2F%2Fexample.com%2Fa.jpg";
    for (method, target, text) in [
        (Method::GET, format!("/v1/content/?{url}"), Some("http://example.com/a.jpg".to_owned())),
        (Method::GET, format!("/?{url}"), Some("http://example.com/a.jpg".to_owned())),
        (
            Method::GET,
            format!("/v1/content/?web-hide=.a&{url}&x=web-&%77eb-width=390"),
            Some("http://example.com/a.jpg\nweb-hide=.a&%77eb-width=390".to_owned()),
        ),
        (Method::GET, format!("/https://b.example/?{url}"), Some(format!("https://b.example/?{url}"))),
        (Method::GET, format!("/v1/content/{ID}?retry=1&{url}"), Some(ID.to_owned())),
        (Method::GET, format!("/v1/dzi/{ID}?{url}"), Some(ID.to_owned())),
        (Method::GET, format!("/{ID}?{url}"), Some(ID.to_owned())),
        (Method::POST, format!("/v1/content/?{url}"), None),
        (Method::POST, format!("/v1/content/?{url}&digest={digest}"), Some(format!("upload:{digest}"))),
        (Method::POST, format!("/v1/uploads/?{url}"), None),
        (Method::POST, format!("/v1/uploads/?digest={digest}"), Some(format!("upload:{digest}"))),
        (Method::POST, format!("/v1/uploads/{file}?{url}"), None),
        (Method::PUT, format!("/v1/uploads/{file}/1?{url}"), None),
    ] {
        let query = target.split_once('?').unwrap().1;
        assert_eq!(ask(method, &target).signed_text(query), text, "{target}");
    }
}
