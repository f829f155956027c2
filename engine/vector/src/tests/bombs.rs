//! Small files that would hold a browser for seconds or minutes: refused, or drawn as something small.

use std::time::{Duration, Instant};

use edgezoom_test_support::pdf::{Pdf, drawing, grey_picture};

use super::{document, page, refusal, sized};
use crate::{Drawing, Refusal};

/// Longest time for a refusal. Most take a few milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// Name, what is drawn, and why it is refused.
type Bomb<'a> = (&'a str, Box<dyn Fn() -> Result<Drawing, Refusal> + 'a>, Refusal);

const WHOLE: &str = r#"<path d="M0 0H3370V2384H0z"/>"#;
const SLANTED: &str = r#"<path d="M100 0L3370 100L2000 2384L0 2000z"/>"#;

fn sheet(content: &str) -> Result<Drawing, Refusal> {
    sized(3370, 2384, content)
}

fn clip(id: usize) -> String {
    format!(r#"<clipPath id="c{id}"><path d="M{id} 0L3370 100L2000 2384L0 2000z"/></clipPath>"#)
}

fn nested(count: usize, open: impl Fn(usize) -> String) -> String {
    (0..count).map(open).collect::<String>() + WHOLE + &"</g>".repeat(count)
}

/// Returns a document of forms, each of which draws the next one ten times.
fn forms(levels: usize, innermost: &str) -> Vec<u8> {
    let mut pdf = Pdf::new();
    let mut last = drawing(&mut pdf, innermost, "", "");
    for _ in 0..levels {
        last = drawing(&mut pdf, &"/X Do ".repeat(10), &format!("/XObject << /X {last} 0 R >>"), "");
    }
    pdf.page_with(200, 100, "/X Do", &format!("/Resources << /XObject << /X {last} 0 R >> >>")).bytes()
}

fn tiled(pattern: &str, paint: &str) -> Result<Drawing, Refusal> {
    let mut pdf = Pdf::new();
    let content = "0 0 1 1 re ".repeat(20) + "f";
    let pattern = pdf.object(
        format!("<< /PatternType 1 /PaintType 1 /TilingType 1 {pattern} /Resources << >> /Length {} >>\nstream\n{content}\nendstream", content.len())
            .as_bytes(),
    );
    let resources = format!("/Resources << /Pattern << /P {pattern} 0 R >> >>");
    document(pdf.page_with(200, 100, &format!("/Pattern cs /P scn {paint}"), &resources).bytes())
}

/// The worst of what a prototype was tried with, and of what its bounds invite.
#[test]
fn bombs_are_refused() {
    let dashed = |dashes: &str, count: usize| {
        let line = |at| {
            format!(
                r##"<path fill="none" stroke="#000" stroke-dasharray="{dashes}" d="M0 {}H3370"/>"##,
                at * 20
            )
        };
        sheet(&(0..count).map(line).collect::<String>())
    };
    let clips = |count: usize| (0..count).map(clip).collect::<String>();
    let laughs = |levels: usize| {
        let level = |at: usize| {
            format!(r##"<g id="a{at}">{}</g>"##, format!(r##"<use href="#a{}"/>"##, at - 1).repeat(10))
        };
        let levels_of: String = (1..=levels).map(level).collect();
        format!(
            r##"<defs><g id="a0"><path d="M0 0{}z"/></g>{levels_of}</defs><use href="#a{levels}"/>"##,
            "h1v1".repeat(150)
        )
    };
    let segments = || {
        let path = format!("M0 0{}", "l.01 .01".repeat(60_000));
        sheet(&format!(r#"<path d="{path}"/>"#).repeat(40))
    };
    let chords = |count: usize| {
        let end = |at: usize| format!("L{} {}", at * 1_289 % 3_371, at * 1_471 % 2_381);
        format!("M0 0{}", (1..count).map(end).collect::<String>())
    };
    let bombs: [Bomb<'_>; 25] = [
        ("chords", Box::new(|| sheet(&format!(r#"<path d="{}"/>"#, chords(9_000)))), Refusal::Edges),
        (
            "stroked chords",
            Box::new(|| sheet(&format!(r##"<path fill="none" stroke="#000" d="{}"/>"##, chords(90_000)))),
            Refusal::Edges,
        ),
        (
            "fewer chords in each of many paths",
            Box::new(|| sheet(&format!(r#"<path d="{}"/>"#, chords(900)).repeat(9))),
            Refusal::Edges,
        ),
        ("a line of tiny dashes", Box::new(|| dashed(".001 .001", 1)), Refusal::Dashes),
        ("a hundred lines of small dashes", Box::new(|| dashed(".01 .01", 100)), Refusal::Dashes),
        ("dashes in a page's content", Box::new(|| page("[.001] 0 d 0 0 m 200 100 l S")), Refusal::Dashes),
        (
            "500 clips in each other",
            Box::new(|| sheet(&(clips(99) + &nested(99, |id| format!(r#"<g clip-path="url(#c{id})">"#))))),
            Refusal::Groups,
        ),
        (
            "20,000 clipped fills",
            Box::new(|| {
                sheet(
                    &(clip(0)
                        + &format!(r#"<g clip-path="url(#c0)"><g opacity=".5">{WHOLE}</g></g>"#)
                            .repeat(20_000)),
                )
            }),
            Refusal::Area,
        ),
        (
            "small clipped groups",
            Box::new(|| {
                sheet(
                    &(clip(0)
                        + &r#"<g clip-path="url(#c0)" opacity=".5"><path d="M100 500h1v1z"/></g>"#
                            .repeat(3_000)),
                )
            }),
            Refusal::Area,
        ),
        (
            "20,000 translucent fills",
            Box::new(|| sheet(&SLANTED.replace("/>", r#" fill-opacity=".01"/>"#).repeat(20_000))),
            Refusal::Area,
        ),
        ("20,000 opaque fills", Box::new(|| sheet(&SLANTED.repeat(20_000))), Refusal::Area),
        (
            "2,000 translucent groups",
            Box::new(|| sheet(&format!(r#"<g opacity=".5">{SLANTED}</g>"#).repeat(2_000))),
            Refusal::Area,
        ),
        (
            "translucent groups in each other",
            Box::new(|| sheet(&nested(50, |_| r#"<g opacity=".9">"#.to_owned()))),
            Refusal::Groups,
        ),
        (
            "groups in each other",
            Box::new(|| {
                sheet(&nested(150, |at| format!(r#"<g id="g{at}" transform="translate(1)" opacity=".99">"#)))
            }),
            Refusal::Groups,
        ),
        ("ten thousand laughs", Box::new(move || sheet(&laughs(4))), Refusal::Segments),
        (
            "filters",
            Box::new(|| {
                sheet(&format!(
                    r##"<filter id="f" x="0" y="0" width="1" height="1"><feGaussianBlur stdDeviation="200"/></filter>{}"##,
                    format!(r#"<g filter="url(#f)">{WHOLE}</g>"#).repeat(50)
                ))
            }),
            Refusal::Filter,
        ),
        ("two million segments", Box::new(segments), Refusal::Segments),
        ("forms of forms", Box::new(|| document(forms(8, ""))), Refusal::Steps),
        (
            "forms that draw",
            Box::new(|| document(forms(7, &("0 0 1 1 re ".repeat(99) + "f")))),
            Refusal::Edges,
        ),
        (
            "forms that clip",
            Box::new(|| document(forms(4, &("0 0 m ".to_owned() + &"5 5 l 3 0 l ".repeat(999) + "W n")))),
            Refusal::Edges,
        ),
        (
            "a large picture beside the page",
            Box::new(|| {
                let mut pdf = Pdf::new();
                let picture = grey_picture(&mut pdf, (2000, 2000), None);
                let resources = format!("/Resources << /XObject << /X {picture} 0 R >> >>");
                let content = "q 9 0 0 9 300 0 cm /X Do Q ".repeat(999);
                document(pdf.page_with(200, 100, &content, &resources).bytes())
            }),
            Refusal::Steps,
        ),
        (
            "a pattern of points",
            Box::new(|| tiled("/BBox [0 0 1 1] /XStep .01 /YStep .01", "0 0 200 100 re f")),
            Refusal::Pattern,
        ),
        (
            "patterns in many fills",
            Box::new(|| tiled("/BBox [0 0 9 9] /XStep 4 /YStep 4", &"0 0 200 100 re f ".repeat(9_000))),
            Refusal::Edges,
        ),
        ("wide lines", Box::new(|| page(&"900 w 0 0 m 200 100 l S ".repeat(9_000))), Refusal::Area),
        (
            "a page without end",
            Box::new(|| document(Pdf::new().page(2_000_000_000, 100, "0 0 9 9 re f").bytes())),
            Refusal::Coordinates,
        ),
    ];
    for (name, draw, expected) in bombs {
        let start = Instant::now();
        let found = refusal(draw());
        assert_eq!(found, Some(expected), "{name}");
        assert!(start.elapsed() < PATIENCE, "{name}: {:?}", start.elapsed());
    }
}

#[test]
fn scripts_and_references_are_not_passed_on() {
    let hostile = r#"<script>fetch("/a")</script><image href="/leak.svg" width="10" height="10"/><style>@import "/b"; path{fill:url(/c#a)}</style><foreignObject width="9" height="9"><iframe xmlns="http://www.w3.org/1999/xhtml" src="/d"/></foreignObject><path onclick="e()" d="M0 0h100v100z"/>"#;
    let svg = sheet(hostile).unwrap().svg(0.1).unwrap();
    assert!(crate::is_lean(&svg), "{svg}");
}
