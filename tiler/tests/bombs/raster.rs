//! Headers with excessive sizes in simple formats, followed by nothing, zeros, ones or noise.

use std::io::Write;

use edgezoom_codecs::Layout;
use edgezoom_test_support::Picture;
use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::Bomb;

type Header = fn(u32, u32) -> Vec<u8>;

const FORMATS: [(&str, Header); 11] = [
    ("PNG", png),
    ("GIF", gif),
    ("BMP", bmp),
    ("TIFF", tiff),
    ("QOI", |width, height| [b"qoif".to_vec(), be(width), be(height), vec![3, 0]].concat()),
    ("PNM", |width, height| format!("P6 {width} {height} 255\n").into_bytes()),
    ("PFM", |width, height| format!("PF\n{width} {height}\n-1.0\n").into_bytes()),
    ("HDR", |width, height| {
        format!("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {height} +X {width}\n").into_bytes()
    }),
    ("Farbfeld", |width, height| [b"farbfeld".to_vec(), be(width), be(height)].concat()),
    ("TGA", |width, height| {
        let (width, height) = (le16(width), le16(height));
        [&[0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &width, &height, &[32, 0]].concat()
    }),
    ("JPEG 2000", jpeg_2000),
];

/// Returns ten bombs for each format.
pub fn all() -> Vec<(&'static str, Vec<Bomb>)> {
    let noise = Picture::noise(512, 512, Layout::Rgba).pixels;
    let payloads: [(&str, Vec<u8>); 4] = [
        ("nothing", Vec::new()),
        ("zeros", vec![0; 1 << 20]),
        ("ones", vec![0xff; 1 << 20]),
        ("noise", noise),
    ];
    let cases = [
        (1_000_000, 20_000, 0),
        (u32::MAX, u32::MAX, 1),
        (65_535, 65_535, 1),
        (65_535, 65_535, 2),
        (65_535, 65_535, 3),
        (20_000, 20_000, 1),
        (20_000, 20_000, 2),
        (1, 1_000_000, 1),
        (1_000_000, 1, 3),
        (0, 0, 3),
    ];
    let mut all: Vec<_> = FORMATS
        .into_iter()
        .map(|(format, header)| {
            let bombs = cases.iter().map(|&(width, height, payload)| {
                let (name, payload) = &payloads[payload];
                Bomb::new(
                    format!("{width} × {height} of {name}"),
                    [header(width, height), payload.clone()].concat(),
                )
            });
            (format, bombs.collect())
        })
        .collect();
    all.push((
        "PNG that is whole",
        vec![
            Bomb::new("100 megapixels in one colour", flat_png(10_000, 10_000)),
            Bomb::new("900 megapixels in one colour", flat_png(30_000, 30_000)),
        ],
    ));
    all
}

fn be(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

fn le16(number: u32) -> [u8; 2] {
    u16::try_from(number).unwrap_or(u16::MAX).to_le_bytes()
}

fn chunk(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let mut checksum = flate2::Crc::new();
    checksum.update(kind);
    checksum.update(content);
    [be(content.len() as u32), kind.to_vec(), content.to_vec(), be(checksum.sum())].concat()
}

fn png_header(width: u32, height: u32, kind: u8, interlaced: u8) -> Vec<u8> {
    let header = [be(width), be(height), vec![8, kind, 0, 0, interlaced]].concat();
    [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(b"IHDR", &header)].concat()
}

fn png(width: u32, height: u32) -> Vec<u8> {
    // One chunk that decompresses to a megabyte of zeros. What follows is not a valid chunk.
    let zeros = deflated(1 << 20);
    [png_header(width, height, 6, 1), chunk(b"IDAT", &zeros)].concat()
}

fn deflated(zeros: u64) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let block = vec![0; 1 << 20];
    let mut left = zeros;
    while left > 0 {
        let now = left.min(block.len() as u64);
        encoder.write_all(&block[..now as usize]).unwrap();
        left -= now;
    }
    encoder.finish().unwrap()
}

/// Returns a complete grey PNG in one colour.
pub fn flat_png(width: u32, height: u32) -> Vec<u8> {
    let pixels = deflated(u64::from(height) * (u64::from(width) + 1));
    [png_header(width, height, 0, 0), chunk(b"IDAT", &pixels), chunk(b"IEND", &[])].concat()
}

fn gif(width: u32, height: u32) -> Vec<u8> {
    let (width, height) = (le16(width), le16(height));
    let screen = [&b"GIF89a"[..], &width, &height, &[0x80, 0, 0, 0, 0, 0, 255, 255, 255]].concat();
    [&screen[..], &[0x2c, 0, 0, 0, 0], &width, &height, &[0, 8]].concat()
}

fn bmp(width: u32, height: u32) -> Vec<u8> {
    let (width, height) = (width.to_le_bytes(), height.to_le_bytes());
    let file = [&b"BM"[..], &[0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 54, 0, 0, 0]].concat();
    [&file[..], &[40, 0, 0, 0], &width, &height, &[1, 0, 24, 0], &[0; 24]].concat()
}

/// Returns the header of a TIFF with all rows in one PackBits strip.
fn tiff(width: u32, height: u32) -> Vec<u8> {
    let entry = |tag: u16, value: u32| {
        [&tag.to_le_bytes()[..], &4_u16.to_le_bytes(), &1_u32.to_le_bytes(), &value.to_le_bytes()].concat()
    };
    let entries = [
        entry(256, width),
        entry(257, height),
        entry(258, 8),
        entry(259, 32_773),
        entry(262, 1),
        entry(273, 8 + 2 + 9 * 12 + 4),
        entry(277, 1),
        entry(278, height),
        entry(279, 1 << 20),
    ];
    [&b"II\x2a\0\x08\0\0\0"[..], &9_u16.to_le_bytes(), &entries.concat(), &[0; 4]].concat()
}

/// Returns the headers of a JPEG 2000 codestream with one tile and three components (ITU-T T.800, annex A).
fn jpeg_2000(width: u32, height: u32) -> Vec<u8> {
    let component = [7, 1, 1];
    let size = [
        &[0xff, 0x51, 0, 47, 0, 0][..],
        &be(width),
        &be(height),
        &be(0),
        &be(0),
        &be(width),
        &be(height),
        &be(0),
        &be(0),
        &[0, 3],
        &component.repeat(3),
    ]
    .concat();
    let style = [0xff, 0x52, 0, 12, 0, 0, 0, 1, 1, 5, 4, 4, 0, 1];
    let steps = [&[0xff, 0x5c, 0, 19, 0x40][..], &[0x40; 16]].concat();
    let tile = [0xff, 0x90, 0, 10, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0x93];
    [&[0xff, 0x4f][..], &size, &style, &steps, &tile].concat()
}
