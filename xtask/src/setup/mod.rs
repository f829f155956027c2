//! Brings to the machine what a task needs and it lacks: the compiler's WebAssembly target, system packages, Node
//! packages, PDFium, Mirador. Every check looks at the machine and is quick, so each task does its set-up first.

pub mod advisories;
mod codecs;
mod mirador;
mod node;
mod pdfium;
mod system;
mod wasm;

use std::process::Command;

use anyhow::Result;
use clap::ValueEnum;

use crate::project::Project;
use system::Tool;
pub use wasm::TARGET as WASM;

/// What a task is going to do, which is what decides about the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Purpose {
    /// Compile the workspace, and no more.
    Compile,
    /// Build and run the service.
    Run,
    /// Deploy it: what builds the Worker, and Node packages.
    Deploy,
    /// Build the tiler for other machines.
    Release,
    /// Test it, in a browser too.
    Test,
    /// Measure the whole service.
    BenchService,
    /// Measure the pyramid engine against libvips.
    BenchPyramid,
    /// Measure PDF, SVG and web pages.
    BenchSources,
}

const COMPILER: Tool = Tool { programs: &["cc"], package: "build-essential", purpose: "to compile libjpeg" };
const ASSEMBLER: Tool =
    Tool { programs: &["nasm"], package: "nasm", purpose: "to assemble libjpeg's SIMD code" };
const BROWSER: Tool = Tool {
    programs: &["/usr/lib/chromium/chromium-headless-shell", "/usr/bin/chromium"],
    package: "chromium-headless-shell",
    purpose: "for the browser tests",
};
/// Any Chromium does; where there is none, the one that is made for it.
const CAMERA: Tool = Tool {
    programs: &["/usr/lib/chromium/chromium-headless-shell", "chromium", "google-chrome"],
    package: "chromium-headless-shell",
    purpose: "for web pages",
};
/// Fonts, recognised by one file each: letters as wide as those that documents name most, the scripts of the world, emoji.
const FONTS: [Tool; 3] = [
    Tool {
        programs: &[
            "/usr/share/fonts/truetype/liberation2/LiberationSans-Regular.ttf",
            "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
        ],
        package: "fonts-liberation2",
        purpose: "for documents and web pages",
    },
    Tool {
        programs: &["/usr/share/fonts/truetype/noto/NotoSans-Regular.ttf"],
        package: "fonts-noto-core",
        purpose: "for documents and web pages",
    },
    Tool {
        programs: &["/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf"],
        package: "fonts-noto-color-emoji",
        purpose: "for web pages",
    },
];
/// Other programs' drawings to compare with, and documents and drawings that others made.
const REFERENCES: [Tool; 4] = [
    Tool { programs: &["pdftoppm"], package: "poppler-utils", purpose: "to compare PDF with" },
    Tool { programs: &["rsvg-convert"], package: "librsvg2-bin", purpose: "to compare SVG with" },
    Tool {
        programs: &["/usr/share/doc/shared-mime-info/shared-mime-info-spec.pdf"],
        package: "shared-mime-info",
        purpose: "for a PDF that others made",
    },
    Tool {
        programs: &["/usr/share/iso-flags-svg/country-4x3/rs.svg"],
        package: "iso-flags-svg",
        purpose: "for SVGs that others made",
    },
];
const PROMETHEUS: Tool = Tool {
    programs: &["prometheus"],
    package: "prometheus",
    purpose: "to ask what dashboard and alerts ask",
};
const VIPS: Tool = Tool { programs: &["vips"], package: "libvips-tools", purpose: "to compare speed with" };
/// What `bench pyramid -- --kinds` makes its pictures with and of.
const KINDS: [Tool; 4] = [
    Tool { programs: &["heif-enc"], package: "libheif-examples", purpose: "to make HEICs" },
    Tool {
        programs: &["cjpeg"],
        package: "libjpeg-turbo-progs",
        purpose: "to make JPEGs of other subsampling",
    },
    Tool { programs: &["exiftool"], package: "libimage-exiftool-perl", purpose: "to turn pictures" },
    Tool {
        programs: &["/usr/share/backgrounds/mate/nature/Garden.jpg"],
        package: "mate-backgrounds",
        purpose: "for a photograph",
    },
];

/// The command that installs what is missing for `purpose`, for a step whose output is kept together.
pub fn command(purpose: Purpose) -> Result<Command> {
    let mut setup = Command::new(std::env::current_exe()?);
    setup
        .args(["setup", "--for"])
        .arg(purpose.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned()));
    Ok(setup)
}

/// Installs what is missing for `purpose`, and says what it installs.
pub fn prepare(project: &Project, purpose: Purpose) -> Result<()> {
    let _lock = project.lock()?;
    match purpose {
        Purpose::Compile => {
            system::require(&[COMPILER, ASSEMBLER])?;
            return wasm::require();
        }
        Purpose::Run => {
            system::require(&[COMPILER, ASSEMBLER])?;
            // Without these all else works: web pages and PDF fail and say why.
            system::wish(&[&[CAMERA], FONTS.as_slice()].concat());
            if let Err(error) = pdfium::require(project) {
                eprintln!("xtask | going on without PDF: {error:#}");
            }
        }
        Purpose::BenchService | Purpose::Deploy => system::require(&[COMPILER, ASSEMBLER])?,
        Purpose::Test => {
            let tools =
                [&[COMPILER, ASSEMBLER, BROWSER, PROMETHEUS], FONTS.as_slice(), &REFERENCES, codecs::CODECS]
                    .concat();
            system::require(&tools)?;
            pdfium::require(project)?;
        }
        Purpose::Release => {
            system::require(&[COMPILER, ASSEMBLER])?;
            return pdfium::require(project);
        }
        Purpose::BenchPyramid => {
            return system::require(&[&[COMPILER, ASSEMBLER, VIPS], KINDS.as_slice()].concat());
        }
        Purpose::BenchSources => {
            system::require(&[&[COMPILER, ASSEMBLER, CAMERA], FONTS.as_slice()].concat())?;
            return pdfium::require(project);
        }
    }
    wasm::require()?;
    node::require(project)?;
    if purpose == Purpose::Test { mirador::require(project) } else { Ok(()) }
}
