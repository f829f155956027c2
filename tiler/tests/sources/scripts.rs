//! The words of drawings and PDFs in the scripts of the world, set in the fonts that set-up installs.

use edgezoom_text::Block;

use crate::chromium::{self, PRINTED};
use crate::text::{assert_ink, read};

/// A script, and words of it with marks, ligatures or numbers.
const SCRIPTS: [(&str, &str); 10] = [
    ("Latin", "Šťastný office façade 1918"),
    ("Greek", "Ἡ θάλασσα τοῦ Αἰγαίου"),
    ("Cyrillic", "Объём воды ещё выше"),
    ("Arabic", "مُدّ البحر في ١٢ ساعة"),
    ("Hebrew", "שָׁלוֹם לנמל חיפה"),
    ("Devanagari", "हिन्दी की क्षेत्रीय पुस्तकें"),
    ("Thai", "น้ำขึ้น ที่ ท่าเรือ"),
    ("Han", "数字图书馆检索"),
    ("kana", "ガイドブックとパンフレット"),
    ("Hangul", "한국어 항구의 조석"),
];

/// Asserts that a drawing has the words of each script, which `set` sets in a line that begins at a place.
fn assert_words(what: &str, set: impl Fn(&str, usize) -> String) {
    let texts: String =
        SCRIPTS.iter().enumerate().map(|(row, (_, words))| set(words, 60 * row + 50)).collect();
    let drawing = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 700" font-size="24">{texts}</svg>"#
    );
    let (picture, text) = read(drawing.as_bytes());
    let found: Vec<String> = text.pages[0].blocks.iter().map(Block::joined).collect();
    assert_eq!(found, SCRIPTS.map(|(_, words)| words), "{what}");
    assert_ink(&picture, &text);
}

#[test]
fn the_words_of_every_script_are_whole_however_a_drawing_sets_them() {
    assert_words("plain", |words, y| format!(r#"<text x="20" y="{y}">{words}</text>"#));
    assert_words("centred", |words, y| {
        format!(r#"<text x="350" y="{y}" text-anchor="middle">{words}</text>"#)
    });
    assert_words("spaced", |words, y| format!(r#"<text x="20" y="{y}" letter-spacing="3">{words}</text>"#));
    assert_words("shifted", |words, y| {
        let words = words.replace(' ', r#"</tspan><tspan dx="9">"#);
        format!(r#"<text x="20" y="{y}"><tspan>{words}</tspan></text>"#)
    });
    assert_words("partly bold", |words, y| {
        let (first, rest) = words.split_once(' ').unwrap_or((words, ""));
        format!(r#"<text x="20" y="{y}"><tspan font-weight="bold">{first}</tspan> {rest}</text>"#)
    });
    assert_words("turned", |words, y| {
        format!(r#"<text transform="translate(20 {y}) rotate(5)">{words}</text>"#)
    });
    assert_words("along a curve", |words, y| {
        format!(
            r##"<path id="p{y}" d="M20 {y} q300 -60 660 0" fill="none"/><text><textPath href="#p{y}">{words}</textPath></text>"##
        )
    });
}

#[test]
fn the_words_of_a_printed_page_are_whole() {
    let html: String =
        SCRIPTS.iter().map(|(_, words)| format!("<p style='font-size:20px'>{words}</p>")).collect();
    let (picture, text) = read(&PRINTED.file("scripts.pdf", || chromium::print(&html)));
    let found: Vec<String> = text.pages[0].blocks.iter().map(Block::joined).collect();
    // PDFium has a space after an Arabic letter with a vowel that joins the next one.
    let expected = SCRIPTS.map(|(_, words)| words.replace("م\u{64f}د", "م\u{64f} د"));
    assert_eq!(found, expected);
    assert_ink(&picture, &text);
}
