//! JPEGs with excessive numbers of scans, segments or pixels.

use edgezoom_codecs::Layout;
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, Jpeg};

use super::Bomb;

/// Returns the range of the last scan, from its SOS marker to the EOI marker.
fn last_scan(file: &[u8]) -> std::ops::Range<usize> {
    let start = file.windows(2).rposition(|marker| marker == [0xff, 0xda]).unwrap();
    start..file.len() - 2
}

fn with_scans(file: &[u8], more: usize) -> Vec<u8> {
    let scan = last_scan(file);
    [&file[..scan.end], &file[scan].repeat(more), &[0xff, 0xd9]].concat()
}

/// Replaces the size in the frame header.
fn resized(file: &[u8], width: u16, height: u16) -> Vec<u8> {
    let frame = file.windows(2).position(|marker| matches!(marker, [0xff, 0xc0 | 0xc2])).unwrap();
    let mut file = file.to_vec();
    file[frame + 5..frame + 7].copy_from_slice(&height.to_be_bytes());
    file[frame + 7..frame + 9].copy_from_slice(&width.to_be_bytes());
    file
}

fn with_segments(file: &[u8], segment: &[u8], count: usize) -> Vec<u8> {
    [&file[..2], &segment.repeat(count), &file[2..]].concat()
}

pub fn all() -> Vec<Bomb> {
    // A picture in one colour has short scans.
    let flat = Picture::new(4000, 3000, Layout::Rgb, |_, _| [90, 120, 150, 255]);
    let progressive = files::jpeg(&flat, Jpeg { progressive: true, exif: None });
    let baseline = files::jpeg(&flat, Jpeg::default());
    let grey = files::jpeg(
        &Picture::new(4000, 3000, Layout::Grey, |_, _| [90; 4]),
        Jpeg { progressive: true, exif: None },
    );
    let profile = [&[0xff, 0xe2, 0xff, 0xff][..], b"ICC_PROFILE\0\x01\xff", &[7; 65_519]].concat();
    let tables = [&[0xff, 0xc4, 0, 19 + 3][..], &[0; 17], &[7; 3]].concat();
    vec![
        Bomb::new("hundreds of scans", with_scans(&progressive, 500)),
        Bomb::new("ninety scans more", with_scans(&progressive, 80)),
        Bomb::new("thousands of scans, in grey", with_scans(&grey, 5_000)),
        Bomb::new("a second scan of a baseline picture", with_scans(&baseline, 300)),
        Bomb::new("the largest size, progressive", resized(&progressive, 65_500, 65_500)),
        Bomb::new("the largest size", resized(&baseline, 65_500, 65_500)),
        Bomb::new("the widest", resized(&baseline, 65_500, 1)),
        Bomb::new("the highest, progressive", resized(&progressive, 1, 65_500)),
        Bomb::new("no height", resized(&baseline, 4000, 0)),
        Bomb::new("a hundred profiles", with_segments(&baseline, &profile, 100)),
        Bomb::new("ten thousand tables", with_segments(&baseline, &tables, 10_000)),
        Bomb::new("fill bytes", with_segments(&baseline, &[0xff], 3_000_000)),
        Bomb::new("comments", with_segments(&baseline, &[0xff, 0xfe, 0, 2], 500_000)),
        Bomb::new("starts of pictures", with_segments(&progressive, &[0xff, 0xd8], 100_000)),
    ]
}
