//! Sources that are drawn (PDF, SVG and web pages) and damaged files, beside what other programs make of them. Needs PDFium, Chromium and those
//! programs, which `cargo xtask test` brings; plain `cargo test` leaves this out.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod chromium;
mod damaged;
mod documents;
mod page;

use page::{processes, screenshot, site}; // the modules of `page` use them as `crate::processes` and so on

use edgezoom_content::Failure;
use edgezoom_tiler::failure::of_attempt;
use edgezoom_tiler::pipeline::PipelineError;

/// Returns the failure that clients see after an error.
fn failure(error: impl Into<PipelineError>) -> Failure {
    of_attempt(&error.into()).0
}
