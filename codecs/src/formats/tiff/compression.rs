//! The compressions of strips and tiles: which decoder reads them, and what it gives.
//!
//! Source: TIFF 6.0; libtiff's tiff.h for the numbers of those that came later; openslide.org/formats/aperio for 33003
//! and 33005.

use libdeflater::Decompressor;
use zstd::bulk::Decompressor as Zstd;

use super::FORMAT;
use super::ccitt::Ccitt;
use super::directory::{Directory, Tiff};
use super::log_luv::LogLuv;
use super::lzw::Lzw;
use super::picture::Picture;
use super::samples::Sample;
use super::shape::Shape;
use super::tag::{compression as number, photometric};
use super::{deflate, embedded, jpeg, packbits};
use crate::SourceError;

/// How chunks are decoded.
pub enum Codec {
    Stored,
    Lzw,
    PackBits,
    Deflate,
    Zstd,
    Lzma,
    Ccitt(Ccitt),
    LogLuv(LogLuv),
    /// With the tables that all chunks share.
    Jpeg(Vec<u8>),
    WebP,
    #[cfg(feature = "modern")]
    Jp2 {
        is_ycbcr: bool,
    },
    #[cfg(feature = "modern")]
    Jxl,
}

/// What decoders keep from one chunk to the next.
pub struct Tools {
    lzw: Lzw,
    inflater: Decompressor,
    zstd: Option<Zstd<'static>>,
}

impl Default for Tools {
    fn default() -> Self {
        Self { lzw: Lzw::default(), inflater: Decompressor::new(), zstd: None }
    }
}

impl Codec {
    /// The decoder of a picture. Where it gives other samples or colours than the file says, that is changed in
    /// `picture`.
    pub fn new(tiff: &mut Tiff, directory: &Directory, picture: &mut Picture) -> Result<Self, SourceError> {
        let is_log =
            matches!(u16::try_from(picture.photometric), Ok(photometric::LOG_L | photometric::LOG_LUV));
        let codec = match picture.compression {
            compression @ (number::LOG_LUV | number::LOG_LUV_24) if is_log => {
                picture.sample = Sample::BYTE;
                let is_grey = picture.photometric == u64::from(photometric::LOG_L);
                let log = match (is_grey, compression) {
                    (true, _) => LogLuv::L,
                    (_, number::LOG_LUV) => LogLuv::Luv,
                    _ => LogLuv::Luv24,
                };
                if picture.together != log.samples() {
                    return Err(FORMAT.unsupported("its LogLuv is in planes"));
                }
                Self::LogLuv(log)
            }
            _ if is_log => return Err(FORMAT.unsupported("it is LogLuv in another compression")),
            number::NONE => Self::Stored,
            number::LZW => Self::Lzw,
            number::PACKBITS => Self::PackBits,
            number::DEFLATE | number::OLD_DEFLATE => Self::Deflate,
            number::ZSTD => Self::Zstd,
            number::LZMA => Self::Lzma,
            number::RUN_LENGTHS..=number::GROUP_4 => {
                if picture.sample.bits != 1 || picture.together != 1 {
                    return Err(FORMAT.unsupported("it is fax of more than 1 bit"));
                }
                Self::Ccitt(Ccitt::new(tiff, directory, picture.compression, picture.chunk.width)?)
            }
            number::JPEG | number::APERIO_JPEG => {
                if picture.sample != Sample::BYTE {
                    return Err(FORMAT.unsupported("it is JPEG of more than 8 bits"));
                }
                Self::Jpeg(jpeg::tables(tiff, directory)?)
            }
            number::WEBP => {
                picture.sample = Sample::BYTE;
                Self::WebP
            }
            #[cfg(feature = "modern")]
            number::JP2_YCBCR | number::JP2_LOSSY | number::JP2_RGB | number::JP2 => {
                picture.sample = Sample::BYTE;
                let is_ycbcr = picture.compression == number::JP2_YCBCR
                    || picture.compression == number::JP2
                        && picture.photometric == u64::from(photometric::YCBCR);
                if picture.together == 3 {
                    picture.photometric = photometric::RGB.into();
                }
                Self::Jp2 { is_ycbcr }
            }
            #[cfg(feature = "modern")]
            number::JXL | number::JXL_DNG => {
                picture.sample = Sample::BYTE;
                Self::Jxl
            }
            other => {
                return Err(FORMAT.unsupported(format_args!("its compression is {}", name(other))));
            }
        };
        Ok(codec)
    }

    /// The bytes that decoding a chunk of so many samples takes, beside the samples themselves.
    pub fn memory(&self, samples: u64) -> u64 {
        match self {
            Self::WebP => samples.saturating_mul(3),
            #[cfg(feature = "modern")]
            Self::Jp2 { .. } | Self::Jxl => samples.saturating_mul(12),
            _ => 0,
        }
    }

    /// Whether a chunk is decoded as a whole, faster than row by row.
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::Deflate | Self::Zstd | Self::WebP)
    }

    /// Decodes the first rows of a chunk, as many as fill `out`. Returns how many bytes of them there are.
    pub fn decode(
        &self,
        tools: &mut Tools,
        stored: &[u8],
        shape: Shape,
        out: &mut [u8],
    ) -> Result<usize, SourceError> {
        Ok(match self {
            Self::Stored => {
                let bytes = stored.len().min(out.len());
                out[..bytes].copy_from_slice(&stored[..bytes]);
                bytes
            }
            Self::Lzw => tools.lzw.decode(stored, out),
            Self::PackBits => packbits::decode(stored, out),
            Self::Deflate => deflate::inflate(&mut tools.inflater, stored, out),
            Self::Zstd => deflate::zstd(&mut tools.zstd, stored, out),
            Self::Lzma => deflate::lzma(stored, out),
            Self::Ccitt(ccitt) => ccitt.decode(stored, shape.columns, shape.row_bytes, out),
            Self::LogLuv(log) => log.decode(stored, shape.columns as usize, out),
            Self::Jpeg(tables) => jpeg::decode_samples(tables, stored, shape, out)?,
            Self::WebP => embedded::webp(stored, shape, out)?,
            #[cfg(feature = "modern")]
            Self::Jp2 { is_ycbcr } => embedded::jp2(stored, shape, *is_ycbcr, out)?,
            #[cfg(feature = "modern")]
            Self::Jxl => embedded::jxl(stored, shape, out)?,
        })
    }
}

/// The name of a compression that is not read.
fn name(number: u16) -> String {
    match number {
        32766 => "NeXT's".to_owned(),
        32771 => "fax with rows of words".to_owned(),
        32809 => "ThunderScan's".to_owned(),
        34661 => "JBIG".to_owned(),
        34887 => "LERC".to_owned(),
        34933 => "PNG".to_owned(),
        34892 => "lossy JPEG of DNG".to_owned(),
        _ => number.to_string(),
    }
}
