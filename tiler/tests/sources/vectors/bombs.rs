//! Small PDFs whose vectors would hold a browser for seconds: the worst of a study, and what the bounds invite. Each is refused, or
//! Chromium draws it quickly: `cargo xtask judge vectors` measures that.

use std::f64::consts::TAU;
use std::fmt::Write as _;

use edgezoom_test_support::files::file;
use edgezoom_test_support::pdf::{Mask, Pdf, drawing as form, grey_picture};

use super::{ENDED, by_chromium, drawing, drawn};
use crate::chromium::Driven;

/// Maximum time of a drawing in milliseconds. `vector.js` leaves pages that take more to their pixels.
const SLOW_MS: f64 = 300.0;
/// Those that are part of each run.
const QUICKEST: [&str; 3] = ["fewer chords", "a line of chords", "curves over the page"];
/// The page, and the drawing on it, which is ten times as large.
const PAGE: (u32, u32) = (337, 238);
const SCALED: &str = ".1 0 0 .1 0 0 cm ";
/// A figure that no clip rectangle and no cover is.
const SLANTED: &str = "100 0 m 3370 100 l 2000 2384 l 0 2000 l h ";
const CLEAR: &str = "/ExtGState << /G << /ca .01 /CA .01 >> /H << /ca .5 >> /B << /BM /Multiply >> >>";

fn page(content: &str, resources: &str) -> Vec<u8> {
    let resources = format!("/Resources << {CLEAR} {resources} >>");
    Pdf::new().page_with(PAGE.0, PAGE.1, &(SCALED.to_owned() + content), &resources).bytes()
}

fn plain(content: &str) -> Vec<u8> {
    page(content, "")
}

/// Returns a page that draws a form again and again. `inside` is its content, `more` other entries of it.
fn with_form(content: &str, inside: &str, more: &str) -> Vec<u8> {
    let mut pdf = Pdf::new();
    let number = form(&mut pdf, inside, CLEAR, more);
    let resources = format!("/Resources << {CLEAR} /XObject << /X {number} 0 R >> >>");
    pdf.page_with(PAGE.0, PAGE.1, &(SCALED.to_owned() + content), &resources).bytes()
}

/// Returns a page of forms, each of which draws the next one ten times.
fn forms(levels: usize, innermost: &str) -> Vec<u8> {
    let mut pdf = Pdf::new();
    let mut last = form(&mut pdf, innermost, "", "");
    for _ in 0..levels {
        last = form(&mut pdf, &"/X Do ".repeat(10), &format!("/XObject << /X {last} 0 R >>"), "");
    }
    pdf.page_with(PAGE.0, PAGE.1, "/X Do", &format!("/Resources << /XObject << /X {last} 0 R >> >>")).bytes()
}

fn tiled(pattern: &str, paint: &str) -> Vec<u8> {
    let mut pdf = Pdf::new();
    let content = "0 0 1 1 re ".repeat(20) + "f";
    let pattern = format!(
        "<< /PatternType 1 /PaintType 1 /TilingType 1 {pattern} /Resources << >> /Length {} >>\nstream\n{content}\nendstream",
        content.len()
    );
    let pattern = pdf.object(pattern.as_bytes());
    let resources = format!("/Resources << /Pattern << /P {pattern} 0 R >> >>");
    pdf.page_with(PAGE.0, PAGE.1, &format!("/Pattern cs /P scn {paint}"), &resources).bytes()
}

fn pictures(count: usize, mask: Option<Mask>) -> Vec<u8> {
    let mut pdf = Pdf::new();
    let picture = grey_picture(&mut pdf, (300, 300), mask);
    let resources = format!("/Resources << /XObject << /X {picture} 0 R >> >>");
    let content = "0 0 9 9 re f q 2000 0 0 2000 9 9 cm /X Do Q ".repeat(count);
    pdf.page_with(PAGE.0, PAGE.1, &(SCALED.to_owned() + &content), &resources).bytes()
}

/// Returns a path through points on an ellipse of this size; each point is a part of a turn after the last one.
fn chords(count: usize, part: f64, (across, down): (f64, f64)) -> String {
    let mut path = String::with_capacity(count * 18);
    for at in 0..count {
        let (x, y) = ((at as f64 * part * TAU).cos() * across, (at as f64 * part * TAU).sin() * down);
        let _ = write!(path, "{:.1} {:.1} {} ", 1685.0 + x, 1192.0 + y, if at == 0 { 'm' } else { 'l' });
    }
    path
}

