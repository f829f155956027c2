//! FITS files of every number type and with compressed tiles, written by astropy and compared with astropy's percentile
//! stretch.

use crate::variant::{Variant, check_all, variant};

/// Variant of a kind in `astronomy.py`, which writes both the file and `shown.png`.
macro_rules! fits {
    ($name:literal, $kind:literal) => {
        variant(
            $name,
            "f.fits",
            concat!("/usr/bin/python3 - '", $kind, "' <<'END'\n", include_str!("astronomy.py"), "\nEND"),
            "",
        )
    };
}

const GZIP: &str = "convert photo.png t.fits && gzip t.fits && mv t.fits.gz f.fits.gz";

#[rustfmt::skip]
const NUMBERS: &[Variant] = &[
    fits!("fits 8 bits", "8"),
    fits!("fits 16 bits", "16"),
    fits!("fits 16 bits unsigned", "16 unsigned"),
    fits!("fits 32 bits", "32"),
    fits!("fits 64 bits", "64"),
    fits!("fits floats with holes", "-32"),
    fits!("fits double floats", "-64"),
    fits!("fits blank", "blank"),
    fits!("fits rgb", "rgb"),
    fits!("fits rgb floats", "rgb -32"),
    fits!("fits picture behind a table", "later"),
    variant("fits by libvips", "f.fits", "vips copy photo.png f.fits", "cp photo.png shown.png"),
    variant("fits by imagemagick", "f.fits", "convert grey.png f.fits", "cp grey.png shown.png"),
    variant("fits gzipped", "f.fits.gz", GZIP, "cp photo.png shown.png"),
];

#[rustfmt::skip]
const TILES: &[Variant] = &[
    fits!("fits tiles rice 8", "rice 8"),
    fits!("fits tiles rice 16", "rice 16"),
    fits!("fits tiles rice 32", "rice 32"),
    fits!("fits tiles rice floats", "rice -32"),
    fits!("fits tiles rice dithered", "rice dithered"),
    fits!("fits tiles rice but zeros", "rice dithered but zeros"),
    fits!("fits tiles rice rgb", "rice rgb"),
    fits!("fits tiles gzip 16", "gzip 16"),
    fits!("fits tiles gzip 32 shuffled", "gzip 32"),
    fits!("fits tiles gzip floats", "gzip -32"),
];

#[test]
fn numbers() {
    check_all(NUMBERS);
}

#[test]
fn tiles() {
    check_all(TILES);
}
