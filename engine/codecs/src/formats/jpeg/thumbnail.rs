//! Small pictures of a JPEG that are known before its rows: the first scans of a progressive picture that still arrives,
//! decoded at an eighth of its size, or the thumbnail in its EXIF.
//!
//! Both are shown only until the picture is ready, so a broken one counts as missing.
//!
//! Source: CIPA DC-008 (Exif 2.3), 4.5.5 (the thumbnail); ITU-T T.81, B.2.3 (the scan header),
//! G.1.1.1 (spectral selection: the DC coefficients, the means of blocks, come first).

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use edgezoom_geometry::Size;
use edgezoom_jpeg::markers::{self, FrameHeader, Markers};
use mozjpeg::{ColorSpace, Decompress};

use super::error_manager::catch_errors;
use super::header::{self, Header};
use super::{admit_coefficients, open_in_memory, orientation_of, read_header, side};
use crate::format::READ_BYTES;
use crate::formats::ifd::exif_thumbnail;
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
pub fn find(source: SourceFile, bounds: Bounds) -> Option<Thumbnail> {
    let is_growing = source.is_growing();
    let mut file = BufReader::with_capacity(READ_BYTES, source);
    let header = read_header(&mut file).ok()?;
    let picture = bounds.admit(side(header.width()), side(header.height())).ok()?;
    let (orientation, in_exif) = (orientation_of(&header), in_exif(&header));
    drop(header);
    let whole = if is_growing { first_scans(file, bounds) } else { None };
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
fn first_scans(mut file: BufReader<SourceFile>, bounds: Bounds) -> Option<(Size, Vec<u8>)> {
    file.seek(SeekFrom::Start(0)).ok()?;
    let (markers, scans) = read_first_scans(file).ok()??;
    let mut header = open_in_memory(&scans).ok()?;
    let is_colour = matches!(
        header.color_space(),
        ColorSpace::JCS_YCbCr | ColorSpace::JCS_RGB | ColorSpace::JCS_GRAYSCALE
    );
    let size = bounds.admit(side(header.width()), side(header.height())).ok().filter(|_| is_colour)?;
    bounds.admit_memory(size.pixels() * 3 / 64, "a progressive picture's first scans").ok()?;
    admit_coefficients(Some(markers), bounds).ok()?;
    header.scale(ONE_EIGHTH);
    decode(|| header.rgb()).ok()
}

/// Reads a progressive picture up to the scan that completes the DC coefficients of all components, and appends the end of a
/// picture.
fn read_first_scans(file: impl BufRead) -> io::Result<Option<(Header, Vec<u8>)>> {
    let mut markers = Markers::new(Recording { file, bytes: Vec::new() });
    let mut found = None;
    let (mut components, mut known) = (0_u8, 0_u8);
    loop {
        let code = markers.find_code()?;
        if code != 0xd9 && markers::is_alone(code) {
            continue;
        }
        if let Some(header) = found.filter(|_| known >= components && components > 0) {
            let mut scans = markers.into_inner().bytes;
            scans.truncate(scans.len().saturating_sub(2));
            scans.extend([0xff, 0xd9]);
            return Ok(Some((header, scans)));
        }
        // Not progressive, or ended.
        if code == 0xd9 || code != 0xc2 && markers::is_frame(code) {
            return Ok(None);
        }
        let segment = markers.segment()?.unwrap_or_default();
        match (code, &*segment) {
            (0xc2, segment) => {
                let Some(frame) = FrameHeader::parse(segment) else { return Ok(None) };
                components = frame.count;
                found = Some(Header::of(&frame, code));
            }
            (0xda, [count, rest @ ..]) => {
                // Coefficient 0, in its first approximation.
                if let Some([0, _, bits, ..]) = rest.get(2 * usize::from(*count)..)
                    && bits >> 4 == 0
                {
                    known = count.saturating_add(known);
                }
            }
            _ => {}
        }
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
