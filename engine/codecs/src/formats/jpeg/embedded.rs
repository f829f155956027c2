//! JPEGs in memory that are parts of a picture, such as the tiles of a TIFF. Each is decoded on the calling thread, by
//! `edgezoom_jpeg` if it is regular. Otherwise libjpeg decodes it from its beginning, and a loss of pixels is an error.
//! A JPEG may be a few pixels smaller than its part of the picture, as libtiff allows it with a warning: scanners round
//! the size of a level and that of its JPEG differently. The pixels that it lacks are [missing](NEUTRAL).

use std::sync::Arc;

use edgezoom_geometry::Size;
use edgezoom_jpeg::decoder::chroma::{self, Planes};
use edgezoom_jpeg::decoder::frame::{self, Colours, Frame};
use edgezoom_jpeg::decoder::mcu_rows::Stop;
use edgezoom_jpeg::decoder::rows::{self, Rows};
use edgezoom_jpeg::decoder::sequential::{Sequential, Workspace};
use edgezoom_jpeg::ycbcr420::{PairMut, ROWS, stride};
use mozjpeg::ColorSpace;

use super::error_manager::catch_errors;
use super::ycbcr420::Averages;
use super::{BUFFERING, FORMAT, header, open_in_memory, side};
use crate::parallel::{Budget, Taken};
use crate::tolerant::NEUTRAL;
use crate::{AsPlanes, Layout, SourceError};

/// Reason for refusing a JPEG that is not the part of the picture that it should be.
const OTHER_SIZE: &str = "a strip or tile does not have the size that the file states";

/// A JPEG may lack fewer columns and rows than this: a block with subsampled chroma.
const MOST_MISSING: u32 = 16;

/// Decodes one JPEG after the other.
pub struct Decoder {
    workspace: Workspace,
    /// Memory for coefficients, which the decoders of all threads share.
    budget: Arc<Budget>,
}

/// Returns true if a JPEG can be read as these planes.
pub fn has_planes(mut file: &[u8], planes: AsPlanes) -> bool {
    open_in_memory(file).is_ok_and(|header| super::ycbcr420::is_ycbcr420(&header))
        || planes == AsPlanes::Averaged
            && frame::read(&mut file).is_ok_and(|frame| frame.is_some_and(|frame| chroma::can_read(&frame)))
}

impl Decoder {
    /// Returns a decoder whose coefficients take no more than a budget.
    pub fn new(budget: Arc<Budget>) -> Self {
        Self { workspace: Workspace::default(), budget }
    }

