use super::*;
use crate::Layout;
use crate::formats::mutated::{self, read};

/// Parts of a document of 3×2 pixels.
struct Document<'a> {
    version: u8,
    channels: u8,
    depth: u8,
    mode: u8,
    palette: &'a [u8],
    resources: &'a [u8],
    layers: &'a [u8],
    compression: u8,
    planes: &'a [u8],
}

const RGB: Document<'_> = Document {
    version: 1,
    channels: 3,
    depth: 8,
    mode: 3,
    palette: &[],
    resources: &[],
    layers: &[],
    compression: 0,
    planes: &[1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16, 21, 22, 23, 24, 25, 26],
};

impl Document<'_> {
    fn file(&self) -> Vec<u8> {
        let mut file = b"8BPS".to_vec();
        file.extend([0, self.version, 0, 0, 0, 0, 0, 0, 0, self.channels, 0, 0, 0, 2, 0, 0, 0, 3]);
        file.extend([0, self.depth, 0, self.mode]);
        for part in [self.palette, self.resources] {
            file.extend((part.len() as u32).to_be_bytes());
            file.extend(part);
        }
        match self.version {
            1 => file.extend((self.layers.len() as u32).to_be_bytes()),
            _ => file.extend((self.layers.len() as u64).to_be_bytes()),
        }
        file.extend(self.layers);
        file.extend([0, self.compression]);
        file.extend(self.planes);
        file
    }

    fn pixels(&self) -> (Layout, Vec<u8>) {
        let (_, layout, pixels) = read(&self.file()).unwrap();
        (layout, pixels)
    }
}

const PIXELS: [u8; 18] = [1, 11, 21, 2, 12, 22, 3, 13, 23, 4, 14, 24, 5, 15, 25, 6, 16, 26];
/// Layer info with a layer count of -1, which means that the merged picture has opacity.
const ONE_LAYER: [u8; 6] = [0, 0, 0, 2, 0xff, 0xff];

#[test]
fn planes_are_interleaved_to_pixels() {
    assert_eq!(RGB.pixels(), (Layout::Rgb, PIXELS.to_vec()));
    let deep: Vec<u8> = RGB.planes.iter().flat_map(|&sample| [sample, sample]).collect();
    assert_eq!(Document { depth: 16, planes: &deep, ..RGB }.pixels().1, PIXELS);
}

#[test]
fn packed_rows_are_found_by_their_lengths_which_have_more_bits_in_a_psb() {
    // Rows of 3 bytes: the last is a run, the others are literals.
    let rows: Vec<[u8; 4]> = RGB.planes.chunks(3).map(|row| [2, row[0], row[1], row[2]]).collect();
    let mut planes = [[0, 4]; 5].concat();
    planes.extend([0, 2]);
    planes.extend(rows[..5].concat());
    planes.extend([254, 9]);
    let mut expected = PIXELS;
    (expected[11], expected[14], expected[17]) = (9, 9, 9);
    assert_eq!(Document { compression: 1, planes: &planes, ..RGB }.pixels().1, expected);
    let mut large = [[0, 0, 0, 4]; 5].concat();
    large.extend([0, 0, 0, 2]);
    large.extend(&planes[12..]);
    assert_eq!(Document { version: 2, compression: 1, planes: &large, ..RGB }.pixels().1, expected);
}

#[test]
fn zipped_planes_are_one_stream_and_may_be_predicted() {
    let zip = |bytes: &[u8]| {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, bytes).unwrap();
        encoder.finish().unwrap()
    };
    assert_eq!(Document { compression: 2, planes: &zip(RGB.planes), ..RGB }.pixels().1, PIXELS);
    let less: Vec<u8> = RGB.planes.chunks(3).flat_map(|row| [row[0], 1, 1]).collect();
    assert_eq!(Document { compression: 3, planes: &zip(&less), ..RGB }.pixels().1, PIXELS);
}

