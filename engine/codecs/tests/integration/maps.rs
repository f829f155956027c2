//! Maps and microscopes in TIFF: pixels without data, tiles that are left out, masks, channels, and which of several
//! pictures is shown. The files are written tag by tag.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::io::Write;

use edgezoom_codecs::Layout;
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::decode;
use flate2::Compression;
use flate2::write::ZlibEncoder;

/// The value of a tag.
#[derive(Clone)]
enum Value {
    Short(Vec<u16>),
    Long(Vec<u32>),
    Text(String),
    Double(Vec<f64>),
}
use Value::{Double, Long, Short, Text};

/// A picture of the file: its tags, and its strips or tiles.
#[derive(Clone)]
struct Page {
    tags: Vec<(u16, Value)>,
    chunks: Vec<Vec<u8>>,
}

const SIZE: (u32, u32) = (40, 24);
const TILE: u32 = 16;
const DEFLATE: u16 = 8;

impl Page {
    /// Returns a picture of one strip whose samples have this number of bits and this format.
    fn new((width, height): (u32, u32), samples: u16, (bits, format): (u16, u16), strip: Vec<u8>) -> Self {
        let tags = vec![
            (256, Long(vec![width])),
            (257, Long(vec![height])),
            (258, Short(vec![bits; samples.into()])),
            (259, Short(vec![1])),
            (262, Short(vec![if samples >= 3 { 2 } else { 1 }])),
            (277, Short(vec![samples])),
            (278, Long(vec![height])),
            (339, Short(vec![format; samples.into()])),
        ];
        Self { tags, chunks: vec![strip] }
    }

    fn with(mut self, tag: u16, value: Value) -> Self {
        self.tags.retain(|&(own, _)| own != tag);
        self.tags.push((tag, value));
        self
    }

    /// Makes it a map, at 10 metres a pixel.
    fn map(self) -> Self {
        self.with(33550, Double(vec![10.0, 10.0, 0.0]))
            .with(33922, Double(vec![0.0, 0.0, 0.0, 500_000.0, 4e6, 0.0]))
    }

    /// Divides it into tiles. Those in which all bytes of a plane equal `left_out` are left out.
    fn tiled(self, pixel_bytes: usize, left_out: Option<u8>) -> Self {
        let strips = self.chunks.clone();
        let tiles = strips.iter().flat_map(|strip| tiles(strip, pixel_bytes)).map(|tile| {
            if left_out.is_some_and(|byte| tile.iter().all(|&own| own == byte)) { Vec::new() } else { tile }
        });
        let chunks = tiles.collect();
        let tiled = self.with(322, Short(vec![TILE as u16])).with(323, Short(vec![TILE as u16]));
        Self { chunks, ..tiled }
    }

    fn deflated(self) -> Self {
        let deflate = |chunk: &Vec<u8>| {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(chunk).unwrap();
            if chunk.is_empty() { Vec::new() } else { encoder.finish().unwrap() }
        };
        let chunks = self.chunks.iter().map(deflate).collect();
        Self { chunks, ..self.with(259, Short(vec![DEFLATE])) }
    }
}

/// Divides a strip of [`SIZE`] into tiles, which are filled up with zeros.
fn tiles(strip: &[u8], pixel_bytes: usize) -> Vec<Vec<u8>> {
    let (width, height) = (SIZE.0 as usize, SIZE.1 as usize);
    let side = TILE as usize;
    let mut tiles = Vec::new();
    for top in (0..height).step_by(side) {
        for left in (0..width).step_by(side) {
            let mut tile = vec![0; side * side * pixel_bytes];
            for y in top..(top + side).min(height) {
                let from = (y * width + left) * pixel_bytes;
                let bytes = side.min(width - left) * pixel_bytes;
                let to = (y - top) * side * pixel_bytes;
                tile[to..to + bytes].copy_from_slice(&strip[from..from + bytes]);
            }
            tiles.push(tile);
        }
    }
    tiles
}

