//! Requests: paths, methods, parameters, refused URLs.

use super::*;

#[test]
fn a_trailing_slash_changes_nothing() {
    let url = "url=http%3A%2F%2Fexample.com%2Fa.jpg";
    assert_eq!(get(&format!("/v1/content?{url}"), Ready), get(&format!("/v1/content/?{url}"), Ready));
    assert_eq!(get(&format!("{BY_ID}/"), Ready), get(BY_ID, Ready));
    assert_eq!(get(&format!("{BY_ID}/?format=xml"), Ready), get(&format!("{BY_ID}?format=xml"), Ready));
}

#[test]
fn only_reading_is_allowed() {
    for target in [BY_URL, BY_ID] {
        // The platform omits the body.
        let head = answer(Method::HEAD, target, None, Ready);
        assert_eq!(head, answer(Method::GET, target, None, Ready));
        // The content with an id may be deleted, too.
        let sent = |method| wire(&answer(method, target, None, Ready)).replace(", DELETE", "");
        insta::allow_duplicates! {
            insta::assert_snapshot!(sent(Method::OPTIONS), @r#"
            204 No Content
            Allow: GET, HEAD, OPTIONS
            Access-Control-Allow-Methods: GET, HEAD, OPTIONS
            Access-Control-Allow-Headers: *, Authorization
            Access-Control-Max-Age: 86400
            "#);
        }
        for method in [Method::PUT, Method::PATCH] {
            insta::allow_duplicates! {
                insta::assert_snapshot!(sent(method), @r#"
                405 Method Not Allowed
                Content-Type: text/plain; charset=utf-8
                Cache-Control: no-store
                Allow: GET, HEAD, OPTIONS

                Use GET, HEAD, OPTIONS.
                "#);
            }
        }
    }
}

#[test]
fn an_upload_that_is_refused_learns_how_to_name_a_url() {
    insta::assert_snapshot!(wire(&answer(Method::POST, BY_URL, None, Ready)), @r#"
    405 Method Not Allowed
    Content-Type: text/plain; charset=utf-8
    Cache-Control: no-store
    Allow: GET, HEAD, OPTIONS

    Uploads are off. To convert a file on the web, use GET /v1/content/?url=<URL of the file>.
    "#);
}

#[test]
fn an_unknown_format_is_a_wrapped_error() {
    for target in [BY_URL, BY_ID] {
        for format in ["format=yaml", "format=", "format=XML"] {
            insta::allow_duplicates! {
                insta::assert_snapshot!(get(&with(target, format), Ready), @r#"
                200 OK
                Content-Type: application/json; charset=utf-8
                Cache-Control: no-store

                {"status":400,"statusText":"Bad Request","error":"The format must be json or xml."}
                "#);
            }
        }
    }
}

#[test]
fn a_callback_with_xml_is_a_wrapped_error() {
    for target in [BY_URL, BY_ID] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(get(&with(target, "format=xml&callback=cb"), Ready), @r#"
            200 OK
            Content-Type: application/xml; charset=utf-8
            Cache-Control: no-store

            <?xml version="1.0" encoding="UTF-8"?><response><status>400</status><statusText>Bad Request</statusText><error>A callback needs JSON. Omit format, or set it to json.</error></response>
            "#);
        }
    }
}

#[test]
fn a_malformed_callback_is_a_plain_error() {
    let too_long = format!("callback={}", "a".repeat(129));
    for callback in ["callback=", "callback=alert(1)", "callback=a%0Ab&format=json", &too_long] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(get(&with(BY_ID, callback), Ready), @r#"
            400 Bad Request
            Content-Type: text/plain; charset=utf-8
            Cache-Control: no-store

            The callback must be the name of a JavaScript function, such as a.b.c, with at most 128 characters.
            "#);
        }
    }
}

#[test]
fn the_first_url_counts() {
    let twice = format!("{BY_URL}&url=nonsense");
    assert_eq!(get(&twice, Ready), get(BY_URL, Ready));
    assert!(get("/v1/content/?url=nonsense&url=http://example.com/", Ready).starts_with("400 "));
}

#[test]
fn unknown_parameters_are_ignored() {
    assert_eq!(get(&with(BY_ID, "_=1700000000000&email=a@b.example"), Ready), get(BY_ID, Ready));
}

#[test]
fn a_refused_url_has_a_reason() {
    let long = format!("http://example.com/{}", "a".repeat(2048));
    let reasons = [
        "http://me:secret@example.com/",
        "http://nodots/",
        "http://exa mple.com/",
        "http://printer.local/",
        "http://localhost/",
        "http://10.0.0.1/",
        &long,
    ]
    .map(|url| get(&format!("/v1/content/?url={url}"), Nothing))
    .map(|wire| format!("{} – {}", wire.lines().next().unwrap(), wire.lines().last().unwrap()));
    insta::assert_snapshot!(reasons.join("\n"), @r#"
    400 Bad Request – The URL must not contain a user name or password.
    400 Bad Request – The URL has no domain. Enter a whole URL, such as https://example.com/picture.jpg.
    400 Bad Request – The URL is malformed. Copy it from a browser's address bar.
    400 Bad Request – The URL's host exists only in private networks. Use one that is public.
    400 Bad Request – The URL's host is in a private, reserved or denied network.
    400 Bad Request – The URL's host is in a private, reserved or denied network.
    400 Bad Request – The URL is longer than 2048 characters.
    "#);
}

#[test]
fn the_openapi_document_has_the_descriptor_that_tilers_write() {
    const DESCRIPTION: &str = include_str!("../../interface/openapi.json");
    let description: serde_json::Value = serde_json::from_str(DESCRIPTION).unwrap();
    let answers = &description["paths"]["/cache/{id}/{attempt}.dzi"]["get"]["responses"];
    let size = Size { width: 8000, height: 6000 };
    let dzi = Dzi { size, tile_size: 512, tile_overlap: 0, tile_format: TileFormat::Jpg };
    assert_eq!(answers["200"]["content"]["application/xml"]["example"], dzi.descriptor());
}
