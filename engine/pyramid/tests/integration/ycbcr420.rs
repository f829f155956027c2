//! JPEGs that pass through the pyramid as YCbCr 4:2:0, compared with a straightforward reference: planes that are halved,
//! cropped, and encoded one by one.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use edgezoom_codecs::{AsPlanes, Damage, DecodeOptions, Layout, SourceError};
use edgezoom_geometry::{Dzi, Size, TileFormat};
use edgezoom_jpeg::encoder::{Encoder, Input};
use edgezoom_jpeg::quantisation::{Quantisation, SourceSteps};
use edgezoom_jpeg::ycbcr420::Pair;
use edgezoom_pyramid::{Options, TileCoord};
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, BOUNDS, Jpeg};
use edgezoom_test_support::likeness::{Tolerance, compare};
use edgezoom_test_support::pyramid::{decode, rebuilt, reference};
use mozjpeg::{ColorSpace, Compress, Decompress};

use crate::blocks::{self, QUALITY};
use crate::output;

/// Returns decode options that accept YCbCr 4:2:0.
fn planes_if(accepted: bool, planes: AsPlanes) -> AsPlanes {
    if accepted { planes } else { AsPlanes::Never }
}

fn ycbcr420_accepted() -> DecodeOptions {
    DecodeOptions { planes: AsPlanes::Halved, ..DecodeOptions::default() }
}

/// A plane of samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plane {
    pub width: usize,
    pub height: usize,
    samples: Vec<u8>,
}

impl Plane {
    pub fn new(width: usize, height: usize, sample: impl Fn(usize, usize) -> u8) -> Self {
        let samples = (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).map(|(x, y)| sample(x, y));
        Self { width, height, samples: samples.collect() }
    }

    /// Returns the sample at a position. Positions past an edge are clamped to it.
    pub fn at(&self, x: usize, y: usize) -> u32 {
        self.samples[y.min(self.height - 1) * self.width + x.min(self.width - 1)].into()
    }

    fn halved(&self) -> Self {
        Self::new(self.width.div_ceil(2), self.height.div_ceil(2), |x, y| {
            let sum = self.at(2 * x, 2 * y) + self.at(2 * x + 1, 2 * y);
            ((sum + self.at(2 * x, 2 * y + 1) + self.at(2 * x + 1, 2 * y + 1) + 2) / 4) as u8
        })
    }

    /// Crops the plane. The right and bottom edges are repeated up to the padded size.
    fn part(&self, left: usize, top: usize, size: (usize, usize), padded: (usize, usize)) -> Vec<u8> {
        let within = |x: usize, y: usize| (left + x.min(size.0 - 1), top + y.min(size.1 - 1));
        let part = Self::new(padded.0, padded.1, |x, y| {
            let (x, y) = within(x, y);
            self.at(x, y) as u8
        });
        part.samples
    }
}

/// Returns a JPEG with 4:2:0 chroma subsampling, and its planes.
pub fn jpeg(width: u32, height: u32, progressive: bool) -> (Vec<u8>, [Plane; 3]) {
    let picture = Picture::photo(width, height, Layout::Rgb);
    let mut encoder = Compress::new(ColorSpace::JCS_RGB);
    encoder.set_size(width as usize, height as usize);
    encoder.set_fastest_defaults();
    encoder.set_quality(93.0);
    encoder.set_chroma_sampling_pixel_sizes((2, 2), (2, 2));
    if progressive {
        encoder.set_progressive_mode();
    }
    let mut encoder = encoder.start_compress(Vec::new()).unwrap();
    encoder.write_scanlines(&picture.pixels).unwrap();
    let file = encoder.finish().unwrap();

    let mut stored = [Vec::new(), Vec::new(), Vec::new()];
    let [luma, blue, red] = &mut stored;
    Decompress::new_mem(&file).unwrap().raw().unwrap().read_raw_data(&mut [luma, blue, red]);
    let (width, height) = (width as usize, height as usize);
    let sizes =
        [(width, height), (width.div_ceil(2), height.div_ceil(2)), (width.div_ceil(2), height.div_ceil(2))];
    let planes = std::array::from_fn(|plane| {
        let (width, height) = sizes[plane];
        let stride = width.next_multiple_of(8);
        Plane::new(width, height, |x, y| stored[plane][y * stride + x])
    });
    (file, planes)
}

