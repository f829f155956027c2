use super::*;
use crate::Bounds;
use crate::formats::mutated::{self, read};

fn element(file: &mut Vec<u8>, tag: u32, vr: &[u8; 2], value: &[u8]) {
    let [g1, g0, e1, e0] = tag.to_be_bytes();
    file.extend([g0, g1, e0, e1]);
    file.extend(vr);
    match vr {
        b"OB" | b"OW" | b"SQ" => {
            file.extend([[0, 0].as_slice(), &(value.len() as u32).to_le_bytes()].concat())
        }
        _ => file.extend((value.len() as u16).to_le_bytes()),
    }
    file.extend(value);
}

/// Returns a file of 3×2 pixels, with its elements sorted by tag.
fn dicom(
    syntax: &[u8],
    photometric: &[u8],
    bits: u16,
    more: &[(u32, &[u8; 2], &[u8])],
    pixels: &[u8],
) -> Vec<u8> {
    let mut file = vec![0; 128];
    file.extend(b"DICM");
    let samples = if photometric.starts_with(b"RGB") { 3u16 } else { 1 };
    let (bits, rows) = (bits.to_le_bytes(), 2u16.to_le_bytes());
    let mut elements: Vec<(u32, &[u8; 2], &[u8])> = vec![
        (tag::TRANSFER_SYNTAX, b"UI", syntax),
        (tag::PHOTOMETRIC, b"CS", photometric),
        (tag::ROWS, b"US", &rows),
        (tag::COLUMNS, b"US", &[3, 0]),
        (tag::BITS_ALLOCATED, b"US", &bits),
    ];
    let samples = samples.to_le_bytes();
    elements.push((tag::SAMPLES, b"US", &samples));
    elements.extend(more);
    elements.sort_by_key(|&(tag, ..)| tag);
    for (tag, vr, value) in elements {
        element(&mut file, tag, vr, value);
    }
    if syntax.starts_with(b"1.2.840.10008.1.2.5") {
        file.extend([0xe0, 0x7f, 0x10, 0, b'O', b'B', 0, 0, 0xff, 0xff, 0xff, 0xff]);
        file.extend([0xfe, 0xff, 0x00, 0xe0, 0, 0, 0, 0, 0xfe, 0xff, 0x00, 0xe0]);
        file.extend((pixels.len() as u32).to_le_bytes());
        file.extend(pixels);
        file.extend([0xfe, 0xff, 0xdd, 0xe0, 0, 0, 0, 0]);
    } else {
        element(&mut file, tag::PIXELS, b"OW", pixels);
    }
    file
}

const EXPLICIT: &[u8] = b"1.2.840.10008.1.2.1\0";
const RUNS: &[u8] = b"1.2.840.10008.1.2.5\0";
const DEEP: [u8; 12] = [0, 0, 100, 0, 200, 0, 44, 1, 144, 1, 0xff, 0xff];

#[test]
fn bytes_are_shades_and_monochrome1_is_inverted() {
    let pixels = [1, 2, 3, 4, 5, 6];
    assert_eq!(
        read(&dicom(EXPLICIT, b"MONOCHROME2 ", 8, &[], &pixels)).unwrap(),
        (3, Layout::Grey, pixels.to_vec())
    );
    let inverted = read(&dicom(EXPLICIT, b"MONOCHROME1 ", 8, &[], &pixels)).unwrap().2;
    assert_eq!(inverted, [254, 253, 252, 251, 250, 249]);
}

#[test]
fn the_window_is_shown_or_all_values_without_one() {
    let signed: (u32, &[u8; 2], &[u8]) = (tag::REPRESENTATION, b"US", &[1, 0]);
    let window: &[(u32, &[u8; 2], &[u8])] =
        &[signed, (tag::CENTER, b"DS", b"200.5\\9 "), (tag::WIDTH, b"DS", b"201 ")];
    let shown = read(&dicom(EXPLICIT, b"MONOCHROME2 ", 16, window, &DEEP)).unwrap().2;
    assert_eq!(shown, [0, 0, 128, 255, 255, 0]);
    let padding: &[(u32, &[u8; 2], &[u8])] = &[signed, (tag::PADDING, b"SS", &[0xff, 0xff])];
    let shown = read(&dicom(EXPLICIT, b"MONOCHROME2 ", 16, padding, &DEEP)).unwrap().2;
    assert_eq!(shown, [0, 64, 128, 191, 255, 0]);
}