    /// Checks the scans of a JPEG that libjpeg will decode, and takes the memory for its coefficients.
    fn admit(&self, mut file: &[u8]) -> Result<Option<Taken<'_>>, SourceError> {
        let Some(markers) = header::read(&mut file)?.filter(|markers| markers.is_buffered) else {
            return Ok(None);
        };
        header::admit_scans(markers)?;
        self.budget.take(markers.coefficients, BUFFERING).map(Some)
    }

    /// Decodes a JPEG of this width that [has planes](has_planes) into pairs of rows. They may cover less than its
    /// width and height: the rest is cropped.
    pub fn decode_pairs(
        &mut self,
        file: &[u8],
        width: u32,
        mut pairs: Vec<PairMut<'_>>,
    ) -> Result<(), SourceError> {
        match self.regular_pairs(file, width, &mut pairs) {
            Some(()) => Ok(()),
            None => {
                // The last band has at least one row.
                let rows = (2 * pairs.len()).saturating_sub(ROWS as usize - 1);
                if let Some(small) = smaller(file, width, rows) {
                    return self.decode_pairs(file, small.width, crop_pairs(pairs, small));
                }
                let _taken = self.admit(file)?;
                libjpeg_pairs(file, width, pairs)
            }
        }
    }

    /// Decodes a JPEG of this width as RGB into rows. They may cover less than its width and height: the rest is
    /// cropped.
    pub fn decode_rgb(
        &mut self,
        file: &[u8],
        width: u32,
        mut rows: Vec<&mut [u8]>,
    ) -> Result<(), SourceError> {
        match self.regular_rgb(file, width, &mut rows) {
            Some(()) => Ok(()),
            None => {
                if let Some(small) = smaller(file, width, rows.len()) {
                    return self.decode_rgb(file, small.width, crop_rows(rows, small));
                }
                let _taken = self.admit(file)?;
                libjpeg_rgb(file, width, rows)
            }
        }
    }

    /// Fills `out` with the first rows of a JPEG, as the samples that it stores; only YCCK becomes CMYK. Returns the
    /// number of bytes decoded.
    pub fn decode_samples(
        &mut self,
        file: &[u8],
        width: u32,
        samples: usize,
        out: &mut [u8],
    ) -> Result<usize, SourceError> {
        match self.regular_samples(file, width, samples, out) {
            Some(decoded) => Ok(decoded),
            None => {
                if let Some(small) = smaller(file, width, out.len() / (width as usize * samples).max(1)) {
                    return self.decode_smaller_samples(file, width, small, samples, out);
                }
                let _taken = self.admit(file)?;
                libjpeg_samples(file, width, samples, out)
            }
        }
    }

    /// Decodes a smaller JPEG into the beginning of `out`, and moves its rows to their places, the last one first.
    fn decode_smaller_samples(
        &mut self,
        file: &[u8],
        width: u32,
        small: Size,
        samples: usize,
        out: &mut [u8],
    ) -> Result<usize, SourceError> {
        let [row_bytes, small_bytes] = [width, small.width].map(|width| width as usize * samples);
        let rows = (out.len() / row_bytes).min(small.height as usize);
        let decoded = self.decode_samples(file, small.width, samples, &mut out[..rows * small_bytes])?;
        let complete = decoded / small_bytes;
        for row in (0..complete).rev() {
            out.copy_within(row * small_bytes..(row + 1) * small_bytes, row * row_bytes);
            out[row * row_bytes + small_bytes..(row + 1) * row_bytes].fill(NEUTRAL);
        }
        if complete < rows {
            return Ok(complete * row_bytes);
        }
        out[rows * row_bytes..].fill(NEUTRAL);
        Ok(out.len())
    }

    /// Reads the headers of a JPEG of this width and at least this height.
    fn headers(&mut self, mut file: &[u8], width: u32, height: usize) -> Option<Frame> {
        let frame = self.workspace.read_headers(&mut file).ok()??;
        (frame.width == width && frame.height as usize >= height).then_some(frame)
    }

    fn start<'a>(&'a mut self, file: &'a [u8], frame: Frame) -> Option<Sequential<'a, &'a [u8]>> {
        let scan = file.get(usize::try_from(frame.header_bytes).ok()?..)?;
        Some(self.workspace.decode(frame, scan))
    }

    fn regular_pairs(&mut self, file: &[u8], width: u32, pairs: &mut [PairMut<'_>]) -> Option<()> {
        let frame = self.headers(file, width, 0).filter(chroma::can_read)?;
        if pairs_of(frame.height) < pairs.len() {
            return None;
        }
        let mut planes = Planes::new(self.start(file, frame)?);
        pairs.chunks_mut(ROWS as usize / 2).try_for_each(|band| planes.read(band)).ok()
    }

    fn regular_rgb(&mut self, file: &[u8], width: u32, rows: &mut [&mut [u8]]) -> Option<()> {
        let frame = self.headers(file, width, rows.len())?;
        if !matches!(frame.colours, Colours::YCbCr | Colours::Rgb) || !rows::can_read(&frame) {
            return None;
        }
        let mut decoder = Rows::new(self.start(file, frame)?);
        let mut full_row = vec![0; Layout::Rgb.row_bytes(width)];
        let mut read = |row: &mut &mut [u8]| -> Result<(), Stop> {
            if row.len() == full_row.len() {
                return decoder.read_row(row);
            }
            decoder.read_row(&mut full_row)?;
            row.copy_from_slice(&full_row[..row.len()]);
            Ok(())
        };
        rows.iter_mut().try_for_each(&mut read).ok()
    }

    fn regular_samples(&mut self, file: &[u8], width: u32, samples: usize, out: &mut [u8]) -> Option<usize> {
        let row_bytes = width as usize * samples;
        let mut frame = self.headers(file, width, out.len() / row_bytes.max(1))?;
        if frame.components.len() != samples || !rows::can_read(&frame) {
            return None;
        }
        if frame.colours == Colours::YCbCr {
            frame.colours = Colours::Rgb; // of which no sample is converted
        }
        let mut decoder = Rows::new(self.start(file, frame)?);
        let mut rows = out.chunks_exact_mut(row_bytes);
        rows.try_for_each(|row| decoder.read_row(row)).ok()?;
        Some(out.len() / row_bytes * row_bytes)
    }
}

