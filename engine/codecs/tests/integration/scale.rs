//! The physical size of a pixel, as TIFFs of scanners and maps state it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::Cursor;
use std::num::NonZeroU32;

use edgezoom_codecs::{DecodeOptions, DrawingOptions, Layout, open_with};
use edgezoom_geometry::{Scale, ScaleBasis, ScaleUnit};
use tiff::encoder::colortype::{Gray8, RGB8};
use tiff::encoder::{Rational, TiffEncoder};
use tiff::tags::Tag;

use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{BOUNDS, file};

/// A value of a tag.
enum Value {
    Text(String),
    Bytes(&'static str),
    Number(u16),
    Fraction(u32, u32),
    Doubles(Vec<f64>),
    Shorts(Vec<u16>),
}
use Value::{Bytes, Doubles, Fraction, Number, Shorts, Text};

const X_RESOLUTION: u16 = 282;
const Y_RESOLUTION: u16 = 283;
const UNIT: u16 = 296;
const DESCRIPTION: u16 = 270;
const XML: u16 = 700;
const NDPI: u16 = 65420;
const GEO_SCALE: u16 = 33550;
const GEO_MATRIX: u16 = 34264;
const GEO_KEYS: u16 = 34735;

/// A TIFF of 30×20 pixels with these tags.
fn tiff(tags: &[(u16, Value)]) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut out).unwrap();
    let picture = Picture::noise(30, 20, Layout::Rgb);
    let mut image = encoder.new_image::<RGB8>(30, 20).unwrap();
    for (tag, value) in tags {
        let (tag, entries) = (Tag::from_u16_exhaustive(*tag), image.encoder());
        match value {
            Text(text) => entries.write_tag(tag, text.as_str()),
            Bytes(bytes) => entries.write_tag(tag, bytes.as_bytes()),
            Number(number) => entries.write_tag(tag, *number),
            Fraction(n, d) => entries.write_tag(tag, Rational { n: *n, d: *d }),
            Doubles(numbers) => entries.write_tag(tag, numbers.as_slice()),
            Shorts(numbers) => entries.write_tag(tag, numbers.as_slice()),
        }
        .unwrap();
    }
    image.write_data(&picture.pixels).unwrap();
    out.into_inner()
}

/// Returns a TIFF with its directory as NDPI stores it: the offset of the next one has 8 bytes, and the upper halves of
/// all values follow.
fn as_ndpi(mut file: Vec<u8>) -> Vec<u8> {
    let directory = u32::from_le_bytes(file[4..8].try_into().unwrap()) as usize;
    let entries = usize::from(u16::from_le_bytes([file[directory], file[directory + 1]]));
    let at = file.len() as u32;
    file.extend_from_within(directory..directory + 2 + 12 * entries);
    file.extend(vec![0; 8 + 4 * entries]);
    file[4..8].copy_from_slice(&at.to_le_bytes());
    file[8..12].fill(0); // the upper half of the first directory's offset
    file
}

fn scale_of(bytes: &[u8], page: Option<u32>) -> Option<Scale> {
    let drawing = DrawingOptions { page: page.and_then(NonZeroU32::new), ..DrawingOptions::default() };
    let options = DecodeOptions { drawing, ..DecodeOptions::default() };
    open_with(file(bytes), BOUNDS, &options).unwrap().scale()
}

fn metres(side: f64, basis: ScaleBasis) -> Option<Scale> {
    Some(Scale::new(side, side, ScaleUnit::Metre, basis).unwrap())
}

/// Tags for a resolution in pixels per centimetre.
fn per_centimetre(pixels: u32) -> [(u16, Value); 3] {
    [(X_RESOLUTION, Fraction(pixels, 1)), (Y_RESOLUTION, Fraction(pixels, 1)), (UNIT, Number(3))]
}

