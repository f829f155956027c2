use resvg::usvg::Options;

use super::*;
use crate::formats::fonts::Fonts;

/// Returns the words of a drawing of 400×300 units, in as many pixels.
fn words(inside: &str) -> Vec<Block> {
    let svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="400" height="300" font-family="DejaVu Sans" font-size="20">{inside}</svg>"##
    );
    let options = Options { fontdb: Fonts::built_in().database(), ..Options::default() };
    let tree = Tree::from_str(&svg, &options).unwrap();
    of(&tree, Size { width: 400, height: 300 }, &Notes::default()).pages.remove(0).blocks
}

fn texts(inside: &str) -> Vec<String> {
    words(inside).iter().map(Block::joined).collect()
}

/// Returns the words of the first line, with their places.
fn placed(inside: &str) -> Vec<(String, [u32; 4])> {
    words(inside)[0].lines[0].words().map(|(word, at)| (word.to_owned(), at.into())).collect()
}

#[test]
fn words_that_the_drawing_places_are_apart_by_gaps() {
    let at = |words: &str, second: u32, third: u32| {
        format!(
            r#"<text y="40"><tspan x="10">{words}</tspan><tspan x="{second}">wind</tspan><tspan x="{third}">rose</tspan></text>"#
        )
    };
    // "High" is 46 wide, "wind" 47.
    assert_eq!(texts(&at("High", 66, 122)), ["High wind rose"]);
    assert_eq!(texts(&at("High", 58, 107)), ["Highwindrose"]);
    assert_eq!(texts(&at("High", 100, 200)), ["High", "wind", "rose"]);
    let letters = r#"<text x="10 25 35 55 68 80 94" y="40">Καλή μέρ</text>"#;
    assert_eq!(texts(letters).concat().replace(' ', ""), "Καλήμέρ");
    assert_eq!(texts(r#"<text x="10" y="40" dx="0 0 0 9">seaport</text>"#), ["sea port"]);
    assert_eq!(texts(r#"<text x="10" y="40" dx="0 9 9 9 9 9 9">harbour</text>"#), ["harbour"]);
    assert_eq!(texts(r#"<text x="10" y="40" letter-spacing="12">Нева река</text>"#), ["Нева река"]);
    assert_eq!(
        texts(
            r#"<text x="10" y="40">H<tspan x="26" y="44" font-size="12">2</tspan><tspan x="34" y="40">O</tspan></text>"#
        ),
        ["H2O"]
    );
}

#[test]
fn stretched_words_are_whole_and_where_they_are_drawn() {
    assert_eq!(texts(r#"<text x="10" y="40" textLength="380">wide words</text>"#), ["wide words"]);
    let glyphs =
        placed(r#"<text x="10" y="40" textLength="300" lengthAdjust="spacingAndGlyphs">two two</text>"#);
    let [(_, [left, _, width, _]), (_, [second, ..])] = &glyphs[..] else { panic!("{glyphs:?}") };
    assert!(*left == 10 && (120..145).contains(width) && (170..190).contains(second), "{glyphs:?}");
}

#[test]
fn letters_along_a_curve_and_turned_ones_stay_in_their_words() {
    let curve = r##"<path id="p" d="M20 200 Q200 20 380 200" fill="none"/><text><textPath href="#p">River Ναρέντα течёт далеко</textPath></text>"##;
    assert_eq!(texts(curve), ["River Ναρέντα течёт далеко"]);
    let lines = words(curve).remove(0).lines;
    let angles: Vec<i32> = lines.iter().map(|line| (i32::from(line.angle) + 180) % 360 - 180).collect();
    assert!(angles[0] < -20 && angles.is_sorted() && *angles.last().unwrap() > 5, "{angles:?}");
    // Letters behind the end of a path are not shown.
    let short = r##"<path id="p" d="M20 200 H150"/><text><textPath href="#p">shown and cut</textPath></text><text x="20" y="280">next</text>"##;
    let found = texts(short);
    assert!(found[0].starts_with("shown") && !found[0].contains("cut") && found[1] == "next", "{found:?}");
    assert_eq!(
        texts(r#"<text x="50" y="60" rotate="10 20 30 -40">twisted letters</text>"#),
        ["twisted letters"]
    );
    assert_eq!(texts(r#"<text x="50" y="60" rotate="90">اتجاه</text>"#), ["اتجاه"]);
    assert_eq!(
        texts(r#"<text transform="rotate(37 50 60)" x="50" y="60">slope of a hill</text>"#),
        ["slope of a hill"]
    );
}

#[test]
fn stacked_and_vertical_letters_are_kept() {
    let stacked = r#"<text><tspan x="30" y="60">S</tspan><tspan x="30" dy="20">E</tspan><tspan x="30" dy="20">A</tspan></text>"#;
    assert_eq!(texts(stacked), ["S E A"]);
    for text in ["縦書き", "항구", "ความสูง", "समुद्र", "Up"] {
        let blocks = words(&format!(r#"<text x="300" y="60" writing-mode="tb">{text}</text>"#));
        let line = &blocks[0].lines[0];
        assert_eq!((line.text.as_str(), line.angle), (text, 90));
        assert!(line.at.height > line.at.width && line.at.left < 300, "{line:?}");
    }
    let columns = r#"<text writing-mode="tb"><tspan x="300" y="60">港の</tspan><tspan x="275" y="60">潮汐</tspan></text>"#;
    assert_eq!(texts(columns), ["港の潮汐"]);
}

#[test]
fn letters_of_all_scripts_are_read_in_their_order() {
    for text in [
        "Ἀθῆναι",
        "ёж и йод",
        "שָׁלוֹם",
        "مُحَمَّد ١٢",
        "हिन्दी की",
        "กำลังน้ำ",
        "数字图书",
        "ガイド",
        "한국어",
        "e\u{301}te\u{301}",
        "office",
    ] {
        assert_eq!(texts(&format!(r#"<text x="10" y="40">{text}</text>"#)), [text]);
    }
}

#[test]
fn a_hebrew_word_does_not_turn_the_line_and_has_a_place() {
    let mixed = r#"<text x="10" y="40">Port of <tspan fill="red">חי</tspan>פה in 1918</text>"#;
    let [line] = &words(mixed)[0].lines[..] else { panic!("{:?}", words(mixed)) };
    assert_eq!((line.text.as_str(), line.rtl, line.spans.len()), ("Port of חיפה in 1918", false, 10));
    let lefts: Vec<u32> = line.words().map(|(_, at)| at.left).collect();
    assert!(lefts.is_sorted() && lefts[0] == 10, "{lefts:?}");
    let hebrew = r#"<text x="10" y="40">נמל חיפה 1918 פתוח</text>"#;
    let [line] = &words(hebrew)[0].lines[..] else { panic!("{:?}", words(hebrew)) };
    assert_eq!((line.text.as_str(), line.rtl, line.spans.len()), ("נמל חיפה 1918 פתוח", true, 8));
    let lefts: Vec<u32> = line.words().map(|(_, at)| at.left).collect();
    assert!(lefts.is_sorted_by(|one, other| one > other), "{lefts:?}");
    let placed = r#"<text y="40"><tspan x="90">שלום</tspan><tspan x="30">עולם</tspan></text>"#;
    assert_eq!(texts(placed), ["שלום עולם"]);
}

#[test]
fn lines_are_paragraphs_and_chinese_ones_have_no_spaces_between_them() {
    let lines = |one: &str, two: &str, by: u32| {
        format!(r#"<text x="50" y="60"><tspan>{one}</tspan><tspan x="50" dy="{by}">{two}</tspan></text>"#)
    };
    assert_eq!(texts(&lines("数字图书", "馆检索", 24)), ["数字图书馆检索"]);
    assert_eq!(texts(&lines("first line", "second", 24)), ["first line second"]);
    assert_eq!(texts(&lines("first line", "second", 60)), ["first line", "second"]);
}

#[test]
fn the_words_of_a_picture_in_a_drawing_are_read_where_it_is() {
    let inner = "%3Csvg xmlns='http://www.w3.org/2000/svg' width='100' height='50' font-size='20'%3E%3Ctext x='10' y='30'%3EInner words%3C/text%3E%3C/svg%3E";
    let outer = format!(
        r#"<g transform="translate(100 100)"><image width="200" height="100" href="data:image/svg+xml,{inner}"/></g>"#
    );
    let placed = placed(&outer);
    assert_eq!((placed[0].0.as_str(), placed[1].0.as_str()), ("Inner", "words"));
    // It is twice as large there.
    let [left, top, _, height] = placed[0].1;
    assert!(
        (118..=122).contains(&left) && (126..=130).contains(&top) && (39..=41).contains(&height),
        "{placed:?}"
    );
}