/// Returns the size of a JPEG that lacks a few columns of a width, a few of the first rows, or both.
fn smaller(file: &[u8], width: u32, rows: usize) -> Option<Size> {
    let header = open_in_memory(file).ok()?;
    let own = Size { width: side(header.width()), height: side(header.height()) };
    let missing = [width.checked_sub(own.width)?, side(rows).saturating_sub(own.height)];
    (missing != [0, 0] && missing.iter().all(|&missing| missing < MOST_MISSING)).then_some(own)
}

/// Returns the parts of rows that a smaller JPEG has, and fills the others.
fn crop_rows(mut rows: Vec<&mut [u8]>, small: Size) -> Vec<&mut [u8]> {
    rows.drain(rows.len().min(small.height as usize)..).for_each(|row| row.fill(NEUTRAL));
    rows.into_iter().map(|row| crop(row, Layout::Rgb.row_bytes(small.width))).collect()
}

/// Returns the parts of pairs that the blocks of a smaller JPEG have, and fills the others.
fn crop_pairs(mut pairs: Vec<PairMut<'_>>, small: Size) -> Vec<PairMut<'_>> {
    for PairMut { luma, chroma } in pairs.drain(pairs.len().min(pairs_of(small.height))..) {
        luma.into_iter().chain(chroma).for_each(|row| row.fill(NEUTRAL));
    }
    let kept = stride(small.width);
    let pairs = pairs.into_iter().map(|PairMut { luma, chroma }| PairMut {
        luma: luma.map(|row| crop(row, kept)),
        chroma: chroma.map(|row| crop(row, kept / 2)),
    });
    pairs.collect()
}

/// Returns the first samples of a row, and fills the others.
fn crop(row: &mut [u8], kept: usize) -> &mut [u8] {
    let (kept, missing) = row.split_at_mut(kept.min(row.len()));
    missing.fill(NEUTRAL);
    kept
}

/// Returns the number of pairs in whole bands of a picture: the last band may cover more than the picture's height.
fn pairs_of(height: u32) -> usize {
    (height.div_ceil(ROWS) * ROWS / 2) as usize
}

/// [`Decoder::decode_pairs`] by libjpeg.
fn libjpeg_pairs(file: &[u8], width: u32, pairs: Vec<PairMut<'_>>) -> Result<(), SourceError> {
    let header = open_in_memory(file)?;
    if side(header.width()) != width || pairs_of(side(header.height())) < pairs.len() {
        return Err(FORMAT.corrupt(OTHER_SIZE));
    }
    let mut averages = catch_errors(|| Averages::start(header))?;
    pairs.into_iter().try_for_each(|pair| catch_errors(|| averages.read(pair)))
}

/// [`Decoder::decode_rgb`] by libjpeg.
fn libjpeg_rgb(file: &[u8], width: u32, rows: Vec<&mut [u8]>) -> Result<(), SourceError> {
    let header = open_in_memory(file)?;
    let is_colour = matches!(header.color_space(), ColorSpace::JCS_YCbCr | ColorSpace::JCS_RGB);
    if !is_colour || side(header.width()) != width || header.height() < rows.len() {
        return Err(
            FORMAT.corrupt("a strip or tile does not have the size or colour space that the file states")
        );
    }
    let mut decoder = catch_errors(|| header.rgb())?;
    let mut full_row = vec![0; Layout::Rgb.row_bytes(width)];
    for row in rows {
        if row.len() == full_row.len() {
            catch_errors(|| decoder.read_scanlines_into(row).map(|_| ()))?;
        } else {
            catch_errors(|| decoder.read_scanlines_into(&mut full_row).map(|_| ()))?;
            row.copy_from_slice(&full_row[..row.len()]);
        }
    }
    Ok(())
}

/// [`Decoder::decode_samples`] by libjpeg.
fn libjpeg_samples(file: &[u8], width: u32, samples: usize, out: &mut [u8]) -> Result<usize, SourceError> {
    let header = open_in_memory(file)?;
    let (space, stored) = match header.color_space() {
        space @ ColorSpace::JCS_GRAYSCALE => (space, 1),
        space @ (ColorSpace::JCS_YCbCr | ColorSpace::JCS_RGB) => (space, 3),
        ColorSpace::JCS_CMYK | ColorSpace::JCS_YCCK => (ColorSpace::JCS_CMYK, 4),
        _ => return Err(FORMAT.unsupported("its colour space is unknown")),
    };
    let row_bytes = width as usize * samples;
    if stored != samples || side(header.width()) != width || header.height() < out.len() / row_bytes {
        return Err(
            FORMAT.corrupt("a strip or tile does not have the size or colour space that the file states")
        );
    }
    let mut decoder = catch_errors(|| header.to_colorspace(space))?;
    let mut decoded = 0;
    for row in out.chunks_exact_mut(row_bytes) {
        match catch_errors(|| decoder.read_scanlines_into(row).map(|_| ())) {
            Ok(()) => decoded += row_bytes,
            Err(error) if decoded == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use edgezoom_jpeg::ycbcr420;
    use mozjpeg::Compress;
    use proptest::test_runner::{Config, TestRunner};

    use super::super::generated::{LIBJPEG_SATURATES, changed, jpeg};
    use super::*;

    fn decoder(memory: u64) -> Decoder {
        Decoder::new(Arc::new(Budget::new(memory)))
    }

    /// Buffers for a picture of the size that libjpeg finds.
    struct Buffers {
        width: u32,
        height: u32,
        samples: usize,
        rgb: Vec<u8>,
        stored: Vec<u8>,
        planes: Vec<u8>,
    }

    impl Buffers {
        fn of(file: &[u8]) -> Option<Self> {
            let header = open_in_memory(file).ok()?;
            let (width, height) = (header.width(), header.height());
            let samples = header.components().len();
            let planes =
                Layout::YCbCr420.row_bytes(width as u32) * Layout::YCbCr420.rows_read(height as u32) as usize;
            (width * height <= 1 << 20).then(|| Self {
                width: width as u32,
                height: height as u32,
                samples,
                rgb: vec![7; 3 * width * height],
                stored: vec![7; samples * width * height],
                planes: vec![7; planes],
            })
        }

        /// The right quarter of the picture is cropped.
        fn rows(&mut self) -> Vec<&mut [u8]> {
            let (row, kept) = (3 * self.width as usize, 3 * (self.width as usize).div_ceil(4) * 3);
            self.rgb.chunks_exact_mut(row).map(|row| &mut row[..kept.min(3 * self.width as usize)]).collect()
        }

        fn pairs(&mut self) -> Vec<PairMut<'_>> {
            ycbcr420::pairs_mut(&mut self.planes, self.width).collect()
        }

        /// The planes without what is beside and below the picture.
        fn visible(&self) -> Vec<&[u8]> {
            let (width, height) = (self.width as usize, self.height as usize);
            let pairs = ycbcr420::pairs(&self.planes, self.width).take(height.div_ceil(2)).enumerate();
            pairs
                .flat_map(|(number, pair)| {
                    let luma = pair.luma.into_iter().take(height - 2 * number).map(|row| &row[..width]);
                    luma.chain(pair.chroma.map(|row| &row[..width.div_ceil(2)]))
                })
                .collect()
        }
    }

    fn check(decoder: &mut Decoder, file: &[u8]) {
        check_with(decoder, file, true);
    }

    fn check_with(decoder: &mut Decoder, file: &[u8], compares_samples: bool) {
        let (Some(mut ours), Some(mut theirs)) = (Buffers::of(file), Buffers::of(file)) else { return };
        let (width, samples) = (ours.width, ours.samples);
        let said = |result: Result<usize, SourceError>| result.map_err(|error| error.to_string());

        let results = [decoder.decode_rgb(file, width, ours.rows()), libjpeg_rgb(file, width, theirs.rows())];
        let [result, expected] = results.map(|result| said(result.map(|()| 0)));
        assert_eq!(result, expected);
        assert!(!compares_samples || result.is_err() || ours.rgb == theirs.rgb, "pixels differ");

        let result = said(decoder.decode_samples(file, width, samples, &mut ours.stored));
        let expected = said(libjpeg_samples(file, width, samples, &mut theirs.stored));
        assert_eq!(result, expected);
        let bytes = result.unwrap_or(0);
        assert!(!compares_samples || ours.stored[..bytes] == theirs.stored[..bytes], "samples differ");

        if has_planes(file, AsPlanes::Averaged) {
            let results =
                [decoder.decode_pairs(file, width, ours.pairs()), libjpeg_pairs(file, width, theirs.pairs())];
            let [result, expected] = results.map(|result| said(result.map(|()| 0)));
            assert_eq!(result, expected);
            assert!(
                !compares_samples || result.is_err() || ours.visible() == theirs.visible(),
                "planes differ"
            );
        }
    }

    #[test]
    fn regular_tiles_have_libjpegs_samples_without_libjpeg() {
        let mut decoder = decoder(u64::MAX);
        let mut run = |seed: u64, size: (usize, usize)| {
            let file = &*jpeg(seed, size);
            check(&mut decoder, file);
            let mut buffers = Buffers::of(file).unwrap();
            let (width, samples) = (buffers.width, buffers.samples);
            assert!(decoder.regular_samples(file, width, samples, &mut buffers.stored).is_some());
            assert_eq!(decoder.regular_rgb(file, width, &mut buffers.rows()).is_some(), samples == 3);
            let has_planes = has_planes(file, AsPlanes::Averaged);
            assert_eq!(decoder.regular_pairs(file, width, &mut buffers.pairs()).is_some(), has_planes);
        };
        for seed in 0..100_u64 {
            let size = (1 + seed * 7919 % 300, 1 + seed * 104_729 % 200);
            run(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), (size.0 as usize, size.1 as usize));
        }
        (1..6).for_each(|seed| run(seed << 40, (1024, 600)));
    }

    /// A tile may state any height, and libjpeg allocates the coefficients of all of it.
    #[test]
    fn a_progressive_tile_of_any_height_takes_no_more_memory_than_its_budget() {
        let mut encoder = Compress::new(ColorSpace::JCS_RGB);
        encoder.set_color_space(ColorSpace::JCS_YCbCr);
        encoder.set_chroma_sampling_pixel_sizes((2, 2), (2, 2));
        encoder.set_progressive_mode();
        encoder.set_size(64, 32);
        let mut started = encoder.start_compress(Vec::new()).unwrap();
        started.write_scanlines(&[90; 3 * 64 * 32]).unwrap();
        let mut file = started.finish().unwrap();
        let bytes = 6 * 128 * 4 * 2;
        let decode = |file: &[u8], memory| {
            let mut decoder = decoder(memory);
            let mut buffers = Buffers {
                width: 64,
                height: 32,
                samples: 3,
                rgb: vec![7; 6144],
                stored: vec![7; 6144],
                planes: vec![7; 3072],
            };
            [
                decoder.decode_pairs(file, 64, buffers.pairs()),
                decoder.decode_rgb(file, 64, buffers.rgb.chunks_exact_mut(3 * 64).collect()),
                decoder.decode_samples(file, 64, 3, &mut buffers.stored).map(drop),
            ]
        };
        let is_too_much =
            |result: &Result<(), SourceError>| matches!(result, Err(SourceError::TooMuchMemory { .. }));
        assert!(decode(&file, bytes).iter().all(Result::is_ok));
        assert!(decode(&file, bytes - 1).iter().all(is_too_much));
        let frame = file.windows(2).position(|marker| marker == [0xff, 0xc2]).unwrap();
        file[frame + 5..frame + 7].copy_from_slice(&65_500_u16.to_be_bytes());
        assert!(decode(&file, 1 << 20).iter().all(is_too_much));
    }

    #[test]
    fn changed_files_look_the_same_in_tiles() {
        let cases =
            std::env::var("EDGEZOOM_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300);
        let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(cases) });
        let decoder = RefCell::new(decoder(u64::MAX));
        runner
            .run(&changed(), |file| {
                check_with(&mut decoder.borrow_mut(), &file, LIBJPEG_SATURATES);
                Ok(())
            })
            .unwrap();
    }
}
