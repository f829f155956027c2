//! Content of screenshots.

use crate::screenshot::{capture, capture_url, settings};
use crate::site::{Reply, Site};

const MAGENTA: [u8; 3] = [255, 0, 255];

#[tokio::test]
async fn a_tall_page_is_captured_row_for_row() {
    let site = Site::page(
        "<!doctype html><title> Tall\n page </title><style>body{margin:0} div{height:100px}</style><script>
         for (let i = 0; i < 200; i++) {
           const band = document.createElement('div');
           band.style.background = `rgb(${i}, ${255 - i}, ${i % 7 * 30})`;
           document.body ?? document.write('<body>');
           document.body.append(band);
         }</script>",
    );
    let page = capture_url(&site.url("/")).await;
    assert_eq!((page.width, page.height), (2560, 40_000));
    assert_eq!(page.title, "Tall page");
    assert_eq!(page.url, site.url("/"));
    for band in 0..200 {
        let colour = [band as u8, 255 - band as u8, (band % 7 * 30) as u8];
        for (x, y) in [(0, 0), (2559, 199), (1000, 100)] {
            assert_eq!(page.at(x, band * 200 + y), colour, "band {band}, {x} {y}");
        }
    }
}

#[tokio::test]
async fn fixed_and_sticky_headers_appear_once() {
    let site = Site::page(
        "<!doctype html><style>body{margin:0} .bar{top:0;height:50px;width:100%;background:#f0f}
         .hero{height:100vh;background:#0f0} .rest{height:9000px;background:#00f}</style>
         <div class=bar style='position:fixed'></div><div class=hero></div>
         <div class=bar style='position:sticky'></div><div class=rest></div>",
    );
    let page = capture_url(&site.url("/")).await;
    assert_eq!(page.height, (800 + 50 + 9000) * 2);
    assert_eq!(page.count(MAGENTA), 2 * 100 * 2560);
    assert_eq!(page.at(10, 10), MAGENTA);
    assert_eq!(page.at(10, 1610), MAGENTA);
    assert_eq!(page.at(10, 1590), [0, 255, 0], "a full-height hero keeps its height");
    assert_eq!(page.at(10, page.height - 1), [0, 0, 255]);
}

#[tokio::test]
async fn lazy_content_is_loaded() {
    let site = Site::serve("127.0.0.2", |path| match path {
        "/" => Reply::Html(
            "<!doctype html><style>body{margin:0} img,p{display:block;width:100px;height:100px;margin:0}
             #fill{height:7000px}</style><div id=fill></div><img loading=lazy src=/native.svg><p></p>
             <div id=fill></div><script>
             const paint = ([seen]) => seen.isIntersecting && setTimeout(async () => {
               const image = new Image(100, 100); image.src = '/script.svg';
               await new Promise(resolve => image.onload = resolve);
               document.querySelector('p').append(image);
             }, 30);
             new IntersectionObserver(paint).observe(document.querySelector('p'))</script>"
                .to_owned(),
        ),
        "/native.svg" => svg("#f0f"),
        "/script.svg" => svg("#0ff"),
        _ => Reply::status(404),
    });
    let page = capture_url(&site.url("/")).await;
    assert_eq!(page.at(100, 14_100), MAGENTA);
    assert_eq!(page.at(100, 14_300), [0, 255, 255]);
}

#[tokio::test]
async fn infinite_scrolling_ends_at_the_limit() {
    let site = Site::page(
        "<!doctype html><style>body{margin:0} div{height:500px;background:#f0f;border-bottom:1px solid}</style>
         <script>const more = () => { for (let i = 0; i < 4; i++) document.body.append(document.createElement('div')) };
         onload = more; onscroll = more</script><body>",
    );
    let mut settings = settings();
    settings.limits.height = 6000;
    let page = capture(settings, &site.url("/")).await.unwrap();
    assert_eq!(page.height, 12_000);
    assert_eq!(page.at(9, 11_000), MAGENTA);
}

#[tokio::test]
async fn a_short_page_is_as_high_as_the_window() {
    let page = capture_url(&Site::page("<!doctype html><body style='background:#f0f'>").url("/")).await;
    assert_eq!((page.width, page.height), (2560, 1600));
    assert_eq!(page.count(MAGENTA), 2560 * 1600);
}

#[tokio::test]
async fn finite_animations_are_finished_and_infinite_ones_paused() {
    let site = Site::page(
        "<!doctype html><style>body{margin:0} div{height:4000px;background:#f0f}
         @keyframes fade{from{opacity:0}} .fade{animation:fade 60s}
         @keyframes turn{from{background:#000} to{background:#fff}} .turn{animation:turn .4s infinite alternate}</style>
         <div class=fade></div><div class=turn></div>",
    );
    let page = capture_url(&site.url("/")).await;
    assert_eq!(page.at(100, 4000), MAGENTA);
    assert_eq!(page.at(100, 8010), page.at(100, 15_990), "both strips show the same moment");
}

fn svg(colour: &str) -> Reply {
    let body = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='100' height='100'><rect width='100' height='100' fill='{colour}'/></svg>"
    );
    Reply::of_type("image/svg+xml", body)
}
