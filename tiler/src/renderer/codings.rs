//! Removes content codings from a source. Runs only in the sandbox of [`unpack`](super::unpack), because the bytes may be
//! hostile.
//!
//! Servers also name codings that they have not applied. A layer without the signature of its coding is passed on as it
//! is; `br` and bare deflate have no signature, so a wrong one ends in an error.

use std::io::{self, BufRead, BufReader, Cursor, Read, Write};

use brotli_decompressor::Decompressor;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use serde::{Deserialize, Serialize};

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Coding {
    /// `gzip` (RFC 1952).
    Gzip,
    /// `deflate`: zlib (RFC 1950), or a bare deflate stream (RFC 1951), as some servers send it.
    Deflate,
    /// `br` (RFC 7932).
    Brotli,
    /// `zstd` (RFC 8878).
    Zstd,
}

/// Number of bytes that are decoded at once.
const BUFFER_BYTES: usize = 64 << 10;
/// Largest window of zstd: that of the command-line program. Over HTTP a window has at most 8 MiB (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 27;

/// Writes `source` without its codings to `out`. They are in the order in which they were applied. Returns false if one
/// of them was not.
///
/// # Errors
/// The bytes are not in these codings, or cut off. Everything before has been written.
pub fn decode<'a>(codings: &[Coding], source: impl BufRead + 'a, out: &mut impl Write) -> io::Result<bool> {
    let mut decoded: Box<dyn BufRead + 'a> = Box::new(source);
    let mut are_applied = true;
    for coding in codings.iter().rev() {
        let is_applied;
        (decoded, is_applied) = layer(*coding, decoded)?;
        are_applied &= is_applied;
    }
    loop {
        let written = match decoded.fill_buf() {
            Ok([]) => return out.flush().map(|()| are_applied),
            Ok(bytes) => {
                out.write_all(bytes)?;
                bytes.len()
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return out.flush().and(Err(error)),
        };
        decoded.consume(written);
    }
}

/// Returns the bytes without a coding, and true if it was applied.
fn layer<'a>(coding: Coding, mut coded: Box<dyn BufRead + 'a>) -> io::Result<(Box<dyn BufRead + 'a>, bool)> {
    let mut head = Vec::new();
    coded.by_ref().take(4).read_to_end(&mut head)?;
    let signature = signature(&head);
    let is_applied = !matches!(
        (coding, &signature),
        (Coding::Gzip, None | Some(Signature::Zlib | Signature::Zstd))
            | (Coding::Zstd, None | Some(Signature::Gzip | Signature::Zlib))
    );
    let coded = Cursor::new(head).chain(coded);
    let decoded: Box<dyn Read + 'a> = match (coding, signature) {
        // Some servers call gzip deflate.
        (Coding::Gzip | Coding::Deflate, Some(Signature::Gzip)) => Box::new(MultiGzDecoder::new(coded)),
        (Coding::Deflate, Some(Signature::Zlib)) => Box::new(ZlibDecoder::new(coded)),
        (Coding::Deflate, _) => Box::new(DeflateDecoder::new(coded)),
        (Coding::Brotli, _) => Box::new(Decompressor::new(coded, BUFFER_BYTES)),
        (Coding::Zstd, Some(Signature::Zstd)) => {
            let mut decoder = zstd::Decoder::with_buffer(coded)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
        (Coding::Gzip | Coding::Zstd, _) => Box::new(coded),
    };
    Ok((Box::new(BufReader::with_capacity(BUFFER_BYTES, decoded)), is_applied))
}

enum Signature {
    Gzip,
    Zlib,
    Zstd,
}