fn bombs() -> Vec<(&'static str, Vec<u8>)> {
    let clip = |at: usize| format!("{at} 0 m 3370 100 l 2000 2384 l 0 2000 l h W n ");
    let nested: String = (0..500).map(clip).collect();
    let zigzag = |count: usize, (x, y): (usize, usize)| {
        let corner = |at: usize| format!("{} {} l ", (at * 7) % x, (at * 11) % y);
        format!("0 0 m {}", (0..count).map(corner).collect::<String>())
    };
    let dashed = |dashes: &str, count: usize| {
        let line = |at| format!("0 {} m 3370 {} l S ", at * 20, at * 20);
        format!("[{dashes}] 0 d {}", (0..count).map(line).collect::<String>())
    };
    let letters = |count: usize| {
        let font = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>";
        page(&"BT /F1 300 Tf 900 900 Td (&) Tj ET ".repeat(count), font)
    };
    let gradient = "/Shading << /S << /ShadingType 3 /ColorSpace /DeviceGray /Coords [1000 1000 0 1000 1000 3000] \
                    /Function << /FunctionType 2 /Domain [0 1] /C0 [0] /C1 [1] /N 1 >> /Extend [true true] >> >>";
    let group = "/Group << /S /Transparency /I true >>";
    let golden = 0.381_966;
    vec![
        // The study's.
        ("2,000 translucent fills", plain(&format!("/G gs {}", format!("{SLANTED} f ").repeat(2000)))),
        ("2,000 opaque fills", plain(&format!("{SLANTED} f ").repeat(2000))),
        ("500 clips in each other", plain(&format!("{nested} 0 0 3370 2384 re f"))),
        ("2,000 clipped fills", plain(&format!("q {} {SLANTED} f Q ", clip(1)).repeat(2000))),
        (
            "2,000 small clips",
            plain(&(0..3000).map(|at| format!("q {} 0 0 1 1 re f Q ", clip(at))).collect::<String>()),
        ),
        ("tiny dashes", plain(&dashed(".001 .001", 1))),
        ("a hundred lines of small dashes", plain(&dashed(".01 .01", 100))),
        ("three million segments", plain(&format!("{} f ", zigzag(150_000, (3371, 2385))).repeat(20))),
        ("translucent groups", with_form(&"/H gs /X Do ".repeat(2000), &format!("{SLANTED} f"), group)),
        ("groups in each other", forms(7, &format!("/H gs {SLANTED} f"))),
        ("forms of forms", forms(8, "")),
        ("forms that draw", forms(7, &("0 0 1 1 re ".repeat(99) + "f"))),
        ("forms that clip", forms(4, &("0 0 m ".to_owned() + &"5 5 l 3 0 l ".repeat(999) + "W n"))),
        ("a pattern of points", tiled("/BBox [0 0 1 1] /XStep .01 /YStep .01", "0 0 200 100 re f")),
        (
            "patterns in many fills",
            tiled("/BBox [0 0 9 9] /XStep 4 /YStep 4", &"0 0 200 100 re f ".repeat(9000)),
        ),
        ("blending", plain(&format!("/B gs {}", format!("{SLANTED} f ").repeat(500)))),
        ("pictures with masks", pictures(2000, Some(Mask::Soft(300, 300)))),
        ("pictures over each other", pictures(2000, None)),
        ("wide lines", plain(&"900 w 0 0 m 3370 2384 l S ".repeat(9000))),
        ("a page without end", Pdf::new().page(2_000_000_000, 100, "0 0 9 9 re f").bytes()),
        // Others.
        ("chords of a circle, even-odd", plain(&format!("{} f*", chords(90_000, golden, (1600.0, 1100.0))))),
        ("fewer chords", plain(&format!("{} f*", chords(30_000, golden, (1600.0, 1100.0))))),
        ("a line of chords", plain(&format!("1 j 2 w {} S", chords(100_000, golden, (1600.0, 1100.0))))),
        ("wide round joins", plain(&format!("1 j 1 J 200 w {} S", zigzag(20_000, (3371, 2385))))),
        ("mitred spikes", plain(&format!("1000 M 9 w {} S", zigzag(50_000, (3371, 99))))),
        ("a large letter, again and again", letters(50_000)),
        ("a rings' gradient, again and again", page(&"/S sh ".repeat(300), gradient)),
        ("small chords, all in one place", plain(&format!("{} f*", chords(900_000, golden, (60.0, 60.0))))),
        ("dashes with round ends", plain(&format!("1 J 30 w {}", dashed("2 2", 100)))),
        (
            "curves over the page",
            plain(&format!(
                "0 0 m {} f*",
                (0..60_000)
                    .map(|at| format!(
                        "3370 {} {} 2384 {} {} c ",
                        at % 2384,
                        at % 3370,
                        at * 7 % 3370,
                        at * 11 % 2384
                    ))
                    .collect::<String>()
            )),
        ),
    ]
}

/// A page may be refused, but it must not end its process: the pages after it would have no vectors.
#[tokio::test]
async fn chords_do_not_end_the_process() {
    for (name, bytes) in bombs().into_iter().filter(|(name, _)| QUICKEST.contains(name)) {
        let reason = drawn(file(&bytes), drawing(40)).await.err();
        assert_eq!(reason.as_deref(), Some("the page has too many lines beside each other"), "{name}");
    }
}

#[tokio::test]
#[ignore = "cargo xtask judge vectors"]
async fn bombs_are_drawn_quickly() {
    let (mut chromium, mut slow) = (Driven::start(), Vec::new());
    for (name, bytes) in bombs() {
        let svg = match drawn(file(&bytes), drawing(40)).await {
            Ok(page) => page.svg,
            Err(reason) => {
                println!("{name}: {reason}");
                if reason == ENDED {
                    slow.push(name);
                }
                continue;
            }
        };
        // The least and the largest scale at which a phone or a desktop draws the page, and one between.
        for scale in [4.0, 16.0, 128.0] {
            let at = [160.0, 110.0].map(|place| (place * scale - 400.0_f64).max(0.0) as u32);
            let (_, took) = by_chromium(&mut chromium, &svg, scale, [at[0], at[1], 1200, 800]);
            println!("{name}: {} bytes, {took:.0} ms at {scale} pixels per point", svg.len());
            if took > SLOW_MS {
                slow.push(name);
            }
        }
    }
    assert!(slow.is_empty(), "too slow: {slow:?}");
}
