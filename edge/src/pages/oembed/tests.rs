//! The oEmbed response of a share link, with the texts of sources escaped.

use edgezoom_content::{
    Archive, Attempt, Dzi, Failure, FailureCode, Finished, Previews, Progress, SourceUrl, Stage, TileFormat,
    Timestamp,
};

use super::*;

const ID: &str = "6qy4OXfXSid";

fn addresses() -> Addresses {
    Addresses {
        base: "https://api.example".into(),
        share: "https://zoom.example".into(),
        cache: "https://cache.example".into(),
    }
}

fn content(status: Status) -> Content {
    let url = SourceUrl::parse("http://example.com/%22%3E%3Cb%3E%5D%5D%3E.jpg").unwrap();
    Content { id: ID.parse().unwrap(), url, alternative: None, progress: Progress::NONE, status }
}

fn ready(width: u32, height: u32) -> Content {
    let dzi =
        Dzi { size: Size { width, height }, tile_size: 510, tile_overlap: 1, tile_format: TileFormat::Jpg };
    content(Status::Ready {
        attempt: Attempt::FIRST,
        finished: Finished::new(dzi, Archive::default(), Previews::default()),
    })
}

fn within(max_width: u32, max_height: u32) -> OembedRequest {
    OembedRequest { max_width: Some(max_width), max_height: Some(max_height), ..OembedRequest::default() }
}

