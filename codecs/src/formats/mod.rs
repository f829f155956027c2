//! Pictures: a file or folder for each format.

pub(crate) mod bmp;
pub(crate) mod dds;
pub(crate) mod exr;
pub(crate) mod farbfeld;
pub(crate) mod gif;
pub(crate) mod hdr;
pub(crate) mod heif;
pub(crate) mod ico;
pub(crate) mod jp2;
pub(crate) mod jpeg;
pub(crate) mod jxl;
pub(crate) mod png;
pub(crate) mod pnm;
pub(crate) mod qoi;
pub mod screenshot;
pub(crate) mod tga;
pub(crate) mod tiff;
pub(crate) mod webp;
