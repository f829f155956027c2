//! Integration tests of the tiler, in one binary, because every further binary links the tiler again. Tests that
//! measure or confine their own process have binaries of their own; tests that need a browser are in `sources`.

mod admin;
mod arriving;
mod collection;
mod convert;
mod doctor;
mod dzsave;
mod fetch;
mod fuzz;
mod own_addresses;
mod packaging;
mod packed;
mod private_root;
mod renderer;
mod s3_endpoint;
mod seal;
mod secrets;
mod serve;
mod site;
mod stitched;
mod svg;
mod upload;

use edgezoom_content::Failure;
use edgezoom_tiler::failure::of_attempt;
use edgezoom_tiler::renderer::RenderError;

/// Returns the failure that clients see after an error of the renderer.
fn failure(error: RenderError) -> Failure {
    of_attempt(&error.into()).0
}
