//! The compressions of strips and tiles, and the decoder of each.
//!
//! Source: TIFF 6.0; libtiff's tiff.h for the numbers of later ones; openslide.org/formats/aperio for 33003
//! and 33005.

use std::sync::Arc;

use libdeflater::Decompressor;
use zstd::bulk::Decompressor as Zstd;

use super::FORMAT;
use super::ccitt::Ccitt;
use super::directory::{Directory, Tiff};
use super::picture::{Picture, Shape};
use super::sample_format::SampleFormat;
use super::tag::compression as number;
#[cfg(feature = "modern")]
use super::tag::photometric;
use super::{byte_codecs, embedded, jpeg};
use crate::SourceError;
use crate::formats::jpeg::embedded::Decoder;
use crate::lzw::Lzw;
use crate::pack_bits::unpack_bits;
use crate::parallel::Budget;

/// The decoder of chunks.
pub enum Codec {
    Stored,
    Lzw,
    PackBits,
    Deflate,
    Zstd,
    Lzma,
    Ccitt(Ccitt),
    /// JPEG, with the tables that all chunks share.
    Jpeg(Vec<u8>),
    WebP,
    #[cfg(feature = "modern")]
    Jp2 {
        is_ycbcr: bool,
    },
    #[cfg(feature = "modern")]
    Jxl,
}

/// The state that decoders keep from one chunk to the next.
pub struct Tools {
    lzw: Lzw,
    inflater: Decompressor,
    zstd: Option<Zstd<'static>>,
    jpeg: Decoder,
}

impl Tools {
    /// Returns the tools of a thread. `budget` is the memory that decoders on all threads share.
    pub fn new(budget: &Arc<Budget>) -> Self {
        let jpeg = Decoder::new(Arc::clone(budget));
        Self { lzw: Lzw::default(), inflater: Decompressor::new(), zstd: None, jpeg }
    }
}

impl Codec {
    /// Returns the decoder of a picture. If its samples or colours differ from those that the file states, corrects
    /// `picture`.
    pub fn new(tiff: &mut Tiff, directory: &Directory, picture: &mut Picture) -> Result<Self, SourceError> {
        let codec = match picture.compression {
            number::NONE => Self::Stored,
            number::LZW => Self::Lzw,
            number::PACKBITS => Self::PackBits,
            number::DEFLATE | number::OLD_DEFLATE => Self::Deflate,
            number::ZSTD => Self::Zstd,
            number::LZMA => Self::Lzma,
            number::RUN_LENGTHS..=number::GROUP_4 => {
                if picture.sample.bits != 1 || picture.together != 1 {
                    return Err(FORMAT.unsupported("its fax has more than 1 bit a pixel"));
                }
                Self::Ccitt(Ccitt::new(tiff, directory, picture.compression, picture.chunk.width)?)
            }
            number::JPEG | number::APERIO_JPEG => {
                if picture.sample != SampleFormat::BYTE {
                    return Err(FORMAT.unsupported("it is JPEG of more than 8 bits"));
                }
                Self::Jpeg(jpeg::tables(tiff, directory)?)
            }
            number::WEBP => {
                picture.sample = SampleFormat::BYTE;
                Self::WebP
            }
            #[cfg(feature = "modern")]
            number::JP2_YCBCR | number::JP2_LOSSY | number::JP2_RGB | number::JP2 => {
                picture.sample = SampleFormat::BYTE;
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
                picture.sample = SampleFormat::BYTE;
                // The decoder itself converts YCbCr.
                if picture.together == 3 {
                    picture.photometric = photometric::RGB.into();
                }
                Self::Jxl
            }
            other => {
                return Err(FORMAT.unsupported(format_args!("its compression is {}", name(other))));
            }
        };
        Ok(codec)
    }

    /// Returns the number of bytes that decoding a chunk of `samples` samples takes, beside the samples themselves.
    pub fn memory(&self, samples: u64) -> u64 {
        match self {
            Self::WebP => samples.saturating_mul(3),
            #[cfg(feature = "modern")]
            Self::Jp2 { .. } | Self::Jxl => samples.saturating_mul(12),
            _ => 0,
        }
    }

    /// Returns true if a chunk is decoded faster as a whole than row by row.
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::Deflate | Self::Zstd | Self::WebP)
    }

    /// Fills `out` with the first rows of a chunk. Returns the number of bytes decoded.
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
            Self::PackBits => unpack_bits(stored, out),
            Self::Deflate => byte_codecs::inflate(&mut tools.inflater, stored, out),
            Self::Zstd => byte_codecs::zstd(&mut tools.zstd, stored, out),
            Self::Lzma => byte_codecs::lzma(stored, out),
            Self::Ccitt(ccitt) => ccitt.decode(stored, shape.columns, shape.row_bytes, out),
            Self::Jpeg(tables) => jpeg::decode_samples(&mut tools.jpeg, tables, stored, shape, out)?,
            Self::WebP => embedded::webp(stored, shape, out)?,
            #[cfg(feature = "modern")]
            Self::Jp2 { is_ycbcr } => embedded::jp2(stored, shape, *is_ycbcr, out)?,
            #[cfg(feature = "modern")]
            Self::Jxl => embedded::jxl(stored, shape, out)?,
        })
    }
}

/// Returns the name of a compression that is not read.
fn name(number: u16) -> String {
    let name = match number {
        32766 => "NeXT's",
        32771 => "fax with rows of words",
        32809 => "ThunderScan's",
        34661 => "JBIG",
        34676 | 34677 => "LogLuv",
        34887 => "LERC",
        34933 => "PNG",
        34892 => "lossy JPEG of DNG",
        _ => return number.to_string(),
    };
    name.to_owned()
}
