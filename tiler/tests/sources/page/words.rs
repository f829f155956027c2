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
         <form><input name=parentElement value=kept><input name=childNodes><p>in a form</form><p id=search><p id=shown>
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
        "in the shadow slotted",
        "kept",
        "in a form",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_ink(&page);
}

/// Returns the blocks' words of a page, and asserts that they are these.
async fn assert_blocks(html: &str, expected: &[&str]) {
    let page = page(html).await;
    let said: Vec<String> = text(&page).pages[0].blocks.iter().map(Block::joined).collect();
    assert_eq!(said, expected, "{html}");
}

#[tokio::test]
async fn words_end_at_white_space_and_not_at_elements() {
    assert_blocks(
        "<p>See <a href='/x'>this page</a>, <i>or</i>(<b>t</b>hat)<p>CO<sub>2</sub> and 10<sup>9</sup>
         <p>un<!-- a comment -->cut par<span></span>ted long<wbr>word<p>π<b>ρ</b>ῶτα, <b>д</b>ом, <i>क</i>मल
         <p><code style='padding:.2em .4em'>f</code>(<code>x</code>)<p>one<br>two&nbsp;<b>three</b><pre><b>fn</b> <i>main</i>()</pre>",
        &[
            "See this page, or(that)", "CO2 and 109", "uncut parted longword", "πρῶτα, дом, कमल", "f(x)",
            "one two three", "fn main()",
        ],
    )
    .await;
}

#[tokio::test]
async fn boxes_in_a_line_are_parts_of_it() {
    let letter = |letter| format!("<span style='display:inline-block'>{letter}</span>");
    let letters: String = "wave".chars().map(letter).collect();
    assert_blocks(
        &format!(
            "<p>Open the <a href='/x' style='display:inline-block'>guide</a>, please.<h2>{letters}</h2>
             <div><button>Buy</button><button>Sell</button></div>
             <p>Then <span style='display:inline-block'><span style='display:inline-block'>a=</span><span
             style='display:inline-block'>b<span style='display:inline-table'><sup>3</sup></span></span></span> follows."
        ),
        &["Open the guide, please.", "wave", "Buy Sell", "Then a=b3 follows."],
    )
    .await;
    assert_blocks("<nav><span style='margin-right:2em'>Home</span><span>About</span></nav>", &["Home About"])
        .await;
}

#[tokio::test]
async fn styles_write_numbers_and_words() {
    assert_blocks(
        "<style>.note::before{content:'Note: '}.more::after{content:' (more)'}.icon::before{content:'\\e900'}</style>
         <ol><li>high<li value=7><p>low</ol><ol type=i start=4><li>slack</ol><ol reversed><li>x<li>y</ol><ul><li>dot</ul>
         <p class=note>mind the gap<p><a class=more>Read</a><p class=icon>plain",
        &[
            "1. high", "7. low", "iv. slack", "2. x", "1. y", "dot", "Note: mind the gap", "Read (more)", "plain",
        ],
    )
    .await;
    assert_blocks(
        "<p style='text-transform:capitalize'>well-known <b>s</b>ea isn't",
        &["Well-Known Sea Isn't"],
    )
    .await;
}

#[tokio::test]
async fn fields_show_what_they_show() {
    assert_blocks(
        "<input placeholder='Your name'><select size=3><option>Oslo<option selected>Rome<option>Bern</select>
         <select><option>Paris<option>Berlin</select><input type=submit value=Go><object data='/no' type='a/b'>fallback</object>",
        &["Your name", "Oslo Rome Bern", "Paris", "Go", "fallback"],
    )
    .await;
}

#[tokio::test]
async fn what_a_box_cuts_off_is_not_read() {
    assert_blocks(
        "<div style='height:1.2em;overflow:hidden'>above<br><br>below</div>
         <div style='width:8em;overflow:hidden;white-space:nowrap;text-overflow:ellipsis'>shown <i style='margin-left:9em'>beyond</i></div>
         <div style='width:100px;overflow:hidden;white-space:nowrap'><b style='display:inline-block;width:100px'>first</b><b
         style='display:inline-block;width:100px'>second</b></div>
         <div style='overflow:hidden;height:1px'><p style='position:fixed;top:300px'>fixed</p></div>
         <p style='color:transparent'>clear<p style='-webkit-text-fill-color:#0000'>clear</p><p style='color:transparent;
         background:linear-gradient(red,blue);background-clip:text'>gradient",
        &["above", "shown", "first", "gradient"],
    )
    .await;
}

#[tokio::test]
async fn ruby_vertical_text_and_two_directions_are_read() {
    assert_blocks(
        "<p><ruby>東<rt>とう</rt>京<rt>きょう</rt></ruby>タワー",
        &["東京タワー", "とう", "きょう"],
    )
    .await;
    let page = page(
        "<div style='writing-mode:vertical-rl;height:200px'><p>縦に書く<p>second column</div>
         <p dir=rtl>שלום hello world 123 עולם",
    )
    .await;
    let blocks = &text(&page).pages[0].blocks;
    assert_eq!(blocks[0].lines[0].angle, 90);
    assert_eq!(blocks[1].lines.len(), 1, "{blocks:?}");
    let columns: Vec<u32> = blocks[..2].iter().map(|block| block.lines[0].at.left).collect();
    assert!(columns[0] > columns[1], "the first column is at the right: {columns:?}");
    assert_eq!(blocks[2].joined(), "שלום hello world 123 עולם");
    assert_eq!(blocks[2].lines.len(), 1, "{blocks:?}");
    assert_ink(&page);
}

#[tokio::test]
async fn pictures_are_named_and_areas_are_links() {
    let page = page(
        "<b id=l>Map of the bay</b><div role=img aria-labelledby=l style='width:50px;height:50px'></div>
         <svg role=img width=200 height=60><title>Tides by hour</title><text x=5 y=30>High <tspan font-weight=bold>wat</tspan>er</text></svg>
         <img usemap='#m' width=100 height=50 src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>
         <map name=m><area shape=circle coords='20,20,10' href='https://area.example/' alt='Harbour'></map>",
    )
    .await;
    let alternatives: Vec<&str> =
        text(&page).pages[0].blocks.iter().filter_map(|block| block.alternative.as_deref()).collect();
    assert_eq!(alternatives, ["Map of the bay", "Tides by hour", "Harbour"]);
    assert!(words(&page).contains("High water"), "{}", words(&page));
    let link = &text(&page).pages[0].links[0];
    assert_eq!((link.at.width, link.at.height), (40, 40), "2 pixels each");
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
