//! What pages say, their policies, and the escaping of sources' texts.

use std::time::Duration;

use edgezoom_content::{
    Alternative, Archive, Attempt, Beginning, Content, Damage, Dzi, Failure, FailureCode, Finished, NextTry,
    Previews, Progress, Size, SourceUrl, Stage, Status, StoredText, TileFormat, TileRange, Timestamp, Title,
};

use super::*;
use crate::request::place::Place;
use crate::response::ApiError;

const NOW: Timestamp = Timestamp(1_700_000_000_000);

const STORED: Cards = Cards { places: false, quotes: true };
const RENDERED: Cards = Cards { places: true, quotes: true };

fn addresses() -> Addresses {
    Addresses {
        base: "https://api.example".into(),
        share: "https://zoom.example".into(),
        cache: "https://cache.example/pyramids".into(),
    }
}

fn content(status: Status) -> Content {
    let url = SourceUrl::parse("http://example.com/a'b.jpg?c=</script>&d").unwrap();
    Content { id: "6qy4OXfXSid".parse().unwrap(), url, alternative: None, progress: Progress::NONE, status }
}

fn ready() -> Content {
    let size = Size { width: 8000, height: 6000 };
    let dzi = Dzi { size, tile_size: 510, tile_overlap: 1, tile_format: TileFormat::Jpg };
    content(Status::Ready {
        attempt: Attempt::FIRST,
        finished: Finished::new(dzi, Archive::default(), Previews::default()),
    })
}

/// Returns a ready content with a changed result.
fn ready_with(change: impl FnOnce(&mut Finished)) -> Content {
    let mut content = ready();
    if let Status::Ready { finished, .. } = &mut content.status {
        change(finished);
    }
    content
}

