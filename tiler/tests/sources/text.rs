//! The words of documents: which they are, in which order, and that they lie where the picture shows them.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a panic fails the test")]

use std::collections::HashMap;
use std::fs;
use std::process::Command;

use edgezoom_codecs::{DecodeOptions, DrawingOptions, Layout};
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{BOUNDS, file};
use edgezoom_test_support::pdf::{self, Pdf};
use edgezoom_text::{Block, Line, Rect, Role, Target, Text};

use crate::chromium::{self, PRINTED};
use crate::documents::POPPLER;

/// Returns a document's picture and its words.
pub fn read(bytes: &[u8]) -> (Picture, Text) {
    let library =
        edgezoom_codecs::locate_pdfium().expect("libpdfium.so is missing: `cargo xtask setup` installs it");
    let drawing = DrawingOptions { page_width: 1000, text: true, ..DrawingOptions::default() };
    let mut file = file(bytes);
    let prepared = edgezoom_codecs::prepare(&mut file, Some(&library)).unwrap();
    let options = DecodeOptions { drawing, ..DecodeOptions::default() };
    let mut reader = prepared.open(file, BOUNDS, &options).unwrap();
    let text = reader.take_text().unwrap().bounded(reader.size());
    (Picture::read(&mut *reader).unwrap(), text)
}

fn lines(text: &Text) -> Vec<&Line> {
    text.pages.iter().flat_map(|page| &page.blocks).flat_map(|block| &block.lines).collect()
}

fn texts(text: &Text) -> Vec<&str> {
    lines(text).into_iter().map(|line| line.text.as_str()).collect()
}

/// Returns the roles and words of the blocks.
fn blocks(text: &Text) -> Vec<(Role, String)> {
    text.pages.iter().flat_map(|page| &page.blocks).map(|block| (block.role, block.joined())).collect()
}

/// Returns text in Helvetica as marked content.
fn marked(tag: &str, x: u32, y: u32, text: &str) -> String {
    format!("{tag} BDC BT /F1 12 Tf {x} {y} Td ({text}) Tj ET EMC ")
}

/// Returns the words that Poppler gives.
fn words_of_poppler(name: &str, pdf: &[u8]) -> String {
    let words = POPPLER.file(&format!("{name}.txt"), || {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file.pdf");
        fs::write(&file, pdf).unwrap();
        let output = Command::new("pdftotext").arg(file).arg("-").output();
        output.expect("pdftotext is missing: install poppler-utils").stdout
    });
    String::from_utf8(words).unwrap()
}

/// Asserts that there is something dark under each word.
pub fn assert_ink(picture: &Picture, text: &Text) {
    for page in &text.pages {
        for (word, at) in page.blocks.iter().flat_map(|block| &block.lines).flat_map(Line::words) {
            let (left, top) = (page.at.left + at.left, page.at.top + at.top);
            let mut pixels =
                (top..top + at.height).flat_map(|y| (left..left + at.width).map(move |x| (x, y)));
            assert!(
                pixels.any(|(x, y)| picture.at(x, y)[1] < 160),
                "nothing under {word:?} at {left}, {top}"
            );
        }
    }
}

/// Returns the number of times that a text has each word, without the characters that Poppler adds for the direction.
pub fn bag(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    let text = text.replace(['\u{202a}', '\u{202b}', '\u{202c}'], "");
    text.split_whitespace().for_each(|word| *counts.entry(word.to_owned()).or_default() += 1);
    counts
}

/// Returns the mean of precision and recall of words (F1).
fn likeness(ours: &str, theirs: &str) -> f64 {
    let (ours, theirs) = (bag(ours), bag(theirs));
    let both: usize = ours.iter().map(|(word, count)| count.min(theirs.get(word).unwrap_or(&0))).sum();
    2.0 * both as f64 / (ours.values().sum::<usize>() + theirs.values().sum::<usize>()) as f64
}

#[test]
fn the_words_of_a_manual_are_those_that_poppler_gives() {
    let manual = chromium::manual();
    let (picture, text) = read(&manual);
    let theirs = words_of_poppler("manual", &manual);
    // Poppler keeps hyphens at line ends.
    let ours = texts(&text).join("\n").replace('\u{ad}', "-");
    let like = likeness(&ours, &theirs);
    assert!(like >= 0.98, "{}", POPPLER.signed(format!("{like:.3}")));
    assert_ink(&picture, &text);
    assert!(text.outline.len() > 10 && text.outline[0].page == 0, "{:?}", text.outline.first());
    assert_eq!(text.pages.iter().map(|page| page.links.len()).sum::<usize>(), 2);
    assert_eq!((text.total as usize, text.pages.len()), (text.pages.len(), theirs.matches('\x0c').count()));
}