#[test]
fn a_share_link_is_embedded_as_a_frame_with_a_thumbnail() {
    let response = OembedRequest::default().response(&ready(8000, 6000), false, &addresses());
    assert_eq!(response.header("Content-Type"), Some("application/json; charset=utf-8"));
    insta::assert_snapshot!(response.body, @r#"{"type":"rich","version":"1.0","title":"\"><b>]]>.jpg","provider_name":"Edgezoom","provider_url":"https://zoom.example/","cache_age":3600,"width":800,"height":600,"html":"<iframe src=\"https://zoom.example/6qy4OXfXSid/embed\" width=\"800\" height=\"600\" title=\"&quot;&gt;&lt;b&gt;]]&gt;.jpg\" frameborder=\"0\" allow=\"fullscreen\" loading=\"lazy\"></iframe>","thumbnail_url":"https://zoom.example/6qy4OXfXSid/preview.jpg","thumbnail_width":1200,"thumbnail_height":900}"#);
}

#[test]
fn xml_has_the_same_fields() {
    let request = OembedRequest { format: Some("xml".into()), ..within(300, 300) };
    let response = request.response(&ready(8000, 6000), false, &addresses());
    assert_eq!(response.header("Content-Type"), Some("text/xml; charset=utf-8"));
    insta::assert_snapshot!(response.body, @r#"<?xml version="1.0" encoding="UTF-8"?><oembed><type>rich</type><version>1.0</version><title>&quot;&gt;&lt;b&gt;]]&gt;.jpg</title><provider_name>Edgezoom</provider_name><provider_url>https://zoom.example/</provider_url><cache_age>3600</cache_age><width>300</width><height>225</height><html>&lt;iframe src=&quot;https://zoom.example/6qy4OXfXSid/embed&quot; width=&quot;300&quot; height=&quot;225&quot; title=&quot;&amp;quot;&amp;gt;&amp;lt;b&amp;gt;]]&amp;gt;.jpg&quot; frameborder=&quot;0&quot; allow=&quot;fullscreen&quot; loading=&quot;lazy&quot;&gt;&lt;/iframe&gt;</html><thumbnail_url>https://cache.example/6qy4OXfXSid/1_files/8/0_0.jpg</thumbnail_url><thumbnail_width>250</thumbnail_width><thumbnail_height>188</thumbnail_height></oembed>"#);
}

#[test]
fn an_unfinished_content_has_no_thumbnail_and_a_failed_one_is_404() {
    let queued =
        OembedRequest::default().response(&content(Status::processing(Stage::Queued)), false, &addresses());
    assert_eq!((queued.status, queued.header("Cache-Control")), (StatusCode::OK, Some("no-store")));
    assert!(!queued.body.contains("thumbnail"));
    let failure = Failure::new(FailureCode::Internal, "");
    let failed = OembedRequest::default().response(
        &content(Status::Failed { failure, retry_at: Timestamp::default() }),
        false,
        &addresses(),
    );
    assert_eq!(failed.status, StatusCode::NOT_FOUND);
}

#[test]
fn the_frame_and_the_thumbnail_stay_within_the_limits_of_the_site() {
    for (picture, most, frame) in [
        ((8000, 6000), (400, 1000), (400, 300)),
        ((8000, 6000), (1000, 300), (400, 300)),
        ((6000, 8000), (400, 400), (300, 400)),
        ((100_000, 100), (600, 400), (600, 200)),
        ((100, 100_000), (600, 400), (200, 400)),
        ((100_000, 100), (600, 50), (600, 50)),
        ((1, 1), (1, 1), (1, 1)),
        ((8000, 6000), (0, 0), (800, 600)),
    ] {
        let request = within(most.0, most.1);
        let size = request.fit(Size { width: picture.0, height: picture.1 });
        assert_eq!((size.width, size.height), frame, "{picture:?} within {most:?}");
        let body = request.response(&ready(picture.0, picture.1), false, &addresses()).body;
        let object: serde_json::Value = serde_json::from_str(&body).unwrap();
        if most.0 > 0 {
            assert!(object["thumbnail_width"].as_u64() <= Some(most.0.into()), "{body}");
            assert!(object["thumbnail_height"].as_u64() <= Some(most.1.into()), "{body}");
        }
    }
}

#[test]
fn the_thumbnail_is_the_largest_preview_within_the_limits() {
    let made = ready(8000, 6000);
    for (request, address, size) in [
        (OembedRequest::default(), "https://zoom.example/6qy4OXfXSid/preview.jpg", (1200, 900)),
        (within(1200, 900), "https://zoom.example/6qy4OXfXSid/preview.jpg", (1200, 900)),
        (within(1199, 900), "https://zoom.example/6qy4OXfXSid/thumbnail.jpg", (320, 240)),
        (within(300, 300), "https://cache.example/6qy4OXfXSid/1_files/8/0_0.jpg", (250, 188)),
    ] {
        let body = request.response(&made, false, &addresses()).body;
        let object: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(object["thumbnail_url"], address);
        assert_eq!(
            (&object["thumbnail_width"], &object["thumbnail_height"]),
            (&size.0.into(), &size.1.into())
        );
    }
}

#[test]
fn share_links_are_recognised_in_all_spellings() {
    let content_of =
        |url: &str| OembedRequest { url: Some(url.into()), ..OembedRequest::default() }.content(&addresses());
    for link in ["", "/", "?x=y", "#0.5,0.5,2", "/embed", "/embed/"] {
        assert_eq!(
            content_of(&format!("https://zoom.example/{ID}{link}")),
            Ok(Ok(ContentKey::Id(ID.parse().unwrap()))),
            "{link}"
        );
    }
    assert!(content_of(&format!("http://ZOOM.example/{ID}")).is_ok());
    for link in [
        format!("https://other.example/{ID}"),
        format!("https://zoom.example:8443/{ID}"),
        format!("https://zoom.example/{ID}.js"),
        format!("ftp://zoom.example/{ID}"),
        "https://zoom.example/".to_owned(),
        "nonsense".to_owned(),
    ] {
        assert_eq!(content_of(&link).unwrap_err().status, StatusCode::NOT_FOUND, "{link}");
    }
    let odd = OembedRequest { format: Some("yaml".into()), ..OembedRequest::default() };
    assert_eq!(odd.content(&addresses()).unwrap_err().status, StatusCode::NOT_IMPLEMENTED);
    assert_eq!(OembedRequest::default().content(&addresses()).unwrap_err().status, StatusCode::BAD_REQUEST);
}

#[test]
fn the_thumbnail_of_a_place_is_its_card_where_the_service_renders() {
    let link = |place: &str| Some(format!("https://zoom.example/{ID}?{place}"));
    let thumbnail = |request: &OembedRequest, renders| {
        let body = request.response(&ready(8000, 6000), renders, &addresses()).body;
        serde_json::from_str::<serde_json::Value>(&body).unwrap()["thumbnail_url"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let placed = OembedRequest { url: link("a=b&at=4000,3000,4,90#x"), ..OembedRequest::default() };
    let card = thumbnail(&placed, true);
    assert!(card.starts_with("https://zoom.example/6qy4OXfXSid/at/") && card.ends_with(",90.jpg"), "{card}");
    let body = placed.response(&ready(8000, 6000), false, &addresses()).body;
    assert!(body.contains("/embed?at=4000,3000,4,90"), "the frame opens at the place: {body}");
    let whole = thumbnail(&OembedRequest::default(), true);
    assert_eq!(thumbnail(&placed, false), whole);
    for other in ["at=4000,3000,0", "at=x", "", "at=%22%3E,1,1"] {
        let request = OembedRequest { url: link(other), ..OembedRequest::default() };
        assert_eq!(thumbnail(&request, true), whole, "{other}");
    }
    let small = OembedRequest { max_width: Some(1199), ..placed };
    assert!(thumbnail(&small, true).ends_with("/thumbnail.jpg"), "the card does not fit");
}
