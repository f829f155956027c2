//! Rendered sources (PDF, SVG and web pages) and damaged files, compared with other programs. Needs PDFium, Chromium
//! and those programs, so plain `cargo test` leaves it out. `cargo xtask test` installs them and runs it.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod chromium;
mod damaged;
mod documents;
mod drawings;
mod hidden;
mod judge;
mod page;
mod scripts;
mod text;
mod vectors;

use page::{processes, screenshot, site}; // the modules of `page` import them from the crate root

use edgezoom_content::Failure;
use edgezoom_tiler::failure::of_attempt;
use edgezoom_tiler::pipeline::PipelineError;

/// Returns the failure that clients see for an error.
fn failure(error: impl Into<PipelineError>) -> Failure {
    of_attempt(&error.into()).0
}
