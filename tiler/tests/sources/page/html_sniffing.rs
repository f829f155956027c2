//! Recognition of web pages by content instead of the declared media type, from the download to the open page as in a
//! job.

use edgezoom_codecs::Format;
use edgezoom_content::{AddressPolicy, SourceUrl};
use edgezoom_tiler::bot::BotSettings;
use edgezoom_tiler::browser::{Html, OpenPage, PageError, Pages};
use edgezoom_tiler::fetch::Fetcher;
use edgezoom_tiler::limits::Limits;

use crate::screenshot::settings;
use crate::site::{Reply, Site};

/// Downloads a source and opens it if it is a page. Otherwise returns the name of its format.
async fn open(site: &Site, path: &str) -> Result<Result<OpenPage, PageError>, Option<&'static str>> {
    let policy = AddressPolicy::allowing("127.0.0.2/32").unwrap();
    let fetcher =
        Fetcher::new(policy, Limits::default(), std::env::temp_dir(), BotSettings::default()).unwrap();
    let url = SourceUrl::parse(&site.url(path)).unwrap();
    let mut fetched = fetcher.fetch(&url, |_| {}).await.unwrap();
    match Html::recognise(&mut fetched.file, fetched.content_type.as_deref()).unwrap() {
        Some(html) => Ok(Pages::new(settings()).open(&url, Some(html)).await),
        None => Err(Format::sniff(&mut fetched.file).ok().map(|format| format.name)),
    }
}

fn utf_16(text: &str) -> Vec<u8> {
    format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[tokio::test]
async fn html_is_a_page_whatever_type_is_declared() {
    let page = "<!doctype html><title>Grüße</title><body style='margin:0;height:1234px'>";
    let pages: [(&str, Vec<u8>); 11] = [
        ("Content-Type: image/jpeg\r\n", format!("\u{feff}{page}").into()),
        ("Content-Type: image/png\r\nX-Content-Type-Options: nosniff\r\n", utf_16(page)),
        ("Content-Type: application/octet-stream; charset=utf-8\r\n", format!("<!-- a --> \n{page}").into()),
        ("Content-Type: application/pdf; charset=UTF-8\r\n", page.into()),
        ("Content-Type: text/plain; charset=utf-8\r\n", page.into()),
        ("Content-Type: text/html\r\n", utf_16(page)),
        ("Content-Type: text/html; charset=utf-8\r\nContent-Disposition: attachment\r\n", page.into()),
        ("", utf_16(page)),
        ("Content-Type: image/jpeg; charset=iso-8859-1\r\n", latin_1(page)),
        ("Content-Type: application/xhtml+xml\r\n", XHTML.into()),
        ("Content-Type: text/xml\r\n", XHTML.into()),
    ];
    let (all, served) = (pages.len(), pages.clone());
    let site = Site::serve("127.0.0.2", move |path| {
        let page = path[1..].parse::<usize>().ok().and_then(|page| served.get(page));
        page.map_or(Reply::status(404), |(headers, body)| {
            Reply::Raw(200, (*headers).to_owned(), body.clone())
        })
    });
    for page in 0..all {
        let opened = open(&site, &format!("/{page}")).await.unwrap().unwrap();
        assert_eq!((opened.size().height, opened.title().unwrap().as_str()), (2468, "Grüße"), "{page}");
    }
}

const XHTML: &str =
    "<?xml version='1.0' encoding='utf-8'?>\n<!DOCTYPE html><html xmlns='http://www.w3.org/1999/xhtml'>
    <head><title>Grüße</title></head><body style='margin:0;height:1234px'></body></html>";

fn latin_1(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(letter).unwrap()).collect()
}