/// Writes a file. Chunks without bytes are left out of it.
fn tiff(is_big_endian: bool, pages: &[Page]) -> Vec<u8> {
    let short = |value: u16| if is_big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let long = |value: u32| if is_big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let double = |value: f64| if is_big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut file = if is_big_endian { b"MM\0\x2a".to_vec() } else { b"II\x2a\0".to_vec() };
    file.extend([0; 4]);
    let mut pointer = 4;
    for page in pages {
        let mut places = Vec::new();
        for chunk in &page.chunks {
            places.push(if chunk.is_empty() { 0 } else { file.len() as u32 });
            file.extend(chunk);
        }
        let is_tiled = page.tags.iter().any(|&(tag, _)| tag == 322);
        let [offsets, lengths] = if is_tiled { [324, 325] } else { [273, 279] };
        let lengths_of = page.chunks.iter().map(|chunk| chunk.len() as u32).collect();
        let page = page.clone().with(offsets, Long(places)).with(lengths, Long(lengths_of));
        let mut tags = page.tags;
        tags.sort_by_key(|&(tag, _)| tag);
        let mut entries = Vec::new();
        for (tag, value) in &tags {
            let (kind, count, bytes): (u16, usize, Vec<u8>) = match value {
                Short(list) => (3, list.len(), list.iter().flat_map(|&value| short(value)).collect()),
                Long(list) => (4, list.len(), list.iter().flat_map(|&value| long(value)).collect()),
                Text(text) => (2, text.len() + 1, [text.as_bytes(), &[0]].concat()),
                Double(list) => (12, list.len(), list.iter().flat_map(|&value| double(value)).collect()),
            };
            entries.extend([short(*tag), short(kind)].concat());
            entries.extend(long(count as u32));
            if bytes.len() > 4 {
                entries.extend(long(file.len() as u32));
                file.extend(bytes);
            } else {
                let mut value = bytes;
                value.resize(4, 0);
                entries.extend(value);
            }
        }
        let start = long(file.len() as u32);
        file[pointer..pointer + 4].copy_from_slice(&start);
        file.extend(short(tags.len() as u16));
        file.extend(entries);
        pointer = file.len();
        file.extend([0; 4]);
    }
    file
}

/// Returns a strip of samples, each written by `sample(x, y, channel)`.
fn strip(channels: u32, sample: impl Fn(u32, u32, u32) -> Vec<u8>) -> Vec<u8> {
    let pixels = (0..SIZE.1).flat_map(|y| (0..SIZE.0).map(move |x| (x, y)));
    pixels.flat_map(|(x, y)| (0..channels).map(move |channel| (x, y, channel))).fold(
        Vec::new(),
        |mut strip, (x, y, channel)| {
            strip.extend(sample(x, y, channel));
            strip
        },
    )
}

/// Checks that exactly the pixels left of the column are transparent.
fn assert_border(file: &[u8], column: u32, what: &str) {
    let shown = decode(file).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!((shown.width, shown.height, shown.layout), (SIZE.0, SIZE.1, Layout::Rgba), "{what}");
    for y in 0..SIZE.1 {
        for x in 0..SIZE.0 {
            let alpha = shown.at(x, y)[3];
            assert_eq!(alpha, if x < column { 0 } else { 255 }, "{what}: the pixel {x}, {y}");
        }
    }
}