#[test]
fn each_colour_mode_has_its_own_channels() {
    let planes = [0b1010_0000, 0b0100_0000];
    let bitmap = Document { mode: 0, depth: 1, channels: 1, planes: &planes, ..RGB };
    assert_eq!(bitmap.pixels(), (Layout::Grey, vec![0, 255, 0, 255, 0, 255]));
    let duotone = Document { mode: 8, channels: 1, planes: &RGB.planes[..6], ..RGB };
    assert_eq!(duotone.pixels(), (Layout::Grey, vec![1, 2, 3, 4, 5, 6]));
    let mut palette = [0; 768];
    (palette[1], palette[256 + 1], palette[512 + 1]) = (7, 8, 9);
    let indexed = Document { mode: 2, channels: 1, palette: &palette, planes: &[1, 0, 1, 0, 0, 0], ..RGB };
    assert_eq!(indexed.pixels().1[..6], [7, 8, 9, 0, 0, 0]);
    // Resource 1047: index 1 is transparent.
    let resources = *b"8BIM\x04\x17\0\0\0\0\0\x02\0\x01";
    let (layout, pixels) = Document { resources: &resources, ..indexed }.pixels();
    assert_eq!((layout, &pixels[..8]), (Layout::Rgba, [7, 8, 9, 0, 0, 0, 0, 255].as_slice()));
    // 255 in each channel is paper: no ink.
    let paper = Document { mode: 4, channels: 4, planes: &[255; 24], ..RGB };
    assert_eq!(paper.pixels(), (Layout::Rgb, vec![255; 18]));
    let inks = Document { mode: 7, channels: 5, planes: &[255; 30], ..RGB };
    assert_eq!(inks.pixels(), (Layout::Rgb, vec![255; 18]));
    let neutral: Vec<u8> = [[255; 6], [128; 6], [128; 6]].concat();
    assert_eq!(Document { mode: 9, planes: &neutral, ..RGB }.pixels(), (Layout::Rgb, vec![255; 18]));
    let light: Vec<u8> = [1.0f32, 0.0, 0.0].iter().flat_map(|light| light.to_be_bytes().repeat(6)).collect();
    let pixels = Document { depth: 32, planes: &light, ..RGB }.pixels().1;
    assert!(pixels[0] > 240 && pixels[1] == 0, "{pixels:?}");
}

#[test]
fn a_fourth_channel_is_opacity_only_if_the_layers_say_so() {
    let planes = [RGB.planes, &[255, 128, 0, 255, 255, 255]].concat();
    let document = Document { channels: 4, planes: &planes, ..RGB };
    assert_eq!(document.pixels(), (Layout::Rgb, PIXELS.to_vec()));
    // Photoshop blends transparent pixels with white, and decoding undoes that. No blended half-transparent pixel is as
    // dark as 2, so the result is clamped.
    let (layout, pixels) = Document { layers: &ONE_LAYER, ..document }.pixels();
    assert_eq!(
        (layout, &pixels[..12]),
        (Layout::Rgba, [1, 11, 21, 255, 0, 0, 0, 128, 3, 13, 23, 0].as_slice())
    );
    let block = *b"\0\0\0\0\0\0\0\08BIMMt16\0\0\0\0";
    assert_eq!(Document { layers: &block, ..document }.pixels().0, Layout::Rgba);
    let block = *b"\0\0\0\0\0\0\0\08BIMLr16\0\0\0\x02\xff\xff\0\0";
    assert_eq!(Document { layers: &block, ..document }.pixels().0, Layout::Rgba);
}

#[test]
fn a_document_without_its_merged_picture_is_refused_with_advice() {
    let resources = *b"8BIM\x04\x21\0\0\0\0\0\x06\0\0\0\x01\0\0";
    let error = read(&Document { resources: &resources, ..RGB }.file()).unwrap_err().to_string();
    assert!(error.contains("Maximize Compatibility"), "{error}");
}

#[test]
fn a_document_that_is_cut_off_is_corrupt() {
    let whole = RGB.file();
    for end in 6..whole.len() {
        let error = read(&whole[..end]).unwrap_err();
        assert!(matches!(error, SourceError::Corrupt { .. }), "{end}: {error}");
    }
    assert!(matches!(read(&Document { channels: 2, ..RGB }.file()), Err(SourceError::Corrupt { .. })));
    assert!(matches!(
        read(&Document { depth: 32, mode: 4, ..RGB }.file()),
        Err(SourceError::Unsupported { .. })
    ));
}

#[test]
fn mutated_documents_end_in_a_picture_or_an_error() {
    let resources = *b"8BIM\x04\x17\0\0\0\0\0\x02\0\x018BIM\x04\x0f\0\0\0\0\0\x04abcd";
    let block = *b"\0\0\0\0\0\0\0\08BIMLr16\0\0\0\x02\xff\xff\0\0";
    let planes = [RGB.planes, &[255, 128, 0, 255, 255, 255]].concat();
    let raw = Document { channels: 4, resources: &resources, layers: &block, planes: &planes, ..RGB };
    mutated::check(&raw.file(), 90);
    let mut packed = [[0, 4]; 6].concat();
    packed.extend(RGB.planes.chunks(3).flat_map(|row| [2, row[0], row[1], row[2]]));
    mutated::check(&Document { compression: 1, planes: &packed, ..RGB }.file(), 60);
    mutated::check(&Document { version: 2, compression: 1, planes: &packed, ..RGB }.file(), 60);
}
