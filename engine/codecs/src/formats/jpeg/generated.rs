//! Small JPEGs for tests: of all colour spaces and samplings, and damaged ones.

use mozjpeg::{ColorSpace, ColorSpaceExt, Compress, ScanMode};
use proptest::prelude::*;

/// True if libjpeg's vectors show damaged files as our decoder does on all machines: what overflows is saturated. Those
/// for ARM64 truncate it (`vrshrn_n_s32` in `jidctint-neon.c`).
pub const LIBJPEG_SATURATES: bool = cfg!(target_arch = "x86_64");

/// Files of which some bytes are changed, and some of which are cut off.
pub fn changed() -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5);
    let cut = prop::option::weighted(0.2, any::<prop::sample::Index>());
    let kinds = prop::sample::select(
        &[jpeg, in_scans, progressive, progressive] as &[fn(u64, (usize, usize)) -> Vec<u8>]
    );
    let sizes = (1_usize..200, 1_usize..150);
    (any::<u64>(), sizes, changes, cut, kinds).prop_map(|(seed, size, changes, cut, kind)| {
        let mut file = kind(seed, size);
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

/// Colour spaces of the pixels and of the file. The first is grey.
const COLOURS: [(ColorSpace, ColorSpace); 6] = [
    (ColorSpace::JCS_GRAYSCALE, ColorSpace::JCS_GRAYSCALE),
    (ColorSpace::JCS_CMYK, ColorSpace::JCS_CMYK),
    (ColorSpace::JCS_CMYK, ColorSpace::JCS_YCCK),
    (ColorSpace::JCS_RGB, ColorSpace::JCS_RGB),
    (ColorSpace::JCS_RGB, ColorSpace::JCS_YCbCr),
    (ColorSpace::JCS_RGB, ColorSpace::JCS_YCbCr),
];

/// Returns a source of numbers: the first one chooses from [`COLOURS`].
fn numbers(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

/// A picture of noise and edges, by a seed.
pub fn jpeg(seed: u64, size: (usize, usize)) -> Vec<u8> {
    jpeg_of(seed, size, false)
}

/// A progressive picture, by a seed.
pub fn progressive(seed: u64, size: (usize, usize)) -> Vec<u8> {
    jpeg_of(seed, size, true)
}

fn jpeg_of(seed: u64, (width, height): (usize, usize), is_progressive: bool) -> Vec<u8> {
    let mut random = numbers(seed);
    let (from, stored) = COLOURS[random() as usize % COLOURS.len()];
    let channels = from.num_components();
    let (h, v) = [(2, 2), (1, 1), (2, 1), (1, 2), (4, 1), (2, 2)][random() as usize % 6];
    let is_subsampled = matches!(stored, ColorSpace::JCS_YCbCr | ColorSpace::JCS_YCCK);
    let (h, v) = if is_subsampled { (h, v) } else { (1, 1) };
    let quality = (random() % 76 + 25) as f32; // below 25, steps have 16 bits
    let (noise, step) = ([0, 4, 60, 255][random() as usize % 4], random() as usize % 40 + 1);
    let has_restarts = random().is_multiple_of(3) && !is_progressive;
    let scans = [ScanMode::AllComponentsTogether, ScanMode::ScanPerComponent, ScanMode::Auto];
    let scans = scans[random() as usize % 3];
    let pixels: Vec<u8> = (0..width * height * channels)
        .map(|at| ((at / step * 37) as u64 % 200 + random() % (noise + 1)) as u8)
        .collect();
    let encode = |pixels: &[u8]| {
        let mut encoder = Compress::new(from);
        encoder.set_fastest_defaults();
        encoder.set_scan_optimization_mode(scans);
        encoder.set_color_space(stored);
        encoder.set_size(width, pixels.len() / (width * channels));
        encoder.set_quality(quality);
        if is_progressive {
            encoder.set_progressive_mode();
        }
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

/// A picture of a scan for each component, by a seed. Each scan is that of a grey picture, with tables and restart
/// interval of its own.
pub fn in_scans(seed: u64, (width, height): (usize, usize)) -> Vec<u8> {
    let count = if seed.is_multiple_of(4) { 4 } else { 3 };
    let (across, down) = [(2, 2), (1, 1), (2, 1), (1, 2), (4, 1), (2, 2)][(seed >> 8) as usize % 6];
    let (across, down) = if count == 4 { (1, 1) } else { (across, down) };
    let mut file = vec![0xff, 0xd8, 0xff, 0xc0, 0, 8 + 3 * count, 8];
    file.extend((height as u16).to_be_bytes());
    file.extend((width as u16).to_be_bytes());
    file.push(count);
    for id in 1..=count {
        let is_whole = id == 1 || count == 4;
        file.extend([id, if is_whole { across << 4 | down } else { 0x11 }, 0]);
    }
    for id in 1..=count {
        let part = |side: usize, factor: u8| {
            let is_whole = id == 1 || count == 4;
            if is_whole { side } else { side.div_ceil(factor.into()) }
        };
        let grey = grey(seed.rotate_left(id.into()), (part(width, across), part(height, down)));
        if !grey.windows(2).any(|pair| pair == [0xff, 0xdd]) {
            file.extend([0xff, 0xdd, 0, 4, 0, 0]);
        }
        let mut at = 2;
        loop {
            let [_, code, high, low] = *grey[at..].first_chunk().unwrap();
            let end = at + 2 + usize::from(u16::from_be_bytes([high, low]));
            match code {
                0xda => {
                    file.extend([&grey[at..at + 5], &[id], &grey[at + 6..grey.len() - 2]].concat());
                    break;
                }
                0xc0 | 0xe0 => {}
                _ => file.extend(&grey[at..end]),
            }
            at = end;
        }
    }
    file.extend([0xff, 0xd9]);
    file
}

/// A grey picture, by a seed.
fn grey(seed: u64, size: (usize, usize)) -> Vec<u8> {
    let is_grey = |seed: &u64| (numbers(*seed)() as usize).is_multiple_of(COLOURS.len());
    let seed = (0..).map(|number| seed.wrapping_add(number)).find(is_grey).unwrap();
    jpeg(seed, size)
}
