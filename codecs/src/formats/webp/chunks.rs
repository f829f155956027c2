//! Where a still picture's pixels are in a WebP.
//!
//! ```text
//! "RIFF"  size: u32  "WEBP"   chunk…
//! chunk   name: 4 bytes  size: u32  content  a byte of padding if the size is odd      numbers are little-endian
//! ```
//! Source: RFC 9649, sections 2.3 to 2.7.

use std::io::{self, BufRead, ErrorKind, Seek, SeekFrom};

/// The chunks that are looked at: a file with more was made to waste time.
const MOST_CHUNKS: u32 = 1000;

/// The chunk of a picture's pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pixels {
    /// Whether they are in the lossy codec, and without an alpha channel.
    pub is_lossy: bool,
    /// Where in the file they begin.
    pub start: u64,
    /// How many bytes they have.
    pub bytes: u64,
}

/// Finds the pixels. `None`: an animation, a lossy picture with an alpha channel, or no WebP.
pub fn find(file: &mut (impl BufRead + Seek)) -> io::Result<Option<Pixels>> {
    match search(file) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        result => result,
    }
}

fn search(file: &mut (impl BufRead + Seek)) -> io::Result<Option<Pixels>> {
    file.seek(SeekFrom::Start(12))?;
    for _ in 0..MOST_CHUNKS {
        let mut header = [0; 8];
        file.read_exact(&mut header)?;
        let [name @ .., a, b, c, d] = header;
        let bytes = u32::from_le_bytes([a, b, c, d]);
        match &name {
            b"VP8 " | b"VP8L" => {
                let start = file.stream_position()?;
                return Ok(Some(Pixels { is_lossy: &name == b"VP8 ", start, bytes: bytes.into() }));
            }
            b"ANIM" | b"ANMF" | b"ALPH" => return Ok(None),
            _ => file.seek_relative(i64::from(bytes) + i64::from(bytes % 2))?,
        }
    }
    Ok(None)
}
