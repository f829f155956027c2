//! Other people's encoders and decoders: the tests of formats and colours make their files with these, and compare with
//! what these show.

use super::system::Tool;

const PURPOSE: &str = "for the tests of formats and colours";

/// All of them.
pub const CODECS: &[Tool] = &[
    Tool { programs: &["identify"], package: "imagemagick", purpose: PURPOSE },
    Tool { programs: &["cjxl"], package: "libjxl-tools", purpose: PURPOSE },
    Tool { programs: &["avifenc"], package: "libavif-bin", purpose: PURPOSE },
    Tool { programs: &["heif-enc"], package: "libheif-examples", purpose: PURPOSE },
    Tool { programs: &["opj_compress"], package: "libopenjp2-tools", purpose: PURPOSE },
    Tool { programs: &["img2webp"], package: "webp", purpose: PURPOSE },
    Tool { programs: &["cjpeg"], package: "libjpeg-turbo-progs", purpose: PURPOSE },
    Tool { programs: &["tiffcp"], package: "libtiff-tools", purpose: PURPOSE },
    Tool { programs: &["pamtoqoi"], package: "netpbm", purpose: PURPOSE },
    Tool { programs: &["png2ff"], package: "farbfeld", purpose: PURPOSE },
    Tool { programs: &["exrmaketiled"], package: "openexr", purpose: PURPOSE },
    Tool { programs: &["exiftool"], package: "libimage-exiftool-perl", purpose: PURPOSE },
    Tool { programs: &["vips"], package: "libvips-tools", purpose: PURPOSE },
    Tool { programs: &["openslide-write-png"], package: "openslide-tools", purpose: PURPOSE },
    Tool { programs: &["png2icns"], package: "icnsutils", purpose: PURPOSE },
    // Files that no program writes are made by a script.
    Tool {
        programs: &["/usr/lib/python3/dist-packages/PIL/Image.py"],
        package: "python3-pil",
        purpose: PURPOSE,
    },
    Tool {
        programs: &["/usr/lib/python3/dist-packages/numpy/__init__.py"],
        package: "python3-numpy",
        purpose: PURPOSE,
    },
    Tool {
        programs: &["/usr/lib/python3/dist-packages/astropy/__init__.py"],
        package: "python3-astropy",
        purpose: PURPOSE,
    },
    Tool {
        programs: &["/usr/lib/python3/dist-packages/pydicom/__init__.py"],
        package: "python3-pydicom",
        purpose: PURPOSE,
    },
    Tool {
        programs: &["/usr/share/color/icc/LStar-RGB.icc"],
        package: "icc-profiles-free",
        purpose: PURPOSE,
    },
    // ImageMagick's part for OpenEXR is a package of its own, whose name has versions in it; apt takes a pattern.
    Tool { programs: EXR_MODULES, package: "^libmagickcore-[0-9]+[.]q16-[0-9]+-extra$", purpose: PURPOSE },
];

/// Where that part is, in Debian 12 and 13.
const EXR_MODULES: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu/ImageMagick-6.9.11/modules-Q16/coders/exr.so",
    "/usr/lib/aarch64-linux-gnu/ImageMagick-6.9.11/modules-Q16/coders/exr.so",
    "/usr/lib/x86_64-linux-gnu/ImageMagick-7.1.1/modules-Q16/coders/exr.so",
    "/usr/lib/aarch64-linux-gnu/ImageMagick-7.1.1/modules-Q16/coders/exr.so",
];
