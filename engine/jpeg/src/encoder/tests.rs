//! Compares files with those of libjpeg-turbo: with the same steps they show the same pixels, in no more bytes.

use fearless_simd::{Level, dispatch};
use mozjpeg::{ColorSpace, Compress, Decompress};
use proptest::prelude::*;

use super::transform::{Coefficients, Quantiser, SAMPLES, Transformed, transform};
use super::{Encoder, Input, colours};
use crate::quantisation::Quantisation;
use crate::tables::ZIGZAG;

/// Encodes with libjpeg's tables and optimised Huffman codes.
fn by_libjpeg(
    input: Input,
    quality: u8,
    halves_chroma: bool,
    (width, height): (u32, u32),
    pixels: &[u8],
) -> Vec<u8> {
    let mut encoder = Compress::new(match input {
        Input::Grey => ColorSpace::JCS_GRAYSCALE,
        Input::Rgb => ColorSpace::JCS_RGB,
        Input::Rgba => ColorSpace::JCS_EXT_RGBA,
        Input::YCbCr | Input::YCbCr420 => ColorSpace::JCS_YCbCr,
    });
    encoder.set_fastest_defaults();
    encoder.set_size(width as usize, height as usize);
    encoder.set_quality(quality.into());
    encoder.set_optimize_coding(true);
    if input != Input::Grey {
        let factor = if halves_chroma { 2 } else { 1 };
        encoder.set_chroma_sampling_pixel_sizes((factor, factor), (factor, factor));
    }
    let mut started = encoder.start_compress(Vec::new()).unwrap();
    started.write_scanlines(pixels).unwrap();
    started.finish().unwrap()
}

/// Reads a file's steps of luma and chroma. Rounding is to the nearest, as libjpeg's.
fn quantisation_of(file: &[u8]) -> Quantisation {
    let mut steps = [[1; 64]; 2];
    for (number, to) in (0..).zip(&mut steps) {
        let starts = |bytes: &[u8]| bytes == [0xff, 0xdb, 0, 67, number];
        if let Some(at) = file.windows(5).position(starts) {
            ZIGZAG.iter().zip(&file[at + 5..]).for_each(|(&place, &step)| to[place] = step.into());
        }
    }
    Quantisation { steps, dead_zones: [[128; 64]; 2], busy_dead_zone: 128 }
}

/// Decodes as libjpeg-turbo does.
fn decode(file: &[u8]) -> Vec<u8> {
    Decompress::new_mem(file).unwrap().rgb().unwrap().read_scanlines().unwrap()
}

/// Makes a picture of a kind: noise, edges, a gradient with a little noise, or one colour with rare points.
fn picture(kind: u8, seed: u32, width: u32, height: u32, channels: usize) -> Vec<u8> {
    let mut state = seed;
    let mut random = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 24
    };
    let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let values = places.flat_map(|(x, y)| (0..channels as u32).map(move |channel| (x, y, channel)));
    values
        .map(|(x, y, channel)| match kind {
            0 => random() as u8,
            1 => {
                if (x / 5 + y / 3 + channel) % 2 == 0 {
                    255
                } else {
                    0
                }
            }
            2 => ((x * (channel + 1) + 2 * y) / 3 + random() % 8) as u8,
            _ => {
                if random() == 0 {
                    seed as u8
                } else {
                    128
                }
            }
        })
        .collect()
}

