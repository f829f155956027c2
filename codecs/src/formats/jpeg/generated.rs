//! Small JPEGs for tests: of all colour spaces and samplings, and damaged ones.

use mozjpeg::{ColorSpace, ColorSpaceExt, Compress};
use proptest::prelude::*;

/// Files of which some bytes are changed, and some of which are cut off.
pub fn changed() -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5);
    let cut = prop::option::weighted(0.2, any::<prop::sample::Index>());
    (any::<u64>(), (1_usize..200, 1_usize..150), changes, cut).prop_map(|(seed, size, changes, cut)| {
        let mut file = jpeg(seed, size);
        for (index, value) in changes {
            let at = index.index(file.len());
            file[at] = value;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        file
    })
}

/// A picture of noise and edges, by a seed.
pub fn jpeg(seed: u64, (width, height): (usize, usize)) -> Vec<u8> {
    let mut state = seed | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (from, stored) = [
        (ColorSpace::JCS_GRAYSCALE, ColorSpace::JCS_GRAYSCALE),
        (ColorSpace::JCS_CMYK, ColorSpace::JCS_CMYK),
        (ColorSpace::JCS_CMYK, ColorSpace::JCS_YCCK),
        (ColorSpace::JCS_RGB, ColorSpace::JCS_RGB),
        (ColorSpace::JCS_RGB, ColorSpace::JCS_YCbCr),
        (ColorSpace::JCS_RGB, ColorSpace::JCS_YCbCr),
    ][random() as usize % 6];
    let channels = from.num_components();
    let (h, v) = [(2, 2), (1, 1), (2, 1), (1, 2), (4, 1), (2, 2)][random() as usize % 6];
    let is_subsampled = matches!(stored, ColorSpace::JCS_YCbCr | ColorSpace::JCS_YCCK);
    let (h, v) = if is_subsampled { (h, v) } else { (1, 1) };
    let quality = (random() % 76 + 25) as f32; // below 25, steps have 16 bits
    let (noise, step) = ([0, 4, 60, 255][random() as usize % 4], random() as usize % 40 + 1);
    let has_restarts = random().is_multiple_of(3);
    let pixels: Vec<u8> = (0..width * height * channels)
        .map(|at| ((at / step * 37) as u64 % 200 + random() % (noise + 1)) as u8)
        .collect();
    let encode = |pixels: &[u8]| {
        let mut encoder = Compress::new(from);
        encoder.set_fastest_defaults();
        encoder.set_color_space(stored);
        encoder.set_size(width, pixels.len() / (width * channels));
        encoder.set_quality(quality);
        if is_subsampled {
            encoder.set_chroma_sampling_pixel_sizes((h, v), (h, v));
            for (number, component) in encoder.components_mut().iter_mut().enumerate() {
                let is_chroma = matches!(number, 1 | 2);
                component.h_samp_factor = if is_chroma { 1 } else { h.into() };
                component.v_samp_factor = if is_chroma { 1 } else { v.into() };
            }
        }
        let mut started = encoder.start_compress(Vec::new()).unwrap();
        started.write_scanlines(pixels).unwrap();
        started.finish().unwrap()
    };
    if !has_restarts {
        return encode(&pixels);
    }
    let bands = pixels.chunks(width * channels * 8 * usize::from(v)).map(encode).collect();
    joined_by_restarts(bands, height, width.div_ceil(8 * usize::from(h)))
}

/// Makes files of a row of MCUs each, with the same tables, the restart intervals of one file.
fn joined_by_restarts(bands: Vec<Vec<u8>>, height: usize, mcus_across: usize) -> Vec<u8> {
    let mut joined = Vec::new();
    for (number, mut band) in bands.into_iter().enumerate() {
        let marker = |code| band.windows(2).position(|pair| pair == [0xff, code]).unwrap();
        let (frame, scan) = (marker(0xc0), marker(0xda));
        let first_byte = scan + 2 + usize::from(band[scan + 3]);
        band.truncate(band.len() - 2);
        if number == 0 {
            band[frame + 5..frame + 7].copy_from_slice(&(height as u16).to_be_bytes());
            let [high, low] = (mcus_across as u16).to_be_bytes();
            band.splice(scan..scan, [0xff, 0xdd, 0, 4, high, low]);
            joined = band;
        } else {
            joined.extend([0xff, 0xd0 + (number as u8 - 1) % 8]);
            joined.extend_from_slice(&band[first_byte..]);
        }
    }
    joined.extend([0xff, 0xd9]);
    joined
}
