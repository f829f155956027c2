//! The tables of `GET /v1/content/?url=<url>`, standard and wrapped.

use super::*;

#[test]
fn standard_301() {
    insta::assert_snapshot!(get(BY_URL, Queued), @r#"
    301 Moved Permanently
    Content-Type: application/json; charset=utf-8
    Cache-Control: no-store
    Vary: Accept
    Location: https://api.example/v1/content/6qy4OXfXSid

    {"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","ready":false,"failed":false,"progress":0,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","stage":"queued"}
    "#);
    insta::assert_snapshot!(get(BY_URL, Ready), @r#"
    301 Moved Permanently
    Content-Type: application/json; charset=utf-8
    Cache-Control: public, max-age=3600
    ETag: …
    Vary: Accept
    Location: https://api.example/v1/content/6qy4OXfXSid

    {"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","ready":true,"failed":false,"progress":1,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","dzi":{"url":"https://cache.example/6qy4OXfXSid/1.dzi","width":8000,"height":6000,"tileSize":510,"tileOverlap":1,"tileFormat":"jpg"}}
    "#);
    insta::assert_snapshot!(accepting("application/xml", BY_URL, Failed), @r#"
    301 Moved Permanently
    Content-Type: application/xml; charset=utf-8
    Cache-Control: public, max-age=547
    ETag: …
    Vary: Accept
    Location: https://api.example/v1/content/6qy4OXfXSid

    <?xml version="1.0" encoding="UTF-8"?><content><id>6qy4OXfXSid</id><url>http://example.com/a.jpg</url><ready>false</ready><failed>true</failed><progress>0.0625</progress><shareUrl>https://zoom.example/6qy4OXfXSid</shareUrl><embedHtml>&lt;script src=&quot;https://zoom.example/6qy4OXfXSid.js?width=auto&amp;height=400px&quot;&gt;&lt;/script&gt;</embedHtml><failure><code>source-not-found</code><message>404 &lt;&amp;&gt;.</message><retryAfter>548</retryAfter></failure></content>
    "#);
}

#[test]
fn standard_400() {
    for target in ["/v1/content/", "/v1/content"] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(get(target, Nothing), @r#"
            400 Bad Request
            Content-Type: text/plain; charset=utf-8
            Cache-Control: no-store

            Say which content: /v1/content/?url=<url of the source>, or /v1/content/<id>.
            "#);
        }
    }
    for target in ["/v1/content/?url=", "/v1/content/?url=ftp%3A%2F%2Fexample.com", "/v1/content?url=a.jpg"] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(accepting("application/xml", target, Nothing), @r#"
            400 Bad Request
            Content-Type: text/plain; charset=utf-8
            Cache-Control: no-store

            The URL must begin with http:// or https://.
            "#);
        }
    }
}

#[test]
fn standard_503() {
    insta::assert_snapshot!(accepting("application/xml", BY_URL, Outage), @r#"
    503 Service Unavailable
    Content-Type: text/plain; charset=utf-8
    Cache-Control: no-store
    Retry-After: 5

    The service is unavailable for the moment. Please try again.
    "#);
}

#[test]
fn wrapped_301() {
    insta::assert_snapshot!(get(&with(BY_URL, "format=json"), Rendering), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: no-store

    {"status":301,"statusText":"Moved Permanently","redirectLocation":"https://api.example/v1/content/6qy4OXfXSid","content":{"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","ready":false,"failed":false,"progress":0.25,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","stage":"rendering"}}
    "#);
    insta::assert_snapshot!(get(&with(BY_URL, "format=xml"), Failed), @r#"
    200 OK
    Content-Type: application/xml; charset=utf-8
    Cache-Control: public, max-age=547
    ETag: …

    <?xml version="1.0" encoding="UTF-8"?><response><status>301</status><statusText>Moved Permanently</statusText><redirectLocation>https://api.example/v1/content/6qy4OXfXSid</redirectLocation><content><id>6qy4OXfXSid</id><url>http://example.com/a.jpg</url><ready>false</ready><failed>true</failed><progress>0.0625</progress><shareUrl>https://zoom.example/6qy4OXfXSid</shareUrl><embedHtml>&lt;script src=&quot;https://zoom.example/6qy4OXfXSid.js?width=auto&amp;height=400px&quot;&gt;&lt;/script&gt;</embedHtml><failure><code>source-not-found</code><message>404 &lt;&amp;&gt;.</message><retryAfter>548</retryAfter></failure></content></response>
    "#);
    insta::assert_snapshot!(get(&with(BY_URL, "callback=_jsonCallback7"), Ready), @r#"
    200 OK
    Content-Type: text/javascript; charset=utf-8
    Cache-Control: public, max-age=3600
    ETag: …

    /**/ typeof _jsonCallback7 === "function" && _jsonCallback7({"status":301,"statusText":"Moved Permanently","redirectLocation":"https://api.example/v1/content/6qy4OXfXSid","content":{"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","ready":true,"failed":false,"progress":1,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"\u003cscript src=\"https://zoom.example/6qy4OXfXSid.js?width=auto\u0026height=400px\"\u003e\u003c/script\u003e","dzi":{"url":"https://cache.example/6qy4OXfXSid/1.dzi","width":8000,"height":6000,"tileSize":510,"tileOverlap":1,"tileFormat":"jpg"}}});
    "#);
}

#[test]
fn wrapped_400() {
    insta::assert_snapshot!(get("/v1/content/?format=json", Nothing), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: no-store

    {"status":400,"statusText":"Bad Request","error":"Say which content: /v1/content/?url=<url of the source>, or /v1/content/<id>."}
    "#);
    insta::assert_snapshot!(get("/v1/content/?url=nonsense&format=xml", Nothing), @r#"
    200 OK
    Content-Type: application/xml; charset=utf-8
    Cache-Control: no-store

    <?xml version="1.0" encoding="UTF-8"?><response><status>400</status><statusText>Bad Request</statusText><error>The URL must begin with http:// or https://.</error></response>
    "#);
    insta::assert_snapshot!(get("/v1/content/?url=nonsense&callback=cb", Nothing), @r#"
    200 OK
    Content-Type: text/javascript; charset=utf-8
    Cache-Control: no-store

    /**/ typeof cb === "function" && cb({"status":400,"statusText":"Bad Request","error":"The URL must begin with http:// or https://."});
    "#);
}

#[test]
fn wrapped_503() {
    insta::assert_snapshot!(get(&with(BY_URL, "format=json"), Outage), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: no-store

    {"status":503,"statusText":"Service Unavailable","retryAfter":5,"error":"The service is unavailable for the moment. Please try again."}
    "#);
    insta::assert_snapshot!(get(&with(BY_URL, "format=xml"), Outage), @r#"
    200 OK
    Content-Type: application/xml; charset=utf-8
    Cache-Control: no-store

    <?xml version="1.0" encoding="UTF-8"?><response><status>503</status><statusText>Service Unavailable</statusText><retryAfter>5</retryAfter><error>The service is unavailable for the moment. Please try again.</error></response>
    "#);
    insta::assert_snapshot!(get(&with(BY_URL, "callback=cb"), Outage), @r#"
    200 OK
    Content-Type: text/javascript; charset=utf-8
    Cache-Control: no-store

    /**/ typeof cb === "function" && cb({"status":503,"statusText":"Service Unavailable","retryAfter":5,"error":"The service is unavailable for the moment. Please try again."});
    "#);
}
