//! Every outcome in every variant, as it goes over the wire.

use edgezoom_content::source_url::SourceUrlError;
use edgezoom_content::{
    Attempt, Dzi, Failure, FailureCode, Progress, Size, SourceUrl, Stage, Status, TileFormat,
};

use super::*;

fn content(status: Status, progress: f64) -> Content {
    let url = SourceUrl::parse("http://example.com/a.jpg?b=1&c=<d>").unwrap();
    Content { id: "6qy4OXfXSid".parse().unwrap(), url, progress: Progress::from(progress), status }
}

fn processing() -> Content {
    content(Status::Processing { stage: Stage::Rendering }, 0.25)
}

fn ready() -> Content {
    let size = Size { width: 8000, height: 6000 };
    let dzi = Dzi { size, tile_size: 510, tile_overlap: 1, tile_format: TileFormat::Jpg };
    content(Status::Ready { attempt: Attempt::FIRST, dzi }, 1.0)
}

fn failed() -> Content {
    let failure = Failure::new(FailureCode::SourceNotFound, "The host says \"404\" <&>.");
    content(Status::Failed { failure }, 0.0)
}

fn addresses() -> Addresses {
    Addresses {
        base: "https://api.example".into(),
        share: "https://zoom.example".into(),
        cache: "https://cache.example".into(),
    }
}

/// The answer as it goes over the wire, but for the value of the entity tag, which changes with the compiler.
fn wire(answer: &ContentAnswer, variant: Variant) -> String {
    let answer = answer.write(variant, &addresses());
    let value = |name: &str, value: &str| if name == "ETag" { "…".to_owned() } else { value.to_owned() };
    let headers: Vec<_> =
        answer.headers.iter().map(|(name, own)| format!("{name}: {}", value(name, own))).collect();
    format!("{}\n{}\n\n{}", answer.status, headers.join("\n"), answer.body)
}

const JSON: Variant = Variant::Standard(Format::Json);
const WRAPPED: Variant = Variant::Wrapped(Format::Json);

