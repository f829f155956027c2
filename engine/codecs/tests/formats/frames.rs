//! HEIC and AVIF grids, which are decoded cell by cell, and frames that are read as YCbCr planes, compared with
//! third-party decoders.

use std::fs;

use edgezoom_codecs::{AsPlanes, Bounds, DecodeOptions, Layout, RowReader, open_with, ycbcr420};
use edgezoom_test_support::likeness::Tolerance;
use edgezoom_test_support::reference::Detail;
use edgezoom_test_support::{Picture, files};

use crate::variant::{PROGRAMS, folder, made, read, read_png, script};

/// Accepted difference for grids, which the decoder converts to RGB.
const GRID: Tolerance = Tolerance::up_to(2);
/// Accepted difference for planes, which this test converts to RGB.
const PLANES: Tolerance = Tolerance::lossy(0.8, 4, 1.3);

/// Cells of 512×512 pixels. The right and bottom ones exceed the picture.
#[test]
fn heic_in_a_grid_of_cells() {
    for (name, layout) in [("heic grid", Layout::Rgb), ("heic grid with opacity", Layout::Rgba)] {
        let folder = folder(name);
        fs::write(folder.join("f.heic"), grid(layout)).unwrap();
        let shown = PROGRAMS.picture(name, Detail::Lattice, || {
            script(&folder, "heif-convert f.heic shown.png");
            Some(read_png(&fs::read(folder.join("shown.png")).unwrap()))
        });
        let ours = read(&folder.join("f.heic")).unwrap();
        shown.unwrap().compare(&ours, GRID).unwrap_or_else(|why| panic!("{name}: {why}"));
        fs::remove_dir_all(folder).unwrap();
    }
}

fn grid(layout: Layout) -> Vec<u8> {
    let picture = Picture::photo(600, 530, layout);
    let options = heifer::EncodeOptions { quality: 90, max_threads: 1 };
    let encode = if layout == Layout::Rgba { heifer::encode_rgba8 } else { heifer::encode_rgb8 };
    encode(picture.width, picture.height, &picture.pixels, &options).unwrap()
}

/// Command that makes a file, command that writes `shown.png`, and true if the frame is read as planes.
#[rustfmt::skip]
const FRAMES: &[(&str, &str, bool)] = &[
    ("avifenc -s 8 -y 420 --min 10 --max 20 photo.png f.avif", "avifdec f.avif shown.png", true),
    ("avifenc -s 8 -y 420 -r limited --min 10 --max 20 photo.png f.avif", "avifdec f.avif shown.png", true),
    ("avifenc -s 8 -y 420 -d 10 --min 10 --max 20 deep.png f.avif", "avifdec -d 8 f.avif shown.png", true),
    ("avifenc -s 8 -y 420 -d 12 -r limited --min 10 --max 20 deep.png f.avif", "avifdec -d 8 f.avif shown.png", true),
    ("convert photo.png -resize 512x512! b.png && avifenc -s 8 -y 420 --grid 2x2 --min 10 --max 20 b.png f.avif", "avifdec f.avif shown.png", true),
    ("heif-enc -q 80 photo.png -o f.heic", "heif-convert f.heic shown.png", true),
    ("heif-enc -q 80 -b 10 deep.png -o f.heic", "heif-convert f.heic t.png && convert t.png -depth 8 shown.png", true),
    ("avifenc -s 8 -y 444 --min 10 --max 20 photo.png f.avif", "avifdec f.avif shown.png", false),
    ("avifenc -s 8 -y 420 --cicp 1/13/1 --min 10 --max 20 photo.png f.avif", "avifdec f.avif shown.png", false),
    ("avifenc -s 8 -y 420 --cicp 12/13/6 --min 10 --max 20 photo.png f.avif", "true", false),
    ("avifenc -s 8 -y 420 --irot 2 --min 10 --max 20 photo.png f.avif", "true", false),
    ("avifenc -s 8 -y 420 --crop 0,0,100,100 --min 10 --max 20 photo.png f.avif", "true", false),
    ("avifenc -s 8 -y 420 --min 10 --max 20 clear.png f.avif", "true", false),
];

#[test]
fn frames_with_the_colour_encoding_of_jpeg_are_read_as_planes() {
    let folder = folder("planes");
    for (number, &(make, shown, stays)) in FRAMES.iter().enumerate() {
        let file = if make.ends_with("f.heic") { "f.heic" } else { "f.avif" };
        let name = format!("frame {number} {file}");
        let bytes = PROGRAMS.file(&name, || {
            made(&folder, &[file, "shown.png"], &(make, shown), || {
                script(&folder, "touch shown.png"); // for cases without a comparison
                script(&folder, &format!("rm -f f.*; {make} && {shown}"));
            });
            fs::read(folder.join(file)).unwrap()
        });
        let options = DecodeOptions { planes: AsPlanes::Halved, ..DecodeOptions::default() };
        let mut reader = open_with(files::file(&bytes), Bounds::default(), &options).unwrap();
        assert_eq!(reader.layout() == Layout::YCbCr420, stays, "{make}");
        if !stays {
            continue;
        }
        let shown = || Some(read_png(&fs::read(folder.join("shown.png")).unwrap()));
        let shown = PROGRAMS.picture(&name, Detail::Lattice, shown).unwrap();
        shown.compare(&from_planes(&mut *reader), PLANES).unwrap_or_else(|why| panic!("{make}: {why}"));
    }
    fs::remove_dir_all(folder).unwrap();
}

/// Reads planes band by band and converts them to RGB as in JFIF (ITU-T T.871, clause 7), without interpolating the
/// chroma.
fn from_planes(reader: &mut dyn RowReader) -> Picture {
    let (width, height) = (reader.size().width, reader.size().height);
    let mut planes = vec![0; Layout::YCbCr420.row_bytes(width) * Layout::YCbCr420.rows_read(height) as usize];
    let band_bytes = Layout::YCbCr420.row_bytes(width) * ycbcr420::ROWS as usize;
    planes.chunks_mut(band_bytes).for_each(|band| reader.read_rows(band).unwrap());
    let pairs: Vec<_> = ycbcr420::pairs(&planes, width).collect();
    Picture::new(width, height, Layout::Rgb, |x, y| {
        let (x, pair) = (x as usize, &pairs[y as usize / 2]);
        let luma = f64::from(pair.luma[y as usize % 2][x]);
        let [blue, red] = pair.chroma.map(|row| f64::from(row[x / 2]) - 128.0);
        let green = luma - 0.344_136 * blue - 0.714_136 * red;
        let [red, blue] = [luma + 1.402 * red, luma + 1.772 * blue];
        [red as u8, green as u8, blue as u8, 255]
    })
}
