//! How large documents are drawn, which have no pixels of their own, as flags and environment variables. What they mean
//! stands at [`RenderOptions`].

use clap::value_parser;
use edgezoom_tiler::renderer::RenderOptions;

/// The sizes of PDF and SVG.
#[derive(clap::Args)]
#[command(next_help_heading = "Documents")]
#[group(id = "drawing")]
pub struct Args {
    /// The dots per inch of a PDF's pages
    #[arg(long, env = "EDGEZOOM_PDF_DPI", default_value_t = RenderOptions::default().dpi, value_parser = value_parser!(u32).range(1..=10_000))]
    pdf_dpi: u32,
    /// The pixels that the widest page of a PDF has at least
    #[arg(long, env = "EDGEZOOM_PDF_WIDTH", default_value_t = RenderOptions::default().page_width)]
    pdf_width: u32,
    /// The pixels that the longer side of an SVG has at least
    #[arg(long, env = "EDGEZOOM_SVG_SIDE", default_value_t = RenderOptions::default().svg_side)]
    svg_side: u32,
}

impl Args {
    /// The options with these sizes.
    pub fn set(&self, options: RenderOptions) -> RenderOptions {
        RenderOptions { dpi: self.pdf_dpi, page_width: self.pdf_width, svg_side: self.svg_side, ..options }
    }
}