#[test]
fn the_share_page_contains_the_content_object() {
    insta::assert_snapshot!(share(&ready(), None, STORED, &addresses(), NOW).body, @r##"
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <title>a&#39;b.jpg – Edgezoom</title>
    <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
    <meta name="color-scheme" content="light dark">
    <meta name="theme-color" content="#fbfaf8" media="(prefers-color-scheme: light)">
    <meta name="theme-color" content="#17181b" media="(prefers-color-scheme: dark)">
    <link rel="icon" href="https://zoom.example/assets/icon.svg" type="image/svg+xml">
    <link rel="icon" href="https://zoom.example/assets/favicon.ico" sizes="32x32">
    <link rel="apple-touch-icon" href="https://zoom.example/assets/apple-touch-icon.png">
    <link rel="manifest" href="https://zoom.example/assets/manifest.webmanifest">
    <link rel="stylesheet" href="https://zoom.example/assets/page.css">
    <link rel="canonical" href="https://zoom.example/6qy4OXfXSid">
    <meta name="description" content="8000 × 6000 pixels from example.com, to zoom into.">
    <meta property="og:type" content="website">
    <meta property="og:site_name" content="Edgezoom">
    <meta property="og:title" content="a&#39;b.jpg">
    <meta property="og:description" content="8000 × 6000 pixels from example.com, to zoom into.">
    <meta property="og:url" content="https://zoom.example/6qy4OXfXSid">
    <meta property="og:image" content="https://zoom.example/6qy4OXfXSid/preview.jpg">
    <meta property="og:image:type" content="image/jpeg">
    <meta property="og:image:width" content="1200">
    <meta property="og:image:height" content="900">
    <meta property="og:image:alt" content="a&#39;b.jpg">
    <meta name="twitter:card" content="summary_large_image">
    <script type="application/ld+json">{"@context":"https://schema.org","@type":"ImageObject","name":"a'b.jpg","url":"https://zoom.example/6qy4OXfXSid","contentUrl":"http://example.com/a'b.jpg?c=%3C/script%3E\u0026d","thumbnailUrl":"https://zoom.example/6qy4OXfXSid/thumbnail.jpg","width":"8000 px","height":"6000 px"}</script>
    <link rel="alternate" type="application/json+oembed" href="https://zoom.example/oembed?url=https%3A%2F%2Fzoom.example%2F6qy4OXfXSid&amp;format=json" title="a&#39;b.jpg">
    <link rel="alternate" type="text/xml+oembed" href="https://zoom.example/oembed?url=https%3A%2F%2Fzoom.example%2F6qy4OXfXSid&amp;format=xml" title="a&#39;b.jpg">
    <script type="module" src="https://zoom.example/assets/share.js"></script>
    </head>
    <body>
    <main class="share">
    <div class="top">
    <a class="mark" href="https://zoom.example/" aria-label="Edgezoom"><img src="https://zoom.example/assets/icon.svg" alt="" width="28" height="28"></a>
    <div class="about">
    <h1>a&#39;b.jpg</h1>
    <p><a href="http://example.com/a&#39;b.jpg?c=%3C/script%3E&amp;d" rel="nofollow noopener noreferrer">example.com</a><span id="size"></span></p>
    <p id="warning" role="status" hidden></p>
    </div>
    <button type="button" id="open-details" class="bare" aria-haspopup="dialog" aria-label="About this picture" title="About this picture" hidden><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 11v6M12 7.2v.1"/><circle cx="12" cy="12" r="9"/></svg></button>
    <button type="button" id="open-share" aria-haspopup="dialog" hidden>Share</button>
    </div>
    <div id="stage" data-address="https://api.example/v1/content/6qy4OXfXSid" data-home="https://zoom.example/">
    <noscript><img src="https://zoom.example/6qy4OXfXSid/preview.jpg" alt="a&#39;b.jpg"><p class="script">Zooming requires JavaScript.</p></noscript>
    </div>
    </main>
    <script type="application/json" id="content">{"id":"6qy4OXfXSid","url":"http://example.com/a'b.jpg?c=%3C/script%3E\u0026d","ready":true,"failed":false,"progress":0,"shareUrl":"https://zoom.example/6qy4OXfXSid","embedHtml":"\u003cscript src=\"https://zoom.example/6qy4OXfXSid.js?width=auto\u0026height=400px\"\u003e\u003c/script\u003e","dzi":{"url":"https://cache.example/pyramids/6qy4OXfXSid/1.dzi","width":8000,"height":6000,"tileSize":510,"tileOverlap":1,"tileFormat":"jpg"}}</script>
    </body>
    </html>
    "##);
}

#[test]
fn the_card_of_a_place_links_to_the_place_and_search_engines_see_the_whole() {
    let page = |content: &Content, at| share(content, Place::parse(at), STORED, &addresses(), NOW).body;
    let whole = page(&ready(), "");
    let placed = page(&ready(), "9000.04,400,6.5,90");
    let (link, url) = ("https://zoom.example/6qy4OXfXSid", r#"<meta property="og:url" content=""#);
    assert_eq!(
        placed,
        whole.replace(&format!("{url}{link}\""), &format!("{url}{link}?at=8000,400,6.5,90\""))
    );
    let waiting = content(Status::processing(Stage::Queued));
    assert!(page(&waiting, "9000,400,6").contains(&format!("{url}{link}?at=9000,400,6\"")));
}

#[test]
fn where_the_service_renders_the_card_of_a_place_shows_it() {
    let page = |at| share(&ready(), Place::parse(at), RENDERED, &addresses(), NOW).body;
    let placed = page("4000,3000,4,180");
    let picture = "https://zoom.example/6qy4OXfXSid/at/4000,3019,4,180.jpg";
    for tag in [
        format!(r#"<meta property="og:image" content="{picture}">"#),
        r#"<meta property="og:image:width" content="1200">"#.to_owned(),
        r#"<meta property="og:image:height" content="630">"#.to_owned(),
        format!(r#"<meta name="twitter:image" content="{picture}">"#),
        "oembed?url=https%3A%2F%2Fzoom.example%2F6qy4OXfXSid%3Fat%3D4000%2C3000%2C4%2C180&amp;format=json"
            .to_owned(),
    ] {
        assert!(placed.contains(&tag), "{tag}: {placed}");
    }
    let whole = share(&ready(), None, RENDERED, &addresses(), NOW).body;
    assert_eq!(page(""), whole);
    assert!(page("4000,3000,0").contains("/preview.jpg"));
}

#[test]
fn the_first_words_are_the_description_unless_the_operator_says_no() {
    let range = TileRange { offset: 0, length: 9 };
    let ready = ready_with(|finished| {
        finished.text = Some(Box::new(StoredText {
            json: range,
            plain: range,
            plain_bytes: 9,
            html: range,
            table: range,
            pages: 1,
            beginning: Beginning::of("Tides \u{202e}& <currents> </script>"),
        }));
    });
    let page = |cards| share(&ready, None, cards, &addresses(), NOW).body;
    let quoted = page(STORED);
    for part in [
        r#"<meta name="description" content="Tides &amp; &lt;currents&gt; &lt;/script&gt;">"#,
        r#"<meta property="og:description" content="Tides &amp; &lt;currents&gt; &lt;/script&gt;">"#,
        r#""description":"Tides \u0026 \u003ccurrents\u003e \u003c/script\u003e""#,
        r#"<a href="https://zoom.example/6qy4OXfXSid/text">Words in the picture</a>"#,
    ] {
        assert!(quoted.contains(part), "{part}: {quoted}");
    }
    let silent = page(Cards { quotes: false, ..STORED });
    assert!(!silent.contains("Tides") && silent.contains("8000 × 6000 pixels"), "{silent}");
}

#[test]
fn an_alternative_text_describes_the_picture_wherever_it_is_shown() {
    let content = Content { alternative: Alternative::of("A \"map\" of <Troy>\n\u{202e}"), ..ready() };
    let page = share(&content, None, STORED, &addresses(), NOW).body;
    let escaped = "A &quot;map&quot; of &lt;Troy&gt;";
    for part in [
        format!("alt=\"{escaped}\"></noscript>").as_str().trim_end_matches("</noscript>"),
        &format!("<meta property=\"og:image:alt\" content=\"{escaped}\">"),
        &format!("<meta name=\"description\" content=\"{escaped}\">"),
        r#""description":"A \"map\" of \u003cTroy\u003e""#,
        r#""alt":"A \"map\" of \u003cTroy\u003e""#,
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(page.contains("<h1>a&#39;b.jpg</h1>"), "{page}");
    let frame = frame(&content, &addresses(), NOW).body;
    assert!(frame.contains(&format!("alt=\"{escaped}\"")), "{frame}");
}

#[test]
fn the_name_of_a_web_page_is_its_title() {
    let ready = ready_with(|finished| finished.title = Title::of_document("Maps & <towns>"));
    let response = share(&ready, None, STORED, &addresses(), NOW);
    assert!(
        response.body.contains("<title>Maps &amp; &lt;towns&gt; – Edgezoom</title>"),
        "{}",
        response.body
    );
    assert!(response.body.contains(r#"<meta property="og:title" content="Maps &amp; &lt;towns&gt;">"#));
}

#[test]
fn the_warning_is_a_line_of_the_page() {
    let damaged = ready_with(|finished| finished.damage = Some(Damage::FromRow { row: 3011, rows: 4000 }));
    let body = share(&damaged, None, STORED, &addresses(), NOW).body;
    let sentence = "The file is damaged: from row 3,012 of 4,000 on nothing could be read.";
    assert!(body.contains(&format!(r#"<p id="warning" role="status">{sentence}</p>"#)), "{body}");
    assert!(body.contains(&format!(r#""warning":"{sentence}""#)), "{body}");
}

#[test]
fn without_javascript_the_share_page_says_why_there_is_no_picture() {
    let shown = |url: &str, status| {
        let content = Content { url: SourceUrl::parse(url).unwrap(), ..content(status) };
        let body = share(&content, None, STORED, &addresses(), NOW).body;
        let (_, rest) = body.split_once("<noscript>").unwrap();
        rest.split_once("<p class=\"script\">").unwrap().0.to_owned()
    };
    let failure = Failure::new(FailureCode::SourceUnreachable, "It is <down>.");
    let failed = Status::Failed { failure: failure.clone(), retry_at: NOW };
    insta::assert_snapshot!(shown("https://a.example/b?c&d", failed.clone()), @r#"<p>It is &lt;down&gt;.</p><p><a href="https://zoom.example/6qy4OXfXSid">Reload</a> <a href="https://zoom.example/?url=http%3A%2F%2Fa.example%2Fb%3Fc%26d">Try http://</a> <a href="https://zoom.example/">Another picture</a></p>"#);
    assert!(!shown("http://a.example/", failed).contains("Try http"));
    let next = Some(NextTry { until: NOW, left: 1, reason: failure });
    let waiting = Status::Processing { stage: Stage::Waiting, coarse: None, next };
    assert!(shown("https://a.example/", waiting).starts_with("<p>It is &lt;down&gt;.</p>"));
    let queued = shown("https://a.example/", Status::processing(Stage::Queued));
    assert!(queued.starts_with("<p>The picture is not ready yet.</p><p><a href="), "{queued}");
}

#[test]
fn pages_load_only_the_services_files_and_forbid_frames() {
    let response = home(None, None, None, &addresses());
    insta::assert_snapshot!(response.header("Content-Security-Policy").unwrap(), @r#"default-src 'none'; script-src https://zoom.example/assets/; style-src https://zoom.example; img-src https://api.example https://zoom.example https://cache.example data:; connect-src https://api.example https://zoom.example https://cache.example; manifest-src https://zoom.example; base-uri 'none'; form-action https://zoom.example; frame-ancestors 'none'"#);
    assert_eq!(response.header("Referrer-Policy"), Some("strict-origin-when-cross-origin"));
    let broken = Addresses { cache: "; script-src *".into(), ..addresses() };
    assert!(
        !home(None, None, None, &broken).header("Content-Security-Policy").unwrap().contains("script-src *")
    );
}

#[test]
fn only_finished_contents_are_cached_and_only_ready_ones_are_indexed() {
    let failure = Failure::new(FailureCode::CorruptSource, "</script><script>alert(1)</script>");
    for (content, cached, hidden) in [
        (ready(), "public, max-age=3600", false),
        (
            content(Status::Failed { failure, retry_at: NOW + Duration::from_secs(600) }),
            "public, max-age=600",
            true,
        ),
        (content(Status::processing(Stage::Queued)), "no-store", true),
    ] {
        let response = share(&content, None, STORED, &addresses(), NOW);
        assert_eq!(response.header("Cache-Control"), Some(cached));
        assert_eq!(response.body.contains("noindex"), hidden);
        let scripts = if hidden { 2 } else { 3 }; // of ours: code, content, and linked data when ready
        assert_eq!(response.body.matches("</script>").count(), scripts, "{}", response.body);
    }
}

#[test]
fn the_home_page_shows_the_entered_text_and_the_error() {
    let entered = "\"><script>alert('1')</script>";
    let response = home(
        Some((entered, &ApiError::Url(edgezoom_content::source_url::SourceUrlError::Scheme))),
        None,
        None,
        &addresses(),
    );
    assert_eq!((response.status.as_u16(), response.header("Cache-Control")), (400, Some("no-store")));
    assert_eq!(response.body.matches("<script").count(), 1); // our own
    assert!(response.body.contains("value=\"&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;\""));
    assert!(response.body.contains("must begin with http:// or https://"));
}

#[test]
fn the_home_page_describes_itself_and_links_to_the_legal_notice() {
    let body = home(None, Some("https://operator.example/imprint"), None, &addresses()).body;
    for element in [
        r#"<link rel="canonical" href="https://zoom.example/">"#,
        r#"<meta name="description" content="Turn "#,
        r#"<meta property="og:image" content="https://zoom.example/assets/icon-512.png">"#,
        r#"<a href="https://zoom.example/docs">Documentation</a>"#,
        r#"<a href="https://operator.example/imprint">Legal notice</a>"#,
        "url=https%3A%2F%2Fbitcoin.org%2Fbitcoin.pdf",
    ] {
        assert!(body.contains(element), "{element}");
    }
    assert!(!home(None, None, None, &addresses()).body.contains("Legal notice"));
}

#[test]
fn notices_have_the_status_of_their_error() {
    assert_eq!(not_found(&addresses()).status.as_u16(), 404);
    let response = unavailable(&ApiError::Unavailable, &addresses());
    assert_eq!((response.status.as_u16(), response.header("Retry-After")), (503, Some("5")));
}

#[test]
fn only_the_page_for_frames_may_be_framed() {
    let policy = |response: Response| response.header("Content-Security-Policy").unwrap().to_owned();
    assert!(policy(frame(&ready(), &addresses(), NOW)).ends_with("frame-ancestors *"));
    assert!(policy(share(&ready(), None, STORED, &addresses(), NOW)).ends_with("frame-ancestors 'none'"));
    assert!(frame(&ready(), &addresses(), NOW).body.contains("noindex"));
}

#[test]
fn link_cards_have_the_size_of_the_preview() {
    let page = share(&ready(), None, STORED, &addresses(), NOW).body;
    for line in [
        r#"<meta property="og:image" content="https://zoom.example/6qy4OXfXSid/preview.jpg">"#,
        r#"<meta property="og:image:width" content="1200">"#,
        r#"<meta property="og:image:height" content="900">"#,
    ] {
        assert!(page.contains(line), "{page}");
    }
}

#[test]
fn the_home_page_offers_uploads_if_they_are_enabled() {
    let value = |name: &str| (name == "UPLOAD_BYTES").then(|| "1000".to_owned());
    let config = crate::config::Config::read(value).unwrap();
    let body = home(None, None, config.uploads.as_ref(), &addresses()).body;
    assert!(body.contains(r#"data-address="https://api.example/v1/content/" data-uploads="https://api.example/v1/uploads/" data-most="1000""#), "{body}");
    assert!(!home(None, None, None, &addresses()).body.contains("type=\"file\""));
}

#[test]
fn an_uploaded_file_has_its_name_and_no_link() {
    let digest = "f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk";
    let sent = |name| {
        let url = SourceUrl::of_file(digest, name).unwrap();
        share(&Content { url, ..ready() }, None, STORED, &addresses(), NOW).body
    };
    let page = sent("<b> town.jpg");
    for line in [
        "<title>&lt;b&gt; town – Edgezoom</title>",
        r#"<p><span class="origin">Uploaded file</span><span id="size"></span></p>"#,
        r#"<meta name="description" content="8000 × 6000 pixels, to zoom into.">"#,
    ] {
        assert!(page.contains(line), "{page}");
    }
    assert!(!page.contains("contentUrl") && !page.contains("href=\"ni:"), "{page}");
    assert!(sent("").contains("<h1>Uploaded file</h1>"));
}
