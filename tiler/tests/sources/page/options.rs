//! The options of a page's capture: each changes what it is for, and the selectors of strangers are data.

use std::time::Duration;

use edgezoom_content::{FailureCode, SourceUrl};
use edgezoom_text::Block;
use edgezoom_tiler::browser::{PageError, Pages};
use futures::future::join_all;

use crate::screenshot::{Screenshot, settings};
use crate::site::{Reply, Site};

/// The facts that the page shows, each as a cell of 20 × 20 CSS pixels that is green if it holds.
const FACTS: [&str; 8] = ["dark", "print", "coarse", "dense", "narrow", "touch", "agent", "late"];

const PAGE: &str = "<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'><title>Options</title><style>
    body{margin:0;font:16px sans-serif} #facts{display:flex;height:20px} #facts i{width:20px;background:#f00}
    @media (prefers-color-scheme:dark){#dark{background:#0f0!important}} @media print{#print{background:#0f0!important}}
    @media (pointer:coarse) and (hover:none){#coarse{background:#0f0!important}}
    @media (min-resolution:3dppx){#dense{background:#0f0!important}} @media (width:390px){#narrow{background:#0f0!important}}
    .ad,.chat{height:50px;background:#00f} .chat{position:fixed;bottom:0;width:90px}
    #shot{display:flow-root;position:relative;margin:0 0 0 40px;width:200px;height:100px;background:#ff0} #shot a{position:absolute;left:190px;width:60px}</style>
    <div id=facts></div><div class=ad></div><section id=shot><a href='/link'>one two</a><p>three</p></section><p>other words</p>
    <x-box></x-box><div id=none style='display:none'></div><form class=ad style='height:9px'><input type=hidden name=style></form><script>
    facts.innerHTML = 'FACTS'.split(' ').map((name) => `<i id=${name}></i>`).join('');
    const holds = (name, fact) => { if (fact) document.getElementById(name).style.background = '#0f0' };
    holds('touch', 'ontouchstart' in window && navigator.maxTouchPoints > 0);
    holds('agent', /Android.* Mobile /.test(navigator.userAgent));
    document.querySelector('x-box').attachShadow({ mode: 'open' }).innerHTML = '<div class=inner style=\"height:30px;background:#0ff\"></div>';
    setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<div class=chat></div>'), 3000);
    setTimeout(() => { holds('late', true); document.querySelector('x-box').shadowRoot.firstChild.classList.add('done') }, 16_000);
    </script>";

const BLUE: [u8; 3] = [0, 0, 255];
const CYAN: [u8; 3] = [0, 255, 255];

fn site() -> Site {
    Site::serve("127.0.0.2", |path| match path {
        "/" => Reply::Html(PAGE.replace("FACTS", &FACTS.join(" "))),
        "/old" => Reply::Html(
            "<!doctype html><body style='margin:0'><div style='height:100px;background:#00f'>".to_owned(),
        ),
        "/wide" => Reply::Html(
            "<!doctype html><meta name=viewport content='width=device-width'><body style='margin:0'>
             <div style='width:800px;height:3000px;background:linear-gradient(90deg,#00f 50%,#0ff 50%)'>"
                .to_owned(),
        ),
        _ => Reply::status(404),
    })
}

async fn shown(pages: &Pages, url: &str, options: &str) -> Result<Screenshot, PageError> {
    let url = SourceUrl::parse(url).unwrap().with_options(options).unwrap();
    Screenshot::of(pages.open(&url, None).await?).await
}

/// Returns the facts that hold in a screenshot with this number of pixels for each CSS pixel.
fn facts(page: &Screenshot, scale: usize) -> String {
    let holds = |at: usize| page.at((at * 20 + 10) * scale, 10 * scale) == [0, 255, 0];
    let held = FACTS.into_iter().enumerate().filter(|(at, _)| holds(*at)).map(|(_, name)| name);
    held.collect::<Vec<_>>().join(" ")
}

fn words(page: &Screenshot) -> String {
    let blocks: Vec<String> =
        page.text.iter().flat_map(|text| &text.pages[0].blocks).map(Block::joined).collect();
    blocks.join("|")
}

#[tokio::test]
async fn options_change_how_a_page_is_laid_out_and_what_of_it_is_shown() {
    let (site, pages) = (site(), Pages::new(settings()));
    let captures = [
        ("/", ""),
        ("/", "web-device=phone&web-hide=.ad,+.chat"),
        ("/", "web-width=700&web-scheme=dark&web-media=print&web-wait=12000"),
        ("/", "web-device=phone&web-width=360&web-scheme=light"),
        ("/", "web-selector=%23shot"),
        ("/", "web-from=%23shot+p"),
        ("/", "web-selector=div.inner&web-wait=.inner.done&web-scheme=dark"),
        ("/old", "web-device=phone"),
        ("/wide", "web-device=phone"),
    ];
    let captures = captures.map(|(path, options)| {
        let (pages, url) = (&pages, site.url(path));
        // On the heap: nine of them would nearly fill the stack.
        Box::pin(async move {
            shown(pages, &url, options).await.unwrap_or_else(|error| panic!("{options}: {error}"))
        })
    });
    let captured: Vec<Screenshot> = join_all(captures).await;
    let [plain, phone, printed, small, shot, from, inner, old, wide] = &captured[..] else { unreachable!() };

    assert_eq!((facts(plain, 2).as_str(), plain.width), ("", 2560));
    assert_eq!(plain.count(BLUE), (50 + 9) * 1280 * 4 + 50 * 90 * 4, "advertisements and the chat");
    assert_eq!((facts(phone, 3).as_str(), phone.width), ("coarse dense narrow touch agent", 390 * 3));
    assert_eq!((phone.count(BLUE), phone.at(200, 70)), (0, [255, 255, 0]), "what is hidden leaves no gap");
    // For Chromium, paper has 300 dots per inch.
    assert_eq!((facts(printed, 2).as_str(), printed.width), ("dark print dense late", 1400));
    assert_eq!((facts(small, 3).as_str(), small.width), ("coarse dense touch agent", 360 * 3));

    assert_eq!((shot.width, shot.height, shot.title.as_str()), (400, 200, "Options"));
    for (x, y) in (0..400).flat_map(|x| (0..200).map(move |y| (x, y))) {
        assert_eq!(shot.at(x, y), plain.at(x + 80, y + 140), "{x} {y}");
    }
    assert_eq!(words(plain), "one two|three|other words");
    assert_eq!(words(shot), "three", "what reaches beyond the element is left out");
    let line = &shot.text.as_ref().unwrap().pages[0].blocks[0].lines[0].at;
    assert!(line.left < 9 && line.top < 60 && line.width < 100, "{line:?}");
    // A margin of 16 px, which the paragraph has in a root for its layout.
    let top = plain.height - from.height;
    assert_eq!((from.width, top), (plain.width, 172));
    for (x, y) in (0..from.width).flat_map(|x| (0..from.height).map(move |y| (x, y))) {
        assert_eq!(from.at(x, y), plain.at(x, y + top), "{x} {y}");
    }
    assert_eq!(words(from), "three|other words", "what is above is left out");
    assert_eq!((inner.width, inner.height, inner.count(CYAN)), (2560, 60, 2560 * 60));

    // Browsers of phones lay out a page without a viewport as on a desktop.
    assert_eq!((old.width, old.count(BLUE)), (980 * 3, 980 * 3 * 300));
    assert_eq!((wide.width, wide.count(BLUE), wide.count(CYAN)), (2400, 1200 * 9000, 1200 * 9000));
}

#[tokio::test]
async fn a_selector_that_is_none_or_matches_nothing_is_a_failure() {
    let mut settings = settings();
    settings.limits.appear = Duration::from_secs(1);
    let (site, pages) = (site(), Pages::new(settings));
    let no_selector = |option: &str| format!("{option} is not a CSS selector.");
    let no_element = |option: &str| format!("No element of the page matches the selector of {option}.");
    let cases = [
        ("web-hide=a{}*{background:red}", no_selector("web-hide")),
        ("web-wait=:not(", no_selector("web-wait")),
        ("web-selector=')});document.title='x';({a:('", no_selector("web-selector")),
        ("web-selector=.nothing", no_element("web-selector")),
        ("web-from=.nothing", no_element("web-from")),
        ("web-selector=%23none", no_element("web-selector")),
        ("web-selector=%23shot&web-hide=section", no_element("web-selector")),
        ("web-wait=.never", no_element("web-wait")),
    ];
    join_all(cases.into_iter().map(async |(options, message)| {
        let error = shown(&pages, &site.url("/"), options).await.err().unwrap();
        let failure = crate::failure(error);
        assert_eq!((failure.code, failure.message), (FailureCode::NoSuchElement, message), "{options}");
    }))
    .await;
}