#[test]
fn colours_may_be_in_planes_or_in_runs() {
    let planes: Vec<u8> = (1..=18).collect();
    let pixels = [1, 7, 13, 2, 8, 14, 3, 9, 15, 4, 10, 16, 5, 11, 17, 6, 12, 18];
    let planar: &[(u32, &[u8; 2], &[u8])] = &[(tag::PLANAR, b"US", &[1, 0])];
    assert_eq!(
        read(&dicom(EXPLICIT, b"RGB ", 8, planar, &planes)).unwrap(),
        (3, Layout::Rgb, pixels.to_vec())
    );
    let mut runs = vec![0; 64];
    (runs[0], runs[4], runs[8], runs[12]) = (3, 64, 71, 78);
    for plane in planes.chunks(6) {
        runs.push(5);
        runs.extend(plane);
    }
    assert_eq!(read(&dicom(RUNS, b"RGB ", 8, &[], &runs)).unwrap().2, pixels);
    mutated::check(&dicom(RUNS, b"RGB ", 8, &[], &runs), 400);
}

#[test]
fn elements_inside_sequences_are_ignored() {
    // A thumbnail in a sequence of one item, both with undefined length.
    let mut file = vec![0; 128];
    file.extend(b"DICM");
    element(&mut file, tag::TRANSFER_SYNTAX, b"UI", EXPLICIT);
    file.extend([
        0x28, 0, 0x00, 0x30, b'S', b'Q', 0, 0, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0x00, 0xe0, 0xff, 0xff,
        0xff, 0xff,
    ]);
    element(&mut file, tag::ROWS, b"US", &[9, 9]);
    element(&mut file, tag::PIXELS, b"OW", &[7; 4]);
    file.extend([0xfe, 0xff, 0x0d, 0xe0, 0, 0, 0, 0, 0xfe, 0xff, 0xdd, 0xe0, 0, 0, 0, 0]);
    let whole = dicom(EXPLICIT, b"MONOCHROME2 ", 8, &[], &[1, 2, 3, 4, 5, 6]);
    let after_head = 132 + 8 + EXPLICIT.len();
    file.extend(&whole[after_head..]);
    assert_eq!(read(&file).unwrap().2, [1, 2, 3, 4, 5, 6]);
    mutated::check(&file, file.len());
}

#[test]
fn an_unsupported_compression_is_named_and_a_file_that_is_cut_off_is_corrupt() {
    let lossless = [&RUNS[..18], b"4.70"].concat();
    let mut file = dicom(&lossless, b"MONOCHROME2 ", 8, &[], &[0; 6]);
    let pixels = file.len() - 6 - 12;
    file.truncate(pixels);
    file.extend([
        0xe0, 0x7f, 0x10, 0, b'O', b'B', 0, 0, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0x00, 0xe0, 0, 0, 0, 0,
    ]);
    let error = read(&file).unwrap_err().to_string();
    assert!(error.contains("lossless JPEG"), "{error}");
    let whole = dicom(EXPLICIT, b"MONOCHROME2 ", 8, &[], &[1, 2, 3, 4, 5, 6]);
    for end in [whole.len() - 1, whole.len() - 7, whole.len() - 17] {
        assert!(matches!(read(&whole[..end]), Err(SourceError::Corrupt { .. })), "{end}");
    }
    mutated::check(&whole, whole.len());
}

#[test]
fn the_pixel_spacing_is_the_scale_wherever_it_is_stated() {
    let scale = |file: &[u8]| crate::open(mutated::file(file), Bounds::default()).unwrap().scale();
    let of = |more: &[(u32, &[u8; 2], &[u8])]| scale(&dicom(EXPLICIT, b"MONOCHROME2 ", 8, more, &[0; 6]));
    let metres = |side, basis| Some(Scale::new(side, side, ScaleUnit::Metre, basis).unwrap());
    let imager: (u32, &[u8; 2], &[u8]) = (tag::IMAGER_SPACING, b"DS", b"0.2\\0.2 ");
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[imager]), metres(0.0002, ScaleBasis::DicomImagerSpacing));
    let patient: (u32, &[u8; 2], &[u8]) = (tag::SPACING, b"DS", b"0.143\\0.143 ");
    assert_eq!(of(&[imager, patient]), metres(0.000_143, ScaleBasis::DicomPixelSpacing));
    // Rows that are as far apart as in a CT seen from the side.
    assert_eq!(of(&[(tag::SPACING, b"DS", b"5\\0.5 ")]), None);
    let mut measures = vec![0xfe, 0xff, 0x00, 0xe0, 0xff, 0xff, 0xff, 0xff];
    element(&mut measures, tag::SPACING, b"DS", b"0.5\\0.5 ");
    measures.extend([0xfe, 0xff, 0x0d, 0xe0, 0, 0, 0, 0]);
    assert_eq!(of(&[(0x5200_9229, b"SQ", &measures)]), metres(0.0005, ScaleBasis::DicomPixelSpacing));
}

