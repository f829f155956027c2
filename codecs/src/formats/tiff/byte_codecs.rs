//! Compressions of bytes that know nothing of pixels: PackBits, deflate, zstd, LZMA. A strip or tile is decoded at once
//! if its size is as the file states; otherwise, or if it is cut off, byte by byte, as far as it goes.
//!
//! Source: TIFF 6.0, section 9 for PackBits; Adobe Photoshop TIFF Technical Notes (2002) for deflate; libtiff's
//! tif_zstd.c and tif_lzma.c for the others; "The .xz File Format", section 3.1.

use std::io::Read;

use flate2::{Decompress, FlushDecompress};
use libdeflater::Decompressor;
use zstd::bulk::Decompressor as Zstd;

use super::FORMAT;
use crate::buffered::catch_panics;

/// Maximum number of bytes that the dictionary of LZMA may have: libtiff's highest preset has 64 MiB.
const MAX_DICTIONARY: u64 = 64 << 20;
/// Largest window of zstd, as a power of two: 128 MiB, as in its own library.
const MAX_WINDOW_LOG: u32 = 27;

/// Decodes a strip of PackBits, which are runs of equal bytes, up to its end or to the end of `out`. Returns the number of
/// bytes decoded.
pub fn unpack_bits(mut stored: &[u8], out: &mut [u8]) -> usize {
    let mut written = 0;
    while let [count, rest @ ..] = stored {
        let left = out.len() - written;
        let bytes = match *count as i8 {
            // Does nothing.
            -128 => {
                stored = rest;
                continue;
            }
            count @ 0.. => {
                let length = count as usize + 1;
                let bytes = length.min(left).min(rest.len());
                out[written..written + bytes].copy_from_slice(&rest[..bytes]);
                stored = rest.get(length..).unwrap_or_default();
                bytes
            }
            count => {
                let [value, rest @ ..] = rest else { break };
                let bytes = (1 - isize::from(count)).unsigned_abs().min(left);
                out[written..written + bytes].fill(*value);
                stored = rest;
                bytes
            }
        };
        written += bytes;
        if written == out.len() {
            break;
        }
    }
    written
}

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
    // The decoder allocates the dictionary that the file names.
    if xz_dictionary(stored).is_none_or(|bytes| bytes > MAX_DICTIONARY) {
        return 0;
    }
    let decode = || Ok(read_all(lzma_rust2::XzReader::new(stored, false), out));
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

/// Returns the size of the dictionary that the first block of an .xz file needs.
///
/// ```text
/// stream  magic: 6 bytes  flags: 2 bytes  CRC: 4 bytes                                      blocks
/// block   size: u8  flags: u8 (1, 2: filters - 1; 0x40, 0x80: has a size)  sizes  filters
/// filter  id  bytes of its properties  properties        LZMA2 is 0x21 and has one byte, the dictionary's size
/// ```
/// Numbers have 7 bits a byte, the lowest first; those of known filters have one byte.
fn xz_dictionary(stored: &[u8]) -> Option<u64> {
    let [_, flags, rest @ ..] = stored.get(12..)? else { return None };
    let mut rest = rest;
    for size in [0x40, 0x80] {
        if flags & size != 0 {
            let end = rest.iter().take(9).position(|byte| byte & 0x80 == 0)?;
            rest = rest.get(end + 1..)?;
        }
    }
    for _ in 0..=flags & 3 {
        let [id, length, properties @ ..] = rest else { return None };
        let length = usize::from(*length);
        if *id == 0x21 {
            let bits = u64::from(*properties.first()?) & 0x3f;
            return Some(if bits == 40 { u64::from(u32::MAX) } else { (2 | bits & 1) << (bits / 2 + 11) });
        }
        rest = properties.get(length..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_packbits_in_the_specification_is_decoded() {
        let stored =
            [0xfe, 0xaa, 0x02, 0x80, 0x00, 0x2a, 0xfd, 0xaa, 0x03, 0x80, 0x00, 0x2a, 0x22, 0xf7, 0xaa];
        let mut out = [0; 24];
        assert_eq!(unpack_bits(&stored, &mut out), 24);
        let mut expected = vec![0xaa; 3];
        expected.extend([0x80, 0x00, 0x2a, 0xaa, 0xaa, 0xaa, 0xaa, 0x80, 0x00, 0x2a, 0x22]);
        expected.extend([0xaa; 10]);
        assert_eq!(out.as_slice(), expected);
        // Cut off, and with less to fill.
        assert_eq!(unpack_bits(&stored[..4], &mut out), 4);
        assert_eq!(unpack_bits(&stored, &mut out[..5]), 5);
    }
}
