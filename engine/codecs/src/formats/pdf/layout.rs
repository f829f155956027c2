//! The layout of a document's pages. A single page fills the picture. Several pages form a grid, as close to a square
//! as possible, at the same scale and with gaps around them.

use edgezoom_geometry::Size;

use crate::{Bounds, DrawingOptions};

/// The gap between pages, as a fraction of the widest page.
const GAP: f64 = 0.02;
/// Resolution at which text can be read. A document of many pages gets more pixels than others for it.
const LEGIBLE_DPI: f64 = 130.0;
/// Number by which its pixels may exceed the bound.
const MORE_PIXELS: u64 = 4;
/// Minimum resolution of pages with half their resolution: other viewers, which see no vectors, show headings and lines with it.
const LEAST_DPI: f64 = 100.0;
/// PDF measures in points of 1/72 inch (ISO 32000-1, 8.3.2.3).
const POINTS_PER_INCH: f64 = 72.0;

/// A page of the document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paper {
    /// In points.
    pub width: f64,
    /// In points.
    pub height: f64,
    /// The size in pixels of the scanned picture of which the page consists.
    pub native: Option<Size>,
    /// The pixels per point of the finest pictures on it, or 0.
    pub finest: f64,
    /// True if it has no pictures, and greys or one colour alone.
    pub has_few_colours: bool,
}

/// A page's rectangle in the picture, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    pub left: u32,
    pub top: u32,
    pub size: Size,
}

/// The picture with all pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub size: Size,
    /// The area of each page, in page order.
    pub areas: Vec<Area>,
    /// True if each page has half the pixels per inch that it could have.
    pub halved: bool,
}

/// Returns the maximum number of pixels of a document with these pages.
pub fn pixels_of(papers: &[Paper], bounds: Bounds) -> u64 {
    let scale = LEGIBLE_DPI / POINTS_PER_INCH;
    let pages: f64 = papers.iter().map(|paper| paper.width * paper.height * scale * scale).sum();
    // The gaps take a twentieth, and the last row of the grid may have only one page.
    let legible = (pages * (1.0 + 3.0 * GAP + 1.0 / (papers.len() as f64).sqrt())) as u64;
    legible.clamp(bounds.pixels, bounds.pixels.saturating_mul(MORE_PIXELS))
}

/// Arranges pages within the bounds, with half their resolution if that is asked for and vectors can show the rest: no page has
/// pictures with more pixels, and each keeps [`LEAST_DPI`].
pub fn lay_out(papers: &[Paper], options: &DrawingOptions, bounds: Bounds) -> Layout {
    let greatest = |of: fn(&Paper) -> f64| papers.iter().map(of).fold(1.0, f64::max);
    let wanted = (f64::from(options.dpi) / POINTS_PER_INCH)
        .max(f64::from(options.page_width) / greatest(|paper| paper.width));
    // A scan has pixels of its own, so the scale does not apply to it.
    let largest = greatest(|paper| paper.native.map_or(paper.width * paper.height, |_| 0.0));
    let scale = wanted.min((bounds.page_pixels as f64 / largest).sqrt());
    let pages: Vec<(f64, f64)> = papers
        .iter()
        .map(|paper| match paper.native {
            Some(size) => {
                let smaller = (bounds.scan_pixels as f64 / size.pixels() as f64).sqrt().min(1.0);
                (f64::from(size.width) * smaller, f64::from(size.height) * smaller)
            }
            None => {
                let most = (bounds.page_pixels as f64 / (paper.width * paper.height)).sqrt();
                let scale = scale.max(paper.finest.min(most));
                (paper.width * scale, paper.height * scale)
            }
        })
        .collect();
    let columns = squarest(&pages);
    let mut shrunk = 1.0;
    loop {
        let layout = grid(&pages, columns, shrunk);
        let longest = layout.size.width.max(layout.size.height);
        let too_long = f64::from(longest) / f64::from(bounds.side.max(1));
        let too_many = (layout.size.pixels() as f64 / bounds.pixels.max(1) as f64).sqrt();
        let excess = too_long.max(too_many);
        // A picture of a few pixels cannot shrink further. If it is still too large, the caller refuses it.
        if excess <= 1.0 || longest <= 64 {
            let half = shrunk / 2.0;
            let may_be_halved = |(paper, page): (&Paper, &(f64, f64))| {
                let scale = page.0 * half / paper.width;
                paper.native.is_none() && scale >= LEAST_DPI / POINTS_PER_INCH && scale >= paper.finest
            };
            let halved = options.vectors && options.halved && papers.iter().zip(&pages).all(may_be_halved);
            return if halved { Layout { halved, ..grid(&pages, columns, half) } } else { layout };
        }
        // A little more than needed, because sizes are rounded up.
        shrunk /= excess * 1.000_1;
    }
}