#[test]
fn words_of_a_turned_and_cut_page_are_in_order_and_where_they_are_drawn() {
    let content = "BT /F1 12 Tf 130 340 Td (first line of all) Tj 0 -20 Td (second line) Tj 0 -20 Td (third) Tj ET \
        BT /F1 12 Tf 0 1 -1 0 390 130 Tm (upwards it goes) Tj ET BT /F1 12 Tf 10 10 Td (outside) Tj ET";
    let resources = "/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>";
    for turn in [0, 90, 180, 270] {
        let more = format!("/CropBox [100 100 400 380] /Rotate {turn} /UserUnit 2 {resources}");
        let (picture, text) = read(&Pdf::new().page_with(500, 500, content, &more).bytes());
        assert_eq!(texts(&text), ["first line of all", "second line", "third", "upwards it goes"], "{turn}");
        assert_ink(&picture, &text);
        let angles: Vec<u16> = lines(&text).iter().map(|line| line.angle).collect();
        assert_eq!(angles, [turn, turn, turn, (turn + 270) % 360]);
        let words: Vec<&str> = lines(&text)[0].words().map(|(word, _)| word).collect();
        assert_eq!(words, ["first", "line", "of", "all"]);
    }
}

#[test]
fn a_tagged_page_has_roles_and_the_order_of_its_tree() {
    let content = [
        "/Artifact BMC BT /F1 8 Tf 40 385 Td (page header) Tj ET EMC ",
        &marked("/P <</MCID 3>>", 200, 320, "right one"),
        &marked("/P <</MCID 1>>", 40, 320, "left one"),
        &marked("/P <</MCID 4>>", 200, 306, "right two"),
        &marked("/P <</MCID 2>>", 40, 306, "left two"),
        &marked("/H1 <</MCID 0>>", 40, 350, "Tide tables"),
        &marked("/Lbl <</MCID 5>>", 40, 270, "1."),
        &marked("/Span <</MCID 6>>", 60, 270, "first"),
        &marked("/P <</MCID 7>>", 40, 250, "second"),
        &marked("/TD <</MCID 9>>", 200, 210, "Dover"),
        &marked("/TH <</MCID 8>>", 40, 210, "Port"),
        "/Figure <</MCID 10>> BDC q 2 0 0 2 0 0 cm 50 20 60 40 re f Q EMC ",
        "BT /F1 12 Tf 40 20 Td (outside) Tj ET",
    ]
    .concat();
    let elements: [pdf::Element<'_>; 15] = [
        ("Document", None, &[], ""),
        ("H1", Some(0), &[0], ""),
        ("P", Some(0), &[1, 2], ""),
        ("P", Some(0), &[3, 4], ""),
        ("L", Some(0), &[], ""),
        ("LI", Some(4), &[], ""),
        ("Lbl", Some(5), &[5], ""),
        ("LBody", Some(5), &[6], ""),
        ("Item", Some(4), &[7], ""),
        ("Table", Some(0), &[], ""),
        ("TR", Some(9), &[], ""),
        ("TH", Some(10), &[8], ""),
        ("TD", Some(10), &[], ""),
        ("P", Some(12), &[9], ""),
        ("Figure", Some(0), &[10], "/Alt (A chart \\(of tides\\))"),
    ];
    let (picture, text) = read(&pdf::tagged(&content, &elements));
    let found = blocks(&text);
    let found: Vec<(Role, &str)> = found.iter().map(|(role, text)| (*role, text.as_str())).collect();
    assert_eq!(
        found,
        [
            (Role::H1, "Tide tables"),
            (Role::P, "left one left two"),
            (Role::P, "right one right two"),
            (Role::Li, "1. first"),
            (Role::Li, "second"),
            (Role::Td, "Port"),
            (Role::Td, "Dover"),
            (Role::Img, "A chart (of tides)"),
            (Role::P, "page header"),
            (Role::P, "outside"),
        ]
    );
    assert_ink(&picture, &text);
    let is_picture = |block: &&Block| block.role == Role::Img;
    let at = text.pages[0].blocks.iter().find(is_picture).and_then(|block| block.at).unwrap();
    let scale = f64::from(text.pages[0].at.width) / 400.0;
    let expected = [100.0, 280.0, 120.0, 80.0].map(|points| (points * scale).round() as u32);
    assert!(<[u32; 4]>::from(at).iter().zip(expected).all(|(one, other)| one.abs_diff(other) <= 1), "{at:?}");
}

