//! Radiance's HDR, row by row: three mantissas and their common exponent, brought to the screen by [`light`].
//!
//! Source: Greg Ward, "Real Pixels", and the Radiance file formats.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use edgezoom_content::Size;

use crate::colour::tone_mapping;
use crate::{Bounds, Decoded, Format, Layout, Orientation, RowReader, SourceError};

/// The bytes that the header may have. Programs note there how a picture was made.
const MOST_HEADER_BYTES: u64 = 1 << 20;
/// The widths of rows that are packed channel by channel.
const PACKED_WIDTHS: std::ops::Range<u32> = 8..0x8000;

struct Rows {
    size: Size,
    is_xyz: bool,
    file: BufReader<File>,
    /// A row: first all reds, all greens, all blues, all exponents, or pixel by pixel.
    row: Vec<u8>,
}

pub fn open(mut file: BufReader<File>, bounds: Bounds) -> Result<Decoded, SourceError> {
    let (width, height, orientation, is_xyz) = read_header(&mut (&mut file).take(MOST_HEADER_BYTES))?;
    let size = bounds.admit(width, height)?;
    let rows = Rows { size, is_xyz, file, row: vec![0; size.width as usize * 4] };
    Ok(Decoded { orientation, ..Decoded::plain(rows) })
}

fn read_header(file: &mut impl BufRead) -> Result<(u32, u32, Orientation, bool), SourceError> {
    let mut is_xyz = false;
    loop {
        let line = line(file)?;
        if line.is_empty() {
            break;
        }
        if let Some(format) = line.strip_prefix("FORMAT=") {
            is_xyz = match format.trim() {
                "32-bit_rle_rgbe" => false,
                "32-bit_rle_xyze" => true,
                other => return Err(SourceError::unsupported(Format::Hdr, format_args!("it is {other:?}"))),
            };
        }
    }
    let resolution = line(file)?;
    let words: Vec<&str> = resolution.split_ascii_whitespace().collect();
    let &[down, height, across, width] = words.as_slice() else {
        return Err(SourceError::corrupt(Format::Hdr, "its size is missing"));
    };
    let orientation = match (down, across) {
        ("-Y", "+X") => 1,
        ("-Y", "-X") => 2,
        ("+Y", "-X") => 3,
        ("+Y", "+X") => 4,
        _ => return Err(SourceError::unsupported(Format::Hdr, "its rows are columns")),
    };
    match (width.parse(), height.parse()) {
        (Ok(width), Ok(height)) => Ok((width, height, Orientation::from_exif(orientation), is_xyz)),
        _ => Err(SourceError::corrupt(Format::Hdr, "its size is no number")),
    }
}

fn line(file: &mut impl BufRead) -> Result<String, SourceError> {
    let mut line = Vec::new();
    file.read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(SourceError::corrupt(Format::Hdr, "it ends in its header"));
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

impl Rows {
    /// Reads the next row. Gives whether it came channel by channel.
    fn read_row(&mut self) -> Result<bool, SourceError> {
        let mut head = [0; 4];
        self.fill(&mut head)?;
        let [2, 2, high @ 0..=0x7f, low] = head else {
            self.read_plain(head)?;
            return Ok(false);
        };
        if !PACKED_WIDTHS.contains(&self.size.width) {
            self.read_plain(head)?;
            return Ok(false);
        }
        if u32::from(u16::from_be_bytes([high, low])) != self.size.width {
            return Err(SourceError::corrupt(Format::Hdr, "a row has another width"));
        }
        let mut row = std::mem::take(&mut self.row);
        let result =
            row.chunks_exact_mut(self.size.width as usize).try_for_each(|channel| self.unpack(channel));
        self.row = row;
        result.map(|()| true)
    }

    /// Unpacks one channel of a row: a count up to 128 and as many values, or a larger count and one value.
    fn unpack(&mut self, mut channel: &mut [u8]) -> Result<(), SourceError> {
        while !channel.is_empty() {
            let mut count = [0];
            self.fill(&mut count)?;
            let (is_run, count) = if count[0] > 128 { (true, count[0] - 128) } else { (false, count[0]) };
            let Some((now, later)) = channel.split_at_mut_checked(usize::from(count)).filter(|_| count > 0)
            else {
                return Err(SourceError::corrupt(Format::Hdr, "a row is longer than it may be"));
            };
            if is_run {
                let mut value = [0];
                self.fill(&mut value)?;
                now.fill(value[0]);
            } else {
                self.fill(now)?;
            }
            channel = later;
        }
        Ok(())
    }

    /// Reads a row of whole pixels, in which (1, 1, 1, n) repeats the last one; its first pixel has been read.
    fn read_plain(&mut self, first: [u8; 4]) -> Result<(), SourceError> {
        let mut row = std::mem::take(&mut self.row);
        let (pixels, _) = row.as_chunks_mut::<4>();
        let (mut next, mut last, mut shift, mut read) = (0, [0; 4], 0, Some(first));
        while next < pixels.len() {
            let pixel = match read.take() {
                Some(pixel) => pixel,
                None => {
                    let mut pixel = [0; 4];
                    self.fill(&mut pixel)?;
                    pixel
                }
            };
            if let [1, 1, 1, count] = pixel {
                let end = next + (usize::from(count) << shift);
                let end = end.min(pixels.len());
                pixels[next..end].fill(last);
                next = end;
                // Counts of several such pixels are the digits of one, the lowest first.
                shift = (shift + 8).min(24);
            } else {
                pixels[next] = pixel;
                (last, shift) = (pixel, 0);
                next += 1;
            }
        }
        self.row = row;
        Ok(())
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        self.file
            .read_exact(into)
            .map_err(|_| SourceError::corrupt(Format::Hdr, "it ends before its last row"))
    }

    fn to_screen(&self, pixel: [u8; 4]) -> [u8; 3] {
        let [one, two, three, exponent] = pixel;
        if exponent == 0 {
            return [0; 3];
        }
        let scale = 2f32.powi(i32::from(exponent) - 128 - 8);
        let [x, y, z] = [one, two, three].map(|mantissa| (f32::from(mantissa) + 0.5) * scale);
        if !self.is_xyz {
            return tone_mapping::to_screen([x, y, z]);
        }
        // The white of XYZ is taken for D65, as libvips does; ward's own programs mean equal energy, but nobody else's.
        tone_mapping::to_screen([
            3.240_97 * x - 1.537_383 * y - 0.498_611 * z,
            -0.969_244 * x + 1.875_968 * y + 0.041_555 * z,
            0.055_63 * x - 0.203_977 * y + 1.056_972 * z,
        ])
    }
}

impl RowReader for Rows {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        Layout::Rgb
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let width = self.size.width as usize;
        for out in into.chunks_exact_mut(width * 3) {
            let by_channel = self.read_row()?;
            for (index, out) in out.as_chunks_mut::<3>().0.iter_mut().enumerate() {
                let pixel = match by_channel {
                    true => [0, 1, 2, 3].map(|channel| self.row[channel * width + index]),
                    false => [0, 1, 2, 3].map(|channel| self.row[4 * index + channel]),
                };
                *out = self.to_screen(pixel);
            }
        }
        Ok(())
    }
}
