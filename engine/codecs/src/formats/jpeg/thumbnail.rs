//! Small pictures of a JPEG that are known before its rows: the first scans of a progressive picture that still arrives,
//! decoded at an eighth of its size, or the thumbnail in its EXIF.
//!
//! Both are shown only until the picture is ready, so a broken one counts as missing.
//!
//! Source: CIPA DC-008 (Exif 2.3), 4.5.5 (the thumbnail); ITU-T T.81, B.2.3 (the scan header),
//! G.1.1.1 (spectral selection: the DC coefficients, the means of blocks, come first).

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use edgezoom_geometry::Size;
use mozjpeg::{ColorSpace, Decompress};

use super::error_manager::catch_errors;
use super::header::{self, Header};
use super::{coefficients_of, kept_in, open_in_memory, orientation, read_header, side};
use crate::format::READ_BYTES;
use crate::formats::ifd::exif_thumbnail;
use crate::scratch::TemporaryFile;
use crate::{Bounds, Layout, Orientation, SourceError, SourceFile};

/// Longest side of a thumbnail in pixels. Those of cameras have 160 by 120.
const MAX_SIDE: u32 = 1024;
/// Maximum number of bytes of a progressive picture that are read for its first scans.
const MAX_SCAN_BYTES: usize = 32 << 20;
/// libjpeg scales by eighths.
const ONE_EIGHTH: u8 = 1;

/// A small picture of the whole, to be shown until there is a better one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thumbnail {
    /// Size of the picture itself, as it is stored.
    pub picture: Size,
    /// Orientation of the picture and the thumbnail.
    pub orientation: Orientation,
    /// Size of the thumbnail. Bars above and below it, or at both sides, may give it another shape than the picture's.
    pub size: Size,
    /// Its pixels in RGB, row by row.
    pub pixels: Vec<u8>,
}

/// Finds the thumbnail of a JPEG, whose file is at its start. Waits for the first scans of a progressive picture.
pub fn find(source: SourceFile, bounds: Bounds, temporary: Option<&TemporaryFile>) -> Option<Thumbnail> {
    let is_growing = source.is_growing();
    let mut file = BufReader::with_capacity(READ_BYTES, source);
    let header = read_header(&mut file).ok()?;
    let picture = bounds.admit(side(header.width()), side(header.height())).ok()?;
    let (orientation, in_exif) = (orientation(&header), in_exif(&header));
    drop(header);
    let whole = if is_growing { first_scans(file, bounds, temporary) } else { None };
    let (size, pixels) = whole.or(in_exif)?;
    Some(Thumbnail { picture, orientation, size, pixels })
}

/// Decodes the thumbnail in the EXIF of a picture.
fn in_exif<R>(header: &Decompress<R>) -> Option<(Size, Vec<u8>)> {
    let file = exif_thumbnail(header::exif(header)?)?;
    header::admit_scans_of(file).ok()?;
    let header = open_in_memory(file).ok()?;
    let is_small = side(header.width()).max(side(header.height())) <= MAX_SIDE;
    is_small.then(|| decode(|| header.rgb()).ok()).flatten()
}

/// Decodes the first scans of a progressive picture at an eighth of its size.
fn first_scans(
    mut file: BufReader<SourceFile>,
    bounds: Bounds,
    temporary: Option<&TemporaryFile>,
) -> Option<(Size, Vec<u8>)> {
    file.seek(SeekFrom::Start(0)).ok()?;
    let (markers, scans) = read_first_scans(file).ok()??;
    let mut header = open_in_memory(&scans).ok()?;
    let is_colour = matches!(
        header.color_space(),
        ColorSpace::JCS_YCbCr | ColorSpace::JCS_RGB | ColorSpace::JCS_GRAYSCALE
    );
    let size = bounds.admit(side(header.width()), side(header.height())).ok().filter(|_| is_colour)?;
    bounds.admit_memory(size.pixels() * 3 / 64, "a progressive picture's first scans").ok()?;
    let coefficients = coefficients_of(Some(markers), bounds, temporary).ok()?;
    header.scale(ONE_EIGHTH);
    kept_in(coefficients.as_ref(), || decode(|| header.rgb())).ok()
}

/// Reads a progressive picture up to the scan that completes the DC coefficients of all components, and appends the end of a
/// picture.
fn read_first_scans(file: impl BufRead) -> io::Result<Option<(Header, Vec<u8>)>> {
    let mut file = Recording { file, bytes: Vec::new() };
    let mut found = None;
    let (mut components, mut known) = (0_u8, 0_u8);
    loop {
        let code = header::next_marker(&mut file)?;
        if matches!(code, 0xd8 | 0x01 | 0xd0..=0xd7) {
            continue;
        }
        if let Some(markers) = found.filter(|_| known >= components && components > 0) {
            let mut scans = file.bytes;
            scans.truncate(scans.len().saturating_sub(2));
            scans.extend([0xff, 0xd9]);
            return Ok(Some((markers, scans)));
        }
        let length = match code {
            0xc2 => {
                let (frame, count, length) = header::read_frame(&mut file, true)?;
                found = Some(frame);
                components = count;
                length
            }
            0xc4 | 0xc8 | 0xcc => header::segment::<0>(&mut file)?.0,
            // Not progressive, or ended.
            0xc0..=0xcf | 0xd9 => return Ok(None),
            0xda => {
                let (length, [count]) = header::segment::<1>(&mut file)?;
                let mut rest = vec![0; usize::try_from(length).unwrap_or_default()];
                file.read_exact(&mut rest)?;
                let of_spectrum = rest.get(2 * usize::from(count)..).unwrap_or_default();
                // Coefficient 0, in its first approximation.
                if let [0, _, bits, ..] = of_spectrum
                    && bits >> 4 == 0
                {
                    known = count.saturating_add(known);
                }
                0
            }
            _ => header::segment::<0>(&mut file)?.0,
        };
        header::skip(&mut file, length)?;
    }
}

/// A reader that records the bytes read, up to [`MAX_SCAN_BYTES`].
struct Recording<R> {
    file: R,
    bytes: Vec<u8>,
}

impl<R: BufRead> Read for Recording<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut there = self.fill_buf()?;
        let read = there.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Recording<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.bytes.len() > MAX_SCAN_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.file.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        if let Some(read) = self.file.fill_buf().ok().and_then(|buffer| buffer.get(..count)) {
            self.bytes.extend_from_slice(read);
        }
        self.file.consume(count);
    }
}

/// Decodes a picture as RGB.
fn decode<R: BufRead>(
    start: impl FnOnce() -> io::Result<mozjpeg::decompress::DecompressStarted<R>>,
) -> Result<(Size, Vec<u8>), SourceError> {
    let mut decoder = catch_errors(start)?;
    let size = Size { width: side(decoder.width()), height: side(decoder.height()) };
    let mut pixels = vec![0; Layout::Rgb.row_bytes(size.width) * size.height as usize];
    catch_errors(|| decoder.read_scanlines_into(&mut pixels).map(|_| ()))?;
    Ok((size, pixels))
}