/// Returns the number of columns whose grid is closest to a square.
fn squarest(pages: &[(f64, f64)]) -> usize {
    let oblong = |columns: usize| {
        let size = grid(pages, columns, 1.0).size;
        (f64::from(size.width) / f64::from(size.height)).ln().abs()
    };
    (1..=pages.len()).min_by(|&one, &other| oblong(one).total_cmp(&oblong(other))).unwrap_or(1)
}

/// Arranges pages in a grid, each centred in its cell.
fn grid(pages: &[(f64, f64)], columns: usize, scale: f64) -> Layout {
    let pixels = |length: f64| (length * scale).round().clamp(1.0, f64::from(u32::MAX)) as u32;
    let sizes: Vec<Size> =
        pages.iter().map(|&(width, height)| Size { width: pixels(width), height: pixels(height) }).collect();
    let widest = sizes.iter().map(|size| size.width).max().unwrap_or(1);
    let gap = if pages.len() == 1 { 0 } else { (f64::from(widest) * GAP).ceil() as u32 };
    let column = |column: usize| sizes.iter().skip(column).step_by(columns);
    let widths = (0..columns).map(|index| column(index).map(|size| size.width).max().unwrap_or(0));
    let heights = sizes.chunks(columns).map(|row| row.iter().map(|size| size.height).max().unwrap_or(0));
    let (columns_at, width) = line_up(widths, gap);
    let (rows_at, height) = line_up(heights, gap);
    let areas = sizes.iter().enumerate().map(|(index, &size)| {
        let ((left, width), (top, height)) = (columns_at[index % columns], rows_at[index / columns]);
        Area { left: left + (width - size.width) / 2, top: top + (height - size.height) / 2, size }
    });
    Layout { areas: areas.collect(), size: Size { width, height }, halved: false }
}

