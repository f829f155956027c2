//! Layout of whole pages without scrolling: scroll containers in place of the page, fixed backgrounds, elements that
//! appear only while they are in view, scroll snapping, and consent banners.

use crate::screenshot::{Screenshot, capture, capture_url, settings};
use crate::site::Site;

const MAGENTA: [u8; 3] = [255, 0, 255];
const GREEN: [u8; 3] = [0, 255, 0];
const BLUE: [u8; 3] = [0, 0, 255];
const RED: [u8; 3] = [204, 51, 0];

async fn page(html: &str) -> Screenshot {
    capture_url(&Site::page(&format!("<!doctype html><style>body{{margin:0}}</style>{html}")).url("/")).await
}

#[tokio::test]
async fn a_box_that_scrolls_in_place_of_the_page_is_expanded() {
    let content = "<p style='height:3000px;margin:0;background:#f0f'></p><p style='height:1000px;margin:0;background:#0f0'></p>";
    for shell in [
        "<style>html,body{height:100vh;overflow:hidden} body{display:flex;flex-direction:column}
         header{height:60px;background:#00f} main{flex:1;min-height:0;overflow-y:auto}</style><header></header><main>",
        "<style>*{box-sizing:border-box} #app{position:fixed;inset:0;display:grid;grid-template:60px 1fr/240px 1fr}
         header{grid-column:1/3;background:#00f} aside{overflow-y:auto} main{overflow-y:scroll;position:relative}</style>
         <div id=app><header></header><aside>side</aside><main>",
        "<style>.a{height:100dvh} .b{height:100%;position:relative;background:#00f}
         main{position:absolute;top:60px;bottom:0;left:0;right:0;overflow:auto}</style><div class=a><div class=b><main>",
    ] {
        let page = page(&format!("{shell}{content}")).await;
        assert_eq!(page.height, 2 * 4060, "{shell}");
        assert_eq!((page.at(2000, 60), page.at(2000, 130)), (BLUE, MAGENTA), "{shell}");
        assert_eq!((page.at(2000, 6100), page.at(2000, 6130), page.at(2000, 8119)), (MAGENTA, GREEN, GREEN));
    }
}

#[tokio::test]
async fn an_expanded_box_keeps_its_width() {
    let page = page(
        "<style>body{display:flex;height:100vh;overflow:hidden} main{flex:1;overflow-y:auto;background:#f0f} aside{width:240px;background:#00f}
         main div{width:5000px;height:3000px}</style><main><script>document.write('many words '.repeat(999))</script><div></div></main>
         <aside></aside>",
    )
    .await;
    assert!(page.height > 6000, "{}", page.height);
    assert_eq!((page.at(2070, 4), page.at(2090, 20), page.at(2550, 1000)), (MAGENTA, BLUE, BLUE));
}

#[tokio::test]
async fn a_scrolling_box_in_a_page_that_scrolls_is_not_expanded() {
    let page = page(
        "<style>.box{height:700px;overflow:auto;background:#0f0} .box p{height:5000px}</style>
         <div class=box><p></div><div style='height:2000px;background:#f0f'></div>",
    )
    .await;
    assert_eq!(page.height, 2 * 2700);
    assert_eq!((page.at(9, 1390), page.at(9, 1410)), (GREEN, MAGENTA));
}

#[tokio::test]
async fn an_expanded_box_ends_at_the_limit() {
    let site = Site::page(
        "<!doctype html><style>body{margin:0} main{position:fixed;inset:0;overflow:auto} p{height:9000000px;margin:0;background:#f0f}
         </style><main><p>",
    );
    let mut settings = settings();
    settings.limits.height = 5000;
    let page = capture(settings, &site.url("/")).await.unwrap();
    assert_eq!((page.height, page.at(9, 9999)), (10_000, MAGENTA));
}

#[tokio::test]
async fn fixed_backgrounds_are_drawn_everywhere() {
    let page = page(
        "<style>body{background:linear-gradient(#0f0,#0f0) fixed} p{height:3000px;margin:0}
         .section{background:linear-gradient(90deg,#f0f 50%,#00f 50%) fixed 50%/cover}</style><p></p><p class=section></p><p></p>",
    )
    .await;
    assert_eq!(page.height, 18_000);
    for y in [100, 5900, 12_100, 17_900] {
        assert_eq!(page.at(1000, y), GREEN, "{y}");
    }
    for y in [6100, 9000, 11_900] {
        assert_eq!((page.at(1000, y), page.at(1500, y)), (MAGENTA, BLUE), "{y}");
    }
}

#[tokio::test]
async fn elements_that_appear_only_in_view_are_visible() {
    let page = page(
        "<style>p{height:700px;margin:0 0 20px;background:#f0f;opacity:0;transform:translateY(80px);transition:all .6s}
         .in{opacity:1;transform:none}</style><script>
         for (let i = 0; i < 10; i++) document.write('<p class=' + (i % 2 ? 'seen' : 'passed') + '></p>');
         const observer = new IntersectionObserver(all => all.forEach(one => one.target.classList.toggle('in', one.isIntersecting)));
         document.querySelectorAll('.seen').forEach(one => observer.observe(one));
         let late;
         const pass = () => document.querySelectorAll('.passed').forEach(one =>
           one.classList.toggle('in', scrollY + 700 > one.offsetTop));
         onscroll = () => late ??= setTimeout(() => { late = null; pass() }, 99); pass()</script>",
    )
    .await;
    assert_eq!(page.height, 14_400);
    for block in 0..10 {
        let top = block * 1440;
        for y in [top + 2, top + 1398] {
            assert_eq!(page.at(99, y), MAGENTA, "block {block}, row {y}");
        }
    }
}

#[tokio::test]
async fn hidden_elements_stay_hidden() {
    let page = page(
        "<style>p{height:3000px;margin:0;background:#0f0} .menu{opacity:0} .tip{visibility:hidden} div{height:100px;background:#f0f}</style>
         <p></p><div class=menu></div><div class=tip></div><p></p>",
    )
    .await;
    assert_eq!((page.height, page.count(MAGENTA)), (12_400, 0));
}

#[tokio::test]
async fn scroll_snapping_does_not_move_the_page() {
    let page = page(
        "<style>html{scroll-snap-type:y mandatory;scroll-behavior:smooth} p{height:1000px;margin:0;scroll-snap-align:start}
         header{position:sticky;top:0;height:50px;background:#f0f}</style><header></header>
         <script>for (let i = 0; i < 12; i++) document.write(`<p style='background:rgb(${i},0,255)'></p>`)</script>",
    )
    .await;
    assert_eq!(page.height, 24_100);
    assert_eq!((page.at(99, 0), page.at(99, 99), page.count(MAGENTA)), (MAGENTA, MAGENTA, 2560 * 100));
    for section in 0..12 {
        for y in [100, 2099] {
            assert_eq!(
                page.at(99, section * 2000 + y),
                [section as u8, 0, 255],
                "section {section}, row {y}"
            );
        }
    }
}

#[tokio::test]
async fn consent_banners_are_hidden_and_their_scroll_lock_removed() {
    const STORY: &str = "<p style='height:2000px;margin:0;background:#0f0'>A long story</p>";
    const LOCKED: &str = "<style>html,body{overflow:hidden;height:100%}</style>";
    const BACKDROP: &str = "<div style='position:fixed;inset:0;background:rgba(0,0,0,.5)'></div>";
    const BAR: &str = "style='position:fixed;bottom:0;left:0;right:0;height:200px;background:#f0f'";
    for (name, banner) in [
        ("known by name", format!("{LOCKED}<div id=onetrust-consent-sdk><div {BAR}></div>{BACKDROP}</div>")),
        (
            "English",
            format!(
                "{LOCKED}{BACKDROP}<div {BAR}>We value your privacy: cookies. <button>Accept all</button></div>"
            ),
        ),
        ("German", format!("<div {BAR}>Wir verwenden Cookies. <a href=#>Alle akzeptieren</a></div>")),
        ("Japanese", format!("<div {BAR}>クッキーを使用しています。<button>同意する</button></div>")),
        (
            "a modal dialog",
            "<dialog style='background:#f0f'>Cookies? <button>OK</button></dialog>
             <script>document.querySelector('dialog').showModal()</script>"
                .to_owned(),
        ),
        (
            "after a while",
            format!(
                "<script>setTimeout(() => {{ document.body.insertAdjacentHTML('beforeend',
              `<div {BAR}>Cookies? <button>Agree</button></div>`) }}, 700)</script>"
            ),
        ),
    ] {
        let page = page(&format!("{STORY}{banner}")).await;
        assert_eq!((page.height, page.count(MAGENTA)), (4000, 0), "{name}");
        assert_eq!((page.at(2000, 1000), page.at(2000, 3999)), (GREEN, GREEN), "{name}");
    }
}

#[tokio::test]
async fn elements_about_cookies_that_are_not_banners_stay() {
    let shop = "<style>header{position:sticky;top:0;height:60px;background:#00f} article{height:2000px;background:#f0f}
         h1{margin:0}</style>
        <header>Cookies and cakes <nav>Cookies</nav><button>Search</button></header>
        <article><h1>Cookies and consent</h1>How banners ask. <button>Accept all cookies</button></article>";
    let article = page(shop).await;
    assert_eq!(article.height, 2 * 2060);
    assert_eq!((article.at(2000, 60), article.at(2000, 4000)), (BLUE, MAGENTA));
    let contents =
        "<a href=#>Cookie policy</a> <a href=#>Acceptable use</a> <a href=#>How to allow cookies</a> "
            .repeat(3);
    let contents =
        page(&format!("<div style='position:sticky;top:0;height:900px;background:#f0f'>{contents}</div>"))
            .await;
    assert_eq!(contents.at(2000, 1000), MAGENTA, "a table of contents");
    let app = page(
        "<div style='position:fixed;inset:0;background:#f0f'>All about cookies <button>Accept all</button></div>",
    )
    .await;
    assert_eq!(app.at(2000, 1000), MAGENTA, "an element that fills the window is the page itself");
}

#[tokio::test]
async fn a_page_that_obstructs_the_scripts_is_captured() {
    let site = Site::page(
        "<!doctype html><body style='background:#f0f;margin:0'><form name=body><input name=style></form>
         <div style='position:fixed;overflow:auto;inset:0'></div><script>
         for (let i = 0; i < 30000; i++) document.body.append(document.createElement('i'));
         for (const name of ['setTimeout', 'getComputedStyle', 'requestAnimationFrame']) window[name] = () => { throw 1 };
         Element.prototype.getBoundingClientRect = () => { while (true); };
         new MutationObserver(all => all.forEach(({ target }) => target.removeAttribute('style')))
           .observe(document.documentElement, { attributes: true, attributeFilter: ['class'], subtree: true })</script>",
    );
    let page = capture_url(&site.url("/")).await;
    assert_eq!(page.at(900, 1200), MAGENTA);
}

#[tokio::test]
async fn a_frame_of_another_origin_that_fills_the_window_is_expanded() {
    let page = page(
        "<iframe sandbox style='border:0;position:fixed;inset:0;width:100%;height:100%' srcdoc=\"<!doctype html><style>
         body{margin:0} p{margin:0;height:100vh;background:#0f0} div{height:1200px;background:#f0f}</style><p></p><div></div>\"></iframe>",
    )
    .await;
    assert_eq!((page.width, page.height), (2560, 4000));
    assert_eq!((page.at(99, 1590), page.at(99, 1610), page.at(99, 3990)), (GREEN, MAGENTA, MAGENTA));
}

#[tokio::test]
async fn a_box_with_hidden_overflow_is_expanded_only_if_a_script_scrolls_it() {
    let content =
        "<style>#app{height:100vh;overflow:hidden} p{height:1500px;margin:0;background:#f0f}</style>
         <div id=app><p></p><p></p></div>";
    let script = "<script>app.addEventListener('wheel', event => app.scrollTop += event.deltaY)</script>";
    assert_eq!(page(content).await.height, 1600);
    assert_eq!(page(&format!("{content}{script}")).await.height, 6000);
}

#[tokio::test]
async fn a_page_is_as_wide_as_its_content_and_begins_where_it_is_read_first() {
    let wide = page(
        "<div style='width:3000px;height:900px;background:linear-gradient(90deg,#0f0 50%,#f0f 50%)'></div>",
    )
    .await;
    assert_eq!(
        (wide.width, wide.at(2990, 9), wide.at(3010, 9), wide.at(5990, 9)),
        (6000, GREEN, MAGENTA, MAGENTA)
    );
    let menu =
        "<div style='position:absolute;left:-400px;top:0;width:300px;height:300px;background:#00f'></div>";
    let right = page(&format!(
        "<body dir=rtl>{menu}<div style='height:900px;background:linear-gradient(90deg,#0f0 50%,#f0f 50%)'></div>"
    ))
    .await;
    assert_eq!((right.width, right.count(BLUE)), (2560, 0));
    assert_eq!((right.at(9, 9), right.at(1270, 9), right.at(1290, 9)), (GREEN, GREEN, MAGENTA));
}

#[tokio::test]
async fn webgl_is_drawn_in_all_strips() {
    let page = page(
        "<canvas width=100 height=100></canvas><p style='height:8000px'></p><canvas width=100 height=100></canvas><script>
         for (const canvas of document.querySelectorAll('canvas')) { const gl = canvas.getContext('webgl');
           gl.clearColor(.8, .2, 0, 1); gl.clear(gl.COLOR_BUFFER_BIT) }</script>",
    )
    .await;
    assert_eq!(page.count(RED), 2 * 200 * 200);
}
