//! Converts an SVG of 20,000 paths, compared with resvg, which draws it as one picture in one thread and cuts no tiles.

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::{Bound, Figure, convert, median};

/// The longer side in pixels, as it is by default.
const SIDE: u32 = 8192;

pub fn measure() -> Figure {
    let drawing = drawing();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("paths.svg");
    std::fs::write(&source, &drawing).unwrap();
    let ours = median(|| convert(&source, &[]));
    let theirs = median(|| draw(&drawing));
    println!("SVG: resvg {theirs:.2} s, into tiles {ours:.2} s");
    Figure {
        what: "a drawing into tiles, beside resvg in one thread",
        value: theirs / ours,
        unit: " times as fast",
        bound: Bound::AtLeast(1.6),
    }
}

/// Returns an SVG like a map: outlines of a dozen points with fill and stroke, in many sizes.
fn drawing() -> String {
    let mut random = fastrand::Rng::with_seed(20_000);
    let paths: String = (0..20_000)
        .map(|_| {
            let (x, y, size) = (random.f32() * 1000.0, random.f32() * 1000.0, 2.0 + 28.0 * random.f32().powi(4));
            let points: String = (0..12)
                .map(|point| {
                    let angle = point as f32 * std::f32::consts::TAU / 12.0;
                    let length = size * (0.6 + 0.4 * random.f32());
                    format!("{:.2} {:.2} ", x + length * angle.cos(), y + length * angle.sin())
                })
                .collect();
            let hue = random.u32(0..360);
            format!(r#"<path d="M{points}Z" fill="hsl({hue},60%,70%)" stroke="hsl({hue},60%,30%)" stroke-width=".5"/>"#)
        })
        .collect();
    format!(r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 1000">{paths}</svg>"#)
}

fn draw(drawing: &str) {
    let tree = Tree::from_str(drawing, &Options::default()).unwrap();
    let mut pixmap = Pixmap::new(SIDE, SIDE).unwrap();
    pixmap.fill(Color::WHITE);
    let scale = SIDE as f32 / tree.size().width();
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
}