/// Encodes a reference tile.
fn tile(level: &[Plane; 3], dzi: &Dzi, (column, row): (u32, u32), quantisation: &Quantisation) -> Vec<u8> {
    let start = |index: u32| (index * dzi.tile_size).saturating_sub(dzi.tile_overlap) as usize;
    let end = |index: u32, side: usize| side.min(((index + 1) * dzi.tile_size + dzi.tile_overlap) as usize);
    let (left, top) = (start(column), start(row));
    let (width, height) = (end(column, level[0].width) - left, end(row, level[0].height) - top);
    let (chroma_width, chroma_height) = (width.div_ceil(2), height.div_ceil(2));
    let padded = |width: usize, height: usize| (width.next_multiple_of(8), height.next_multiple_of(8));
    let chroma = |plane: &Plane| {
        // A chroma sample of the tile covers 2×2 pixels. If the tile begins at an odd pixel, these have different chroma samples
        // in the level, so the mean over the four pixels is taken.
        let right = (left + width - 1) / 2;
        let bottom = (top + height - 1) / 2;
        let mixed = Plane::new(chroma_width, chroma_height, |x, y| {
            let columns = [2 * x, 2 * x + 1].map(|x| ((left + x) / 2).min(right));
            let rows = [2 * y, 2 * y + 1].map(|y| ((top + y) / 2).min(bottom));
            let sum: u32 = rows.iter().flat_map(|&y| columns.map(|x| plane.at(x, y))).sum();
            ((sum + 2) / 4) as u8
        });
        let (padded_width, padded_height) = padded(chroma_width, height.next_multiple_of(16) / 2);
        mixed.part(0, 0, (chroma_width, chroma_height), (padded_width, padded_height))
    };
    let (padded_width, padded_height) = (width.next_multiple_of(8), height.next_multiple_of(16));
    let luma = level[0].part(left, top, (width, height), (padded_width, padded_height));

    let chroma = [chroma(&level[1]), chroma(&level[2])];
    let chroma_stride = chroma_width.next_multiple_of(8);
    let mut encoder = Encoder::new(Input::YCbCr420, quantisation, true);
    encoder.begin(width as u32, height as u32);
    for y in 0..height {
        let luma = [y / 2 * 2, y / 2 * 2 + 1].map(|y| &luma[y * padded_width..][..padded_width]);
        let chroma = chroma.each_ref().map(|plane| &plane[y / 2 * chroma_stride..][..chroma_stride]);
        encoder.ycbcr420_row(&Pair { luma, chroma }, y % 2 == 1, &(0..width as u32));
    }
    encoder.finish().to_vec()
}

/// The tiles of a pyramid. If the full level consists of the blocks of a JPEG, its steps are adapted to those of the JPEG.
pub fn expected(planes: [Plane; 3], dzi: &Dzi, source: SourceSteps) -> BTreeMap<TileCoord, Vec<u8>> {
    let mut tiles = BTreeMap::new();
    let mut planes = planes;
    let ours = Quantisation::of_quality(QUALITY, true);
    let full = ours.for_source(&source);
    for level in (0..=dzi.max_level()).rev() {
        let (columns, rows) = dzi.grid(level);
        for (column, row) in (0..rows).flat_map(|row| (0..columns).map(move |column| (column, row))) {
            let quantisation = if level == dzi.max_level() { &full } else { &ours };
            tiles.insert(TileCoord { level, column, row }, tile(&planes, dzi, (column, row), quantisation));
        }
        planes = planes.map(|plane| plane.halved());
    }
    tiles
}

