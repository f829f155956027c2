//! Documents of text and drawings, as people convert them: a plan of a garden, a paper, a manual. Their font is embedded,
//! so that every program draws the same letters.

use std::f64::consts::TAU;
use std::fmt::Write as _;

use crate::pdf::{Pdf, embedded_font};

const FONT: &[u8] = include_bytes!("../../../engine/codecs/fonts/DejaVuSans.ttf");
const GENERA: [&str; 8] =
    ["Acer", "Camellia", "Dicksonia", "Ginkgo", "Lavandula", "Magnolia", "Quercus", "Victoria"];
const SPECIES: [&str; 8] =
    ["alba", "borealis", "chinensis", "davidii", "floribunda", "japonica", "officinalis", "sempervirens"];

/// Adds the font, and returns the resources of pages that have it as F.
fn font(pdf: &mut Pdf) -> String {
    format!("/Resources << /Font << /F {} 0 R >> >>", embedded_font(pdf, FONT))
}

/// Returns a plan at A0: stars in a spiral, each with a hairline around it and a label of 1 pt.
pub fn plan(plants: usize) -> Vec<u8> {
    let mut pdf = Pdf::new();
    let resources = font(&mut pdf);
    pdf.page_with(3370, 2384, &plants_of(plants), &resources).bytes()
}

fn plants_of(plants: usize) -> String {
    let mut content =
        ".98 .98 .96 rg 0 0 3370 2384 re f .13 .2 .29 RG 3 w 40 40 3290 2304 re S .2 w ".to_owned();
    for plant in 0..plants {
        // Neighbours in a spiral by the golden angle are equally far from each other.
        let (turn, far) = (plant as f64 * 2.399_963, (plant as f64 / plants as f64).sqrt());
        let (x, y) = (1685.0 + 1580.0 * far * turn.cos(), 1192.0 + 1100.0 * far * turn.sin());
        let (points, radius) = (14 + plant % 7 * 2, 4.0 + (plant % 5) as f64);
        let corner = |at: usize| {
            let (angle, radius) = (TAU * at as f64 / points as f64, radius * [1.0, 0.62][at % 2]);
            format!("{:.2} {:.2}", x + radius * angle.cos(), y + radius * angle.sin())
        };
        let sides: String = (1..points).map(|at| format!("{} l ", corner(at))).collect();
        let (genus, species) = (GENERA[plant % 8], SPECIES[plant / 8 % 8]);
        let _ = writeln!(
            content,
            ".81 .89 .76 rg .24 .48 .29 RG {} m {sides}h B .13 .2 .29 rg BT /F 1 Tf {:.2} {:.2} Td ({plant} {genus} {species}) Tj ET",
            corner(0),
            x + 0.7,
            y - 0.3
        );
    }
    content
}

/// Returns a paper: two columns of text, and a chart on each page.
pub fn paper(pages: usize) -> Vec<u8> {
    let mut pdf = Pdf::new();
    let resources = font(&mut pdf);
    (0..pages)
        .fold(pdf, |pdf, page| {
            let columns = text(page, (50, 740), (9, 40), 62) + &text(page + 99, (320, 740), (9, 40), 28);
            pdf.page_with(612, 792, &(columns + &chart(page, 320.0, 60.0)), &resources)
        })
        .bytes()
}

/// Returns a manual: a column of text, and a chart on every third page.
pub fn manual(pages: usize) -> Vec<u8> {
    let mut pdf = Pdf::new();
    let resources = font(&mut pdf);
    (0..pages)
        .fold(pdf, |pdf, page| {
            let has_chart = page % 3 == 0;
            let lines = if has_chart { 20 } else { 44 };
            let heading = format!("BT /F 18 Tf 60 740 Td (Chapter {}) Tj ET ", page + 1);
            let mut content = heading + &text(page, (60, 710), (10, 72), lines);
            if has_chart {
                content += &chart(page, 150.0, 80.0);
            }
            pdf.page_with(612, 792, &content, &resources)
        })
        .bytes()
}

/// Returns lines of words from a place on, in a size, of up to a number of letters.
fn text(seed: usize, (x, y): (usize, usize), (size, letters): (usize, usize), lines: usize) -> String {
    let words =
        "the tide rises in most harbours twice a day and falls again while boats wait outside for high water";
    let mut words = words.split(' ').cycle().skip(seed % 17);
    let mut content = format!("0 g BT /F {size} Tf {x} {y} Td {} TL ", size * 14 / 10);
    for line in 0..lines {
        let mut written = format!("{}", seed * 31 + line);
        while written.len() < letters - 9 {
            written = written + " " + words.next().unwrap();
        }
        let _ = write!(content, "({written}) Tj T* ");
    }
    content + "ET "
}

/// Returns a chart of 250 by 200 points: a frame, a grid, three curves and a legend.
fn chart(seed: usize, x: f64, y: f64) -> String {
    let mut content = format!("q 1 0 0 1 {x} {y} cm .8 G .3 w ");
    for line in 1..10 {
        let _ = write!(content, "0 {0} m 250 {0} l {1} 0 m {1} 200 l S ", line * 20, line * 25);
    }
    for (curve, colour) in ["1 0 0", "0 .5 0", "0 0 1"].into_iter().enumerate() {
        let point = |at: usize| {
            let angle = (at + seed * 7) as f64 / (9.0 + curve as f64 * 5.0);
            format!("{:.2} {:.2}", at as f64, 100.0 + 70.0 * angle.sin() * (at as f64 / 250.0))
        };
        let path: String = (1..=250).map(|at| format!("{} l ", point(at))).collect();
        let _ = write!(
            content,
            "{colour} RG 1 w {} m {path}S BT /F 7 Tf 10 {} Td (curve {curve}) Tj ET ",
            point(0),
            180 - curve * 10
        );
    }
    content + "0 G 1 w 0 0 250 200 re S Q "
}