#[tokio::test]
async fn a_source_that_is_declared_as_html_may_be_something_else() {
    let svg = "<!-- <html> --><svg xmlns='http://www.w3.org/2000/svg'/>";
    let site = Site::serve("127.0.0.2", move |path| match path {
        "/svg" => Reply::of_type("text/html", svg),
        "/pdf" => Reply::of_type("text/html", "%PDF-1.4\n<html>"),
        "/png" => Reply::of_type("text/html", b"\x89PNG\r\n\x1a\n".as_slice()),
        "/json" => Reply::of_type("image/jpeg", "{\"error\":\"<html>\"}"),
        "/text" => Reply::of_type("image/jpeg", "No such picture"),
        _ => Reply::of_type("application/octet-stream", utf_16("No such picture <html>")),
    });
    for (path, format) in [
        ("/svg", Some("SVG")),
        ("/pdf", Some("PDF")),
        ("/png", Some("PNG")),
        ("/json", None),
        ("/text", None),
        ("/utf-16", None),
    ] {
        assert_eq!(open(&site, path).await.map(|_| ()).unwrap_err(), format, "{path}");
    }
}

#[tokio::test]
async fn the_other_headers_of_a_misdeclared_page_still_apply() {
    let site = Site::serve("127.0.0.2", |_| {
        Reply::Raw(
            200,
            "Content-Type: image/jpeg\r\nContent-Security-Policy: script-src 'none'\r\n".to_owned(),
            b"<!doctype html><body><script>document.title = 'run'</script>".to_vec(),
        )
    });
    let opened = open(&site, "/").await.unwrap().unwrap();
    assert!(opened.title().is_none(), "{:?}", opened.title());
}

#[tokio::test]
async fn a_page_that_navigates_to_a_picture_or_document_leads_to_it() {
    let site = Site::serve("127.0.0.2", |path| match path {
        "/refresh" => Reply::Html("<meta http-equiv=refresh content='0;url=/a.png'>Wait".into()),
        "/script" => Reply::Html("<script>location.replace('/b.pdf#page=2')</script>".into()),
        "/later" => Reply::Html("<script>setTimeout(() => location = '/a.png', 300)</script>".into()),
        "/file" => Reply::Html("<a href=/c.TIF></a><script>document.links[0].click()</script>".into()),
        "/moved" => Reply::Html("<meta http-equiv=refresh content='0;url=/to-a'>".into()),
        "/to-a" => Reply::redirect("/a.png"),
        "/a.png" => Reply::of_type("image/png", b"\x89PNG\r\n\x1a\n".as_slice()),
        "/b.pdf" => Reply::of_type("application/pdf", "%PDF-1.4"),
        "/c.TIF" => Reply::of_type("application/octet-stream", "II*\0"),
        _ => Reply::status(404),
    });
    for (path, to) in [
        ("/refresh", "/a.png"),
        ("/script", "/b.pdf#page=2"),
        ("/later", "/a.png"),
        ("/file", "/c.TIF"),
        ("/moved", "/a.png"),
    ] {
        let opened = open(&site, path).await.unwrap().map(|page| page.size());
        let Err(PageError::LeadsTo(url)) = &opened else { panic!("{path}: {opened:?}") };
        assert_eq!(url.as_str(), site.url(to), "{path}");
    }
}

#[tokio::test]
async fn embedded_pictures_and_downloads_are_not_navigations() {
    let pages = [
        ("Next", "<script>location.replace('/next')</script>"),
        ("Parts", "<img src=/a.png><iframe src=/a.png></iframe><object data=/a.png></object>"),
        ("Window", "<script>open('/a.png')</script>"),
        ("Download", "<a href=/a.zip></a><script>onload = () => document.links[0].click()</script>"),
    ];
    let site = Site::serve("127.0.0.2", move |path| match path {
        "/a.png" => Reply::of_type("image/png", b"\x89PNG\r\n\x1a\n".as_slice()),
        "/a.zip" => Reply::of_type("application/zip", "PK"),
        "/next" => Reply::Html("<!doctype html><title>Next</title>".into()),
        path => match path[1..].parse::<usize>().ok().and_then(|page| pages.get(page)) {
            Some((title, html)) => Reply::Html(format!("<!doctype html><title>{title}</title>{html}")),
            None => Reply::status(404),
        },
    });
    for (number, (title, _)) in pages.into_iter().enumerate() {
        let opened = open(&site, &format!("/{number}")).await.unwrap();
        let displayed = opened.map(|page| page.title().map(ToString::to_string));
        assert_eq!(displayed.unwrap().as_deref(), Some(title));
    }
}
