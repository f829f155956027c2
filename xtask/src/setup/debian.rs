//! Debian packages that tasks need. They are installed on Debian and its derivatives if that works without a password;
//! on other systems the error says what to install.

use std::os::unix::fs::MetadataExt;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command;

/// A program or file, and the package that contains it.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// Alternatives: names in `PATH`, or absolute paths.
    programs: &'static [&'static str],
    /// Name of the Debian package, or a pattern that apt understands.
    package: &'static str,
    /// Completes the sentence "it is needed …".
    purpose: &'static str,
}

const fn tool(programs: &'static [&'static str], package: &'static str, purpose: &'static str) -> Tool {
    Tool { programs, package, purpose }
}

/// Tools to compile the workspace.
pub const COMPILING: &[Tool] = &[
    tool(&["cc"], "build-essential", "to compile libjpeg"),
    tool(&["nasm"], "nasm", "to assemble libjpeg's SIMD code"),
];
/// Tools to compile for ARM64 on another machine.
pub const ARM64: &[Tool] = &[
    tool(&["aarch64-linux-gnu-gcc"], "gcc-aarch64-linux-gnu", "to compile for ARM64"),
    tool(&["/usr/aarch64-linux-gnu/lib/libc.so"], "libc6-dev-arm64-cross", "to compile for ARM64"),
];
/// The emulator of ARM64 processes.
pub const EMULATOR: &[Tool] = &[tool(&["qemu-aarch64"], "qemu-user", "to run ARM64 programs")];
/// Tools to install npm packages.
pub const NPM: &[Tool] =
    &[tool(&["node"], "nodejs", "to run npm"), tool(&["npm"], "npm", "to install npm packages")];
/// Tools to download Python packages.
pub const PYTHON: &[Tool] = &[
    tool(&["python3"], "python3", "to download Python packages"),
    tool(&["pip3", "pip"], "python3-pip", "to download Python packages"),
];

const HEADLESS_SHELL: &str = "/usr/lib/chromium/chromium-headless-shell";
/// A browser for screenshots of web pages: any Chromium, or else the build made for screenshots.
pub const WEB_PAGES: &[Tool] =
    &[tool(&[HEADLESS_SHELL, "chromium", "google-chrome"], "chromium-headless-shell", "for web pages")];
/// Fonts: replacements as wide as those that documents name most, the scripts of the world, emoji. Chinese, Japanese and
/// Korean are those of the smallest package that has all three.
pub const FONTS: &[Tool] = &[
    tool(
        &[
            "/usr/share/fonts/truetype/liberation2/LiberationSans-Regular.ttf",
            "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
        ],
        "fonts-liberation2",
        "for documents and web pages",
    ),
    tool(
        &["/usr/share/fonts/truetype/noto/NotoSans-Regular.ttf"],
        "fonts-noto-core",
        "for documents and web pages",
    ),
    tool(&["/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf"], "fonts-noto-color-emoji", "for web pages"),
    tool(
        &[
            "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
            "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
        ],
        "fonts-wqy-microhei",
        "for documents and web pages in Chinese, Japanese and Korean",
    ),
];