#[test]
fn a_file_may_begin_with_its_first_element() {
    let pixels = [1, 2, 3, 4, 5, 6];
    let file = dicom(EXPLICIT, b"MONOCHROME2 ", 8, &[], &pixels);
    for start in [128, 132] {
        assert_eq!(read(&file[start..]).unwrap(), (3, Layout::Grey, pixels.to_vec()), "{start}");
    }
    let starts: [(&[u8], bool); 8] = [
        (b"\x08\0\x05\0CS\x0a\0", true),
        (b"\x08\0\0\0\x04\0\0\0", true),
        (b"DICM\x02\0\0\0UL\x04\0", true),
        (b"\x08\0\x05\0XY\x0a\0", false),
        (b"\x08\0\x05\0\x03\0\0\0", false),
        (b"\x10\0\x10\0PN\x08\0", false),
        (b"\x02\0\0\0UL", false),
        (b"DICM", false),
    ];
    for (start, is_dicom) in starts {
        assert_eq!(elements::first_element(start).is_some(), is_dicom, "{}", start.escape_ascii());
    }
    mutated::check(&file[132..], 120);
}

/// Returns an item of a sequence with a table: its descriptor and its entries.
fn table(descriptor: [u16; 3], bits: u16, entries: &[u16]) -> Vec<u8> {
    let mut item = Vec::new();
    let descriptor: Vec<u8> = descriptor.iter().flat_map(|number| number.to_le_bytes()).collect();
    element(&mut item, tag::LUT_DESCRIPTOR, b"US", &descriptor);
    let entries: Vec<u8> = match bits {
        8 => entries.iter().map(|&entry| entry as u8).collect(),
        _ => entries.iter().flat_map(|&entry| entry.to_le_bytes()).collect(),
    };
    element(&mut item, tag::LUT_DATA, b"OW", &entries);
    [[0xfe, 0xff, 0x00, 0xe0].as_slice(), &(item.len() as u32).to_le_bytes(), &item].concat()
}

#[test]
fn the_first_table_of_shades_takes_the_place_of_a_window() {
    let pixels: Vec<u8> =
        [99_u16, 100, 101, 102, 103, 500].iter().flat_map(|value| value.to_le_bytes()).collect();
    let shown = |more: &[(u32, &[u8; 2], &[u8])]| {
        read(&dicom(EXPLICIT, b"MONOCHROME2 ", 16, more, &pixels)).unwrap().2
    };
    let falling = table([4, 100, 12], 16, &[4095, 2048, 1024, 0]);
    let other = table([2, 100, 16], 16, &[7, 9]);
    let both = [falling.as_slice(), &other].concat();
    assert_eq!(shown(&[(tag::VOI_LUTS, b"SQ", &both)]), [255, 255, 128, 64, 0, 0]);
    // Entries of 8 bits have a byte each.
    let bytes = table([4, 100, 8], 8, &[200, 100, 50, 25]);
    assert_eq!(shown(&[(tag::VOI_LUTS, b"SQ", &bytes)]), [200, 200, 100, 50, 25, 25]);
    // The range of entries is what the descriptor says, unless they exceed it.
    let wide = table([4, 100, 8], 16, &[0, 500, 1000, 2000]);
    assert_eq!(shown(&[(tag::VOI_LUTS, b"SQ", &wide)]), [0, 0, 64, 128, 255, 255]);
    // A window comes first, and another table before it.
    let window: [(u32, &[u8; 2], &[u8]); 2] = [(tag::CENTER, b"DS", b"101.5 "), (tag::WIDTH, b"DS", b"4 ")];
    let with_window = shown(&[(tag::VOI_LUTS, b"SQ", &falling), window[0], window[1]]);
    assert_eq!(with_window, shown(&window));
    let modality = table([4, 100, 16], 16, &[103, 102, 101, 100]);
    let modality = shown(&[(tag::MODALITY_LUTS, b"SQ", &modality), (tag::VOI_LUTS, b"SQ", &falling)]);
    assert_eq!(modality, [0, 0, 64, 128, 255, 255]);
    // Numbers that may be negative have a signed first one.
    let signed: Vec<u8> = [-3_i16, -2, -1, 0, 1, 2].iter().flat_map(|value| value.to_le_bytes()).collect();
    let luts = table([4, (-2_i16) as u16, 8], 8, &[10, 20, 30, 40]);
    let more: [(u32, &[u8; 2], &[u8]); 2] =
        [(tag::REPRESENTATION, b"US", &[1, 0]), (tag::VOI_LUTS, b"SQ", &luts)];
    let shown = read(&dicom(EXPLICIT, b"MONOCHROME2 ", 16, &more, &signed)).unwrap().2;
    assert_eq!(shown, [10, 10, 20, 30, 40, 40]);
}
