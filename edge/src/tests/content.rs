//! `GET /v1/content/<id>` and `GET /v1/content/?url=<url>`: a content in each state, errors, in each variant.

use super::*;

const STATES: [There; 5] = [Queued, Waiting, Rendering, Ready, Failed];

/// The variants: parameters that select one, and the `Accept` header.
const VARIANTS: [(&str, Option<&str>); 5] = [
    ("", None),
    ("", Some("application/xml")),
    ("format=json", None),
    ("format=xml", None),
    ("callback=a.b.c", None),
];

fn in_variant(target: &str, (parameters, accept): (&str, Option<&str>), there: There) -> Response {
    let target = if parameters.is_empty() { target.to_owned() } else { with(target, parameters) };
    answer(Method::GET, &target, accept, there)
}

#[test]
fn a_content_in_each_state() {
    insta::assert_snapshot!(get(BY_ID, Queued), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: no-store
    Vary: Accept

    {"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","ready":false,"failed":false,"progress":0,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","stage":"queued"}
    "#);
    insta::assert_snapshot!(get(BY_ID, Rendering), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: no-store
    Vary: Accept

    {"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","ready":false,"failed":false,"progress":0.25,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","stage":"rendering"}
    "#);
    insta::assert_snapshot!(get(BY_ID, Waiting), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: no-store
    Vary: Accept

    {"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","ready":false,"failed":false,"progress":0.125,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","stage":"waiting","retry":{"code":"source-unreachable","message":"It is down.","retryAfter":548,"attemptsLeft":2}}
    "#);
    insta::assert_snapshot!(get(BY_ID, Ready), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: public, max-age=3600
    ETag: …
    Vary: Accept

    {"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","ready":true,"failed":false,"progress":1,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","dzi":{"url":"https://cache.example/6qy4OXfXSid/1.dzi","width":8000,"height":6000,"tileSize":510,"tileOverlap":1,"tileFormat":"jpg"}}
    "#);
    insta::assert_snapshot!(get(BY_ID, Failed), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: public, max-age=547
    ETag: …
    Vary: Accept

    {"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","ready":false,"failed":true,"progress":0.0625,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","failure":{"code":"source-not-found","message":"404 <&>.","retryAfter":548}}
    "#);
}

#[test]
fn a_content_as_xml() {
    insta::assert_snapshot!(accepting("text/xml", BY_ID, Ready), @r#"
    200 OK
    Content-Type: application/xml; charset=utf-8
    Cache-Control: public, max-age=3600
    ETag: …
    Vary: Accept

    <?xml version="1.0" encoding="UTF-8"?><content><id>6qy4OXfXSid</id><url>http://example.com/a.jpg</url><ready>true</ready><failed>false</failed><progress>1</progress><shareUrl>https://zoom.example/6qy4OXfXSid</shareUrl><embedHtml>&lt;script src=&quot;https://zoom.example/6qy4OXfXSid.js?width=auto&amp;height=400px&quot;&gt;&lt;/script&gt;</embedHtml><dzi><url>https://cache.example/6qy4OXfXSid/1.dzi</url><width>8000</width><height>6000</height><tileSize>510</tileSize><tileOverlap>1</tileOverlap><tileFormat>jpg</tileFormat></dzi></content>
    "#);
    insta::assert_snapshot!(accepting("text/xml", BY_ID, Failed), @r#"
    200 OK
    Content-Type: application/xml; charset=utf-8
    Cache-Control: public, max-age=547
    ETag: …
    Vary: Accept

    <?xml version="1.0" encoding="UTF-8"?><content><id>6qy4OXfXSid</id><url>http://example.com/a.jpg</url><ready>false</ready><failed>true</failed><progress>0.0625</progress><shareUrl>https://zoom.example/6qy4OXfXSid</shareUrl><embedHtml>&lt;script src=&quot;https://zoom.example/6qy4OXfXSid.js?width=auto&amp;height=400px&quot;&gt;&lt;/script&gt;</embedHtml><failure><code>source-not-found</code><message>404 &lt;&amp;&gt;.</message><retryAfter>548</retryAfter></failure></content>
    "#);
}

#[test]
fn a_content_in_a_response_object() {
    insta::assert_snapshot!(get(&with(BY_ID, "format=json"), Ready), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: public, max-age=3600
    ETag: …

    {"status":200,"statusText":"OK","content":{"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","ready":true,"failed":false,"progress":1,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","dzi":{"url":"https://cache.example/6qy4OXfXSid/1.dzi","width":8000,"height":6000,"tileSize":510,"tileOverlap":1,"tileFormat":"jpg"}}}
    "#);
    insta::assert_snapshot!(get(&with(BY_ID, "format=xml"), Rendering), @r#"
    200 OK
    Content-Type: application/xml; charset=utf-8
    Cache-Control: no-store

    <?xml version="1.0" encoding="UTF-8"?><response><status>200</status><statusText>OK</statusText><content><id>6qy4OXfXSid</id><url>http://example.com/a.jpg</url><ready>false</ready><failed>false</failed><progress>0.25</progress><shareUrl>https://zoom.example/6qy4OXfXSid</shareUrl><embedHtml>&lt;script src=&quot;https://zoom.example/6qy4OXfXSid.js?width=auto&amp;height=400px&quot;&gt;&lt;/script&gt;</embedHtml><stage>rendering</stage></content></response>
    "#);
    insta::assert_snapshot!(get(&with(BY_ID, "callback=a.b.c"), Failed), @r#"
    200 OK
    Content-Type: text/javascript; charset=utf-8
    Cache-Control: public, max-age=547
    ETag: …

    /**/ typeof a.b.c === "function" && a.b.c({"status":200,"statusText":"OK","content":{"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","ready":false,"failed":true,"progress":0.0625,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"\u003cscript src=\"https://zoom.example/6qy4OXfXSid.js?width=auto\u0026height=400px\"\u003e\u003c/script\u003e","failure":{"code":"source-not-found","message":"404 \u003c\u0026\u003e.","retryAfter":548}}});
    "#);
}

#[test]
fn a_request_by_url_is_redirected_and_otherwise_the_same() {
    insta::assert_snapshot!(get(BY_URL, Ready), @r#"
    301 Moved Permanently
    Content-Type: application/json; charset=utf-8
    Cache-Control: public, max-age=3600
    ETag: …
    Vary: Accept
    Location: https://api.example/v1/content/6qy4OXfXSid

    {"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","ready":true,"failed":false,"progress":1,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","dzi":{"url":"https://cache.example/6qy4OXfXSid/1.dzi","width":8000,"height":6000,"tileSize":510,"tileOverlap":1,"tileFormat":"jpg"}}
    "#);
    let address = "https://api.example/v1/content/6qy4OXfXSid";
    let redirected = [
        ("200 OK\n", "301 Moved Permanently\n".to_owned()),
        ("Vary: Accept\n", format!("Vary: Accept\nLocation: {address}\n")),
        (
            r#""status":200,"statusText":"OK""#,
            format!(r#""status":301,"statusText":"Moved Permanently","redirectLocation":"{address}""#),
        ),
        (
            "<status>200</status><statusText>OK</statusText>",
            format!(
                "<status>301</status><statusText>Moved Permanently</statusText><redirectLocation>{address}</redirectLocation>"
            ),
        ),
    ];
    for state in STATES {
        for variant in VARIANTS {
            let mut expected = wire(&in_variant(BY_ID, variant, state));
            // A response object has the status; the status line stays.
            let replaced = if variant.0.is_empty() { &redirected[..2] } else { &redirected[2..] };
            for (found, moved) in replaced {
                expected = expected.replacen(found, moved, 1);
            }
            assert_eq!(wire(&in_variant(BY_URL, variant, state)), expected, "{variant:?}");
        }
    }
}

#[test]
fn errors_are_plain_text_with_their_status() {
    insta::assert_snapshot!(get(BY_ID, Nothing), @r#"
    404 Not Found
    Content-Type: text/plain; charset=utf-8
    Cache-Control: no-store

    There is no content with this id.
    "#);
    insta::assert_snapshot!(get("/v1/content/", Nothing), @r#"
    400 Bad Request
    Content-Type: text/plain; charset=utf-8
    Cache-Control: no-store

    Name a content: /v1/content/?url=<URL of the source> or /v1/content/<id>.
    "#);
    insta::assert_snapshot!(get("/v1/content/?url=ftp%3A%2F%2Fexample.com", Nothing), @r#"
    400 Bad Request
    Content-Type: text/plain; charset=utf-8
    Cache-Control: no-store

    The URL must begin with http:// or https://.
    "#);
    insta::assert_snapshot!(get(BY_URL, Outage), @r#"
    503 Service Unavailable
    Content-Type: text/plain; charset=utf-8
    Cache-Control: no-store
    Retry-After: 5

    The service is temporarily unavailable. Try again.
    "#);
    insta::assert_snapshot!(get(BY_URL, Maintenance), @r#"
    503 Service Unavailable
    Content-Type: text/plain; charset=utf-8
    Cache-Control: no-store
    Retry-After: 300

    The service is down for maintenance and accepts no new contents. Try again later.
    "#);
}

#[test]
fn errors_are_the_same_for_every_format_and_endpoint() {
    for (target, there) in [
        ("/v1/content", Nothing),
        ("/v1/content/?url=", Nothing),
        ("/v1/content?url=a.jpg", Nothing),
        (BY_ID, Nothing),
        (BY_ID, Outage),
        (BY_URL, Outage),
        (BY_URL, Maintenance),
    ] {
        let plain = get(target, there);
        for accept in ["application/json", "application/xml", "text/xml", "*/*"] {
            assert_eq!(accepting(accept, target, there), plain, "{accept}");
        }
        let (_, message) = plain.rsplit_once('\n').unwrap();
        let retry = plain.lines().find_map(|line| line.strip_prefix("Retry-After: "));
        for variant in &VARIANTS[2..] {
            let response = in_variant(target, *variant, there);
            assert_eq!((response.status.as_u16(), response.header("Retry-After")), (200, None));
            assert_eq!(
                response.wrapped.map(|status| status.as_u16().to_string()),
                Some(plain[..3].to_owned())
            );
            let is_named = |text: &str| {
                let escaped = text.replace('<', "\\u003c").replace('>', "\\u003e");
                let xml = text.replace('<', "&lt;").replace('>', "&gt;");
                [text.to_owned(), escaped, xml].iter().any(|text| response.body.contains(text))
            };
            assert!(is_named(message), "{}", response.body);
            assert_eq!(retry.is_some(), response.body.contains("retryAfter"), "{}", response.body);
        }
    }
    assert_eq!(get(BY_ID, Outage), get(BY_URL, Outage));
}

#[test]
fn errors_in_a_response_object() {
    insta::assert_snapshot!(get(&with(BY_ID, "format=json"), Nothing), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: no-store

    {"status":404,"statusText":"Not Found","error":"There is no content with this id."}
    "#);
    insta::assert_snapshot!(get("/v1/content/?format=xml", Nothing), @r#"
    200 OK
    Content-Type: application/xml; charset=utf-8
    Cache-Control: no-store

    <?xml version="1.0" encoding="UTF-8"?><response><status>400</status><statusText>Bad Request</statusText><error>Name a content: /v1/content/?url=&lt;URL of the source&gt; or /v1/content/&lt;id&gt;.</error></response>
    "#);
    insta::assert_snapshot!(get(&with(BY_URL, "callback=cb"), Outage), @r#"
    200 OK
    Content-Type: text/javascript; charset=utf-8
    Cache-Control: no-store

    /**/ typeof cb === "function" && cb({"status":503,"statusText":"Service Unavailable","retryAfter":5,"error":"The service is temporarily unavailable. Try again."});
    "#);
}

#[test]
fn a_ready_content_has_a_tag_of_its_own_in_each_variant_of_each_endpoint() {
    let mut tags = std::collections::BTreeSet::new();
    let targets = [BY_ID, BY_URL, DZI_BY_ID, DZI_BY_URL];
    for target in targets {
        for variant in VARIANTS {
            let response = in_variant(target, variant, Ready);
            let tag = response.header("ETag").unwrap().to_owned();
            let known = response.or_not_modified(Some(&format!("\"other\", {tag}")));
            assert_eq!((known.status.as_u16(), known.body.as_str()), (304, ""));
            assert_eq!(known.header("Vary").is_some(), variant.0.is_empty());
            tags.insert(tag);
        }
    }
    assert_eq!(tags.len(), targets.len() * VARIANTS.len());
    let queued = answer(Method::GET, BY_ID, None, Queued);
    assert_eq!(queued.header("ETag"), None);
    assert_eq!(queued.clone().or_not_modified(Some("*")), queued, "it may change at any time");
}