#[test]
fn a_tree_with_cycles_or_wrong_numbers_or_too_much_is_left_out() {
    let content = marked("/P <</MCID 0>>", 40, 320, "first") + &marked("/P <</MCID 1>>", 40, 20, "second");
    let tagged = |elements: &[pdf::Element<'_>]| pdf::tagged(&content, elements);
    let swapped: [pdf::Element<'_>; 2] = [("H1", None, &[1], ""), ("H2", None, &[0], "")];
    let sound = tagged(&swapped);
    let with = |from: &str, to: &str| {
        let text = String::from_utf8(sound.clone()).unwrap();
        assert!(text.contains(from), "{from}");
        text.replace(from, to).into_bytes()
    };
    let plain = |bytes: &[u8]| {
        let (_, text) = read(bytes);
        blocks(&text)
            .into_iter()
            .map(|(role, text)| format!("{role:?} {text}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (by_tree, by_place) = ("H1 second, H2 first", "P first, P second");
    assert_eq!(plain(&sound), by_tree);
    // An element is above itself, or there is none, or it has another number.
    assert_eq!(plain(&with("/P 7 0 R", "/P 5 0 R")), by_place);
    assert_eq!(plain(&with("[6 0 R 5 0 R]", "[99 0 R -1 0 R]")), by_place);
    assert_eq!(plain(&with("MCID 0>>", "MCID 7>>")), "H1 second, P first");
    assert_eq!(plain(&with("StructParents 0", "StructParents 5")), by_place);
    assert_eq!(plain(&with("/Nums", "/None")), by_place);
    // A list of children that is damaged loses only their order.
    assert_eq!(plain(&with("/K [5 0 R 6 0 R ]", "/K [999 0 R (a)]")), "H2 first, H1 second");
    let deep: Vec<pdf::Element<'_>> =
        (0..5000_usize).map(|depth| ("Div", depth.checked_sub(1), &[0, 1][depth / 4999 * 2..], "")).collect();
    assert_eq!(plain(&tagged(&deep)), by_place);
    let many = format!("/K [{}]", "99 0 R ".repeat(1_100_000));
    assert_eq!(plain(&with("/K [5 0 R 6 0 R ]", &many)), by_place);
    let many = format!("[{}6 0 R 5 0 R]", "null ".repeat(1_000_000));
    assert_eq!(plain(&with("[6 0 R 5 0 R]", &many)), by_place);
}

#[test]
fn chromium_tags_what_it_prints() {
    let html = r#"<html lang="en"><h1>Tide tables</h1>
        <p>A paragraph with <a href="https://example.com/">a link</a> in its line, and more words.</p>
        <h2>Ports</h2><ol><li>Dover</li><li>Brest<ul><li>inner</li></ul></li></ol>
        <table><tr><th>Port</th><th>High</th></tr><tr><td>Dover</td><td>6.7</td></tr></table>
        <img alt="A chart of tides" width="120" height="80" src="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'%3E%3Crect width='120' height='80'/%3E%3C/svg%3E">
        <div style="columns: 2"><p>Left column</p><p style="break-before: column">Right column</p></div>"#;
    let (picture, text) = read(&PRINTED.file("tagged.pdf", || chromium::print(html)));
    let found = blocks(&text);
    let found: Vec<(Role, &str)> = found.iter().map(|(role, text)| (*role, text.as_str())).collect();
    assert_eq!(
        found,
        [
            (Role::H1, "Tide tables"),
            (Role::P, "A paragraph with a link in its line, and more words."),
            (Role::H2, "Ports"),
            (Role::Li, "1. Dover"),
            (Role::Li, "2. Brest"),
            (Role::Li, "inner"),
            (Role::Td, "Port"),
            (Role::Td, "High"),
            (Role::Td, "Dover"),
            (Role::Td, "6.7"),
            (Role::Img, "A chart of tides"),
            (Role::P, "Left column"),
            (Role::P, "Right column"),
        ]
    );
    assert_ink(&picture, &text);
    assert_eq!(lines(&text)[1].text, "A paragraph with a link in its line, and more words.");
    assert_eq!(text.pages[0].links.len(), 1);
    let at = text.pages[0].blocks.iter().find_map(|block| block.at).unwrap();
    // 120 by 80 CSS pixels.
    assert!((1.4..1.6).contains(&(f64::from(at.width) / f64::from(at.height))), "{at:?}");
    let middle =
        (text.pages[0].at.left + at.left + at.width / 2, text.pages[0].at.top + at.top + at.height / 2);
    assert!(picture.at(middle.0, middle.1)[1] < 50);
}

#[test]
fn pages_in_arabic_and_chinese_and_in_columns_have_the_words_that_poppler_gives() {
    let columns = "<p>The tide rises and falls twice a day at most ports of the Atlantic coast. ".repeat(12);
    let pages = [
        ("arabic", "<html lang=ar dir=rtl><h1>جداول المد</h1><p>يرتفع المد وينخفض مرتين في اليوم في معظم الموانئ على الساحل والجزر الكبيرة".to_owned(), true),
        ("chinese", "<html lang=zh><h1>潮汐表</h1><p>大西洋沿岸的大多数港口每天潮汐涨落两次。<p>高水位在早上六点。".to_owned(), false),
        ("columns", format!("<html lang=en><h1>A paper</h1><div style='columns: 2; text-align: justify'>{columns}</div>"), false),
    ];
    for (name, html, rtl) in pages {
        let pdf = PRINTED.file(&format!("{name}.pdf"), || chromium::print(&html));
        let (picture, text) = read(&pdf);
        let (ours, theirs) = (texts(&text).join("\n"), words_of_poppler(name, &pdf));
        let like = likeness(&ours, &theirs);
        assert!(like >= 0.98, "{}", POPPLER.signed(format!("{like:.3}\n{ours}\n{theirs}")));
        assert_ink(&picture, &text);
        assert!(lines(&text).iter().all(|line| line.rtl == rtl));
        assert_eq!(text.pages[0].blocks[0].role, Role::H1);
    }
}

#[test]
fn two_columns_that_are_drawn_row_by_row_are_not_one_line() {
    let rows: String = (0..3)
        .map(|row| {
            format!(
                "BT /F1 10 Tf 40 {y} Td (left {row}) Tj 200 0 Td (right {row}) Tj ET ",
                y = 300 - 14 * row
            )
        })
        .collect();
    let (_, text) = read(&Pdf::new().page(400, 400, &rows).bytes());
    let mut found = texts(&text);
    found.sort_unstable();
    assert_eq!(found, ["left 0", "left 1", "left 2", "right 0", "right 1", "right 2"]);
}

#[test]
fn a_divided_word_ends_its_line_and_is_joined() {
    let content = "BT /F1 12 Tf 40 300 Td (This is an exam-) Tj 0 -14 Td (ple of a divided word) Tj ET";
    let (picture, text) = read(&Pdf::new().page(400, 400, content).bytes());
    assert_eq!(texts(&text), ["This is an exam\u{ad}", "ple of a divided word"]);
    assert_eq!(text.plain(), "This is an example of a divided word\n");
    assert_ink(&picture, &text);
}

#[test]
fn the_words_under_a_scan_and_in_a_form_are_read() {
    let scan = Picture::photo(850, 1100, Layout::Rgb);
    let (picture, text) = read(&pdf::scan(&scan, "BT /F1 12 Tf 3 Tr 72 720 Td (what was recognised) Tj ET"));
    assert_eq!((texts(&text), picture.width), (vec!["what was recognised"], 850));
    let at = lines(&text)[0].at;
    assert!((95..=105).contains(&at.left) && (80..=105).contains(&at.top), "{at:?}");

    let (picture, text) = read(&pdf::form());
    let found = texts(&text);
    assert!(found.contains(&"filled in") && found.contains(&"not embedded"), "{found:?}");
    assert_ink(&picture, &text);
}

#[test]
fn the_values_of_hidden_fields_are_not_read() {
    let mut pdf = Pdf::new();
    // Shown, hidden, and for print alone (ISO 32000-1, 12.5.3).
    let fields = [("shown", 4), ("hidden", 2), ("printed", 36)].map(|(value, flags)| {
        let field = format!(
            "<< /Type /Annot /Subtype /Widget /FT /Tx /T ({value}) /V ({value}) /F {flags} /Rect [20 20 180 40] >>"
        );
        format!("{} 0 R ", pdf.object(field.as_bytes()))
    });
    let fields = fields.concat();
    let content = "BT /F1 12 Tf 20 24 Td (ink) Tj ET";
    let font = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>";
    let pdf = pdf.catalogue(&format!("/AcroForm << /Fields [{fields}] >>"));
    let (_, text) = read(
        &pdf.page_with(200, 200, content, &format!("/Annots [{fields}] /Resources << {font} >>")).bytes(),
    );
    assert_eq!(texts(&text), ["ink", "shown"]);
}

/// Returns the words of a document with another page, on which links have these actions: each is 10 points above the last.
fn with_links(mut pdf: Pdf, actions: &[&str]) -> Text {
    let link = |(action, number): (&&str, u32)| {
        let (bottom, top) = (10 * number, 10 * number + 9);
        format!("<< /Type /Annot /Subtype /Link /Rect [10 {bottom} 110 {top}] {action} >>")
    };
    let annotations: String = actions.iter().zip(1..).map(link).collect();
    let annotations = pdf.object(format!("[{annotations}]").as_bytes());
    read(&pdf.page_with(200, 200, "", &format!("/Annots {annotations} 0 R")).bytes()).1
}

#[test]
fn links_lead_to_pages_and_to_the_web_and_nowhere_else() {
    let pdf = Pdf::new().page(200, 200, "BT /F1 12 Tf 20 20 Td (second) Tj ET");
    // The page of the first content is object 4.
    let actions = [
        "/A << /S /URI /URI (https://example.com/a) >>",
        "/A << /S /URI /URI (javascript:alert\\(1\\)) >>",
        "/A << /S /JavaScript /JS (app.alert\\(1\\)) >>",
        "/A << /S /Launch /F (a.exe) >>",
        "/A << /S /URI /URI (file:///etc/passwd) >>",
        "/Dest [4 0 R /XYZ 0 200 0]",
        "/A << /S /GoTo /D [4 0 R /Fit] >>",
    ];
    let text = with_links(pdf, &actions);
    let targets: Vec<&Target> = text.pages[1].links.iter().map(|link| &link.to).collect();
    assert_eq!(
        targets,
        [&Target::Url("https://example.com/a".to_owned()), &Target::Page(0), &Target::Page(0)]
    );
    let scale = f64::from(text.pages[1].at.width) / 200.0;
    let pixels = |points: f64| (points * scale).round() as u32;
    let at = text.pages[1].links[0].at;
    let expected = Rect::new(pixels(10.0), pixels(181.0), pixels(100.0), pixels(9.0));
    let near = |one: u32, other: u32| one.abs_diff(other) <= 1;
    assert!(near(at.left, expected.left) && near(at.top, expected.top), "{at:?} {expected:?}");
    assert!(near(at.width, expected.width) && near(at.height, expected.height), "{at:?} {expected:?}");
}

#[test]
fn links_are_read_as_their_annotations_say() {
    let pdf =
        Pdf::new().page(200, 200, "BT /F1 12 Tf 20 20 Td (see www.tides.example, or a@b.example) Tj ET");
    let actions = [
        "/A << /S /URI /URI (https://example.com/a file.pdf) >>",
        "/A << /S /URI /URI (www.example.com) >>",
        "/A << /S /URI /URI (https://example.com/caf\\351) >>",
        "/A << /S /GoToR /F (https://example.com/other.pdf) /D [0 /Fit] >>",
        "/A << /S /GoToR /F (other.pdf) /D [0 /Fit] >>",
        "/A << /S /GoToE /T << /N (x.pdf) /R /C >> /D [0 /Fit] >>",
        "/A << /S /Named /N /PrevPage >>",
        "/A << /S /Named /N /LastPage >>",
        "/A << /S /Named /N /Print >>",
        "/A << /S /URI /URI (https://example.com/) >> /QuadPoints [10 99 60 99 10 95 60 95 10 94 30 94 10 90 30 90]",
    ];
    let text = with_links(pdf, &actions);
    let targets = |page: usize| -> Vec<String> {
        let links = text.pages[page].links.iter();
        links.map(|link| serde_json::to_string(&link.to).unwrap()).collect()
    };
    assert_eq!(targets(0), [r#""http://www.tides.example""#]);
    assert_eq!(
        targets(1),
        [
            r#""https://example.com/a%20file.pdf""#,
            r#""http://www.example.com""#,
            r#""https://example.com/café""#,
            r#""https://example.com/other.pdf""#,
            "0",
            "1",
            r#""https://example.com/""#,
            r#""https://example.com/""#,
        ]
    );
    let parts = &text.pages[1].links[6..];
    assert!(parts[0].at.width > parts[1].at.width && parts[0].at.top < parts[1].at.top, "{parts:?}");
}

/// Adds a font whose letters from `a` on are these, and returns the page's resources.
fn letters(pdf: &mut Pdf, letters: &str) -> String {
    let pairs: String = letters
        .chars()
        .zip(b'a'..)
        .map(|(letter, code)| format!("<{code:02x}> <{:04x}> ", u32::from(letter)))
        .collect();
    let map = format!(
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange <00> <ff> endcodespacerange \
         {} beginbfchar {pairs} endbfchar endcmap end end",
        letters.chars().count()
    );
    let map = pdf.object(format!("<< /Length {} >>\nstream\n{map}\nendstream", map.len()).as_bytes());
    format!(
        "/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Courier /ToUnicode {map} 0 R >> >> >>"
    )
}

/// Returns letters that are drawn at these places and spelled for a cluster, as Chromium writes them.
fn cluster(spelled: &str, drawn: &[(f64, f64, &str)]) -> String {
    let units: String = spelled.encode_utf16().map(|unit| format!("{unit:04X}")).collect();
    let texts: String = drawn.iter().map(|(x, y, text)| format!("1 0 0 1 {x} {y} Tm ({text}) Tj ")).collect();
    format!("BT /F1 20 Tf /Span << /ActualText <FEFF{units}> >> BDC {texts} EMC ET ")
}

#[test]
fn clusters_of_letters_are_in_their_words() {
    // A letter is 12 points wide. The second cluster's sign above the line is a text that PDFium reads apart.
    let mut pdf = Pdf::new();
    let gujarati = letters(&mut pdf, "નદીકિાર");
    let content = [
        "BT /F1 20 Tf 20 100 Td (a) Tj ET ",
        &cluster("દી", &[(32.0, 100.0, "b"), (44.0, 107.0, "c")]),
        "BT /F1 20 Tf 55 100 Td ( ) Tj ET ",
        &cluster("કિ", &[(60.0, 100.0, "e"), (72.0, 100.0, "d")]),
        &cluster("ના", &[(84.0, 100.0, "a"), (96.0, 100.0, "f")]),
        "BT /F1 20 Tf 108 100 Td (g) Tj ET ",
    ];
    let (_, text) = read(&pdf.page_with(200, 200, &content.concat(), &gujarati).bytes());
    assert_eq!(texts(&text), ["નદી કિનાર"]);

    let mut pdf = Pdf::new();
    let thai = letters(&mut pdf, "ตู้มี");
    let content = [
        &cluster("ตู้", &[(20.0, 100.0, "a"), (30.0, 94.0, "b"), (30.0, 106.0, "c")]),
        &cluster("ตู้", &[(32.0, 100.0, "a"), (42.0, 94.0, "b"), (42.0, 106.0, "c")]),
        "BT /F1 20 Tf 56 100 Td (2) Tj ET ",
        &cluster("มี", &[(68.0, 100.0, "d"), (78.0, 106.0, "e")]),
    ];
    let (_, text) = read(&pdf.page_with(200, 200, &content.concat(), &thai).bytes());
    assert_eq!(texts(&text), ["ตู้ตู้2มี"]);
}

#[test]
fn letters_beyond_the_first_plane_stand_where_they_are_drawn() {
    let content = [
        "BT /F1 20 Tf 20 100 Td (low tide ) Tj /Span << /ActualText <FEFFD83CDF0A> >> BDC (x) Tj EMC ( now) Tj ET ",
        "BT /F1 20 Tf 20 40 Td (calm) Tj ET ",
        &cluster("𝒜🌊", &[(68.0, 40.0, "xx")]),
    ];
    let mut pdf = Pdf::new();
    let font = letters(&mut pdf, "abc");
    let (_, text) = read(&pdf.page_with(300, 200, &content.concat(), &font).bytes());
    assert_eq!(texts(&text), ["low tide 🌊 now", "calm𝒜🌊"]);
}

#[test]
fn pieces_of_a_line_of_arabic_are_read_from_its_right_edge_and_numbers_forwards() {
    let mut pdf = Pdf::new();
    let arabic = letters(&mut pdf, "مدبحر");
    let at = |x: f64, text: &str| format!("BT /F1 20 Tf {x} 100 Td ({text}) Tj ET ");
    let single = |x: f64, letter: &str, code: &str| cluster(letter, &[(x, 100.0, code)]);
    // From the left, as they are drawn: the sign and the number, bahr, 2019, madd.
    let content = [
        at(20.0, "%4.5"),
        single(80.0, "ر", "e"),
        single(92.0, "ح", "d"),
        single(104.0, "ب", "c"),
        at(128.0, "2019"),
        single(188.0, "د", "b"),
        single(200.0, "م", "a"),
    ];
    let (_, text) = read(&pdf.page_with(300, 200, &content.concat(), &arabic).bytes());
    assert_eq!((texts(&text), lines(&text)[0].rtl), (vec!["مد 2019 بحر 4.5%"], true));
    let places: Vec<u32> = lines(&text)[0].words().map(|(_, place)| place.left).collect();
    assert!(places.is_sorted_by(|one, other| one > other), "{places:?}");
}

#[test]
fn wide_spaces_are_spaces_within_one_text_and_columns_between_two() {
    let content = "BT /F1 10 Tf 12 Tw 20 160 Td (tides rise high) Tj ET \
        BT /F1 10 Tf 20 120 Td [(low) -1700 (water) -1700 (marks)] TJ ET \
        BT /F1 10 Tf 20 80 Td (2.) Tj 24 0 Td (Harbours) Tj ET \
        BT /F1 10 Tf 20 40 Td (east) Tj 40 0 Td (west) Tj ET \
        BT 0 Tw /F1 -10 Tf -1 0 0 -1 20 10 Tm (ebb and flow) Tj ET";
    let (_, text) = read(&Pdf::new().page(300, 200, content).bytes());
    assert_eq!(
        texts(&text),
        ["tides rise high", "low water marks", "2. Harbours", "east", "west", "ebb and flow"]
    );
}

#[test]
fn elements_have_the_letters_that_they_spell() {
    let content = [
        &marked("/Span <</MCID 0>>", 20, 100, "5"),
        "/P <</MCID 1>> BDC BT /F1 12 Tf 60 100 Td (5even seas) Tj ET EMC ",
        "/Span <</MCID 2>> BDC BT /F1 40 Tf 20 20 Td (4) Tj ET EMC ",
        "/P <</MCID 3>> BDC BT /F1 12 Tf 46 36 Td (ll the ports) Tj 0 -14 Td (of the coast) Tj ET EMC ",
    ];
    let mut pdf = Pdf::new();
    let element = |pdf: &mut Pdf, kind: &str, id: usize, more: &str| {
        pdf.object(
            format!("<< /Type /StructElem /S /{kind} /P 3 0 R /Pg 9 0 R /K [{id}] {more} >>").as_bytes(),
        )
    };
    let root = pdf.object(b"<< /Type /StructTreeRoot /K [4 0 R 5 0 R 6 0 R 7 0 R] /ParentTree << /Nums [0 [4 0 R 5 0 R 6 0 R 7 0 R]] >> >>");
    element(&mut pdf, "Span", 0, "/ActualText (five)");
    element(&mut pdf, "P", 1, "/ActualText (seven seas)");
    element(&mut pdf, "Span", 2, "/ActualText (A)");
    element(&mut pdf, "P", 3, "");
    let pdf = pdf.catalogue(&format!("/MarkInfo << /Marked true >> /StructTreeRoot {root} 0 R"));
    let more = "/StructParents 0 /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>";
    let (_, text) = read(&pdf.page_with(200, 200, &content.concat(), more).bytes());
    assert_eq!(texts(&text), ["five", "seven seas", "All the ports", "of the coast"]);
}

#[test]
fn annotations_have_words_where_they_show_them() {
    let mut pdf = Pdf::new();
    let font = "/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>";
    let mut annotation = |top: u32, content: &str, more: &str| {
        let form = format!(
            "<< /Type /XObject /Subtype /Form /BBox [0 0 100 40] {font} /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        );
        let form = pdf.object(form.as_bytes());
        let rect = format!("/Rect [80 {} 180 {top}]", top - 40);
        format!(
            "{} 0 R ",
            pdf.object(format!("<< /Type /Annot {more} {rect} /AP << /N {form} 0 R >> >>").as_bytes())
        )
    };
    let shown = |text: &str| format!("BT /F1 10 Tf 2 24 Td ({text}) Tj ET");
    let annotations = [
        annotation(300, &shown("12.50 m"), "/Subtype /Widget /FT /Tx /T (a) /V (12.5) /F 4"),
        annotation(
            250,
            "BT /F1 10 Tf 2 24 Td (neap) Tj 0 -14 Td (spring) Tj ET",
            "/Subtype /Widget /FT /Ch /T (b) /Opt [(neap) (spring)] /V (neap) /F 4",
        ),
        annotation(200, &shown("Send"), "/Subtype /Widget /FT /Btn /Ff 65536 /T (c) /F 4"),
        annotation(150, &shown("checked"), "/Subtype /FreeText /Contents (checked) /F 0"),
        annotation(100, &shown("VOID"), "/Subtype /Stamp /F 4"),
        annotation(50, &shown("unseen"), "/Subtype /FreeText /F 2"),
        annotation(50, &shown("on paper"), "/Subtype /Stamp /F 36"),
    ]
    .concat();
    let content = "BT /F1 10 Tf 20 284 Td (Height) Tj 0 -50 Td (Tide) Tj 0 -200 Td (the end) Tj ET";
    let pdf = pdf.catalogue(&format!("/AcroForm << /Fields [{annotations}] >>"));
    let (picture, text) =
        read(&pdf.page_with(200, 300, content, &format!("/Annots [{annotations}] {font}")).bytes());
    let found = ["Height", "12.50 m", "Tide", "neap", "spring", "Send", "checked", "VOID", "the end"];
    assert_eq!(texts(&text), found);
    assert_ink(&picture, &text);
}

#[test]
fn a_page_that_is_upside_down_is_read_from_its_top() {
    let pieces = "BT -1 0 0 -1 180 100 Tm /F1 10 Tf (These tides) Tj ET BT -1 0 0 -1 120 100 Tm /F1 10 Tf (are high) Tj ET \
        BT -1 0 0 -1 180 112 Tm /F1 10 Tf (and low) Tj ET";
    let (picture, text) = read(&Pdf::new().page_with(200, 200, pieces, "/Rotate 180").bytes());
    assert_eq!(texts(&text), ["These tides are high", "and low"]);
    assert_ink(&picture, &text);
}

#[test]
fn a_page_of_garbage_has_no_words_and_the_others_have_theirs() {
    let mut pdf = Pdf::new();
    let map = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap \
        1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfrange <20> <7e> <e020> endbfrange endcmap end end";
    let map = pdf.object(format!("<< /Length {} >>\nstream\n{map}\nendstream", map.len()).as_bytes());
    let font = format!(
        "/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode {map} 0 R >> >> >>"
    );
    let pdf = pdf.page_with(200, 200, "BT /F1 12 Tf 20 20 Td (nobody knows these letters) Tj ET", &font);
    let (_, text) = read(&pdf.page(200, 200, "BT /F1 12 Tf 20 20 Td (plain) Tj ET").bytes());
    assert_eq!((texts(&text), text.pages[0].blocks.len()), (vec!["plain"], 0));
}

#[test]
fn the_words_of_a_drawing_lie_where_they_are_drawn() {
    let drawing = |inside: &str| {
        let svg = format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 300" font-size="20">{inside}</svg>"#
        );
        read(svg.as_bytes())
    };
    let (picture, text) = drawing(
        r#"<g transform="translate(20 10) scale(1.5)"><text x="10" y="40">office <tspan font-weight="bold">labels</tspan></text></g>
           <text x="40" y="150" transform="rotate(90 40 150)">downwards it goes</text>
           <text x="300" y="200" visibility="hidden">hidden</text><g opacity="0"><text x="300" y="250">clear</text></g>
           <text x="200" y="150">first<tspan x="200" dy="24">second</tspan></text>"#,
    );
    assert_eq!(texts(&text), ["office labels", "downwards it goes", "first", "second"]);
    assert_eq!(lines(&text)[1].angle, 90);
    assert_ink(&picture, &text);
    let (_, text) = drawing(r#"<text x="300" y="50" direction="rtl">שלום עולם</text>"#);
    assert_eq!((texts(&text), lines(&text)[0].rtl), (vec!["שלום עולם"], true));
}

#[test]
fn the_links_and_titles_of_a_chart_have_places() {
    let svg = r##"<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 400 300" font-size="20">
        <title>Tides</title><desc>High water in two ports</desc>
        <a href="https://example.com/dover"><rect x="50" y="100" width="80" height="150"/><text x="60" y="280">Dover</text></a>
        <a id="own" xlink:href="https://example.com/brest"><rect x="200" y="50" width="80" height="200"/></a>
        <a href="javascript:alert(1)"><rect x="300" y="50" width="50" height="200"/></a>
        <g role="img" transform="translate(300 10)"><title>A moon</title><circle cx="20" cy="20" r="20"/></g>
        <text x="10" y="30">High water</text></svg>"##;
    let (picture, text) = read(svg.as_bytes());
    let found = blocks(&text);
    let found: Vec<(Role, &str)> = found.iter().map(|(role, text)| (*role, text.as_str())).collect();
    let expected = [
        (Role::Img, "Tides: High water in two ports"),
        (Role::P, "Dover"),
        (Role::Img, "A moon"),
        (Role::P, "High water"),
    ];
    assert_eq!(found, expected);
    let page = &text.pages[0];
    let scale = f64::from(page.at.width) / 400.0;
    let near = |at: Rect, points: [f64; 4]| {
        let expected = points.map(|length| (length * scale).round() as u32);
        <[u32; 4]>::from(at).iter().zip(expected).all(|(one, other)| one.abs_diff(other) <= 2)
    };
    let [dover, brest] = &page.links[..] else { panic!("{:?}", page.links) };
    assert_eq!(brest.to, Target::Url("https://example.com/brest".to_owned()));
    assert!(near(brest.at, [200.0, 50.0, 80.0, 200.0]), "{brest:?}");
    // It reaches from the bar to its label.
    assert!(near(Rect { height: 0, ..dover.at }, [50.0, 100.0, 80.0, 0.0]), "{dover:?}");
    assert!(f64::from(dover.at.height) > 170.0 * scale, "{dover:?}");
    assert!(near(page.blocks[0].at.unwrap(), [0.0, 0.0, 400.0, 300.0]));
    assert!(near(page.blocks[2].at.unwrap(), [300.0, 10.0, 40.0, 40.0]));
    assert_ink(&picture, &text);
}

#[test]
fn a_link_within_a_text_has_the_place_of_its_words() {
    let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 300" font-size="20"><text x="10" y="30">See <a
        href="https://example.com/a">the <tspan font-weight="bold">tables</tspan></a> and <a href="mailto:b@example.com">ask</a></text></svg>"#;
    let (_, text) = read(svg.as_bytes());
    let [line] = &lines(&text)[..] else { panic!("{text:?}") };
    assert_eq!(line.text, "See the tables and ask");
    let [tables, ask] = &text.pages[0].links[..] else { panic!("{:?}", text.pages[0].links) };
    assert_eq!(tables.to, Target::Url("https://example.com/a".to_owned()));
    assert_eq!(ask.to, Target::Url("mailto:b@example.com".to_owned()));
    let span = |at: Rect| (at.left, at.left + at.width);
    let (tables, ask, whole) = (span(tables.at), span(ask.at), span(line.at));
    let order = [whole.0, tables.0, tables.1, ask.0, ask.1];
    assert!(order.is_sorted() && tables.0 > whole.0 && ask.1 <= whole.1 + 2, "{order:?} {whole:?}");
    let share = f64::from(tables.1 - tables.0) / f64::from(whole.1 - whole.0);
    assert!((0.35..0.6).contains(&share), "{share}");
}
