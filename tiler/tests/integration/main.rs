//! The program and its parts from outside. One program of tests: each one more would link the tiler once more. What measures
//! a process, or locks one in, has a program of its own beside this folder; what needs a browser is in `sources`.

mod admin;
mod archive_upload;
mod arriving;
mod convert;
mod doctor;
mod fetch;
mod fuzz;
mod private_root;
mod raster;
mod renderer;
mod s3_endpoint;
mod serve;
mod svg;
mod upload;

use edgezoom_content::Failure;
use edgezoom_tiler::failure::of_attempt;
use edgezoom_tiler::renderer::RenderError;
use raster::variant; // what the rooms of `raster` call `crate::variant`

/// Returns the failure that clients see after an error of the renderer.
fn failure(error: RenderError) -> Failure {
    of_attempt(&error.into()).0
}