/// Recognises a coding by its first bytes: RFC 1952, 2.3.1; RFC 1950, 2.2; RFC 8878, 3.1.
fn signature(head: &[u8]) -> Option<Signature> {
    match *head {
        [0x1f, 0x8b, ..] => Some(Signature::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Some(Signature::Zstd),
        [method, flags, ..]
            if method & 0xf == 8
                && method >> 4 <= 7
                && u16::from_be_bytes([method, flags]).is_multiple_of(31) =>
        {
            Some(Signature::Zlib)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;

    use super::*;

    /// "Edgezoom" a hundred times, by Node's zlib.
    const BROTLI: &[u8] =
        b"\x1b\x1f\x03\xf8\x8d\x94\x6e\xde\x42\x59\x44\x76\xd6\x65\x6d\x6f\x7a\xa2\xb7\x70\x80\x34\xcd\x25";

    fn plain() -> Vec<u8> {
        b"Edgezoom".repeat(100)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn deflate(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 3).unwrap()
    }

    fn decoded(codings: &[Coding], coded: &[u8]) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        let is_whole = decode(codings, coded, &mut out).is_ok();
        (out, is_whole)
    }

    #[test]
    fn each_coding_is_removed() {
        for (coding, coded) in [
            (Coding::Gzip, gzip(&plain())),
            (Coding::Gzip, [gzip(&plain()[..7]), gzip(&plain()[7..])].concat()),
            (Coding::Deflate, zlib(&plain())),
            (Coding::Deflate, deflate(&plain())),
            (Coding::Deflate, gzip(&plain())),
            (Coding::Brotli, BROTLI.to_owned()),
            (Coding::Zstd, zstd(&plain())),
        ] {
            assert_eq!(decoded(&[coding], &coded), (plain(), true), "{coding:?}");
        }
    }

    #[test]
    fn codings_are_removed_in_reverse_order() {
        let coded = zstd(&zlib(&gzip(&plain())));
        assert_eq!(decoded(&[Coding::Gzip, Coding::Deflate, Coding::Zstd], &coded), (plain(), true));
    }

    #[test]
    fn a_coding_that_was_not_applied_is_passed_over() {
        let applied = |codings: &[Coding], coded: &[u8]| decode(codings, coded, &mut io::sink()).unwrap();
        assert!(
            !applied(&[Coding::Gzip], &plain()) && !applied(&[Coding::Gzip, Coding::Gzip], &gzip(&plain()))
        );
        assert!(applied(&[Coding::Gzip], &gzip(&plain())) && applied(&[Coding::Deflate], &gzip(&plain())));
        for coding in [Coding::Gzip, Coding::Zstd] {
            assert_eq!(decoded(&[coding], &plain()), (plain(), true));
            assert_eq!(decoded(&[coding, coding], &plain()), (plain(), true));
        }
        assert_eq!(decoded(&[Coding::Gzip, Coding::Gzip], &gzip(&plain())), (plain(), true));
        for coding in [Coding::Brotli, Coding::Deflate] {
            assert!(!decoded(&[coding], b"\xff\xd8\xff\xe0 no such coding").1, "{coding:?}");
        }
    }

    #[test]
    fn what_precedes_a_defect_is_kept() {
        let bytes: Vec<u8> =
            (0..200_000_u32).flat_map(|number| number.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
        for (coding, coded) in [
            (Coding::Gzip, gzip(&bytes)),
            (Coding::Deflate, zlib(&bytes)),
            (Coding::Deflate, deflate(&bytes)),
            (Coding::Zstd, zstd(&bytes)),
        ] {
            let (kept, is_whole) = decoded(&[coding], &coded[..coded.len() / 2]);
            assert!(!is_whole && kept.len() > bytes.len() / 4 && bytes.starts_with(&kept), "{coding:?}");
        }
        let trailing = [gzip(&plain()), b"<!-- served by a proxy -->".to_vec()].concat();
        assert_eq!(decoded(&[Coding::Gzip], &trailing), (plain(), false));
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            codings in prop::collection::vec(
                prop::sample::select(vec![Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd]), 0..4,
            ),
        ) {
            decoded(&codings, &bytes);
        }
    }
}
