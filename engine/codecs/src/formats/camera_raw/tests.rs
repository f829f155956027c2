use super::*;
use crate::Layout;
use crate::formats::mutated::{self, read};

/// Returns a grey JPEG, with an EXIF orientation if one is given.
fn jpeg(width: usize, height: usize, orientation: Option<u8>) -> Vec<u8> {
    let mut encoder = mozjpeg::Compress::new(mozjpeg::ColorSpace::JCS_GRAYSCALE);
    encoder.set_size(width, height);
    let mut encoder = encoder.start_compress(Vec::new()).unwrap();
    if let Some(orientation) = orientation {
        let head = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0";
        encoder.write_marker(mozjpeg::Marker::APP(1), &[head, [orientation].as_slice(), &[0; 6]].concat());
    }
    encoder.write_scanlines(&vec![200; width * height]).unwrap();
    encoder.finish().unwrap()
}

/// Returns a little-endian TIFF with one directory at offset 8, followed by `bytes`. Each entry has one 32-bit number.
/// The value `BEHIND` becomes the offset of `bytes`.
fn tiff(magic: [u8; 2], entries: &[(u16, u32)], bytes: &[u8]) -> Vec<u8> {
    let behind = 8 + 2 + entries.len() as u32 * 12 + 4;
    let mut file = vec![b'I', b'I', magic[0], magic[1], 8, 0, 0, 0];
    file.extend((entries.len() as u16).to_le_bytes());
    for &(tag, value) in entries {
        file.extend(tag.to_le_bytes());
        file.extend([4, 0, 1, 0, 0, 0]);
        file.extend((if value == BEHIND { behind } else { value }).to_le_bytes());
    }
    file.extend([0; 4]);
    file.extend(bytes);
    file
}

const BEHIND: u32 = u32::MAX;
const DNG: (u16, u32) = (50_706, 1);

fn dng(orientation: u32, bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u32;
    tiff([42, 0], &[(259, 7), (273, BEHIND), (274, orientation), (279, length), DNG], bytes)
}

#[test]
fn a_preview_is_turned_by_its_own_exif_or_else_by_that_of_the_camera() {
    assert_eq!(read(&dng(6, &jpeg(30, 20, None))).unwrap().0, 20);
    assert_eq!(read(&dng(6, &jpeg(30, 20, Some(1)))).unwrap().0, 30);
    assert_eq!(read(&dng(1, &jpeg(30, 20, Some(8)))).unwrap().0, 20);
}

#[test]
fn an_ordinary_tiff_is_not_a_camera_raw_file() {
    for entries in
        [[(254, 0), (271, 1), (330, 8)], [(254, 1), (271, 1), (274, 1)], [(254, 1), (330, 8), (262, 2)]]
    {
        assert_eq!(Container::of(&tiff([42, 0], &entries, &[])), None, "{entries:?}");
    }
    for entries in
        [[(254, 1), (271, 1), (330, 8)], [(262, 32_803), (271, 1), (274, 1)], [DNG, (262, 2), (274, 1)]]
    {
        assert_eq!(Container::of(&tiff([42, 0], &entries, &[])), Some(Container::Tiff), "{entries:?}");
    }
}

