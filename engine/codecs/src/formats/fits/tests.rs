use std::io::Write;

use edgezoom_geometry::{Scale, ScaleBasis, ScaleUnit};

use super::*;
use crate::Bounds;
use crate::formats::mutated::{self, read};

fn header(cards: &[&str]) -> Vec<u8> {
    let mut header = String::new();
    for card in cards.iter().chain(&["END"]) {
        header.push_str(&format!("{card:80}"));
    }
    let mut header = header.into_bytes();
    header.resize(header.len().next_multiple_of(2880), b' ');
    header
}

fn fits(cards: &[&str], values: &[u8]) -> Vec<u8> {
    let mut file = header(cards);
    file.extend(values);
    file.resize(file.len().next_multiple_of(2880), 0);
    file
}

const BYTES: [&str; 5] =
    ["SIMPLE  =                    T", "BITPIX  = 8 / bytes", "NAXIS   = 2", "NAXIS1  = 3", "NAXIS2  = 2"];

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns a file with two Rice-compressed tiles of 4 pixels each: 5 5 6 4, and 5 5 5 5.
fn tiled() -> Vec<u8> {
    let mut file = header(&["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 0"]);
    file.extend(header(&[
        "XTENSION= 'BINTABLE'",
        "BITPIX  = 8",
        "NAXIS   = 2",
        "NAXIS1  = 8",
        "NAXIS2  = 2",
        "PCOUNT  = 7",
        "GCOUNT  = 1",
        "TFIELDS = 1",
        "TTYPE1  = 'COMPRESSED_DATA'",
        "TFORM1  = '1PB(4)'",
        "ZIMAGE  = T",
        "ZBITPIX = 16",
        "ZNAXIS  = 2",
        "ZNAXIS1 = 4",
        "ZNAXIS2 = 2",
        "ZCMPTYPE= 'RICE_1'",
        "ZNAME1  = 'BLOCKSIZE'",
        "ZVAL1   = 2",
        "ZNAME2  = 'BYTEPIX'",
        "ZVAL2   = 2",
    ]));
    file.extend([0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 4]);
    file.extend([0, 5, 0b0000_0010, 0b0100_1100, 0, 5, 0]);
    file.resize(file.len().next_multiple_of(2880), 0);
    file
}

#[test]
fn the_first_row_is_at_the_bottom() {
    let file = fits(&BYTES, &[1, 2, 3, 4, 5, 6]);
    assert_eq!(read(&file).unwrap(), (3, Layout::Grey, vec![4, 5, 6, 1, 2, 3]));
    assert_eq!(read(&gzipped(&file)).unwrap(), (3, Layout::Grey, vec![4, 5, 6, 1, 2, 3]));
}

#[test]
fn values_are_scaled_and_stretched_and_missing_values_are_black() {
    let cards = [
        "SIMPLE  = T",
        "BITPIX  = 16",
        "NAXIS   = 3",
        "NAXIS1  = 3",
        "NAXIS2  = 2",
        "NAXIS3  = 1",
        "BZERO   = 32768",
        "BLANK   = -5",
    ];
    let values: Vec<u8> = [0i16, 100, -5, 50, -5, 0].into_iter().flat_map(i16::to_be_bytes).collect();
    assert_eq!(read(&fits(&cards, &values)).unwrap().2, [128, 0, 0, 0, 255, 0]);
}

#[test]
fn three_planes_are_colours() {
    let mut cards = BYTES.to_vec();
    cards[2] = "NAXIS   = 3";
    cards.push("NAXIS3  = 3");
    let file = fits(&cards, &(1..=18).collect::<Vec<u8>>());
    let expected = [4, 10, 16, 5, 11, 17, 6, 12, 18, 1, 7, 13, 2, 8, 14, 3, 9, 15];
    assert_eq!(read(&file).unwrap(), (3, Layout::Rgb, expected.to_vec()));
    assert_eq!(read(&gzipped(&file)).unwrap().2, expected);
}

#[test]
fn the_first_part_that_has_pixels_is_shown() {
    let mut file = header(&["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 0"]);
    file.extend(fits(
        &["XTENSION= 'TABLE   '", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 4", "NAXIS2  = 1"],
        &[1; 4],
    ));
    file.extend(fits(
        &["XTENSION= 'IMAGE   '", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 2", "NAXIS2  = 1"],
        &[8, 9],
    ));
    assert_eq!(read(&file).unwrap(), (2, Layout::Grey, vec![8, 9]));
    let error = read(&file[..2880 * 3]).unwrap_err();
    assert!(matches!(error, SourceError::Unsupported { .. }), "{error}");
}

#[test]
fn tiles_in_rice_compression_are_decompressed() {
    // 4, 5 and 6 become black, grey and white. The last stored row is at the top.
    assert_eq!(read(&tiled()).unwrap(), (4, Layout::Grey, vec![128, 128, 128, 128, 128, 128, 255, 0]));
}

#[test]
fn mutated_files_end_in_a_picture_or_an_error() {
    let file = fits(&BYTES, &[1, 2, 3, 4, 5, 6]);
    mutated::check(&file, 400);
    mutated::check(&gzipped(&file), 100);
    mutated::check(&tiled(), 2880 * 2);
}

#[test]
fn world_coordinates_on_the_sky_are_the_scale() {
    let scale = |cards: &[&str]| {
        let file = fits(&[&BYTES, cards].concat(), &[0; 6]);
        crate::open(mutated::file(&file), Bounds::default()).unwrap().scale()
    };
    let degrees = |side| Some(Scale::new(side, side, ScaleUnit::Degree, ScaleBasis::Fits).unwrap());
    let sky = ["CTYPE1  = 'RA---TAN'", "CTYPE2  = 'DEC--TAN'"];
    let of = |cards: &[&str]| scale(&[&sky, cards].concat());
    assert_eq!(of(&[]), None);
    assert_eq!(of(&["CDELT1  = -2.5D-4", "CDELT2  = 2.5E-4"]), degrees(2.5e-4));
    let matrix = ["CD1_1   = -3E-4", "CD1_2   = 4E-4", "CD2_1   = 4E-4", "CD2_2   = 3E-4"];
    assert_eq!(of(&[&matrix[..], &["CDELT1  = 9"]].concat()), degrees(5e-4));
    let sun = ["CTYPE1  = 'HPLN-TAN'", "CTYPE2  = 'HPLT-TAN'", "CUNIT1  = 'arcsec'", "CUNIT2  = 'arcsec'"];
    assert_eq!(scale(&[&sun[..], &["CDELT1  = 0.6", "CDELT2  = 0.6"]].concat()), degrees(0.6 / 3600.0));
    assert_eq!(of(&["CDELT1  = 0.1", "CDELT2  = 0.2"]), None, "pixels that are not square");
    let spectrum = ["CTYPE1  = 'FREQ    '", "CTYPE2  = 'DEC--TAN'", "CDELT1  = 1", "CDELT2  = 1"];
    assert_eq!(scale(&spectrum), None);
}
