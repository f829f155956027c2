//! Radiance HDR, row by row: pixels of three mantissas and a common exponent, tone-mapped.
//!
//! ```text
//! #?RADIANCE\n  lines of "NAME=value"  an empty line  "-Y 200 +X 300\n"  rows
//!
//! a row, flat        r g b e   r g b e  …    where 1 1 1 n repeats the last pixel n times (old run-length coding)
//! a row, compressed  2 2 width: u16          then all r, all g, all b, all e, each as runs:
//!                    count ≤ 128, as many values; or count + 128, one value to repeat
//! ```
//! Source: Greg Ward, "Real Pixels" (Graphics Gems II, 1991); Radiance, "File Formats", "Picture File Format (.hdr)".

use std::io::{BufRead, BufReader, Read};

use crate::colour::tone_mapping;
use crate::format::{Decoded, Input, Open};
use crate::{Format, Layout, Orientation, Reading, SourceError, SourceFile};

pub(crate) static FORMAT: Format = Format {
    name: "HDR",
    media_types: &["image/vnd.radiance"],
    endings: &["hdr"],
    reading: Reading::Rows,
    in_order: true,
    signature: |head| head.starts_with(b"#?RADIANCE") || head.starts_with(b"#?RGBE"),
    open: Open::Directly(open),
};

/// The largest number of bytes in the header, where programs list how a picture was made.
const MAX_HEADER_BYTES: u64 = 1 << 20;
/// The widths of rows that may be compressed channel by channel.
const COMPRESSED_WIDTHS: std::ops::Range<u32> = 8..0x8000;

struct Rows {
    width: u32,
    is_xyz: bool,
    file: BufReader<SourceFile>,
    /// A row: all reds, all greens, all blues, all exponents; or pixel after pixel.
    row: Vec<u8>,
}

fn open(Input { mut file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let (width, height, orientation, is_xyz) = read_header(&mut (&mut file).take(MAX_HEADER_BYTES))?;
    let size = bounds.admit(width, height)?;
    let mut rows = Rows { width, is_xyz, file, row: vec![0; width as usize * 4] };
    let decoded = Decoded::rows(size, Layout::Rgb, move |out| rows.read_into(out));
    Ok(Decoded { orientation, ..decoded })
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
                other => return Err(FORMAT.unsupported(format_args!("its pixels are {other:?}"))),
            };
        }
    }
    let resolution = line(file)?;
    let words: Vec<&str> = resolution.split_ascii_whitespace().collect();
    let &[down, height, across, width] = words.as_slice() else {
        return Err(FORMAT.corrupt("its size is missing"));
    };
    let orientation = match (down, across) {
        ("-Y", "+X") => 1,
        ("-Y", "-X") => 2,
        ("+Y", "-X") => 3,
        ("+Y", "+X") => 4,
        _ => return Err(FORMAT.unsupported("its rows are columns")),
    };
    match (width.parse(), height.parse()) {
        (Ok(width), Ok(height)) => Ok((width, height, Orientation::from_exif(orientation), is_xyz)),
        _ => Err(FORMAT.corrupt("its size is not a number")),
    }
}

fn line(file: &mut impl BufRead) -> Result<String, SourceError> {
    let mut line = Vec::new();
    file.read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(FORMAT.corrupt("it ends in its header"));
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

impl Rows {
    /// Reads the next row. Returns true if it is stored channel by channel.
    fn read_row(&mut self) -> Result<bool, SourceError> {
        let mut head = [0; 4];
        self.fill(&mut head)?;
        let [2, 2, high @ 0..=0x7f, low] = head else {
            self.read_flat(head)?;
            return Ok(false);
        };
        if !COMPRESSED_WIDTHS.contains(&self.width) {
            self.read_flat(head)?;
            return Ok(false);
        }
        if u32::from(u16::from_be_bytes([high, low])) != self.width {
            return Err(FORMAT.corrupt("a row has another width"));
        }
        let mut row = std::mem::take(&mut self.row);
        let result =
            row.chunks_exact_mut(self.width as usize).try_for_each(|channel| self.decompress(channel));
        self.row = row;
        result.map(|()| true)
    }

    /// Decompresses one channel of a row.
    fn decompress(&mut self, mut channel: &mut [u8]) -> Result<(), SourceError> {
        while !channel.is_empty() {
            let mut count = [0];
            self.fill(&mut count)?;
            let (is_run, count) = if count[0] > 128 { (true, count[0] - 128) } else { (false, count[0]) };
            let Some((now, later)) = channel.split_at_mut_checked(usize::from(count)).filter(|_| count > 0)
            else {
                return Err(FORMAT.corrupt("a row is longer than it may be"));
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

    /// Reads a row of whole pixels. The first one has been read already.
    fn read_flat(&mut self, first: [u8; 4]) -> Result<(), SourceError> {
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
                // The counts of several such pixels are the bytes of one number, the lowest first.
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
        self.file.read_exact(into).map_err(|_| FORMAT.corrupt("it ends before its last row"))
    }

    fn to_srgb(&self, pixel: [u8; 4]) -> [u8; 3] {
        let [one, two, three, exponent] = pixel;
        if exponent == 0 {
            return [0; 3];
        }
        let scale = 2f32.powi(i32::from(exponent) - 128 - 8);
        let [x, y, z] = [one, two, three].map(|mantissa| (f32::from(mantissa) + 0.5) * scale);
        if !self.is_xyz {
            return tone_mapping::map([x, y, z]);
        }
        // The white of XYZ is taken to be D65, as libvips does. Only Radiance's own programs mean equal energy.
        tone_mapping::map([
            3.240_97 * x - 1.537_383 * y - 0.498_611 * z,
            -0.969_244 * x + 1.875_968 * y + 0.041_555 * z,
            0.055_63 * x - 0.203_977 * y + 1.056_972 * z,
        ])
    }

    fn read_into(&mut self, row: &mut [u8]) -> Result<(), SourceError> {
        let width = self.width as usize;
        let is_planar = self.read_row()?;
        for (index, out) in row.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let pixel = match is_planar {
                true => [0, 1, 2, 3].map(|channel| self.row[channel * width + index]),
                false => [0, 1, 2, 3].map(|channel| self.row[4 * index + channel]),
            };
            *out = self.to_srgb(pixel);
        }
        Ok(())
    }
}