fn encode(encoder: &mut Encoder, (width, height): (u32, u32), pixels: &[u8], channels: usize) -> Vec<u8> {
    encoder.begin(width, height);
    pixels.chunks_exact(width as usize * channels).for_each(|row| encoder.row(row));
    encoder.finish().to_vec()
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![Just(Input::Grey), Just(Input::Rgb), Just(Input::Rgba), Just(Input::YCbCr)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_file_shows_what_libjpegs_shows_in_no_more_bytes(
        // Below 25 libjpeg's steps need 16 bits.
        input in input(), quality in 25_u8..=100, halves_chroma: bool, kind in 0_u8..4, seed: u32,
        size in (1_u32..560, 1_u32..40), token_bytes in prop_oneof![Just(0), Just(1 << 15), Just(1 << 20)],
    ) {
        let pixels = picture(kind, seed, size.0, size.1, input.bytes_per_pixel());
        let expected = by_libjpeg(input, quality, halves_chroma, size, &pixels);
        let quantisation = quantisation_of(&expected);
        let mut encoder = Encoder::new(input, &quantisation, halves_chroma).with_token_bytes(token_bytes);
        let file = encode(&mut encoder, size, &pixels, input.bytes_per_pixel());
        prop_assert!(decode(&file) == decode(&expected));
        prop_assert_eq!(quantisation_of(&file), quantisation);
        if token_bytes == 1 << 20 {
            // Without the zeros after 0xff: how many there are is chance.
            let bytes = |file: &[u8]| file.len() - file.windows(2).filter(|pair| *pair == [0xff, 0]).count();
            let (ours, theirs) = (bytes(&file), bytes(&expected));
            // Dense files, which are not small, have tables for their first rows.
            let part = if theirs < 2000 { 500 } else { 20 };
            prop_assert!(ours <= theirs + 1 + theirs / part, "{ours} and {theirs}");
        }
        // Again with memory that has been used, and with an encoder that shares it.
        let mut another = encoder.another();
        prop_assert!(encode(&mut another, size, &pixels, input.bytes_per_pixel()) == file);
        prop_assert!(encode(&mut encoder, size, &pixels, input.bytes_per_pixel()) == file);
    }
}

/// Makes an encoder of the default quality.
fn encoder() -> Encoder {
    Encoder::new(Input::Rgb, &Quantisation::of_quality(82, true), true)
}

#[test]
fn a_dense_file_needs_hardly_more_bytes_than_with_tables_of_its_own() {
    let size = (512, 512);
    for (kind, most) in [(0, 1.01), (2, 1.002)] {
        let pixels = picture(kind, 7, size.0, size.1, 3);
        let expected = by_libjpeg(Input::Rgb, 82, true, size, &pixels);
        let mut encoder = Encoder::new(Input::Rgb, &quantisation_of(&expected), true);
        let file = encode(&mut encoder, size, &pixels, 3);
        assert!(file.len() as f64 <= expected.len() as f64 * most, "{} and {}", file.len(), expected.len());
        assert!(decode(&file) == decode(&expected));
    }
}

#[test]
fn encoders_that_take_turns_do_not_mix() {
    let size = (254, 100);
    let pictures = [0, 1, 2].map(|kind| picture(kind, 7, size.0, size.1, 3));
    let first = encoder();
    let mut encoders = [first.another(), first.another(), first];
    encoders.iter_mut().for_each(|encoder| encoder.begin(size.0, size.1));
    for row in 0..size.1 as usize {
        for (encoder, pixels) in encoders.iter_mut().zip(&pictures) {
            encoder.row(&pixels[row * 254 * 3..][..254 * 3]);
        }
    }
    for (taking_turns, pixels) in encoders.iter_mut().zip(&pictures) {
        assert!(*taking_turns.finish() == *encode(&mut encoder(), size, pixels, 3));
    }
}

#[test]
fn an_unfinished_file_leaves_nothing_behind() {
    let size = (100, 50);
    let pixels = picture(0, 3, size.0, size.1, 3);
    let mut used = encoder();
    used.begin(300, 300);
    (0..25).for_each(|_| used.row(&[77; 900]));
    assert!(encode(&mut used, size, &pixels, 3) == encode(&mut encoder(), size, &pixels, 3));
}

#[test]
fn files_beyond_the_memory_for_tokens_have_tables_for_their_first_rows() {
    let size = (512, 512);
    let pixels = picture(2, 9, size.0, size.1, 3);
    let best = encode(&mut encoder(), size, &pixels, 3);
    let first = encoder().with_token_bytes(200 << 10);
    let mut open = [first.another(), first.another(), first.another(), first];
    // Two rounds: the memory is there again when files are finished.
    for _ in 0..2 {
        open.iter_mut().for_each(|encoder| encoder.begin(size.0, size.1));
        for row in pixels.chunks_exact(3 * 512) {
            open.iter_mut().for_each(|encoder| encoder.row(row));
        }
        let files = open.each_mut().map(|encoder| encoder.finish().to_vec());
        assert!(files.iter().all(|file| decode(file) == decode(&best)));
        assert!(files.iter().all(|file| file.len() < best.len() * 21 / 20));
        assert!(files.iter().any(|file| file.len() > best.len()), "all found memory");
    }
}

#[test]
fn a_slow_gradient_does_not_become_blocks() {
    let (width, height) = (512, 16);
    let pixels: Vec<u8> = (0..width * height).map(|at| (20 + at % width * 19 / 100) as u8).collect();
    let mut encoder = Encoder::new(Input::Grey, &Quantisation::of_quality(82, true), true);
    let shown = decode(&encode(&mut encoder, (width, height), &pixels, 1));
    let row: Vec<u8> = shown.iter().step_by(3).copied().take(width as usize).collect();
    let steps = (8..width as usize).step_by(8).map(|edge| row[edge].abs_diff(row[edge - 1]));
    assert!(steps.max() <= Some(1));
}

#[test]
fn an_encoder_with_other_steps_shares_memory_alone() {
    let (size, pixels) = ((300, 60), picture(2, 9, 300, 60, 3));
    let coarse = Quantisation::of_quality(50, true);
    let mut first = encoder();
    let file = encode(&mut first.with_quantisation(&coarse), size, &pixels, 3);
    assert!(file == encode(&mut Encoder::new(Input::Rgb, &coarse, true), size, &pixels, 3));
    assert!(encode(&mut first, size, &pixels, 3).len() > file.len());
}

/// Returns the widest vectors of the processor and the narrower ones that it supports too.
fn levels() -> Vec<Level> {
    let widest = Level::new();
    #[cfg(target_arch = "x86_64")]
    let older = [
        widest.as_avx2().map(Level::Avx2),
        widest.as_sse4_2().map(Level::Sse4_2),
        widest.as_sse2().map(Level::Sse2),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let older: [Option<Level>; 0] = [];
    older.into_iter().flatten().chain([widest]).collect()
}

#[test]
fn all_vector_widths_give_the_same_result() {
    let picture = picture(0, 5, SAMPLES as u32, 8, 3);
    let rows: Vec<_> = picture.chunks_exact(3 * SAMPLES).collect();
    // Of chroma, whose blocks of noise are busy.
    let quantiser = Quantiser::new(&Quantisation::of_quality(75, true), 1);
    let results = levels().into_iter().map(|level| {
        let mut planes = [[0; SAMPLES]; 3].map(|row| [row; 8]);
        let mut halved = [0; SAMPLES / 2];
        let mut coefficients = Coefficients::default();
        dispatch!(level, simd => {
            let [luma, cb, cr] = &mut planes;
            for (row, ((luma, cb), cr)) in rows.iter().zip(luma.iter_mut().zip(cb.iter_mut()).zip(cr.iter_mut())) {
                let mut planes = [&mut luma[..], &mut cb[..], &mut cr[..]];
                colours::split(simd, row, &mut planes);
                colours::to_ycbcr(simd, &mut planes);
            }
            colours::halve(simd, &cb[0], &cb[1], &mut halved);
            transform(simd, luma.each_ref(), &quantiser, &mut Transformed::default(), &mut coefficients);
        });
        let Coefficients { values, nonzero, magnitudes } = coefficients;
        (planes, halved, values.0, nonzero, magnitudes)
    });
    let results: Vec<_> = results.collect();
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}
