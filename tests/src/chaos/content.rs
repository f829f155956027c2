//! What is converted under chaos, and what has to come of it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use image::{DynamicImage, RgbaImage};

use crate::pyramid::Pyramid;
use crate::{Source, SourceServer, picture};

/// A content to convert.
pub struct Content {
    /// Its URL on the server of the sources.
    pub url: String,
    expected: Expected,
}

/// What its pyramid has to be.
#[derive(Clone)]
enum Expected {
    /// This picture, to so many decibels.
    Picture(std::sync::Arc<RgbaImage>, f64),
    /// All tiles of a picture of this width.
    Width(u32),
}

/// A kind of source, made once and served at many addresses.
struct Kind {
    name: &'static str,
    source: Source,
    expected: Expected,
}

/// How many pixels wide a page's screenshot is, and how many the longer side of a drawing.
const PAGE_WIDTH: u32 = 2560;
const DRAWING_WIDTH: u32 = 8192;

const PAGE: &str = "<!doctype html><title>Chaos</title><style>body{margin:0;background:#f0f} p{height:3000px}</style>\
    <p>Nothing transient fails a content.";

/// Serves so many contents. Each source is sent over a while, so that faults meet downloads.
///
/// # Errors
/// A picture cannot be encoded.
pub fn serve(server: &SourceServer, random: &mut Rng, count: usize, pages: bool) -> Result<Vec<Content>> {
    let photographs = [(700, 500), (1300, 900), (1900, 1400), (600, 2300)].map(|(width, height)| {
        let photograph = picture::photograph(width, height, random.u32(..));
        let expected = DynamicImage::from(photograph.clone()).into_rgba8();
        Ok(Kind {
            name: "photograph.jpg",
            source: Source::file("image/jpeg", picture::jpeg(&photograph)?),
            expected: Expected::Picture(expected.into(), 30.0),
        })
    });
    let mut kinds = photographs.into_iter().collect::<Result<Vec<_>>>()?;
    let cutout = picture::cutout(800, 600, random.u32(..));
    kinds.push(Kind {
        name: "cutout.png",
        source: Source::file("image/png", picture::png(&cutout)?),
        expected: Expected::Width(cutout.width()),
    });
    let drawing =
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 8"><circle cx="9" cy="4" r="3"/></svg>"#;
    kinds.push(Kind {
        name: "drawing.svg",
        source: Source::file("image/svg+xml", drawing),
        expected: Expected::Width(DRAWING_WIDTH),
    });
    if pages {
        kinds.push(Kind {
            name: "page.html",
            source: Source::file("text/html", PAGE),
            expected: Expected::Width(PAGE_WIDTH),
        });
    }
    let mut serve = |number: usize| {
        let Kind { name, source, expected } = &kinds[number % kinds.len()];
        let time = Duration::from_millis(random.u64(50..1500));
        let url = server.serve(name, source.clone().with_ranges().over(time, 12));
        Content { url, expected: expected.clone() }
    };
    let mut contents: Vec<_> = (0..count).map(&mut serve).collect();
    random.shuffle(&mut contents);
    Ok(contents)
}

impl Content {
    /// Whether a pyramid is what it has to be: all its tiles were fetched, this looks at what they show.
    ///
    /// # Errors
    /// Says what differs.
    pub fn check(&self, pyramid: &Pyramid) -> Result<()> {
        match &self.expected {
            Expected::Picture(picture, decibels) => pyramid.equals(picture, *decibels),
            Expected::Width(width) => {
                ensure!(pyramid.descriptor.width == *width, "it is {} pixels wide", pyramid.descriptor.width);
                Ok(())
            }
        }
        .with_context(|| self.url.clone())
    }
}
