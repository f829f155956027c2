//! Checks that decoding in bands gives exactly the samples of `heifer`'s decoder, which decodes whole frames.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use heifer::heifer_hevc_dec::decoder::{DecodeOptions, decode_picture};
use heifer::heifer_hevc_enc::encoder::{EncoderConfig, Planes16, encode_picture16};
use heifer::heifer_isobmff::HeifFile;

use super::{FrameBands, Limits};
use crate::SourceError;
use crate::formats::screenshot::FORMAT;

const LIMITS: Limits = Limits { pixels: 1 << 24, has_tiles: true };

/// Checks that the bands of a stream make up the whole frame, and returns their number.
fn check(stream: &[u8], what: &str) -> usize {
    let whole = decode_picture(stream, DecodeOptions::default()).unwrap();
    let mut bands = FrameBands::start(stream.to_vec(), LIMITS, &FORMAT).unwrap();
    assert_eq!(bands.size(), (whole.widths[0], whole.heights[0]), "{what}");
    let (mut next, mut count) = (0, 0);
    let (_, down) = if whole.chroma_format == 1 { (2, 2) } else { (1, 1) };
    while let Some((band, rows)) = bands.next().unwrap() {
        count += 1;
        assert_eq!(band.widths, whole.widths, "{what}");
        for component in 0..3 {
            let width = whole.widths[component] as usize;
            let down = if component == 0 { 1 } else { down };
            // Later bands begin with two extra rows for chroma interpolation.
            let first = if next == 0 { 0 } else { 2 };
            let own = (rows.start - first) / down * width..rows.end.div_ceil(down) * width;
            let from = (next - first) / down * width;
            assert!(
                band.planes[component][own.clone()] == whole.planes[component][from..from + own.len()],
                "{what}: component {component} from row {next} on"
            );
        }
        next += rows.len();
    }
    assert_eq!(next, whole.heights[0] as usize, "{what}");
    count
}

/// Returns samples of soft shades, grain and edges.
fn samples(width: u32, height: u32, bits: u8, seed: u32) -> Vec<u16> {
    let sample = |index: u32| {
        let (x, y) = (index % width, index / width);
        let shade = (x + y / 2 + 40 * seed) % 160;
        let edge = if (x / 23 + y / 31) % 5 == 0 { 60 } else { 0 };
        let grain = index.wrapping_mul(2_654_435_761).rotate_left(seed) >> 28;
        ((shade + edge + grain) as u16) << (bits - 8)
    };
    (0..width * height).map(sample).collect()
}

#[test]
fn bands_are_equal_to_the_whole_frame() {
    for (width, height, bits, is_grey, count) in [
        (130, 64, 8, false, 1),
        (130, 321, 8, false, 2),
        (97, 1001, 8, false, 4),
        (66, 584, 8, true, 3),
        (64, 577, 10, false, 3),
        (8, 330, 10, true, 2),
    ] {
        let what = format!("{width}x{height}, {bits} bits");
        let luma = samples(width, height, bits, 0);
        let chroma = [1, 2].map(|seed| samples(width.div_ceil(2), height.div_ceil(2), bits, seed));
        let planes =
            Planes16 { y: &luma, chroma: (!is_grey).then_some((&chroma[0], &chroma[1])), bit_depth: bits };
        let config = EncoderConfig { qp: 32, ..EncoderConfig::default() };
        let coded = encode_picture16(width, height, planes, &config).unwrap();
        assert_eq!(check(&coded.annex_b(), &what), count, "{what}");
    }
}

/// Uses x265, which supports all block sizes, several slices, wavefronts and all chroma subsamplings.
#[test]
fn bands_from_another_encoder_are_equal_to_the_whole_frame() {
    let folder = tempfile::tempdir().unwrap();
    let channels = [0, 1, 2].map(|seed| samples(166, 902, 8, seed));
    let pixels: Vec<u8> =
        (0..166 * 902).flat_map(|index| channels.each_ref().map(|channel| channel[index] as u8)).collect();
    let mut png = png::Encoder::new(File::create(folder.path().join("p.png")).unwrap(), 166, 902);
    png.set_color(png::ColorType::Rgb);
    png.write_header().unwrap().write_image_data(&pixels).unwrap();
    for options in [
        "x265:ctu=16",
        "x265:ctu=32 x265:slices=5",
        "x265:ctu=64 x265:wpp=1 preset=slow",
        "x265:ctu=16 x265:slices=9 x265:loop-filter=0 chroma=422",
        "chroma=444 x265:ctu=32 x265:tskip=1",
        "x265:cu-lossless=1 preset=veryslow x265:ctu=16",
    ] {
        let mut command = Command::new("heif-enc");
        command.args(["-q", "35", "p.png", "-o", "p.heic"]).current_dir(folder.path());
        options.split(' ').for_each(|option| _ = command.args(["-p", option]));
        assert!(command.stdout(Stdio::null()).status().unwrap().success(), "{options}");
        let bytes = fs::read(folder.path().join("p.heic")).unwrap();
        let file = HeifFile::parse(&bytes).unwrap();
        assert!(check(&file.hevc_bitstream(file.primary_id).unwrap(), options) > 1, "{options}");
    }
}

#[test]
fn a_stream_that_is_cut_off_fails_after_its_last_complete_band_and_a_large_one_at_once() {
    let luma = samples(64, 1500, 8, 0);
    let planes = Planes16 { y: &luma, chroma: None, bit_depth: 8 };
    let stream = encode_picture16(64, 1500, planes, &EncoderConfig::default()).unwrap().annex_b();
    let too_large =
        FrameBands::start(stream.clone(), Limits { pixels: 64 * 1400, ..LIMITS }, &FORMAT).err().unwrap();
    assert!(matches!(too_large, SourceError::Unsupported { .. }), "{too_large}");
    assert!(FrameBands::start(Vec::new(), LIMITS, &FORMAT).is_err());
    let cut = stream[..stream.len() * 3 / 4].to_vec();
    let mut bands = FrameBands::start(cut, LIMITS, &FORMAT).unwrap();
    let mut rows = 0;
    let error = loop {
        match bands.next() {
            Ok(Some((_, band))) => rows += band.len(),
            Ok(None) => panic!("the truncated stream was decoded to its end"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, SourceError::Corrupt { .. }), "{error}");
    assert!((500..1500).contains(&rows), "{rows}");
}