#[test]
fn a_content_asked_for_by_id_is_found() {
    insta::assert_snapshot!(wire(&ContentAnswer::Found(ready()), JSON), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: public, max-age=3600
    ETag: …
    Vary: Accept

    {"id":"6qy4OXfXSid","url":"http://example.com/a.jpg?b=1&c=%3Cd%3E","ready":true,"failed":false,"progress":1,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","dzi":{"url":"https://cache.example/6qy4OXfXSid/1.dzi","width":8000,"height":6000,"tileSize":510,"tileOverlap":1,"tileFormat":"jpg"}}
    "#);
}

#[test]
fn a_content_asked_for_by_url_has_moved() {
    insta::assert_snapshot!(wire(&ContentAnswer::Moved(processing()), JSON), @r#"
    301 Moved Permanently
    Content-Type: application/json; charset=utf-8
    Cache-Control: no-store
    Vary: Accept
    Location: https://api.example/v1/content/6qy4OXfXSid

    {"id":"6qy4OXfXSid","url":"http://example.com/a.jpg?b=1&c=%3Cd%3E","ready":false,"failed":false,"progress":0.25,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","stage":"rendering"}
    "#);
}

#[test]
fn a_failed_content_is_no_error() {
    insta::assert_snapshot!(wire(&ContentAnswer::Found(failed()), JSON), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: public, max-age=3600
    ETag: …
    Vary: Accept

    {"id":"6qy4OXfXSid","url":"http://example.com/a.jpg?b=1&c=%3Cd%3E","ready":false,"failed":true,"progress":0,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","failure":{"code":"source-not-found","message":"The host says \"404\" <&>."}}
    "#);
}

#[test]
fn a_refusal_is_plain_text() {
    insta::assert_snapshot!(wire(&ContentAnswer::Refused(SourceUrlError::Scheme.into()), JSON), @r#"
    400 Bad Request
    Content-Type: text/plain; charset=utf-8
    Cache-Control: no-store

    The URL must begin with http:// or https://.
    "#);
    insta::assert_snapshot!(wire(&ContentAnswer::Refused(Refusal::NoSuchContent), JSON), @r#"
    404 Not Found
    Content-Type: text/plain; charset=utf-8
    Cache-Control: no-store

    There is no content with this id.
    "#);
    insta::assert_snapshot!(wire(&ContentAnswer::Refused(Refusal::Unavailable), JSON), @r#"
    503 Service Unavailable
    Content-Type: text/plain; charset=utf-8
    Cache-Control: no-store
    Retry-After: 5

    The service is unavailable for the moment. Please try again.
    "#);
}

#[test]
fn wrapped_tells_status_and_location_in_the_body() {
    insta::assert_snapshot!(wire(&ContentAnswer::Moved(processing()), WRAPPED), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: no-store

    {"status":301,"statusText":"Moved Permanently","redirectLocation":"https://api.example/v1/content/6qy4OXfXSid","content":{"id":"6qy4OXfXSid","url":"http://example.com/a.jpg?b=1&c=%3Cd%3E","ready":false,"failed":false,"progress":0.25,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","stage":"rendering"}}
    "#);
    insta::assert_snapshot!(wire(&ContentAnswer::Found(failed()), WRAPPED), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: public, max-age=3600

    {"status":200,"statusText":"OK","content":{"id":"6qy4OXfXSid","url":"http://example.com/a.jpg?b=1&c=%3Cd%3E","ready":false,"failed":true,"progress":0,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","failure":{"code":"source-not-found","message":"The host says \"404\" <&>."}}}
    "#);
}

#[test]
fn wrapped_tells_the_error_in_the_body() {
    insta::assert_snapshot!(wire(&ContentAnswer::Refused(Refusal::NeitherIdNorUrl), WRAPPED), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: no-store

    {"status":400,"statusText":"Bad Request","error":"Say which content: /v1/content/?url=<url of the source>, or /v1/content/<id>."}
    "#);
    insta::assert_snapshot!(wire(&ContentAnswer::Refused(Refusal::Unavailable), WRAPPED), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: no-store

    {"status":503,"statusText":"Service Unavailable","retryAfter":5,"error":"The service is unavailable for the moment. Please try again."}
    "#);
}

#[test]
fn xml_has_the_same_names() {
    insta::assert_snapshot!(wire(&ContentAnswer::Found(ready()), Variant::Standard(Format::Xml)), @r#"
    200 OK
    Content-Type: application/xml; charset=utf-8
    Cache-Control: public, max-age=3600
    ETag: …
    Vary: Accept

    <?xml version="1.0" encoding="UTF-8"?><content><id>6qy4OXfXSid</id><url>http://example.com/a.jpg?b=1&amp;c=%3Cd%3E</url><ready>true</ready><failed>false</failed><progress>1</progress><shareUrl>https://zoom.example/6qy4OXfXSid</shareUrl><embedHtml>&lt;script src=&quot;https://zoom.example/6qy4OXfXSid.js?width=auto&amp;height=400px&quot;&gt;&lt;/script&gt;</embedHtml><dzi><url>https://cache.example/6qy4OXfXSid/1.dzi</url><width>8000</width><height>6000</height><tileSize>510</tileSize><tileOverlap>1</tileOverlap><tileFormat>jpg</tileFormat></dzi></content>
    "#);
    insta::assert_snapshot!(wire(&ContentAnswer::Moved(failed()), Variant::Wrapped(Format::Xml)), @r#"
    200 OK
    Content-Type: application/xml; charset=utf-8
    Cache-Control: public, max-age=3600

    <?xml version="1.0" encoding="UTF-8"?><response><status>301</status><statusText>Moved Permanently</statusText><redirectLocation>https://api.example/v1/content/6qy4OXfXSid</redirectLocation><content><id>6qy4OXfXSid</id><url>http://example.com/a.jpg?b=1&amp;c=%3Cd%3E</url><ready>false</ready><failed>true</failed><progress>0</progress><shareUrl>https://zoom.example/6qy4OXfXSid</shareUrl><embedHtml>&lt;script src=&quot;https://zoom.example/6qy4OXfXSid.js?width=auto&amp;height=400px&quot;&gt;&lt;/script&gt;</embedHtml><failure><code>source-not-found</code><message>The host says &quot;404&quot; &lt;&amp;&gt;.</message></failure></content></response>
    "#);
}

#[test]
fn the_share_address_cannot_leave_its_attribute() {
    let addresses = Addresses { share: "https://a.example/\"><b>".into(), ..addresses() };
    assert!(!embed_html(ready().id, &addresses).contains("\"><b>"));
}