#[test]
fn pixels_without_data_are_transparent_in_maps_of_every_sample_and_order() {
    let border = 9;
    for is_big_endian in [false, true] {
        let ordered = |mut bytes: Vec<u8>| {
            if is_big_endian {
                bytes.reverse();
            }
            bytes
        };
        let value = |x: u32, y: u32| 1000.0 + f64::from(x * 7 + y * 3);
        let integer = |x, y, none: i64| if x < border { none } else { value(x, y) as i64 };
        let float = |x, y, none: f64| if x < border { none } else { value(x, y) };
        type Sample<'a> = Box<dyn Fn(u32, u32, u32) -> Vec<u8> + 'a>;
        let kinds: Vec<(&str, (u16, u16), Sample<'_>)> = vec![
            ("0", (16, 1), Box::new(|x, y, _| ordered((integer(x, y, 0) as u16).to_le_bytes().to_vec()))),
            (
                "65535",
                (16, 1),
                Box::new(|x, y, _| ordered((integer(x, y, 65535) as u16).to_le_bytes().to_vec())),
            ),
            (
                "-32768",
                (16, 2),
                Box::new(|x, y, _| ordered((integer(x, y, -32768) as i16).to_le_bytes().to_vec())),
            ),
            (
                "-9999",
                (32, 2),
                Box::new(|x, y, _| ordered((integer(x, y, -9999) as i32).to_le_bytes().to_vec())),
            ),
            (
                "-9999.9",
                (32, 3),
                Box::new(|x, y, _| ordered((float(x, y, -9999.9) as f32).to_le_bytes().to_vec())),
            ),
            (
                "nan",
                (32, 3),
                Box::new(|x, y, _| ordered((float(x, y, f64::NAN) as f32).to_le_bytes().to_vec())),
            ),
            ("-1e+308", (64, 3), Box::new(|x, y, _| ordered(float(x, y, -1e308).to_le_bytes().to_vec()))),
            ("7", (8, 1), Box::new(|x, y, _| vec![if x < border { 7 } else { (x + y) as u8 + 20 }])),
        ];
        for (text, (bits, format), sample) in kinds {
            let bytes = usize::from(bits / 8);
            for channels in [1, 3] {
                let what = format!("{text} in {channels} × {bits} bits, big-endian {is_big_endian}");
                let page = Page::new(SIZE, channels, (bits, format), strip(channels.into(), &sample));
                let page = page.map().with(42113, Text(text.to_owned()));
                let pixel_bytes = bytes * usize::from(channels);
                assert_border(&tiff(is_big_endian, std::slice::from_ref(&page)), border, &what);
                assert_border(&tiff(is_big_endian, &[page.clone().deflated()]), border, &what);
                assert_border(
                    &tiff(is_big_endian, &[page.clone().tiled(pixel_bytes, None).deflated()]),
                    border,
                    &what,
                );
            }
            let planes =
                Page { chunks: vec![strip(1, &sample); 3], ..Page::new(SIZE, 3, (bits, format), Vec::new()) };
            let planes = planes.map().with(42113, Text(text.to_owned())).with(284, Short(vec![2]));
            assert_border(&tiff(is_big_endian, std::slice::from_ref(&planes)), border, text);
            assert_border(&tiff(is_big_endian, &[planes.tiled(bytes, None)]), border, text);
        }
    }
}

#[test]
fn a_pixel_has_data_if_one_of_its_colours_has_and_no_value_counts_in_other_pictures() {
    let black = strip(3, |x, _, channel| vec![if x < 9 && channel < 2 { 0 } else { 100 }]);
    let page = Page::new(SIZE, 3, (8, 1), black).with(42113, Text("0".to_owned()));
    let shown = decode(&tiff(false, &[page.clone().map()])).unwrap();
    assert!(
        shown
            .pixels
            .chunks(shown.layout.channels())
            .all(|pixel| pixel.get(3).is_none_or(|&alpha| alpha == 255))
    );
    let dark = Page::new(SIZE, 3, (8, 1), strip(3, |x, _, _| vec![if x < 9 { 0 } else { 100 }]));
    let dark = dark.with(42113, Text("0".to_owned()));
    assert_eq!(decode(&tiff(false, &[dark])).unwrap().layout, Layout::Rgb, "it is no map");
}

/// The value is an index of the palette, not a colour in it.
#[test]
fn an_index_of_a_palette_can_mean_no_data() {
    for bits in [4_u16, 8] {
        let colours = 1_usize << bits;
        let none = colours - 2;
        // The colour of class 1 has the value of the index, and that index is black.
        let level = |index: usize| if index == 1 { none as u16 * 257 } else { (index as u16 % 7) * 9000 };
        let mut palette: Vec<u16> = (0..3 * colours).map(|entry| level(entry % colours)).collect();
        for channel in 0..3 {
            palette[channel * colours + none] = 0;
        }
        let index = |x: u32, y: u32| if x < 8 { none } else { ((x + y) % 3) as usize };
        let row = |y| (0..SIZE.0).map(move |x| index(x, y) as u8);
        let pixels: Vec<u8> = (0..SIZE.1).flat_map(row).collect();
        let pixels = match bits {
            4 => pixels.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect(),
            _ => pixels,
        };
        let map =
            Page::new(SIZE, 1, (bits, 1), pixels).map().with(262, Short(vec![3])).with(320, Short(palette));
        assert_border(&tiff(false, &[map.with(42113, Text(none.to_string()))]), 8, "a palette");
    }
    let bright = strip(1, |x, _, _| vec![if x < 8 { 255 } else { x as u8 % 2 }]);
    let white_is_zero = Page::new(SIZE, 1, (8, 1), bright).map().with(262, Short(vec![0]));
    assert_border(&tiff(false, &[white_is_zero.with(42113, Text("255".to_owned()))]), 8, "white is zero");
}

