//! Thumbnails: previews of the whole picture that are available before its rows.

use std::io::Cursor;

use edgezoom_codecs::{Layout, SourceFile, Thumbnail, announcement, prepare};
use edgezoom_geometry::Size;

use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, BOUNDS, Jpeg};
use edgezoom_test_support::likeness::{Tolerance, compare};

/// Returns the thumbnail of a file whose download stopped after `bytes` bytes.
fn of_prefix(bytes: usize, file: &[u8]) -> Option<Thumbnail> {
    let channel = Cursor::new(announcement(bytes as u64, false));
    let mut source = SourceFile::growing(files::file(file), Some(file.len() as u64), channel);
    prepare(&mut source, None).ok()?.thumbnail(source, BOUNDS)
}

fn of_all(file: &[u8]) -> Option<Thumbnail> {
    let mut source = SourceFile::from(files::file(file));
    prepare(&mut source, None).ok()?.thumbnail(source, BOUNDS)
}

fn shown(thumbnail: &Thumbnail) -> Picture {
    let Size { width, height } = thumbnail.size;
    Picture { width, height, layout: Layout::Rgb, pixels: thumbnail.pixels.clone() }
}

/// Shrinks a picture to an eighth, by averaging blocks of 8×8 pixels.
fn eighth(picture: &Picture) -> Picture {
    Picture::new(picture.width / 8, picture.height / 8, Layout::Rgb, |x, y| {
        let block = || (0..64).map(|at| picture.at(8 * x + at % 8, 8 * y + at / 8));
        let mean = |channel: usize| (block().map(|pixel| u32::from(pixel[channel])).sum::<u32>() / 64) as u8;
        [mean(0), mean(1), mean(2), 255]
    })
}

#[test]
fn the_first_scans_of_a_progressive_jpeg_make_a_thumbnail() {
    let picture = Picture::photo(2000, 1600, Layout::Rgb);
    let file = files::jpeg(&picture, Jpeg { progressive: true, ..Jpeg::default() });
    let thumbnail = of_prefix(file.len() / 3, &file).expect("a third of the file is enough");
    assert_eq!((thumbnail.picture, thumbnail.size), (picture.size(), Size { width: 250, height: 200 }));
    compare(&shown(&thumbnail), &eighth(&picture), Tolerance::lossy(1.2, 9, 1.9)).unwrap();
    assert_eq!(of_all(&file), None, "a complete file has its rows as early as a thumbnail");
    let baseline = files::jpeg(&picture, Jpeg::default());
    assert_eq!(of_prefix(baseline.len() / 3, &baseline), None);
}

/// Returns EXIF with two directories (CIPA DC-008, 4.5.2): the picture's with its orientation, and the thumbnail's.
fn exif_with(orientation: u8, thumbnail: &[u8], length: usize) -> Vec<u8> {
    let mut block = b"MM\0\x2a\0\0\0\x08".to_vec();
    block.extend([0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0, 0, 0, 0, 26]);
    block.extend([0, 2, 0x02, 0x01, 0, 4, 0, 0, 0, 1, 0, 0, 0, 56]);
    block.extend([0x02, 0x02, 0, 4, 0, 0, 0, 1]);
    block.extend((length as u32).to_be_bytes());
    block.extend([0; 4]);
    [&block, thumbnail].concat()
}

#[test]
fn an_exif_thumbnail_is_found_unless_it_is_broken() {
    let small = Picture::photo(160, 120, Layout::Rgb);
    let jpeg = files::jpeg(&small, Jpeg::default());
    let with = |exif: Vec<u8>| {
        files::jpeg(&Picture::photo(640, 480, Layout::Rgb), Jpeg { exif: Some(&exif), ..Jpeg::default() })
    };
    let thumbnail = of_all(&with(exif_with(6, &jpeg, jpeg.len()))).unwrap();
    assert_eq!(thumbnail.orientation, edgezoom_codecs::Orientation::from_exif(6));
    assert_eq!(thumbnail.size, Size { width: 160, height: 120 });
    compare(&shown(&thumbnail), &small, Tolerance::lossy(1.7, 8, 1.8)).unwrap();
    let large = files::jpeg(&Picture::new(1100, 10, Layout::Grey, |_, _| [9; 4]), Jpeg::default());
    for broken in [
        exif_with(1, &jpeg, jpeg.len() + 1),
        exif_with(1, &jpeg, usize::MAX),
        exif_with(1, &jpeg, 0),
        exif_with(1, b"\xff\xd8\xff\xe0", 4),
        exif_with(1, &[0x5a; 300], 300),
        exif_with(1, &large, large.len()),
    ] {
        assert_eq!(of_all(&with(broken)), None);
    }
}
