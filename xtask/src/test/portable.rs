//! Checks that the engine compiles for macOS and Windows, with the formats that need no large dependencies: the others
//! have no code of their own for a system. Its C is not compiled, and nothing is linked or run.

use anyhow::Result;

use crate::project::Project;
use crate::setup;
use crate::steps::{Tally, Transcript};

const TARGETS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-pc-windows-gnu"];

/// Runs `cargo check` for each system.
pub fn check(project: &Project, out: &Transcript<'_>) -> Result<Tally> {
    let mut tally = Tally::default();
    for target in TARGETS {
        setup::rust_target(target)?;
        let mut cargo = project.cargo_beside_tests();
        cargo.args([
            "check",
            "--locked",
            "--package",
            "edgezoom-pyramid",
            "--no-default-features",
            "--target",
            target,
        ]);
        let empty = project.root.join("xtask/empty.sh");
        for tool in ["CC", "CXX", "AR"] {
            cargo.env(format!("{tool}_{}", target.replace('-', "_")), &empty);
        }
        // Otherwise a libjpeg without vectors is an error, and this one is empty.
        tally += out.check(cargo.env("DOCS_RS", "1"))?;
    }
    Ok(tally)
}
