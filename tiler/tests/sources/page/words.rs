//! The words of web pages: which they are, in which order, and that they lie where the picture shows them.

use edgezoom_text::{Block, Line, Role, Target, Text};

use crate::screenshot::{Screenshot, capture_url};
use crate::site::{Reply, Site};

async fn page(html: &str) -> Screenshot {
    let html = format!("<!doctype html><html lang=en><meta charset=utf-8><body>{html}");
    capture_url(&Site::page(&html).url("/")).await
}

fn text(screenshot: &Screenshot) -> &Text {
    screenshot.text.as_ref().unwrap()
}

fn blocks(screenshot: &Screenshot) -> Vec<(Role, String)> {
    text(screenshot).pages[0].blocks.iter().map(|block| (block.role, block.joined())).collect()
}

fn words(screenshot: &Screenshot) -> String {
    let blocks: Vec<String> = text(screenshot).pages[0].blocks.iter().map(Block::joined).collect();
    blocks.join(" ")
}

/// Asserts that there is something dark under each word.
fn assert_ink(screenshot: &Screenshot) {
    let lines = text(screenshot).pages[0].blocks.iter().flat_map(|block| &block.lines);
    for (word, at) in lines.flat_map(Line::words) {
        let (left, top) = (at.left as usize, at.top as usize);
        let mut pixels = (top..top + at.height as usize)
            .flat_map(|y| (left..left + at.width as usize).map(move |x| (x, y)));
        assert!(pixels.any(|(x, y)| screenshot.at(x, y)[1] < 160), "nothing under {word:?} at {left}, {top}");
    }
}

#[tokio::test]
async fn blocks_have_their_roles_and_words_their_places() {
    let page = page(
        "<h1>Tides</h1><p>They <b>rise</b> and <a href='/more#a'>fall</a> twice a day.<ul><li>high<li>low</ul>
         <table><tr><th>hour<td>12</table><img alt='A chart' width=100 height=50 src='data:,'>
         <div role=heading aria-level=3>Currents</div><input value='a value'><input type=password value=secret>",
    )
    .await;
    let expected = [
        (Role::H1, "Tides"),
        (Role::P, "They rise and fall twice a day."),
        (Role::Li, "high"),
        (Role::Li, "low"),
        (Role::Td, "hour"),
        (Role::Td, "12"),
        (Role::Img, "A chart"),
        (Role::H3, "Currents"),
        (Role::P, "a value"),
    ];
    assert_eq!(blocks(&page), expected.map(|(role, text)| (role, text.to_owned())));
    assert_ink(&page);
    assert_eq!(text(&page).language.as_deref(), Some("en"));
    let links = &text(&page).pages[0].links;
    assert!(
        matches!(&links[..], [link] if matches!(&link.to, Target::Url(url) if url.ends_with("/more#a"))),
        "{links:?}"
    );
    let line = &text(&page).pages[0].blocks[1].lines[0];
    let (_, fall) = line.words().nth(3).unwrap();
    assert!(links[0].at.holds(&fall), "{:?} {fall:?}", links[0].at);
}

#[tokio::test]
async fn what_is_not_seen_is_not_read() {
    let page = page(
        "<style>.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0,0,0,0)}</style>
         <p>seen<p style='display:none'>a<p style='visibility:hidden'>b<b style='visibility:visible'>shown</b>
         <p style='opacity:0'>c<div style='opacity:0'><p>d</div><p class=sr>e<details><summary>more</summary>f</details>
         <p style='position:absolute;left:-9999px'>g<script>h</script><style>i{}</style><noscript>j</noscript>
         <template>k</template><textarea style='display:none'>l</textarea>",
    )
    .await;
    assert_eq!(words(&page), "seen shown more");
}

#[tokio::test]
async fn columns_shadow_trees_and_styles_are_read_as_they_are_shown() {
    assert!(page("<div></div>").await.text.is_none(), "an empty page has no words");
    let page = page(
        "<div style='columns:2;width:600px'><p>one two three four five six seven eight nine ten eleven twelve thirteen
         fourteen fifteen sixteen seventeen eighteen nineteen twenty</div>
         <p style='text-transform:uppercase'>loud</p><p style='text-transform:capitalize'>big word</p>
         <x-box></x-box><p lang=zh style='width:60px;font:20px monospace'>\u{4e00}\u{4e8c}\u{4e09}\u{56db}\u{4e94}</p>
         <form><input name=parentElement value=kept><input name=childNodes><p>in a form</form>
         <script>document.querySelector('x-box').attachShadow({mode:'closed'}).innerHTML='<p>in the shadow <slot></slot>'
         document.querySelector('x-box').textContent='slotted'</script>",
    )
    .await;
    let said = words(&page);
    for part in [
        "eighteen nineteen twenty",
        "LOUD",
        "Big Word",
        "\u{4e00}\u{4e8c}\u{4e09}\u{56db}\u{4e94}",
        "kept",
        "in a form",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_ink(&page);
}

#[tokio::test]
async fn frames_are_read_at_their_place_in_the_page_and_where_they_are() {
    let inner = Site::serve("127.0.0.2", |_| {
        Reply::Html("<!doctype html><body style='margin:0'><p>in a frame".to_owned())
    });
    let page = page(&format!(
        "<p>before<iframe src='{}' style='margin:40px;border:5px solid'></iframe><p>after",
        inner.url("/")
    ))
    .await;
    assert_eq!(words(&page), "before in a frame after");
    assert_ink(&page);
}

#[tokio::test]
async fn a_page_that_is_a_million_words_or_hostile_is_shown_with_as_many_as_allowed() {
    let page = page(
        "<p>start</p><a href='javascript:alert(1)'>x</a><p>\u{202e}turned</p><div id=a></div>
         <script>document.getElementById('a').innerHTML = '<p>' + 'word '.repeat(200000)</script>",
    )
    .await;
    let text = text(&page);
    let words = text.pages[0].blocks.iter().flat_map(|block| &block.lines).flat_map(Line::words).count();
    assert!((10_000..=edgezoom_text::MAX_PAGE_WORDS).contains(&words), "{words}");
    assert!(text.pages[0].links.is_empty());
    assert!(text.pages[0].blocks.iter().any(|block| block.joined() == "turned"));
}
