//! JPEG 2000, in its container JP2 or as a bare codestream. Buffered: `hayro-jpeg2000` decodes whole pictures.
//!
//! Source: ITU-T T.800 (ISO/IEC 15444-1), annex A for the codestream's markers, annex I for the boxes of JP2.

use hayro_jpeg2000::{ColorSpace, DecodeError, DecodeSettings, DecoderContext, Image};

use crate::buffered::Buffered;
use crate::buffered::{self, catch_panics};
use crate::colour::cmyk::CmykConverter;
use crate::colour::icc::Profile;
use crate::decoder::Decoded;
use crate::decoder::{Input, Open};
use crate::{Bounds, Format, Layout, Orientation, Reading, SourceError};

pub(crate) static FORMAT: Format = Format {
    name: "JPEG 2000",
    media_types: &["image/jp2"],
    endings: &["jp2", "j2k"],
    reading: Reading::Buffered,
    signature: |head| {
        head.starts_with(&[0xff, 0x4f, 0xff, 0x51]) || head.starts_with(b"\0\0\0\x0cjP  \r\n\x87\n")
    },
    open: Open::Directly(open),
};

/// The memory that decoding takes for each sample, in bytes: a float of the component, a float of the wavelet
/// transform, and the picture.
const BYTES_A_SAMPLE: u64 = 10;

/// The end-of-codestream marker EOC (table A.2), and how many bytes of padding may follow it.
const END_OF_CODESTREAM: [u8; 2] = [0xff, 0xd9];
const TRAILING_BYTES: usize = 64;

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    catch_panics(FORMAT.name, || decode(&buffered::read_all(file, bounds)?, bounds))
}

/// Decodes a JPEG 2000 in memory, for formats that hold one.
pub fn decode(bytes: &[u8], bounds: Bounds) -> Result<Decoded, SourceError> {
    if !is_complete(bytes) {
        return Err(FORMAT.corrupt("it ends before its last row"));
    }
    let image =
        Image::new(bytes, &DecodeSettings { strict: false, ..DecodeSettings::default() }).map_err(error)?;
    let size = bounds.admit(image.width(), image.height())?;
    let colours = usize::from(image.color_space().num_channels());
    let (has_alpha, is_cmyk) = (image.has_alpha(), colours == 4);
    let layout = match (colours, has_alpha) {
        (1, false) => Layout::Grey,
        (3 | 4, false) => Layout::Rgb,
        (1 | 3 | 4, true) => Layout::Rgba,
        _ => return Err(FORMAT.unsupported(format_args!("it has {colours} colours"))),
    };
    let samples = size.pixels() * (colours + usize::from(has_alpha)) as u64;
    bounds.admit_memory(bytes.len() as u64 + samples * BYTES_A_SAMPLE, "decoding a JPEG 2000")?;
    let profile = match image.color_space() {
        ColorSpace::Icc { profile, .. } => Profile::of_icc(profile),
        _ => None,
    };
    let mut context = DecoderContext::default();
    let decoded = image.decode(&mut context).map_err(error)?;
    let components = decoded.components();
    let scales: Vec<(&[f32], f32)> = components
        .iter()
        .map(|component| (component.samples(), 255.0 / ((1u64 << component.bit_depth().min(32)) - 1) as f32))
        .collect();
    let pixels = usize::try_from(size.pixels()).map_err(|_| SourceError::OutOfMemory)?;
    if scales.len() < colours + usize::from(has_alpha) || scales.iter().any(|(plane, _)| plane.len() < pixels)
    {
        return Err(FORMAT.unsupported("its components have different sizes"));
    }
    let mut picture = Buffered::new(size, layout, bounds)?;
    let cmyk = CmykConverter::new(profile.as_ref());
    for (index, out) in picture.pixels.chunks_exact_mut(layout.channels()).enumerate() {
        let sample = |plane: usize| {
            let (samples, scale) = scales[plane];
            (samples[index] * scale).round() as u8
        };
        match (layout, is_cmyk) {
            (Layout::Grey, _) => out[0] = sample(0),
            (_, true) => cmyk.convert(&[sample(0), sample(1), sample(2), sample(3)], &mut out[..3]),
            _ if colours == 1 => out[..3].fill(sample(0)),
            _ => out[..3].copy_from_slice(&[sample(0), sample(1), sample(2)]),
        }
        if let Some(out) = out.get_mut(3) {
            *out = sample(colours);
        }
    }
    Ok(Decoded {
        reader: Box::new(picture.without_opaque_alpha()),
        orientation: Orientation::UPRIGHT,
        profile: profile.filter(|_| !is_cmyk),
    })
}

/// Whether the codestream has its end marker. The decoder accepts files that are cut off, which would show a blurred
/// picture without an error.
fn is_complete(bytes: &[u8]) -> bool {
    let codestream = if bytes.starts_with(&[0xff, 0x4f]) { Some(bytes) } else { codestream(bytes) };
    codestream.is_some_and(|codestream| {
        let end = &codestream[codestream.len().saturating_sub(TRAILING_BYTES)..];
        end.windows(2).any(|marker| marker == END_OF_CODESTREAM)
    })
}

/// The content of the box `jp2c`, which holds the codestream. `None` when the box is cut off.
///
/// ```text
/// a box  length: u32  type: 4 bytes  [length: u64, if the first one is 1]  content; length 0: to the end of the file
/// ```
/// Source: ITU-T T.800, I.4.
fn codestream(mut boxes: &[u8]) -> Option<&[u8]> {
    loop {
        let (head, rest) = boxes.split_first_chunk::<8>()?;
        let [l0, l1, l2, l3, kind @ ..] = *head;
        let (length, head_bytes) = match u32::from_be_bytes([l0, l1, l2, l3]) {
            0 => (boxes.len() as u64, 8),
            1 => (u64::from_be_bytes(*rest.first_chunk()?), 16),
            length => (u64::from(length), 8),
        };
        let (content, later) = boxes.split_at_checked(usize::try_from(length).ok()?)?;
        if kind == *b"jp2c" {
            return content.get(head_bytes..);
        }
        // A box of length 0 would make this loop endless.
        boxes = (length >= 8).then_some(later)?;
    }
}

fn error(error: DecodeError) -> SourceError {
    match error {
        DecodeError::Format(hayro_jpeg2000::FormatError::Unsupported) => {
            FORMAT.unsupported("it uses a part of the standard that is not read")
        }
        other => FORMAT.corrupt(other),
    }
}
