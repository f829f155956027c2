//! The contents that are converted, and their expected pyramids.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use image::{DynamicImage, RgbaImage};

use crate::pyramid::Pyramid;
use crate::{Source, SourceServer, picture};

/// A content to convert.
pub struct Content {
    /// URL on the source server.
    pub url: String,
    expected: Expected,
}

/// The expected pyramid.
#[derive(Clone)]
enum Expected {
    /// This picture, with at least this PSNR in decibels.
    Picture(std::sync::Arc<RgbaImage>, f64),
    /// A complete pyramid of this width.
    Width(u32),
}

/// A source that is encoded once and served at many URLs.
struct Kind {
    name: &'static str,
    source: Source,
    expected: Expected,
}

/// Width of a web page, and longer side of a drawing, in pixels.
const PAGE_WIDTH: u32 = 2560;
const DRAWING_WIDTH: u32 = 8192;

const PAGE: &str = "<!doctype html><title>Chaos</title><style>body{margin:0;background:#f0f} p{height:3000px}</style>\
    <p>Nothing transient fails a content.";

/// Serves `count` contents. Each source takes a moment to send, so that faults hit downloads.
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
    /// Compares a fetched pyramid with the expected one.
    ///
    /// # Errors
    /// They differ.
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