/// A mask of this size, which hides what is left of the column.
fn mask((width, height): (u32, u32), column: u32) -> Page {
    let row_bytes = width.div_ceil(8) as usize;
    let mut bits = vec![0_u8; row_bytes * height as usize];
    for y in 0..height as usize {
        for x in column as usize..width as usize {
            bits[y * row_bytes + x / 8] |= 0x80 >> (x % 8);
        }
    }
    Page::new((width, height), 1, (1, 1), bits).with(254, Long(vec![4])).with(262, Short(vec![4]))
}

#[test]
fn the_mask_of_a_map_hides_what_has_no_data() {
    let colours = |x: u32, y: u32, channel: u32| vec![(x * 3 + y + channel * 50) as u8];
    for channels in [1, 3] {
        let pixel_bytes = usize::from(channels);
        let map = Page::new(SIZE, channels, (8, 1), strip(channels.into(), colours)).map();
        let smaller = (SIZE.0 / 2, SIZE.1 / 2);
        let level =
            Page::new(smaller, 1, (8, 1), vec![9; (smaller.0 * smaller.1) as usize]).with(254, Long(vec![1]));
        for map in [map.clone(), map.clone().tiled(pixel_bytes, None), map.clone().deflated()] {
            let pages = [map.clone(), mask(SIZE, 11).deflated(), level.clone(), mask(smaller, 3)];
            assert_border(&tiff(false, &pages), 11, "after the picture");
            let pages = [map, level.clone(), mask(smaller, 3), mask(SIZE, 11)];
            assert_border(&tiff(true, &pages), 11, "after the levels");
        }
        let sparse = mask(SIZE, 16).with(322, Short(vec![TILE as u16])).with(323, Short(vec![TILE as u16]));
        let tile = vec![255; (TILE * TILE / 8) as usize];
        let chunks = (0..6).map(|index| if index % 3 == 0 { Vec::new() } else { tile.clone() }).collect();
        assert_border(&tiff(false, &[map, Page { chunks, ..sparse }]), 16, "with tiles left out");
    }
    let picture = Page::new(SIZE, 3, (8, 1), strip(3, colours));
    let shown = decode(&tiff(false, &[picture, mask(SIZE, 11)])).unwrap();
    assert_eq!(shown.layout, Layout::Rgb, "the mask of a picture that is no map");
}

#[test]
fn tiles_that_are_left_out_are_transparent_if_the_picture_has_opacity() {
    // The first column of tiles is empty.
    let sample = |x: u32, y: u32, channel: u32| {
        vec![if x < TILE {
            0
        } else if channel == 3 {
            255
        } else {
            (x + y) as u8 + 9
        }]
    };
    let picture = Page::new(SIZE, 4, (8, 1), strip(4, sample)).with(338, Short(vec![2]));
    let tiled = picture.clone().tiled(4, Some(0));
    assert!(tiled.chunks.iter().any(Vec::is_empty));
    for page in [tiled.clone(), tiled.clone().map(), tiled.deflated()] {
        assert_border(&tiff(false, &[page]), TILE, "RGBA");
    }
    // Of planes, only that of opacity may be left out.
    let planes: Vec<Vec<u8>> = (0..4)
        .map(|channel| strip(1, |x, y, _| if channel < 3 { vec![77] } else { sample(x, y, 3) }))
        .collect();
    let planes = Page { chunks: planes, ..picture }.with(284, Short(vec![2])).tiled(1, Some(0));
    assert_eq!(planes.chunks.iter().filter(|chunk| chunk.is_empty()).count(), 2);
    assert_border(&tiff(false, &[planes]), TILE, "planes");
    // Tiles of a map without opacity have no data, if it says which value that is.
    let grey =
        strip(1, |x, y, _| if x < TILE { vec![0, 0] } else { (500 + x + y).to_le_bytes()[..2].to_vec() });
    let grey = Page::new(SIZE, 1, (16, 1), grey).map().with(42113, Text("0".to_owned()));
    assert_border(&tiff(false, &[grey.tiled(2, Some(0))]), TILE, "grey");
}

#[test]
fn strips_that_a_map_leaves_out_are_blank() {
    let rows = |strip: Vec<u8>| -> Vec<Vec<u8>> {
        strip.chunks(SIZE.0 as usize * 3 * 8).map(<[u8]>::to_vec).collect()
    };
    let mut chunks = rows(strip(3, |x, y, _| vec![(x + y) as u8]));
    chunks[1].clear();
    let page = Page { chunks, ..Page::new(SIZE, 3, (8, 1), Vec::new()) }.with(278, Long(vec![8]));
    let shown = decode(&tiff(false, &[page.map()])).unwrap();
    assert_eq!(
        (shown.at(5, 7), shown.at(5, 8), shown.at(5, 15)),
        (&[12; 3][..], &[255; 3][..], &[255; 3][..])
    );
    assert_eq!(shown.at(5, 16), [21; 3]);
}