#[test]
fn slides_state_their_scale_in_the_way_of_their_scanner() {
    let aperio = "Aperio Image Library v10.0.51\n46920x33014 [0,100 46000x32914] (256x256) JPEG/RGB Q=30|AppMag = 20|MPP = 0.4990|Left = 25";
    let leica = r#"<scn xmlns="http://www.leica-microsystems.com/scn/2010/10/01">"#;
    let ome = r#"<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image><Pixels SizeX="30" SizeY="20" PhysicalSizeX="0.25" PhysicalSizeY="0.251"/></Image></OME>"#;
    let ventana = r#"<iScan Magnification="20" ScanRes="0.465"></iScan>"#;
    let mut with_resolution = vec![(DESCRIPTION, Text(leica.into()))];
    with_resolution.extend(per_centimetre(20_000));
    let mut hamamatsu = vec![(NDPI, Number(1))];
    hamamatsu.extend(per_centimetre(43_860));
    let hamamatsu = as_ndpi(tiff(&hamamatsu));
    assert_eq!(scale_of(&hamamatsu, None), metres(0.01 / 43_860.0, ScaleBasis::Hamamatsu));
    for (tags, scale) in [
        (vec![(DESCRIPTION, Text(aperio.into()))], metres(4.99e-7, ScaleBasis::Aperio)),
        (with_resolution, metres(5e-7, ScaleBasis::Leica)),
        (vec![(XML, Bytes(ventana))], metres(4.65e-7, ScaleBasis::Ventana)),
        (
            vec![(DESCRIPTION, Text(ome.into()))],
            Scale::new(2.5e-7, 2.51e-7, ScaleUnit::Metre, ScaleBasis::Ome),
        ),
    ] {
        assert!(scale.is_some());
        assert_eq!(scale_of(&tiff(&tags), None), scale);
    }
    let page = tiff(&[(DESCRIPTION, Text(aperio.into()))]);
    assert_eq!(scale_of(&page, Some(1)), None, "a level whose size on the slide is not stated");
}

#[test]
fn a_printers_resolution_is_no_scale() {
    assert_eq!(scale_of(&tiff(&per_centimetre(118)), None), None);
}

#[test]
fn maps_state_their_scale_as_a_size_or_a_matrix() {
    let keys = |unit| (GEO_KEYS, Shorts(vec![1, 1, 0, 2, 1024, 0, 1, 1, 3076, 0, 1, unit]));
    let degrees = || (GEO_KEYS, Shorts(vec![1, 1, 0, 1, 1024, 0, 1, 2]));
    let size = |side: f64| (GEO_SCALE, Doubles(vec![side, side, 0.0]));
    let matrix = |a: f64, b: f64, d: f64, e: f64| {
        let mut matrix = vec![a, b, 0.0, 5e5, d, e, 0.0, 6e6];
        matrix.resize(16, 0.0);
        (GEO_MATRIX, Doubles(matrix))
    };
    for (tags, scale) in [
        (vec![keys(9001), size(0.5)], metres(0.5, ScaleBasis::GeoTiffScale)),
        (vec![keys(9002), size(10.0)], metres(3.048, ScaleBasis::GeoTiffScale)),
        (vec![keys(9001), matrix(6.0, 8.0, 8.0, -6.0)], metres(10.0, ScaleBasis::GeoTiffTransformation)),
        (vec![keys(9001), matrix(6.0, 8.0, 6.0, 8.0)], None),
        (vec![keys(9001)], None),
        (vec![size(0.5)], None),
        (vec![degrees(), size(0.001)], Scale::new(0.001, 0.001, ScaleUnit::Degree, ScaleBasis::GeoTiffScale)),
    ] {
        assert_eq!(scale_of(&tiff(&tags), None), scale);
    }
}

#[test]
fn the_largest_level_of_a_pyramid_has_the_scale_of_the_map() {
    let mut out = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut out).unwrap();
    for (side, size) in [(10, 4.0), (20, 2.0), (40, 1.0)] {
        let mut image = encoder.new_image::<Gray8>(side, side).unwrap();
        let entries = image.encoder();
        entries.write_tag(Tag::from_u16_exhaustive(GEO_SCALE), [size, size, 0.0].as_slice()).unwrap();
        let keys = [1u16, 1, 0, 2, 1024, 0, 1, 1, 3076, 0, 1, 9001];
        entries.write_tag(Tag::from_u16_exhaustive(GEO_KEYS), keys.as_slice()).unwrap();
        image.write_data(&vec![7; (side * side) as usize]).unwrap();
    }
    assert_eq!(scale_of(&out.into_inner(), None), metres(1.0, ScaleBasis::GeoTiffScale));
}