const FORMATS: &str = "for the tests of formats and colours";
const IIIF: &str = "for IIIF's validator";
/// Tools for the tests: a browser, Prometheus, other renderers to compare with and documents that others made, and
/// other projects' encoders and decoders.
pub const TESTING: &[Tool] = &[
    tool(&[HEADLESS_SHELL, "/usr/bin/chromium"], "chromium-headless-shell", "for the browser tests"),
    tool(&["firefox-esr"], "firefox-esr", "for the browser tests"),
    // It brings WebKit's MiniBrowser, which has no headless mode.
    tool(&["WebKitWebDriver"], "webkit2gtk-driver", "for the browser tests"),
    tool(&["Xvfb"], "xvfb", "for the browser tests"),
    tool(&["prometheus"], "prometheus", "to test dashboard and alerts"),
    tool(&["pdftoppm"], "poppler-utils", "to compare PDF with"),
    tool(&["rsvg-convert"], "librsvg2-bin", "to compare SVG with"),
    tool(
        &["/usr/share/doc/shared-mime-info/shared-mime-info-spec.pdf"],
        "shared-mime-info",
        "as a real-world PDF",
    ),
    tool(&["/usr/share/iso-flags-svg/country-4x3/rs.svg"], "iso-flags-svg", "as real-world SVGs"),
    tool(&["identify"], "imagemagick", FORMATS),
    tool(&["cjxl"], "libjxl-tools", FORMATS),
    tool(&["avifenc"], "libavif-bin", FORMATS),
    tool(&["heif-enc"], "libheif-examples", FORMATS),
    tool(&["opj_compress"], "libopenjp2-tools", FORMATS),
    tool(&["img2webp"], "webp", FORMATS),
    tool(&["cjpeg"], "libjpeg-turbo-progs", FORMATS),
    tool(&["tiffcp"], "libtiff-tools", FORMATS),
    tool(&["pamtoqoi"], "netpbm", FORMATS),
    tool(&["png2ff"], "farbfeld", FORMATS),
    tool(&["exrmaketiled"], "openexr", FORMATS),
    tool(&["exiftool"], "libimage-exiftool-perl", FORMATS),
    tool(&["vips"], "libvips-tools", FORMATS),
    tool(&["openslide-write-png"], "openslide-tools", FORMATS),
    tool(&["png2icns"], "icnsutils", FORMATS),
    tool(&["dcmcjpls"], "dcmtk", FORMATS),
    // Python scripts make the files that no program writes.
    tool(&["/usr/lib/python3/dist-packages/PIL/Image.py"], "python3-pil", FORMATS),
    tool(&["/usr/lib/python3/dist-packages/numpy/__init__.py"], "python3-numpy", FORMATS),
    tool(
        &["/usr/lib/python3/dist-packages/pytest/__init__.py"],
        "python3-pytest",
        "for the tests of the Python package",
    ),
    tool(&["/usr/lib/python3/dist-packages/astropy/__init__.py"], "python3-astropy", FORMATS),
    tool(&["/usr/lib/python3/dist-packages/pydicom/__init__.py"], "python3-pydicom", FORMATS),
    tool(&["/usr/lib/python3/dist-packages/pip/__init__.py"], "python3-pip", IIIF),
    tool(&["/usr/lib/python3/dist-packages/setuptools/__init__.py"], "python3-setuptools", IIIF),
    tool(&["/usr/lib/python3/dist-packages/bottle.py"], "python3-bottle", IIIF),
    tool(&["/usr/lib/python3/dist-packages/lxml/__init__.py"], "python3-lxml", IIIF),
    tool(&["/usr/lib/python3/dist-packages/magic/__init__.py"], "python3-magic", IIIF),
    tool(&["/usr/share/color/icc/LStar-RGB.icc"], "icc-profiles-free", FORMATS),
    // ImageMagick's OpenEXR support is a package of its own, with versions in its name. The paths are Debian 12's and
    // 13's.
    tool(
        &[
            "/usr/lib/x86_64-linux-gnu/ImageMagick-6.9.11/modules-Q16/coders/exr.so",
            "/usr/lib/aarch64-linux-gnu/ImageMagick-6.9.11/modules-Q16/coders/exr.so",
            "/usr/lib/x86_64-linux-gnu/ImageMagick-7.1.1/modules-Q16/coders/exr.so",
            "/usr/lib/aarch64-linux-gnu/ImageMagick-7.1.1/modules-Q16/coders/exr.so",
        ],
        "^libmagickcore-[0-9]+[.]q16-[0-9]+-extra$",
        FORMATS,
    ),
];

/// Tools for the pyramid benchmark; `--kinds` makes its pictures with all but the first.
pub const PYRAMID_BENCHMARK: &[Tool] = &[
    tool(&["vips"], "libvips-tools", "to compare speed with"),
    tool(&["heif-enc"], "libheif-examples", "to make HEICs"),
    tool(&["cjpeg"], "libjpeg-turbo-progs", "to make JPEGs with other chroma subsampling"),
    tool(&["exiftool"], "libimage-exiftool-perl", "to set orientations"),
    tool(&["/usr/share/backgrounds/mate/nature/Garden.jpg"], "mate-backgrounds", "as a photograph"),
];

/// Prints the version of each installed browser that the tests drive: a new one may be why a test fails.
pub fn print_browsers() {
    let mut query = Command::new("dpkg-query");
    query.args(["--show", "--showformat=xtask | browser: ${Package} ${Version}\\n"]);
    let browsers =
        query.args(["chromium", "chromium-headless-shell", "firefox-esr", "webkit2gtk-driver"]).output();
    eprint!("{}", String::from_utf8_lossy(&browsers.map(|output| output.stdout).unwrap_or_default()));
}

/// Installs the tools that are missing.
pub fn require(lists: &[&[Tool]]) -> Result<()> {
    let tools = lists.concat();
    let missing: Vec<&Tool> = tools.iter().filter(|tool| !tool.is_installed()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for tool in &missing {
        eprintln!("xtask | {} is missing; it is needed {}", tool.package, tool.purpose);
    }
    let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    let names = packages.join(" ");
    let Some(apt) = apt_get() else {
        bail!(
            "install these packages with your system's package manager, then try again (the names are Debian's): {names}"
        );
    };
    eprintln!("xtask | installing {names}");
    let install =
        || command::run(apt().args(["install", "--yes", "--no-install-recommends"]).args(&packages));
    if install().is_err() {
        eprintln!("xtask | updating the package lists, then trying again");
        command::run(apt().arg("update"))?;
        install().with_context(|| format!("cannot install {names}"))?;
    }
    match missing.iter().find(|tool| !tool.is_installed()) {
        Some(tool) => bail!("{} is installed, but none of {:?} exists", tool.package, tool.programs),
        None => Ok(()),
    }
}

impl Tool {
    fn is_installed(&self) -> bool {
        self.programs.iter().any(|program| command::on_path(program))
    }
}

/// Returns a function that makes `apt-get` commands, or `None` where they do not exist or would ask for a password.
fn apt_get() -> Option<impl Fn() -> Command> {
    if !command::on_path("apt-get") {
        return None;
    }
    let root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !root && !command::succeeds(Command::new("sudo").args(["--non-interactive", "true"])) {
        return None;
    }
    Some(move || {
        let mut apt = Command::new(if root { "env" } else { "sudo" });
        apt.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"]);
        apt
    })
}