/// A page of one grey.
fn plain(size: (u32, u32), grey: u8) -> Page {
    Page::new(size, 1, (8, 1), vec![grey; (size.0 * size.1) as usize])
}

fn shown(pages: &[Page]) -> (u32, u8) {
    let Picture { width, pixels, .. } = decode(&tiff(false, pages)).unwrap();
    (width, pixels[0])
}

#[test]
fn a_second_page_a_reduced_picture_or_a_label_is_never_the_main_one() {
    let marked = |page: Page, kind| page.with(254, Long(vec![kind]));
    let described = |page: Page, text: &str| page.with(270, Text(text.to_owned()));
    // Pages of the same shape, the second one finer.
    for (second, kind) in [((60, 36), 0), ((80, 48), 0), ((80, 48), 2), ((400, 240), 2)] {
        assert_eq!(
            shown(&[plain(SIZE, 10), marked(plain(second, 20), kind)]),
            (40, 10),
            "{second:?}, {kind}"
        );
    }
    // A reduced version that is larger, whatever that means.
    assert_eq!(shown(&[plain(SIZE, 10), marked(plain((160, 96), 20), 1)]), (40, 10));
    // A thumbnail, marked or much smaller.
    assert_eq!(shown(&[marked(plain((20, 12), 10), 1), plain(SIZE, 20), plain((60, 36), 30)]), (40, 20));
    assert_eq!(shown(&[plain((10, 6), 10), plain((20, 12), 20), plain(SIZE, 30)]), (40, 30));
    // A label or a photograph of the slide comes first.
    let qptiff = |kind: &str| format!("<PerkinElmer-QPI-ImageDescription><ImageType>{kind}</ImageType>");
    for (aside, main) in [
        ("label 90x90".to_owned(), String::new()),
        ("Macro".to_owned(), String::new()),
        (qptiff("Overview"), qptiff("FullResolution")),
        (qptiff("Label"), qptiff("FullResolution")),
    ] {
        let pages = [described(plain((90, 90), 10), &aside), described(plain(SIZE, 20), &main)];
        assert_eq!(shown(&pages), (40, 20), "{aside}");
    }
    // If all are marked as reduced, the largest is shown.
    assert_eq!(shown(&[marked(plain((10, 6), 10), 1), marked(plain(SIZE, 20), 1)]), (40, 20));
}

#[test]
fn three_channels_of_8_bits_are_red_green_and_blue() {
    let ome = |channels: u32, type_: &str| {
        format!(
            "<OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\"><Image><Pixels DimensionOrder=\"XYCZT\" \
             Type=\"{type_}\" SizeX=\"40\" SizeY=\"24\" SizeC=\"{channels}\" SizeZ=\"1\" SizeT=\"1\">\
             <TiffData IFD=\"0\" PlaneCount=\"{channels}\"/></Pixels></Image></OME>"
        )
    };
    let pages = |count: usize, description: &str| -> Vec<Page> {
        let first = plain(SIZE, 50).with(270, Text(description.to_owned()));
        [first, plain(SIZE, 100), plain(SIZE, 150), plain(SIZE, 200)].into_iter().take(count).collect()
    };
    let colour = |pages: &[Page]| decode(&tiff(true, pages)).unwrap().at(7, 9).to_vec();
    assert_eq!(colour(&pages(3, &ome(3, "uint8"))), [50, 100, 150]);
    assert_eq!(colour(&pages(4, &ome(4, "uint8"))), [50], "the first of four");
    assert_eq!(colour(&pages(3, "no channels")), [50], "pages");
    // A reduced version and a thumbnail lie between and after the channels of a QPTIFF.
    let kind = |page: Page, kind: &str| {
        page.with(270, Text(format!("<PerkinElmer-QPI-ImageDescription><ImageType>{kind}</ImageType>")))
    };
    let full = |grey| kind(plain(SIZE, grey), "FullResolution");
    let channels = [
        full(60),
        full(70),
        kind(plain((20, 12), 9), "Thumbnail"),
        full(80),
        kind(plain((20, 12), 9), "ReducedResolution"),
    ];
    assert_eq!(colour(&channels), [60, 70, 80]);
}
