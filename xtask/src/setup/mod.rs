//! Brings to the machine what a task needs and it lacks: the compiler's WebAssembly target, system packages, Node
//! packages. Every look is a real one and quick, so each task does its set-up first and nobody has to think of it.

mod codecs;
mod node;
mod system;
mod wasm;

use anyhow::Result;

use crate::project::Project;
use system::Tool;
pub use wasm::TARGET as WASM;

/// What a task is going to do, which is what decides about the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Build and run the service.
    Run,
    /// Test it, in a browser too.
    Test,
    /// Measure the whole service.
    BenchService,
    /// Measure the pyramid engine against libvips.
    BenchPyramid,
}

const COMPILER: Tool = Tool { programs: &["cc"], package: "build-essential", purpose: "to compile libjpeg" };
const ASSEMBLER: Tool =
    Tool { programs: &["nasm"], package: "nasm", purpose: "to assemble libjpeg's SIMD code" };
const BROWSER: Tool = Tool {
    programs: &["chromium", "/usr/lib/chromium/chromium-headless-shell"],
    package: "chromium",
    purpose: "for the browser tests",
};
const VIPS: Tool = Tool { programs: &["vips"], package: "libvips-tools", purpose: "to compare speed with" };

/// Installs what is missing for `purpose`, and says what it installs.
pub fn prepare(project: &Project, purpose: Purpose) -> Result<()> {
    let _lock = project.lock()?;
    match purpose {
        Purpose::Run | Purpose::BenchService => system::require(&[COMPILER, ASSEMBLER])?,
        Purpose::Test => {
            system::require(&[&[COMPILER, ASSEMBLER, BROWSER], codecs::CODECS].concat())?;
        }
        Purpose::BenchPyramid => return system::require(&[COMPILER, ASSEMBLER, VIPS]),
    }
    wasm::require()?;
    node::require(project)
}