/// Returns the start and the length of each cell, with gaps between and around them, and the end of the last gap.
fn line_up(lengths: impl Iterator<Item = u32>, gap: u32) -> (Vec<(u32, u32)>, u32) {
    let mut end = gap;
    let cells = lengths
        .map(|length| {
            let start = end;
            end = start.saturating_add(length).saturating_add(gap);
            (start, length)
        })
        .collect();
    (cells, end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A4: Paper = Paper { width: 595.0, height: 842.0, native: None, finest: 0.0, has_few_colours: true };

    fn layout(papers: &[Paper]) -> Layout {
        lay_out(papers, &DrawingOptions::default(), Bounds::default())
    }

    #[test]
    fn a_single_page_has_the_wanted_width_and_no_border() {
        let alone = layout(&[A4]);
        assert_eq!(alone.size, Size { width: 4000, height: 5661 });
        assert_eq!(alone.areas, [Area { left: 0, top: 0, size: alone.size }]);
    }

    #[test]
    fn a_poster_is_drawn_at_the_wanted_resolution() {
        let poster = Paper { width: 72.0 * 36.0, height: 72.0 * 48.0, ..A4 };
        assert_eq!(layout(&[poster]).size, Size { width: 7200, height: 9600 });
    }

    #[test]
    fn a_page_of_extreme_size_is_drawn_smaller() {
        for (width, height) in [(2e9, 2e9), (14.4e6, 14.4e6), (100.0, 1e9), (14_400.0, 14_400.0)] {
            let size = layout(&[Paper { width, height, ..A4 }]).size;
            let pixels = Bounds::default().page_pixels as f64;
            assert!(size.pixels() as f64 <= pixels * 1.001, "{size:?}");
            assert!(size.pixels() as f64 >= pixels * 0.5 || size.height > 990_000, "{size:?}");
        }
    }

    #[test]
    fn many_pages_share_the_documents_limit_of_pixels() {
        let many = layout(&[A4; 100]).size;
        let bounds = Bounds::default().of_drawings();
        assert!(many.pixels() > bounds.drawn_pixels, "without the bounds of drawings it is larger");
        let many = lay_out(&[A4; 100], &DrawingOptions::default(), bounds).size;
        assert!((0.95..=1.0).contains(&(many.pixels() as f64 / bounds.drawn_pixels as f64)), "{many:?}");
    }

    #[test]
    fn a_thousand_pages_can_be_read() {
        let bounds = Bounds::default().of_drawings();
        let papers = [A4; 1000];
        let pixels = pixels_of(&papers, bounds);
        assert!(pixels < 2 * bounds.pixels, "{pixels}");
        let many = lay_out(&papers, &DrawingOptions::default(), Bounds { pixels, ..bounds });
        let dpi = f64::from(many.areas[0].size.width) * POINTS_PER_INCH / A4.width;
        assert!(dpi >= LEGIBLE_DPI, "{dpi}");
        assert_eq!(pixels_of(&[A4; 100], bounds), bounds.pixels);
        let huge = Paper { width: 14_400.0, height: 14_400.0, ..A4 };
        assert_eq!(pixels_of(&[huge; 1000], bounds), MORE_PIXELS * bounds.pixels);
    }

    #[test]
    fn a_scan_keeps_its_pixels() {
        let native = Size { width: 2550, height: 3301 };
        assert_eq!(layout(&[Paper { native: Some(native), ..A4 }]).size, native);
    }

    #[test]
    fn a_scan_that_is_too_large_is_drawn_smaller() {
        let native = Some(Size { width: 65_000, height: 65_000 });
        let size = layout(&[Paper { native, ..A4 }]).size;
        assert_eq!(size, Size { width: 14_142, height: 14_142 });
    }

    #[test]
    fn a_page_is_as_fine_as_the_pictures_on_it_within_the_limit() {
        assert_eq!(layout(&[Paper { finest: 10.0, ..A4 }]).size, Size { width: 5950, height: 8420 });
        assert_eq!(layout(&[Paper { finest: 1.0, ..A4 }]).size.width, 4000);
        let pixels = layout(&[Paper { finest: 1e9, ..A4 }]).size.pixels();
        assert!((199_000_000..201_000_000).contains(&pixels), "{pixels}");
    }

    #[test]
    fn pages_are_halved_if_that_keeps_their_pictures_and_a_hundred_dots_per_inch() {
        let halved = |papers: &[Paper], bounds| {
            let options = DrawingOptions { vectors: true, halved: true, ..DrawingOptions::default() };
            let (whole, layout) =
                (lay_out(papers, &DrawingOptions::default(), bounds), lay_out(papers, &options, bounds));
            assert!(layout.halved || layout == whole);
            let sides = [whole.areas[0].size.width, layout.areas[0].size.width];
            assert_eq!(layout.halved, (sides[0] / 2).abs_diff(sides[1]) <= 1, "{sides:?}");
            layout.halved
        };
        let bounds = Bounds::default();
        let poster = Paper { width: 2384.0, height: 3370.0, ..A4 };
        for papers in [&[A4][..], &[A4; 12], &[poster], &[Paper { finest: 3.3, ..A4 }], &[A4, poster]] {
            assert!(halved(papers, bounds), "{papers:?}");
        }
        let scan = Paper { native: Some(Size { width: 4960, height: 7016 }), ..A4 };
        let huge = Paper { width: 14_400.0, height: 14_400.0, ..A4 };
        for papers in [&[scan][..], &[A4, scan], &[Paper { finest: 3.4, ..A4 }], &[huge]] {
            assert!(!halved(papers, bounds), "{papers:?}");
        }
        let few = Bounds { pixels: 3_000_000, ..bounds };
        assert!(!halved(&[A4], few), "its letters could not be read");
        let asked = DrawingOptions { halved: true, ..DrawingOptions::default() };
        assert!(!lay_out(&[A4], &asked, bounds).halved, "it gets no vectors");
    }

    #[test]
    fn pages_make_a_grid_that_is_nearly_square() {
        let many = layout(&[A4; 12]);
        // Four columns of three rows: 4 × 4000 and 3 × 5661, plus gaps.
        assert_eq!(many.size, Size { width: 16_000 + 5 * 80, height: 3 * 5661 + 4 * 80 });
        assert_eq!(many.areas[0], Area { left: 80, top: 80, size: Size { width: 4000, height: 5661 } });
        assert_eq!((many.areas[5].left, many.areas[5].top), (80 + 4080, 80 + 5661 + 80));
    }

    #[test]
    fn a_smaller_page_keeps_its_shape_and_is_centred() {
        let half = Paper { width: A4.width / 2.0, ..A4 };
        let both = layout(&[A4, half]);
        assert_eq!(both.areas[1].size.width, 2000);
        assert_eq!(both.size.width, 4000 + 2000 + 3 * 80);
    }

    proptest! {
        #[test]
        fn pages_are_inside_the_picture_and_do_not_overlap(
            pages in prop::collection::vec((1.0_f64..5000.0, 1.0_f64..5000.0), 1..20),
            pixels in 1_000_000_u64..10_000_000_000, side in 5_000_u32..1_000_000,
        ) {
            let papers: Vec<_> =
                pages.iter().map(|&(width, height)| Paper { width, height, ..A4 }).collect();
            let layout = lay_out(&papers, &DrawingOptions::default(), Bounds { pixels, side, ..Bounds::default() });
            prop_assert!(layout.size.pixels() <= pixels);
            prop_assert!(layout.size.width.max(layout.size.height) <= side);
            for (index, one) in layout.areas.iter().enumerate() {
                prop_assert!(one.left + one.size.width <= layout.size.width);
                prop_assert!(one.top + one.size.height <= layout.size.height);
                for other in &layout.areas[..index] {
                    let beside = one.left >= other.left + other.size.width || other.left >= one.left + one.size.width;
                    let below = one.top >= other.top + other.size.height || other.top >= one.top + one.size.height;
                    prop_assert!(beside || below, "{one:?} {other:?}");
                }
            }
        }
    }
}
