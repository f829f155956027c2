//! [`DrawingOptions`] as flags and environment variables: the sizes of documents and SVG, which have no pixels of their own.

use std::num::NonZeroU32;

use clap::value_parser;
use edgezoom_codecs::DrawingOptions;

/// The sizes of PDF and SVG.
#[derive(clap::Args)]
#[command(next_help_heading = "Documents")]
#[group(id = "drawing")]
pub struct Args {
    /// The resolution of a PDF's pages, in dots per inch
    #[arg(long, env = "EDGEZOOM_PDF_DPI", default_value_t = DrawingOptions::default().dpi, value_parser = value_parser!(u32).range(1..=10_000))]
    pdf_dpi: u32,
    /// The least width of a PDF's widest page, in pixels
    #[arg(long, env = "EDGEZOOM_PDF_WIDTH", default_value_t = DrawingOptions::default().page_width)]
    pdf_width: u32,
    /// The least length of an SVG's longer side, in pixels
    #[arg(long, env = "EDGEZOOM_SVG_SIDE", default_value_t = DrawingOptions::default().svg_side)]
    svg_side: u32,
}

impl Args {
    /// The options for a page of a document, or for all pages.
    pub fn options(&self, page: Option<NonZeroU32>) -> DrawingOptions {
        DrawingOptions { page, dpi: self.pdf_dpi, page_width: self.pdf_width, svg_side: self.svg_side }
    }
}
