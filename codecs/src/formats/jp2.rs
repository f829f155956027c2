//! JPEG 2000, with or without the JP2 container, decoded as a whole.

use std::fs::File;
use std::io::BufReader;

use hayro_jpeg2000::{ColorSpace, DecodeError, DecodeSettings, DecoderContext, Image};

use crate::buffered::{self, guarded};
use crate::colour::cmyk::Inks;
use crate::{Bounds, Buffered, Decoded, Format, Layout, Orientation, Profile, SourceError};

/// What decoding takes for each sample, in bytes: a float as it is put together, another as wavelets, and the picture.
const BYTES_A_SAMPLE: u64 = 10;

/// The marker that a codestream ends with, and how many bytes of padding may come after it.
const END_OF_CODESTREAM: [u8; 2] = [0xff, 0xd9];
const TRAILING_BYTES: usize = 64;

pub fn open(file: BufReader<File>, bounds: Bounds) -> Result<Decoded, SourceError> {
    guarded(Format::Jp2, || decode(&buffered::read_all(file, bounds)?, bounds))
}

fn decode(bytes: &[u8], bounds: Bounds) -> Result<Decoded, SourceError> {
    if !is_complete(bytes) {
        return Err(SourceError::corrupt(Format::Jp2, "it ends before its last row"));
    }
    let image =
        Image::new(bytes, &DecodeSettings { strict: false, ..DecodeSettings::default() }).map_err(error)?;
    let size = bounds.admit(image.width(), image.height())?;
    let colours = usize::from(image.color_space().num_channels());
    let (is_clear, has_inks) = (image.has_alpha(), matches!(colours, 4));
    let layout = match (colours, is_clear) {
        (1, false) => Layout::Grey,
        (3 | 4, false) => Layout::Rgb,
        (1 | 3 | 4, true) => Layout::Rgba,
        _ => return Err(SourceError::unsupported(Format::Jp2, format_args!("it has {colours} colours"))),
    };
    let samples = size.pixels() * (colours + usize::from(is_clear)) as u64;
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
    if scales.len() < colours + usize::from(is_clear) || scales.iter().any(|(plane, _)| plane.len() < pixels)
    {
        return Err(SourceError::unsupported(Format::Jp2, "its components have different sizes"));
    }
    let mut picture = Buffered::new(size, layout, bounds)?;
    let inks = Inks::new(profile.as_ref());
    for (index, out) in picture.pixels.chunks_exact_mut(layout.channels()).enumerate() {
        let sample = |plane: usize| {
            let (samples, scale) = scales[plane];
            (samples[index] * scale).round() as u8
        };
        match (layout, has_inks) {
            (Layout::Grey, _) => out[0] = sample(0),
            (_, true) => inks.convert(&[sample(0), sample(1), sample(2), sample(3)], &mut out[..3]),
            _ if colours == 1 => out[..3].fill(sample(0)),
            _ => out[..3].copy_from_slice(&[sample(0), sample(1), sample(2)]),
        }
        if let Some(out) = out.get_mut(3) {
            *out = sample(colours);
        }
    }
    Ok(Decoded {
        strips: Box::new(picture.without_idle_opacity()),
        orientation: Orientation::UPRIGHT,
        profile: profile.filter(|_| !has_inks),
    })
}

/// Whether the codestream ends as it should. The decoder takes what there is of a file that is cut off, which would show a
/// blurred picture without a word.
fn is_complete(bytes: &[u8]) -> bool {
    let codestream = if bytes.starts_with(&[0xff, 0x4f]) { Some(bytes) } else { codestream(bytes) };
    codestream.is_some_and(|codestream| {
        let end = &codestream[codestream.len().saturating_sub(TRAILING_BYTES)..];
        end.windows(2).any(|marker| marker == END_OF_CODESTREAM)
    })
}

/// The content of the box that the codestream is in. `None` when it is not all there.
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
        // A box is never empty, or this would go on for ever.
        boxes = (length >= 8).then_some(later)?;
    }
}

fn error(error: DecodeError) -> SourceError {
    match error {
        DecodeError::Format(hayro_jpeg2000::FormatError::Unsupported) => {
            SourceError::unsupported(Format::Jp2, "a part of the standard that few files use")
        }
        other => SourceError::corrupt(Format::Jp2, other),
    }
}
