//! The bounds of a drawing. A browser draws the visible part of a page anew for each view, so what a page costs is paid
//! again and again, by people's phones. Every bound is a page that draws in about a third of a second on a laptop.

/// Maximum number of path segments. Browsers draw a million in 8 to 80 ms when zoomed in, and load them in 2 s. A plan at A0
/// with 3,000 labels has 1.5 million.
pub const MAX_SEGMENTS: usize = 1 << 21;
/// Maximum length of an SVG. Paths compress to about a sixth.
pub const MAX_BYTES: usize = 12 << 20;
/// Maximum length of the pictures in an SVG, as base64. They do not compress, and their pixels do not gain by a zoom.
pub const MAX_PICTURE_BYTES: usize = 2 << 20;
/// Maximum number of pixels of all pictures. A browser unpacks them to 64 MiB.
pub const MAX_PICTURE_PIXELS: u64 = 16 << 20;
/// Maximum number of clips and translucent groups inside each other: each is a bitmap of its own. 500 take 22 s.
pub const MAX_NESTED: usize = 8;
/// Maximum number of clips and translucent groups.
pub const MAX_GROUPS: usize = 2_000;
/// Maximum painted area in pages. 20,000 translucent fills of a page take browsers 7 to 40 s, and the check draws each of
/// 5 million pixels in 30 ms.
pub const MAX_AREA: f64 = 30.0;
/// Maximum number of dashes: a browser makes a path of each.
pub const MAX_DASHES: f64 = 100_000.0;
/// Maximum number of edges of a filled path that a row of pixels crosses, on average over the path's height, and over the page's for
/// all paths of more than a few. Chromium takes 0.3 s of processor time for a fill of 1,000 chords, and the check half a minute
/// for 90,000.
pub const MAX_EDGES: f64 = 1_000.0;
/// Number of edges that letters and the bands of a gradient do not exceed.
pub const FEW_EDGES: f64 = 16.0;
/// Number of lines that count as an edge: 10,000 take Chromium 0.07 s.
pub const LINES_OF_EDGE: f64 = 10.0;
/// Maximum number of colours of a gradient. Between two colours there are at most 256.
pub const MAX_BANDS: usize = 1 << 10;
/// Maximum number of cells of a tiling pattern.
pub const MAX_CELLS: f64 = 4096.0;
/// Maximum number of calls of the interpreter. It has no bound of its own on drawings that draw drawings.
pub const MAX_CALLS: usize = 1 << 20;
/// Maximum number of objects that may hide earlier ones. The largest count.
pub const MAX_COVERS: usize = 1 << 12;
/// Minimum width in points of a line that may hide something: below a thinner one, no letter can be read.
pub const MIN_COVER: f64 = 0.5;
/// Maximum number of pixels of pictures that are looked at because something covers them.
pub const MAX_COVERED_PIXELS: u64 = 64 << 20;
/// Maximum distance from the page's corner in units of the SVG. Browsers compute with 24 bits.
pub const MAX_COORDINATE: f64 = 268_435_456.0;
/// Maximum side of a page, in points. PDF allows 14,400.
pub const MAX_SIDE: f64 = 20_000.0;
/// Maximum number of groups inside each other in an SVG: the walk is recursive.
pub const MAX_DEPTH: usize = 100;

/// Units of the SVG per point: whole numbers of 1/200 pt take a fifth less than 1/1000, and no one sees the difference
/// at 64 pixels per point.
pub const UNITS: f64 = 200.0;
/// Units of the longer side of a small page.
pub const MIN_UNITS: f64 = 100_000.0;
/// Units of the longer side of a drawing, an icon of 24 for example. It is drawn with 8,192 pixels, and enlarged 64 times: no
/// point is more than one and a half pixels away.
pub const MIN_UNITS_OF_DRAWING: f64 = 200_000.0;
