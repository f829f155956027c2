//! Strips and tiles that are pictures of another format: WebP, JPEG 2000, JPEG XL. They are decoded to samples of 8
//! bits.
//!
//! Source: libtiff's tif_webp.c; TIFF's registry for 34712; openslide.org/formats/aperio for 33003 and 33005; GDAL's
//! tif_jxl.c.

use edgezoom_geometry::Size;

use super::picture::Shape;
use super::{FORMAT, undecodable};
#[cfg(feature = "modern")]
use crate::buffered::catch_panics;
use crate::formats::webp::libwebp;
use crate::{Layout, SourceError};

/// Decodes a chunk of WebP. Returns the number of bytes decoded.
pub fn webp(stored: &[u8], shape: Shape, out: &mut [u8]) -> Result<usize, SourceError> {
    let Size { width, height } = libwebp::features(stored).ok_or_else(undecodable)?.size;
    check(width, height, shape, out)?;
    let decode = |layout: Layout, pixels: &mut [u8]| {
        let rows = libwebp::decode(stored, layout, layout.row_bytes(width), pixels, false);
        rows.ok().filter(|&rows| rows == height).ok_or_else(undecodable)
    };
    let layout = if shape.together == 3 { Layout::Rgb } else { Layout::Rgba };
    let bytes = layout.row_bytes(width) * height as usize;
    if layout.channels() == shape.together && out.len() >= bytes {
        decode(layout, out)?;
        return Ok(out.len());
    }
    let mut pixels = vec![0; bytes];
    decode(layout, &mut pixels)?;
    for (out, pixel) in out.chunks_exact_mut(shape.together).zip(pixels.chunks_exact(layout.channels())) {
        out.fill(255);
        out.iter_mut().zip(pixel).for_each(|(out, &sample)| *out = sample);
    }
    Ok(out.len())
}

/// Decodes a chunk of JPEG 2000, whose three components may be YCbCr. Returns the number of bytes decoded.
#[cfg(feature = "modern")]
pub fn jp2(stored: &[u8], shape: Shape, is_ycbcr: bool, out: &mut [u8]) -> Result<usize, SourceError> {
    use hayro_jpeg2000::{DecodeSettings, DecoderContext, Image};

    catch_panics(&FORMAT, || {
        let image = Image::new(stored, &DecodeSettings::default()).map_err(|_| undecodable())?;
        check(image.width(), image.height(), shape, out)?;
        crate::formats::jpeg2000::admit_components_of(stored).map_err(|_| undecodable())?;
        let mut context = DecoderContext::default();
        let decoded = image.decode(&mut context).map_err(|_| undecodable())?;
        let components = decoded.components();
        let pixels = image.width() as usize * image.height() as usize;
        if components.len() < shape.together
            || components.iter().any(|component| component.samples().len() < pixels)
        {
            return Err(FORMAT.corrupt("a strip or tile has fewer samples than the file states"));
        }
        for (plane, component) in components.iter().take(shape.together).enumerate() {
            let scale = 255.0 / ((1u64 << component.bit_depth().min(32)) - 1) as f32;
            let out = out.iter_mut().skip(plane).step_by(shape.together);
            out.zip(component.samples()).for_each(|(out, &sample)| *out = (sample * scale).round() as u8);
        }
        // The decoder itself converts a bare codestream of subsampled chroma.
        if is_ycbcr && shape.together == 3 && !has_subsampled_chroma(stored) {
            for pixel in out.as_chunks_mut::<3>().0 {
                *pixel = crate::colour::samples::from_ycbcr(*pixel);
            }
        }
        Ok(out.len())
    })
}

/// Returns true if the second component of a bare codestream has fewer samples than the first.
///
/// ```text
/// SOC ff4f  SIZ ff51  length  capabilities: u16  8 sizes: u32  components: u16  (precision, across, down: u8) …
/// ```
/// Source: ITU-T T.800, A.5.1.
#[cfg(feature = "modern")]
fn has_subsampled_chroma(stored: &[u8]) -> bool {
    match stored.get(42..48) {
        Some([_, across, down, _, chroma_across, chroma_down])
            if stored.starts_with(&[0xff, 0x4f, 0xff, 0x51]) =>
        {
            (across, down) != (chroma_across, chroma_down)
        }
        _ => false,
    }
}

/// Decodes a chunk of JPEG XL. Returns the number of bytes decoded.
#[cfg(feature = "modern")]
pub fn jxl(stored: &[u8], shape: Shape, out: &mut [u8]) -> Result<usize, SourceError> {
    /// Bytes of memory that decoding takes for each pixel.
    const BYTES_A_PIXEL: u64 = 48;
    /// Bytes of memory that decoding takes for the smallest picture.
    const LEAST_BYTES: u64 = 16 << 20;

    catch_panics(&FORMAT, || {
        let pixels = u64::from(shape.columns) * u64::from(shape.rows);
        let memory = pixels.saturating_mul(BYTES_A_PIXEL).saturating_add(LEAST_BYTES);
        let bounds = crate::Bounds { pixels, memory, ..crate::Bounds::default() };
        let (size, channels, samples) =
            crate::formats::jxl::decode_samples(stored, bounds).map_err(|_| undecodable())?;
        check(size.width, size.height, shape, out)?;
        let rows = samples.chunks_exact(size.width as usize * channels);
        for (out, row) in out.chunks_exact_mut(shape.row_bytes).zip(rows) {
            for (out, pixel) in out.chunks_exact_mut(shape.together).zip(row.chunks_exact(channels)) {
                out.fill(255);
                out.iter_mut().zip(pixel).for_each(|(out, &sample)| *out = sample);
            }
        }
        Ok(out.len())
    })
}

/// Checks that a chunk has the width that the file states, is high enough and no higher.
fn check(width: u32, height: u32, shape: Shape, out: &[u8]) -> Result<(), SourceError> {
    let fits = width == shape.columns && height <= shape.rows;
    if !fits || (height as usize) < out.len() / shape.row_bytes {
        return Err(FORMAT.corrupt("a strip or tile does not have the size that the file states"));
    }
    Ok(())
}