#[test]
fn the_largest_preview_is_shown_in_every_container() {
    let (small, large) = (jpeg(16, 12, None), jpeg(40, 30, None));
    // Panasonic stores the preview in a tag of undefined type.
    let mut rw2 = tiff([b'U', 0], &[(46, BEHIND)], &large);
    rw2[12] = 7;
    rw2[14..18].copy_from_slice(&(large.len() as u32).to_le_bytes());
    assert_eq!(read(&rw2).unwrap().0, 40);
    // The first directory has a thumbnail, and its subdirectory the preview.
    let mut bytes = small.clone();
    let below = 8 + 2 + 5 * 12 + 4 + bytes.len() as u32;
    let start = below + 2 + 2 * 12 + 4;
    bytes.extend([2, 0]);
    for (tag, value) in [(513u16, start), (514, large.len() as u32)] {
        bytes.extend(tag.to_le_bytes());
        bytes.extend([4, 0, 1, 0, 0, 0]);
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend([0; 4]);
    bytes.extend(&large);
    let entries = [(330, below), (513, BEHIND), (514, small.len() as u32), DNG, (274, 1)];
    assert_eq!(read(&tiff([42, 0], &entries, &bytes)).unwrap().0, 40);
    // Fujifilm stores the preview's offset and length in its own header.
    let mut raf = b"FUJIFILMCCD-RAW 0201".to_vec();
    raf.resize(84, 0);
    raf.extend(100u32.to_be_bytes());
    raf.extend((large.len() as u32).to_be_bytes());
    raf.resize(100, 0);
    raf.extend(&large);
    assert_eq!(read(&raf).unwrap().0, 40);
    assert!(matches!(read(&raf[..99]), Err(SourceError::Corrupt { .. })));
}

/// Returns a box of the ISO base media format.
fn boxed(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    [(content.len() as u32 + 8).to_be_bytes().as_slice(), kind, content].concat()
}

fn cr3() -> Vec<u8> {
    let preview = jpeg(40, 30, None);
    let track = |at: u32| {
        let lengths = [[0; 4], (preview.len() as u32).to_be_bytes(), 1u32.to_be_bytes()].concat();
        let places = [[0; 4], 1u32.to_be_bytes(), [0; 4], at.to_be_bytes()].concat();
        let table = [boxed(b"stsz", &lengths), boxed(b"co64", &places)].concat();
        let exif = boxed(b"CMT1", &tiff([42, 0], &[(274, 6)], &[]));
        let uuid = b"\x85\xc0\xb6\x87\x82\x0f\x11\xe0\x81\x11\xf4\xce\x46\x2b\x6a\x48";
        let canon = boxed(b"uuid", &[uuid.as_slice(), &exif].concat());
        let track = boxed(b"trak", &boxed(b"mdia", &boxed(b"minf", &boxed(b"stbl", &table))));
        [boxed(b"ftyp", b"crx \0\0\0\x01crx isom"), boxed(b"moov", &[canon, track].concat())].concat()
    };
    let head = track(0).len() as u32;
    [track(head + 8), boxed(b"mdat", &preview)].concat()
}

#[test]
fn the_preview_and_the_orientation_of_a_cr3_are_found() {
    let (width, layout, pixels) = read(&cr3()).unwrap();
    assert_eq!((width, layout, pixels.len()), (30, Layout::Grey, 1200));
    assert!(matches!(read(&cr3()[..100]), Err(SourceError::Corrupt { .. })));
}

#[test]
fn lossless_samples_are_not_a_preview() {
    let mut samples = jpeg(30, 20, None);
    let is_frame = |marker: &[u8]| matches!(marker, [0xff, 0xc0 | 0xc2]);
    let frame = samples.windows(2).position(is_frame).unwrap();
    samples[frame + 1] = 0xc3;
    let error = read(&dng(1, &samples)).unwrap_err();
    assert!(matches!(error, SourceError::Empty), "{error}");
}

#[test]
fn mutated_files_end_in_a_picture_or_an_error() {
    mutated::check(&dng(6, &jpeg(30, 20, Some(3))), 150);
    mutated::check(&cr3(), 300);
    // Olympus nests the preview's directory: EXIF, MakerNote, camera settings.
    let preview = jpeg(40, 30, None);
    let mut note = b"OLYMPUS\0II\x03\0".to_vec();
    for (tag, value) in [(0x2020u16, 30u32), (0x0101, 60)] {
        note.extend([1, 0]);
        note.extend(tag.to_le_bytes());
        note.extend([4, 0, 1, 0, 0, 0]);
        note.extend(value.to_le_bytes());
        note.extend([0; 4]);
    }
    note.resize(60, 0);
    note.extend(&preview);
    let mut exif = vec![1, 0, 0x7c, 0x92, 7, 0, 0, 1, 0, 0];
    exif.extend((8 + 2 + 12 + 4 + 18u32).to_le_bytes());
    exif.extend([0; 4]);
    exif.extend(&note);
    let orf = tiff([b'R', b'O'], &[(34_665, BEHIND)], &exif);
    mutated::check(&orf, 110);
}
