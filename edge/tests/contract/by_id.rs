//! The tables of `GET /v1/content/<id>`, standard and wrapped.

use super::*;

#[test]
fn standard_200() {
    insta::assert_snapshot!(get(BY_ID, Ready), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: public, max-age=3600
    ETag: …
    Vary: Accept

    {"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","ready":true,"failed":false,"progress":1,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","dzi":{"url":"https://cache.example/6qy4OXfXSid/1.dzi","width":8000,"height":6000,"tileSize":510,"tileOverlap":1,"tileFormat":"jpg"}}
    "#);
    insta::assert_snapshot!(get(BY_ID, Rendering), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: no-store
    Vary: Accept

    {"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","ready":false,"failed":false,"progress":0.25,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","stage":"rendering"}
    "#);
    insta::assert_snapshot!(get(BY_ID, Failed), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: public, max-age=547
    ETag: …
    Vary: Accept

    {"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","ready":false,"failed":true,"progress":0.0625,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","failure":{"code":"source-not-found","message":"404 <&>.","retryAfter":548}}
    "#);
    insta::assert_snapshot!(get(BY_ID, Waiting), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: no-store
    Vary: Accept

    {"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","ready":false,"failed":false,"progress":0.125,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"<script src=\"https://zoom.example/6qy4OXfXSid.js?width=auto&height=400px\"></script>","stage":"waiting"}
    "#);
    insta::assert_snapshot!(accepting("text/xml", BY_ID, Ready), @r#"
    200 OK
    Content-Type: application/xml; charset=utf-8
    Cache-Control: public, max-age=3600
    ETag: …
    Vary: Accept

    <?xml version="1.0" encoding="UTF-8"?><content><id>6qy4OXfXSid</id><url>http://example.com/a.jpg</url><ready>true</ready><failed>false</failed><progress>1</progress><shareUrl>https://zoom.example/6qy4OXfXSid</shareUrl><embedHtml>&lt;script src=&quot;https://zoom.example/6qy4OXfXSid.js?width=auto&amp;height=400px&quot;&gt;&lt;/script&gt;</embedHtml><dzi><url>https://cache.example/6qy4OXfXSid/1.dzi</url><width>8000</width><height>6000</height><tileSize>510</tileSize><tileOverlap>1</tileOverlap><tileFormat>jpg</tileFormat></dzi></content>
    "#);
    insta::assert_snapshot!(accepting("text/xml", BY_ID, Queued), @r#"
    200 OK
    Content-Type: application/xml; charset=utf-8
    Cache-Control: no-store
    Vary: Accept

    <?xml version="1.0" encoding="UTF-8"?><content><id>6qy4OXfXSid</id><url>http://example.com/a.jpg</url><ready>false</ready><failed>false</failed><progress>0</progress><shareUrl>https://zoom.example/6qy4OXfXSid</shareUrl><embedHtml>&lt;script src=&quot;https://zoom.example/6qy4OXfXSid.js?width=auto&amp;height=400px&quot;&gt;&lt;/script&gt;</embedHtml><stage>queued</stage></content>
    "#);
}

#[test]
fn standard_404() {
    for accept in ["application/json", "application/xml"] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(accepting(accept, BY_ID, Nothing), @r#"
            404 Not Found
            Content-Type: text/plain; charset=utf-8
            Cache-Control: no-store

            There is no content with this id.
            "#);
        }
    }
}

#[test]
fn wrapped_200() {
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
fn wrapped_404() {
    insta::assert_snapshot!(get(&with(BY_ID, "format=json"), Nothing), @r#"
    200 OK
    Content-Type: application/json; charset=utf-8
    Cache-Control: no-store

    {"status":404,"statusText":"Not Found","error":"There is no content with this id."}
    "#);
    insta::assert_snapshot!(get(&with(BY_ID, "format=xml"), Nothing), @r#"
    200 OK
    Content-Type: application/xml; charset=utf-8
    Cache-Control: no-store

    <?xml version="1.0" encoding="UTF-8"?><response><status>404</status><statusText>Not Found</statusText><error>There is no content with this id.</error></response>
    "#);
    insta::assert_snapshot!(get(&with(BY_ID, "callback=cb"), Nothing), @r#"
    200 OK
    Content-Type: text/javascript; charset=utf-8
    Cache-Control: no-store

    /**/ typeof cb === "function" && cb({"status":404,"statusText":"Not Found","error":"There is no content with this id."});
    "#);
}

#[test]
fn standard_503() {
    assert_eq!(get(BY_ID, Outage), get(BY_URL, Outage));
}