fn build(file: &[u8], dzi: &Dzi, ycbcr420: bool, threads: usize) -> BTreeMap<TileCoord, Vec<u8>> {
    let mut source = edgezoom_codecs::open_with(
        files::file(file),
        BOUNDS,
        &DecodeOptions { planes: planes_if(ycbcr420, AsPlanes::Halved), ..DecodeOptions::default() },
    )
    .unwrap();
    let layout = source.layout();
    assert_eq!(layout, if ycbcr420 { Layout::YCbCr420 } else { Layout::Rgb });
    output::build(&mut *source, dzi, QUALITY, threads)
}

fn dzi(width: u32, height: u32, tile_size: u32, tile_overlap: u32) -> Dzi {
    Dzi { size: Size { width, height }, tile_size, tile_overlap, tile_format: TileFormat::Jpg }
}

fn assert_exact(width: u32, height: u32, tile_size: u32, overlap: u32, threads: usize) {
    let is_aligned = overlap == 0 && tile_size.is_multiple_of(16);
    let (file, planes) = jpeg(width, height, (width + height).is_multiple_of(3));
    let dzi = dzi(width, height, tile_size, overlap);
    let mut open = edgezoom_codecs::open_with(files::file(&file), BOUNDS, &ycbcr420_accepted()).unwrap();
    let source = if is_aligned { open.as_jpeg().unwrap().steps } else { [None; 2] };
    let (built, ..) = blocks::build(&file, &dzi, false, threads);
    let expected = expected(planes, &dzi, source);
    assert_eq!(built.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (coord, tile) in expected {
        assert!(built[&coord] == tile, "{coord:?} of {width}x{height}, tiles of {tile_size}+{overlap}");
    }
}

#[test]
fn every_tile_of_every_level_is_exact_at_odd_sizes() {
    for (width, height) in [
        (1, 1),
        (2, 1),
        (1, 600),
        (600, 1),
        (3, 5),
        (15, 17),
        (16, 16),
        (33, 31),
        (127, 131),
        (128, 128),
        (129, 127),
        (641, 257),
        (255, 513),
    ] {
        for overlap in [0, 1, 2, 3] {
            assert_exact(width, height, 64, overlap, 2);
        }
    }
}

#[test]
fn odd_tile_sizes_and_any_number_of_threads_are_exact() {
    for (tile_size, threads) in [(254, 1), (51, 2), (7, 3), (255, 5)] {
        assert_exact(317, 263, tile_size, 1, threads);
    }
    assert_exact(61, 47, 1, 1, 2);
    assert_exact(40_001, 21, 510, 1, 2);
    assert_exact(40_001, 21, 512, 0, 2);
}

#[test]
fn prime_and_long_sides_and_sides_around_a_multiple_of_the_tile_are_exact() {
    let sides = [253, 254, 255, 508, 509];
    for (width, height) in sides.iter().flat_map(|&width| sides.map(|height| (width, height))) {
        assert_exact(width, height, 254, 1, 2);
    }
    for (width, height) in [(997, 1009), (65_500, 1), (1, 65_500), (65_497, 3), (19, 20_001)] {
        assert_exact(width, height, 254, 1, 2);
    }
}

#[test]
fn ycbcr420_and_rgb_tiles_look_the_same() {
    let (width, height) = (1103, 777);
    let (file, _) = jpeg(width, height, false);
    let dzi = dzi(width, height, 254, 1);
    let read = |ycbcr420| -> BTreeMap<TileCoord, Picture> {
        let tiles = build(&file, &dzi, ycbcr420, 2).into_iter();
        tiles.map(|(coord, bytes)| (coord, decode(TileFormat::Jpg, &bytes))).collect()
    };
    let source = files::decode(&file).unwrap();
    let (ycbcr420, rgb) = (rebuilt(&read(true), &dzi), rebuilt(&read(false), &dzi));
    let (through_ycbcr420, through_rgb) = (source.psnr(&ycbcr420), source.psnr(&rgb));
    assert!(through_ycbcr420 > through_rgb - 0.1, "{through_ycbcr420:.2} dB and {through_rgb:.2} dB");
    let levels = reference(&source, &dzi);
    // Smaller tiles consist mostly of edges, which this quality does not preserve.
    for (coord, tile) in read(true).into_iter().filter(|(_, tile)| tile.width.min(tile.height) >= 64) {
        compare(&tile, &levels[&coord], Tolerance::lossy(2.5, 20, 3.5))
            .unwrap_or_else(|why| panic!("{coord:?}: {why}"));
    }
}

#[test]
fn other_jpegs_are_not_read_as_planes_even_if_ycbcr420_is_accepted() {
    let picture = Picture::photo(60, 40, Layout::Rgb);
    let turned = files::exif(3);
    let (planar, _) = jpeg(60, 40, false);
    let with_exif =
        [&planar[..2], &[0xff, 0xe1, 0, turned.len() as u8 + 8], b"Exif\0\0", &turned, &planar[2..]].concat();
    for (file, layout) in [
        (files::jpeg(&picture, Jpeg::default()), Layout::Rgb),
        (files::jpeg(&Picture::photo(60, 40, Layout::Grey), Jpeg::default()), Layout::Grey),
        (with_exif, Layout::Rgb),
    ] {
        assert_eq!(
            edgezoom_codecs::open_with(files::file(&file), BOUNDS, &ycbcr420_accepted()).unwrap().layout(),
            layout
        );
    }
}

/// Returns a TIFF of JPEGs of which a chroma sample has this size in pixels, in tiles, or in strips if `chunk` is as wide as the picture.
fn tiff_of_jpeg(picture: &Picture, chunk: (u32, u32), chroma: (u8, u8)) -> Vec<u8> {
    let is_strips = chunk.0 == picture.width;
    let mut file = b"II\x2a\0\0\0\0\0".to_vec();
    let (mut offsets, mut lengths) = (Vec::new(), Vec::new());
    for top in (0..picture.height).step_by(chunk.1 as usize) {
        for left in (0..picture.width).step_by(chunk.0 as usize) {
            let height = if is_strips { chunk.1.min(picture.height - top) } else { chunk.1 };
            let part = Picture::new(chunk.0, height, Layout::Rgb, |x, y| {
                let pixel = picture.at((left + x).min(picture.width - 1), (top + y).min(picture.height - 1));
                [pixel[0], pixel[1], pixel[2], 0]
            });
            let mut encoder = Compress::new(ColorSpace::JCS_RGB);
            encoder.set_size(part.width as usize, part.height as usize);
            encoder.set_fastest_defaults();
            encoder.set_quality(95.0);
            encoder.set_chroma_sampling_pixel_sizes(chroma, chroma);
            let mut encoder = encoder.start_compress(Vec::new()).unwrap();
            encoder.write_scanlines(&part.pixels).unwrap();
            let bytes = encoder.finish().unwrap();
            offsets.push(file.len() as u32);
            lengths.push(bytes.len() as u32);
            file.extend(bytes);
        }
    }
    let mut table = |values: &[u32]| {
        if let [value] = values {
            return *value;
        }
        let offset = file.len() as u32;
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        offset
    };
    let count = offsets.len() as u32;
    let (offsets, lengths) = (table(&offsets), table(&lengths));
    // BitsPerSample: three times 8, as 16-bit numbers.
    let depths = table(&[8 | 8 << 16, 8]);
    let (short, long) = (3_u16, 4_u16);
    let mut entries = vec![
        (256, long, 1, picture.width),
        (257, long, 1, picture.height),
        (258, short, 3, depths),
        (259, short, 1, 7),
        (262, short, 1, 6),
        (277, short, 1, 3),
    ];
    if is_strips {
        entries.extend([(273, long, count, offsets), (278, long, 1, chunk.1), (279, long, count, lengths)]);
    } else {
        entries.extend([(322, long, 1, chunk.0), (323, long, 1, chunk.1)]);
        entries.extend([(324, long, count, offsets), (325, long, count, lengths)]);
    }
    entries.sort();
    let directory = file.len() as u32;
    file[4..8].copy_from_slice(&directory.to_le_bytes());
    file.extend((entries.len() as u16).to_le_bytes());
    for (tag, kind, count, value) in entries {
        file.extend(u16::to_le_bytes(tag));
        file.extend(kind.to_le_bytes());
        file.extend(u32::to_le_bytes(count));
        file.extend(value.to_le_bytes());
    }
    file.extend([0; 4]);
    file
}

#[test]
fn more_chroma_is_averaged_if_no_tile_begins_in_the_middle_of_a_mean() {
    let picture = Picture::photo(333, 217, Layout::Rgb);
    for (across, down) in [(1, 1), (2, 1), (1, 2)] {
        let mut encoder = Compress::new(ColorSpace::JCS_RGB);
        encoder.set_size(333, 217);
        encoder.set_quality(93.0);
        encoder.set_chroma_sampling_pixel_sizes((across, down), (across, down));
        let mut encoder = encoder.start_compress(Vec::new()).unwrap();
        encoder.write_scanlines(&picture.pixels).unwrap();
        let file = encoder.finish().unwrap();
        let likeness = |tile_size, overlap, planes| {
            let options = Options { tile_size, overlap, ..Options::default() };
            let decoding = DecodeOptions { planes, ..options.decode_options() };
            let mut source = edgezoom_codecs::open_with(files::file(&file), BOUNDS, &decoding).unwrap();
            let dzi = dzi(333, 217, tile_size, overlap);
            let tiles = output::build(&mut *source, &dzi, 89, 2).into_iter();
            let tiles = tiles.map(|(coord, tile)| (coord, decode(TileFormat::Jpg, &tile))).collect();
            (
                source.layout(),
                options.decode_options().planes == AsPlanes::Averaged,
                picture.psnr(&rebuilt(&tiles, &dzi)),
            )
        };
        for (tile_size, overlap, is_averaged) in
            [(128, 0, true), (126, 2, true), (127, 0, false), (126, 1, false)]
        {
            let [averaged, rgb] =
                [AsPlanes::Averaged, AsPlanes::Halved].map(|planes| likeness(tile_size, overlap, planes));
            assert_eq!((averaged.0, averaged.1, rgb.0), (Layout::YCbCr420, is_averaged, Layout::Rgb));
            let less = rgb.2 - averaged.2;
            assert!(!is_averaged || less.abs() < 0.1, "{across}×{down}, {tile_size}+{overlap}: {less:.2} dB");
        }
    }
}

#[test]
fn a_tiff_of_jpegs_is_the_same_as_rgb_and_as_ycbcr420_with_any_number_of_threads() {
    let picture = Picture::photo(333, 217, Layout::Rgb);
    // Tiles that fit and exceed the picture, tiles that are not a multiple of the MCU size, strips; averaged chroma.
    for (chunk, chroma, layout) in [
        ((64, 48), (2, 2), Layout::YCbCr420),
        ((352, 224), (2, 2), Layout::YCbCr420),
        ((50, 24), (2, 2), Layout::Rgb),
        ((333, 32), (2, 2), Layout::YCbCr420),
        ((333, 20), (2, 2), Layout::Rgb),
        ((64, 48), (1, 1), Layout::YCbCr420),
        ((352, 224), (2, 1), Layout::YCbCr420),
        ((333, 32), (1, 2), Layout::YCbCr420),
        ((50, 24), (1, 1), Layout::Rgb),
    ] {
        let file = tiff_of_jpeg(&picture, chunk, chroma);
        let dzi = dzi(333, 217, 100, u32::from(chroma == (2, 2)));
        let mut ways = Vec::new();
        for (ycbcr420, threads) in [(false, 1), (false, 3), (true, 1), (true, 2)] {
            let decode_options = DecodeOptions {
                planes: planes_if(ycbcr420, AsPlanes::Averaged),
                threads: NonZeroUsize::new(threads).unwrap(),
                ..DecodeOptions::default()
            };
            let mut source = edgezoom_codecs::open_with(files::file(&file), BOUNDS, &decode_options).unwrap();
            let found = source.layout();
            assert_eq!(found, if ycbcr420 { layout } else { Layout::Rgb }, "{chunk:?}");
            let tiles = output::build(&mut *source, &dzi, 89, threads).into_iter();
            ways.push(rebuilt(
                &tiles.map(|(coord, tile)| (coord, decode(TileFormat::Jpg, &tile))).collect(),
                &dzi,
            ));
        }
        let [rgb, same_rgb, ycbcr420, same_ycbcr420] = ways.try_into().unwrap();
        assert!(
            rgb == same_rgb && ycbcr420 == same_ycbcr420,
            "{chunk:?}: the number of threads changes the pixels"
        );
        let (through_rgb, through_ycbcr420) = (picture.psnr(&rgb), picture.psnr(&ycbcr420));
        assert!(through_ycbcr420 > 34.0, "{chunk:?}: {through_ycbcr420:.1} dB");
        assert!((through_ycbcr420 - through_rgb).abs() < 0.2, "{through_ycbcr420:.2} {through_rgb:.2} dB");
    }
}

#[test]
fn a_tiff_whose_jpegs_are_cut_off_or_of_another_size_fails() {
    let picture = Picture::photo(200, 150, Layout::Rgb);
    let whole = tiff_of_jpeg(&picture, (64, 48), (2, 2));
    let start = whole.windows(2).position(|bytes| bytes == [0xff, 0xda]).unwrap();
    let mut broken = whole.clone();
    broken[start + 200..start + 400].fill(0xff);
    // Change the height in the first tile's frame header from 48 to 16.
    let frame = whole.windows(2).position(|bytes| bytes == [0xff, 0xc0]).unwrap();
    let mut smaller = whole;
    smaller[frame + 6] = 16;
    for file in [broken, smaller] {
        for ycbcr420 in [false, true] {
            let decode_options =
                DecodeOptions { planes: planes_if(ycbcr420, AsPlanes::Halved), ..DecodeOptions::default() };
            let mut source = edgezoom_codecs::open_with(files::file(&file), BOUNDS, &decode_options).unwrap();
            let rows = source.layout().rows_read(150);
            let mut pixels = vec![0; source.layout().row_bytes(200) * rows as usize];
            let error = source.read_rows(&mut pixels).unwrap_err();
            assert!(matches!(error, SourceError::Corrupt { .. }), "{error}");
        }
    }
}

#[test]
fn a_jpeg_that_is_cut_off_is_shown_as_far_as_it_goes_as_ycbcr420_too() {
    for progressive in [false, true] {
        let (file, _) = jpeg(800, 600, progressive);
        let whole = planes(&file).unwrap();
        assert_eq!(whole.1, None);
        for end in [file.len() / 4, file.len() / 2, file.len() - 100] {
            let (rows, damage) = planes(&file[..end]).unwrap();
            match damage {
                Some(Damage::FromRow { row, rows: 600 }) => {
                    let bytes = row as usize / 16 * 16 * Layout::YCbCr420.row_bytes(800);
                    assert!(progressive || rows[..bytes] == whole.0[..bytes], "to row {row}");
                    let last = &rows[rows.len() - 800..];
                    assert!(progressive || row > 500 || last.iter().all(|&sample| sample == 128));
                    assert!(progressive || row as usize > 600 * end / file.len() - 100, "row {row}");
                }
                damage => assert_eq!((damage, progressive), (Some(Damage::Partial), true)),
            }
        }
        assert!(progressive || planes(&file[..700]).is_err(), "a file without a complete row is refused");
    }
}

/// Reads all rows of a file as planes. Also returns the damage, if part of the picture is missing.
fn planes(file: &[u8]) -> Result<(Vec<u8>, Option<Damage>), SourceError> {
    let mut source = edgezoom_codecs::open_with(files::file(file), BOUNDS, &ycbcr420_accepted())?;
    assert_eq!(source.layout(), Layout::YCbCr420);
    let mut rows = vec![0; Layout::YCbCr420.row_bytes(800) * 600_usize.next_multiple_of(16)];
    source.read_rows(&mut rows)?;
    Ok((rows, source.damage()))
}
