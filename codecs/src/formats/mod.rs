//! The table of formats, and a file or folder for each. Documents and drawings are in `vector`.
//!
//! A new format is a file here that exports `FORMAT`, its `mod` line, and its line in the table. What is known only to be
//! refused by name is in `refused`.

use crate::scratch::TemporaryFile;
#[cfg(feature = "pdf")]
use crate::vector::pdf;
#[cfg(feature = "svg")]
use crate::vector::svg;
use crate::{Bounds, Format, SourceFile, Thumbnail};

mod bmp;
mod camera_raw;
#[cfg(feature = "dds")]
mod dds;
mod dicom;
#[cfg(feature = "openexr")]
mod exr;
mod farbfeld;
mod fits;
mod gif;
mod hdr;
#[cfg(feature = "modern")]
mod heif;
mod icns;
mod ico;
#[cfg(feature = "modern")]
mod jp2;
pub(crate) mod jpeg;
#[cfg(feature = "modern")]
mod jxl;
#[cfg(test)]
mod mutated;
mod pcx;
mod png;
mod pnm;
mod psd;
mod qoi;
pub(crate) mod refused;
pub mod screenshot;
mod section;
mod sgi;
mod sun_raster;
mod tga;
#[cfg(feature = "tiff")]
mod tiff;
mod webp;
mod xbm;
mod xpm;

/// All formats, in the order in which their signatures are compared: SVG is found by its root element and PDF anywhere
/// in the first KiB, so they come late, and TGA has no signature at all, so it comes last. Camera raw files are TIFFs too,
/// and gzipped FITS is gzipped as SVG may be: the narrower signature comes first.
#[rustfmt::skip] // one line a format
pub(crate) static FORMATS: &[&Format] = &[
    &jpeg::FORMAT,
    &png::FORMAT,
    &webp::FORMAT,
    &gif::FORMAT,
    &camera_raw::FORMAT,
    #[cfg(feature = "tiff")] &tiff::FORMAT,
    #[cfg(feature = "modern")] &heif::AVIF,
    #[cfg(feature = "modern")] &heif::HEIC,
    #[cfg(feature = "modern")] &jxl::FORMAT,
    #[cfg(feature = "modern")] &jp2::FORMAT,
    &bmp::FORMAT,
    &pcx::FORMAT,
    &psd::FORMAT,
    &fits::FORMAT,
    &dicom::FORMAT,
    &sgi::FORMAT,
    &sun_raster::FORMAT,
    &xbm::FORMAT,
    &xpm::FORMAT,
    &icns::FORMAT,
    &ico::FORMAT,
    #[cfg(feature = "dds")] &dds::FORMAT,
    #[cfg(feature = "openexr")] &exr::FORMAT,
    &hdr::FORMAT,
    &qoi::FORMAT,
    &pnm::FORMAT,
    &farbfeld::FORMAT,
    &screenshot::FORMAT,
    #[cfg(feature = "svg")] &svg::FORMAT,
    #[cfg(feature = "pdf")] &pdf::FORMAT,
    &tga::FORMAT,
];

/// Finds the thumbnail of a file that is at its start.
pub(crate) type FindThumbnail = fn(SourceFile, Bounds, Option<&TemporaryFile>) -> Option<Thumbnail>;

/// What finds the thumbnails of a format, for those of which the whole is known sooner than their rows.
pub(crate) fn thumbnails(format: &Format) -> Option<FindThumbnail> {
    (*format == jpeg::FORMAT).then_some(jpeg::thumbnail::find)
}
