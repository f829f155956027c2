//! Camera raw files: containers with the tags that ExifTool documents, around two JPEGs. They are compared with the
//! preview that ExifTool extracts, turned upright.

use crate::variant::{Variant, check_all, variant};

macro_rules! raw {
    ($name:literal, $kind:literal, $ending:literal, $shown:expr) => {
        variant(
            $name,
            concat!("f.", $ending),
            concat!(
                "convert photo.png -quality 95 large.jpg && convert photo.png -resize 80x60! small.jpg && cjxl --quiet -d 0 photo.png large.jxl\n",
                "/usr/bin/python3 - '",
                $kind,
                "' ",
                $ending,
                " <<'END'\n",
                include_str!("cameras.py"),
                "\nEND"
            ),
            $shown,
        )
    };
}

const PREVIEW: &str = "exiftool -b -PreviewImage f.* > p.jpg && exiftool -q -overwrite_original -n -TagsFromFile f.* -Orientation p.jpg && vips autorot p.jpg shown.png";
const JPEG_FROM_RAW: &str = "exiftool -b -JpgFromRaw f.* > p.jpg && exiftool -q -overwrite_original -n -TagsFromFile f.* -Orientation p.jpg && vips autorot p.jpg shown.png";

#[rustfmt::skip]
const RAW: &[Variant] = &[
    raw!("dng", "dng", "dng", PREVIEW),
    raw!("dng big-endian", "dng big-endian", "dng", PREVIEW),
    raw!("dng with jpeg xl", "dng jxl", "dng", "vips rot photo.png shown.png d90"),
    raw!("nef", "nef", "nef", JPEG_FROM_RAW),
    raw!("arw", "arw", "arw", PREVIEW),
    raw!("cr2", "cr2", "cr2", PREVIEW),
    raw!("rw2", "rw2", "rw2", JPEG_FROM_RAW),
    raw!("orf", "orf", "orf", PREVIEW),
    raw!("raf", "raf", "raf", PREVIEW),
    // ExifTool finds these two previews only in complete files from a camera.
    raw!("cr3", "cr3", "cr3", "vips rot large.jpg shown.png d270"),
    raw!("pef", "pef", "pef", "vips copy small.jpg shown.png"),
];

#[test]
fn previews() {
    check_all(RAW);
}
