//! Compressions of bytes that know nothing of pixels: deflate, zstd, LZMA. A strip or tile is decoded at once
//! if its size is as the file states; otherwise, or if it is cut off, byte by byte, as far as it goes.
//!
//! Source: Adobe Photoshop TIFF Technical Notes (2002) for deflate; libtiff's tif_zstd.c and tif_lzma.c for the others.

use std::io::Read;

use flate2::{Decompress, FlushDecompress};
use libdeflater::Decompressor;
use zstd::bulk::Decompressor as Zstd;

use super::FORMAT;
use crate::buffered::catch_panics;

/// Maximum memory in KiB for decoding a block of LZMA, whose header states the size of its dictionary: libtiff's
/// highest preset has 64 MiB, and the decoder needs a little more.
const LZMA_KIB: u32 = 65 << 10;
/// Largest window of zstd, as a power of two: 128 MiB, as in its own library.
const MAX_WINDOW_LOG: u32 = 27;

/// Decodes a strip of deflate. Returns the number of bytes decoded.
pub fn inflate(whole: &mut Decompressor, stored: &[u8], out: &mut [u8]) -> usize {
    match whole.zlib_decompress(stored, out) {
        Ok(bytes) => bytes,
        Err(_) => {
            let mut stream = Decompress::new(true);
            // The bytes written before an error are good.
            let _ = stream.decompress(stored, out, FlushDecompress::Finish);
            (stream.total_out() as usize).min(out.len())
        }
    }
}

/// Decodes a strip of zstd. Creates the decoder for the first one.
pub fn zstd(whole: &mut Option<Zstd<'static>>, stored: &[u8], out: &mut [u8]) -> usize {
    if whole.is_none() {
        *whole = Zstd::new().ok();
    }
    if let Some(whole) = whole
        && let Ok(bytes) = whole.decompress_to_buffer(stored, out)
    {
        return bytes;
    }
    let Ok(mut stream) = zstd::stream::read::Decoder::with_buffer(stored) else { return 0 };
    match stream.window_log_max(MAX_WINDOW_LOG) {
        Ok(()) => read_all(stream, out),
        Err(_) => 0,
    }
}

/// Decodes a strip of LZMA, which libtiff writes as an .xz file.
pub fn lzma(stored: &[u8], out: &mut [u8]) -> usize {
    let decode = || Ok(read_all(lzma_rust2::XzReader::new_mem_limit(stored, false, LZMA_KIB), out));
    catch_panics(&FORMAT, decode).unwrap_or(0)
}

/// Reads up to the end of the stream, an error, or the end of `out`.
fn read_all(mut stream: impl Read, out: &mut [u8]) -> usize {
    let mut written = 0;
    while written < out.len() {
        match stream.read(&mut out[written..]) {
            Ok(bytes @ 1..) => written += bytes,
            _ => break,
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an .xz file of stored bytes, with one block for each size of a dictionary (The .xz File Format, 2.1 and
    /// 3.1).
    fn xz(dictionaries: &[u8], block: &[u8]) -> Vec<u8> {
        let summed = |bytes: &[u8]| {
            let mut sum = flate2::Crc::new();
            sum.update(bytes);
            [bytes, &sum.sum().to_le_bytes()].concat()
        };
        let mut file = [&b"\xfd7zXZ\0"[..], &summed(&[0, 0])].concat();
        for &dictionary in dictionaries {
            file.extend(summed(&[2, 0, 0x21, 1, dictionary, 0, 0, 0]));
            file.extend([&[1, 0, block.len() as u8 - 1], block, &[0]].concat());
            file.resize(file.len().next_multiple_of(4), 0);
        }
        file
    }

    #[test]
    fn every_block_of_lzma_is_checked_for_a_dictionary_that_is_too_large() {
        const MIB_64: u8 = 28;
        const GIB_4: u8 = 40;
        let block = [7; 40];
        for (dictionaries, blocks) in [([MIB_64, MIB_64], 2), ([MIB_64, GIB_4], 1), ([GIB_4, MIB_64], 0)] {
            let mut out = [0; 80];
            assert_eq!(lzma(&xz(&dictionaries, &block), &mut out), blocks * block.len(), "{dictionaries:?}");
        }
    }
}
