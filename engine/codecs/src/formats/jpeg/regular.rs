//! Regular JPEGs, baseline of one scan or several and progressive, decoded on several threads by `edgezoom_jpeg`. Where such a file turns out
//! to be irregular, libjpeg begins again and goes on where this reader stopped, so that damaged files look as libjpeg shows
//! them.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;

use edgezoom_geometry::Size;
use edgezoom_jpeg::decoder::chroma::{self, Planes};
use edgezoom_jpeg::decoder::frame::several::{self, Progressive, ProgressiveScan, Scans, Several};
use edgezoom_jpeg::decoder::frame::{self, Colours, Frame};
use edgezoom_jpeg::decoder::mcu_rows::{McuRows, Source, Stop};
use edgezoom_jpeg::decoder::pipeline::Pipeline;
use edgezoom_jpeg::decoder::progressive::ProgressivePipeline;
use edgezoom_jpeg::decoder::requantise::{Requantiser, TileBlocks};
use edgezoom_jpeg::decoder::rows::{self, Rows};
use edgezoom_jpeg::decoder::scans::JoinedScans;
use edgezoom_jpeg::encoder::Piece;
use edgezoom_jpeg::quantisation::SourceSteps;
use edgezoom_jpeg::ycbcr420;

use super::{Cmyk, FORMAT};
use crate::format::READ_BYTES;
use crate::row_reader::{BlockReader, Jpeg};
use crate::{Damage, DecodeOptions, Layout, RowReader, SourceError};

/// Opens the same picture with libjpeg.
pub type Fallback = Box<dyn FnOnce() -> Result<Box<dyn RowReader>, SourceError>>;

/// A JPEG that is decoded on several threads.
pub struct RegularReader {
    size: Size,
    layout: Layout,
    decoder: Decoder,
    /// Begins to decode.
    start: Option<Start>,
    /// The conversion of a picture in CMYK.
    cmyk: Option<Cmyk>,
    /// Rows of pixels that were given.
    row: u32,
    fallback: Option<Fallback>,
    /// Steps of the stored picture.
    steps: SourceSteps,
    /// Header of a picture whose blocks may be of use for tiles.
    frame: Option<Frame>,
}

/// Starts the threads that decode, with a requantiser if blocks are wanted.
type Start = Box<dyn FnOnce(Option<Requantiser>) -> io::Result<Box<dyn Source>>>;

enum Decoder {
    /// It has not begun.
    Waiting,
    /// Blocks and samples of half the size.
    Blocks(McuRows<Box<dyn Source>>),
    Planes(Planes<Box<dyn Source>>),
    Rows(Rows<Box<dyn Source>>),
    Libjpeg(Box<dyn RowReader>),
}

/// The headers of a regular picture.
pub enum Regular {
    /// All components are in one scan.
    Scan(Frame),
    Scans(Scans),
    Progressive(Progressive),
}

impl Regular {
    /// Reads the headers of a picture of this size. `None`: it must be decoded by libjpeg.
    pub fn find(
        file: impl Read,
        layout: Layout,
        size: Size,
        has_several_scans: bool,
    ) -> Result<Option<Self>, SourceError> {
        let mut file = BufReader::with_capacity(READ_BYTES, file);
        let found = if has_several_scans {
            several::read_scans(&mut file)?.map(|scans| match scans {
                Several::Scans(scans) => Self::Scans(scans),
                Several::Progressive(progressive) => Self::Progressive(progressive),
            })
        } else {
            frame::read(&mut file)?.map(Self::Scan)
        };
        Ok(found.filter(|found| {
            let frame = found.frame();
            let is_readable = match layout {
                Layout::YCbCr420 => chroma::can_read(frame),
                Layout::Grey => frame.colours == Colours::Grey,
                Layout::Rgb => frame.colours != Colours::Grey && rows::can_read(frame),
                Layout::Rgba => false,
            };
            is_readable && (frame.width, frame.height) == (size.width, size.height)
        }))
    }

    fn frame(&self) -> &Frame {
        match self {
            Self::Scan(frame) => frame,
            Self::Scans(scans) => &scans.frame,
            Self::Progressive(progressive) => &progressive.frame,
        }
    }

    /// Begins to decode a file, whose clones are read independently. Scans of single components cannot be requantised.
    fn decode<R>(
        self,
        requantiser: Option<Requantiser>,
        file: &R,
        threads: usize,
    ) -> io::Result<Box<dyn Source>>
    where
        R: Read + Seek + Clone + Send + 'static,
    {
        let from = |offset| {
            let mut file = file.clone();
            file.seek(SeekFrom::Start(offset)).map(|_| file)
        };
        let part = |bytes: Range<u64>| {
            const EOI: &[u8] = &[0xff, 0xd9];
            io::Result::Ok(from(bytes.start)?.take(bytes.end - bytes.start).chain(EOI))
        };
        let Scans { frame, scans } = match self {
            Self::Scan(frame) => {
                let scan = from(frame.header_bytes)?;
                return Ok(Box::new(Pipeline::start_with(requantiser, frame, scan, threads)?));
            }
            Self::Progressive(Progressive { frame, scans }) => {
                let scan = |scan: ProgressiveScan| part(scan.bytes.clone()).map(|bytes| (scan, bytes));
                let scans = scans.into_iter().map(scan).collect::<io::Result<_>>()?;
                return Ok(Box::new(ProgressivePipeline::start(requantiser, frame, scans, threads)?));
            }
            Self::Scans(scans) => scans,
        };
        let scan = |scan: several::Scan| {
            Ok((Pipeline::start(scan.frame, part(scan.bytes)?, threads)?, scan.components))
        };
        let scans = scans.into_iter().map(scan).collect::<io::Result<_>>()?;
        Ok(Box::new(JoinedScans::new(frame, scans)))
    }
}

impl RegularReader {
    /// Prepares to decode a file, whose clones are read independently.
    pub fn open<R>(
        file: &R,
        regular: Regular,
        layout: Layout,
        cmyk: Option<Cmyk>,
        options: &DecodeOptions,
        fallback: Fallback,
    ) -> Self
    where
        R: Read + Seek + Clone + Send + 'static,
    {
        let header = regular.frame();
        let size = Size { width: header.width, height: header.height };
        let steps = header.steps();
        let frame = match &regular {
            Regular::Scan(frame) => Some(frame.clone()),
            Regular::Scans(_) => None,
            Regular::Progressive(progressive) => Some(progressive.frame.clone()),
        };
        let (file, threads) = (file.clone(), options.threads.get());
        let start = move |requantiser| regular.decode(requantiser, &file, threads);
        let (start, fallback): (Option<Start>, _) = (Some(Box::new(start)), Some(fallback));
        Self { size, layout, decoder: Decoder::Waiting, start, cmyk, row: 0, fallback, steps, frame }
    }

    /// Begins to decode rows, if nothing has begun.
    fn begin_rows(&mut self) -> Result<(), SourceError> {
        let Some(start) = self.start.take() else { return Ok(()) };
        let source = start(None)?;
        self.decoder = match self.layout {
            Layout::YCbCr420 => Decoder::Planes(Planes::new(source)),
            _ => Decoder::Rows(Rows::new(source)),
        };
        Ok(())
    }

    /// Goes on with libjpeg, at the next row.
    fn fall_back(&mut self, stop: Stop) -> Result<(), SourceError> {
        if let Stop::Io(error) = stop {
            return Err(error.into());
        }
        let Some(fallback) = self.fallback.take() else {
            return Err(FORMAT.corrupt("its structure is invalid"));
        };
        let mut reader = fallback()?;
        let rows = self.layout.rows_read(1);
        let mut skipped = vec![0; self.layout.row_bytes(self.size.width) * rows as usize];
        for _ in 0..self.row / rows {
            reader.read_rows(&mut skipped)?;
        }
        self.decoder = Decoder::Libjpeg(reader);
        Ok(())
    }
}

impl RowReader for RegularReader {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn damage(&self) -> Option<Damage> {
        match &self.decoder {
            Decoder::Waiting | Decoder::Blocks(_) | Decoder::Planes(_) | Decoder::Rows(_) => None,
            Decoder::Libjpeg(reader) => reader.damage(),
        }
    }

    fn as_jpeg(&mut self) -> Option<Jpeg<'_>> {
        Some(Jpeg { steps: self.steps, blocks: self })
    }

    fn rows_at_once(&self) -> u32 {
        16
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        self.begin_rows()?;
        let rows = self.layout.rows_read(1);
        let bytes = self.layout.row_bytes(self.size.width) * rows as usize;
        for to in into.chunks_exact_mut(bytes) {
            while let Err(stop) = match (&mut self.decoder, &mut self.cmyk) {
                // Rows behind blocks are libjpeg's.
                (Decoder::Waiting | Decoder::Blocks(_), _) => Err(Stop::Irregular),
                (Decoder::Planes(planes), _) => {
                    let mut band: Vec<_> = ycbcr420::pairs_mut(to, self.size.width).collect();
                    planes.read(&mut band)
                }
                (Decoder::Rows(reader), None) => reader.read_row(to),
                (Decoder::Rows(reader), Some(cmyk)) => cmyk.convert(to, |row| reader.read_row(row)),
                (Decoder::Libjpeg(reader), _) => return_rows(reader, to)?,
            } {
                self.fall_back(stop)?;
            }
            self.row += rows;
        }
        Ok(())
    }
}

impl BlockReader for RegularReader {
    fn begin_blocks(&mut self, tiles: &TileBlocks) -> bool {
        let Some(requantiser) = self.frame.as_ref().and_then(|frame| Requantiser::new(frame, tiles)) else {
            return false;
        };
        let Some(start) = self.start.take() else { return false };
        // Without threads, libjpeg reads rows.
        if let Ok(source) = start(Some(requantiser)) {
            self.decoder = Decoder::Blocks(McuRows::new(source));
        }
        true
    }

    fn read_blocks(&mut self, halved: &mut [u8]) -> Result<Option<Vec<Piece>>, SourceError> {
        let Decoder::Blocks(blocks) = &mut self.decoder else { return Ok(None) };
        let width = self.size.width.div_ceil(2);
        let mut pieces = Vec::new();
        let read = if self.layout == Layout::YCbCr420 {
            let mut band: Vec<_> = ycbcr420::pairs_mut(halved, width).collect();
            blocks.read(|plan, segment| {
                segment.copy_to_pairs(plan, &mut band);
                pieces.append(&mut segment.pieces);
            })
        } else {
            blocks.read(|plan, segment| {
                segment.copy_to(plan, 0, halved.chunks_exact_mut(width as usize));
                pieces.append(&mut segment.pieces);
            })
        };
        match read {
            Ok(()) => {
                let rows = if self.layout == Layout::YCbCr420 { 16 } else { 8 };
                self.row = self.row.saturating_add(rows).min(self.size.height);
                Ok(Some(pieces))
            }
            Err(stop) => self.fall_back(stop).map(|()| None),
        }
    }
}

/// Reads rows with libjpeg, whose errors are final.
fn return_rows(reader: &mut Box<dyn RowReader>, to: &mut [u8]) -> Result<Result<(), Stop>, SourceError> {
    reader.read_rows(to).map(Ok)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use edgezoom_jpeg::quantisation::Quantisation;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, TestRunner};

    use super::super::generated::{LIBJPEG_SATURATES, changed, in_scans, jpeg, progressive};
    use super::super::ycbcr420::PlanesReader;
    use super::super::{
        admit_coefficients, open_reader, open_shared, padding, read_header, read_markers, side,
    };
    use super::*;
    use crate::{Bounds, Orientation, SourceFile};

    /// A reader's results: rows, damage, and the error that ended it.
    type Result = (Vec<u8>, Option<Damage>, Option<String>);

    fn source(bytes: &[u8]) -> SourceFile {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        file.into()
    }

    fn read(reader: std::result::Result<Box<dyn RowReader>, SourceError>) -> Result {
        let mut reader = match reader {
            Ok(reader) => reader,
            Err(error) => return (Vec::new(), None, Some(error.to_string())),
        };
        let rows = reader.layout().rows_read(1);
        let bytes = reader.layout().row_bytes(reader.size().width) * rows as usize;
        let mut all = Vec::new();
        for number in 0..reader.size().height.div_ceil(rows) as usize {
            let mut row = vec![0; bytes];
            if let Err(error) = reader.read_rows(&mut row) {
                return (all, reader.damage(), Some(error.to_string()));
            }
            if reader.layout() == Layout::YCbCr420 {
                // Samples beside and below the picture are not compared.
                let (width, left) =
                    (reader.size().width as usize, reader.size().height as usize - number * 16);
                for (number, pair) in
                    ycbcr420::pairs(&row, reader.size().width).take(left.div_ceil(2)).enumerate()
                {
                    let luma = pair.luma.into_iter().take(left - 2 * number).flat_map(|row| &row[..width]);
                    all.extend(luma.chain(pair.chroma.into_iter().flat_map(|row| &row[..width.div_ceil(2)])));
                }
                continue;
            }
            all.extend(row);
        }
        (all, reader.damage(), None)
    }

    /// Reads a file with our decoder, and with libjpeg alone, as pixels.
    fn as_pixels(bytes: &[u8]) -> [Result; 2] {
        let bounds = Bounds { pixels: 1 << 20, ..Bounds::default() };
        let options = DecodeOptions::default();
        let ours = open_shared(source(bytes).apart(), bounds, &options).map(|decoded| decoded.reader);
        let theirs = BufReader::with_capacity(READ_BYTES, source(bytes));
        let theirs = open_reader(theirs, bounds).map(|decoded| decoded.reader);
        [read(ours), read(theirs)]
    }

    /// Reads a file as [`as_pixels`] does, but as planes, whose chroma may be averaged.
    fn as_planes(bytes: &[u8]) -> Option<[Result; 2]> {
        let file = source(bytes).apart();
        let header = read_header(BufReader::new(file.clone())).ok()?;
        let size = Size { width: side(header.width()), height: side(header.height()) };
        let markers = read_markers(&mut BufReader::new(file.clone()), Bounds::default()).ok()??;
        let regular = Regular::find(file.clone(), Layout::YCbCr420, size, markers.is_buffered).ok()??;
        let by_libjpeg = move |bytes: &[u8]| -> std::result::Result<Box<dyn RowReader>, SourceError> {
            admit_coefficients(Some(markers), Bounds::default())?;
            let file = BufReader::new(source(bytes)).chain(padding(Some(markers)));
            Ok(Box::new(PlanesReader::open(file, size)?))
        };
        let again = bytes.to_vec();
        let fallback = Box::new(move || by_libjpeg(&again));
        let options = DecodeOptions { threads: 2.try_into().unwrap(), ..DecodeOptions::default() };
        let ours = RegularReader::open(&file, regular, Layout::YCbCr420, None, &options, fallback);
        Some([read(Ok(Box::new(ours))), read(by_libjpeg(bytes))])
    }

    fn check(bytes: &[u8]) {
        check_with(bytes, true);
    }

    fn check_with(bytes: &[u8], compares_samples: bool) {
        let [ours, theirs] = as_pixels(bytes);
        assert_eq!((&ours.1, &ours.2), (&theirs.1, &theirs.2));
        assert!(!compares_samples || ours.0 == theirs.0, "pixels differ");
        if let Some([ours, theirs]) = as_planes(bytes) {
            assert_eq!((&ours.1, &ours.2), (&theirs.1, &theirs.2));
            assert!(!compares_samples || ours.0 == theirs.0, "planes differ");
        }
    }

    /// Returns true if our decoder reads the file up to its last row.
    fn is_read_by_ours(bytes: &[u8]) -> bool {
        let file = source(bytes).apart();
        let markers = read_markers(&mut BufReader::new(file.clone()), Bounds::default()).unwrap().unwrap();
        let size = Size { width: markers.width.into(), height: markers.height.into() };
        let layouts = [Layout::Grey, Layout::Rgb];
        let find = |layout| Regular::find(file.clone(), layout, size, markers.is_buffered).unwrap();
        let regular = layouts.into_iter().find_map(find).unwrap();
        let mut row = vec![0; regular.frame().components.len() * size.width as usize];
        let mut rows = Rows::new(regular.decode(None, &file, 2).unwrap());
        (0..size.height).all(|_| rows.read_row(&mut row).is_ok())
    }

    #[test]
    fn regular_files_have_libjpegs_samples() {
        let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(60) });
        let sizes = (1_usize..300, 1_usize..200);
        runner
            .run(&(any::<u64>(), sizes), |(seed, size)| {
                for file in [jpeg(seed, size), in_scans(seed, size), progressive(seed, size)] {
                    check(&file);
                    assert!(is_read_by_ours(&file));
                }
                Ok(())
            })
            .unwrap();
        check(&jpeg(7, (2000, 1500)));
        check(&in_scans(7, (2000, 1500)));
        check(&progressive(7, (2000, 1500)));
    }

    #[test]
    fn a_picture_whose_blocks_cannot_be_kept_is_not_left_to_libjpeg() {
        let file = source(&jpeg(5, (120, 90))).apart();
        let size = Size { width: 120, height: 90 };
        let find =
            |layout| Regular::find(file.clone(), layout, size, false).unwrap().map(|found| (found, layout));
        let (regular, layout) = [Layout::Grey, Layout::Rgb].into_iter().find_map(find).unwrap();
        let fallback = Box::new(|| panic!("libjpeg decodes the picture"));
        let mut reader =
            RegularReader::open(&file, regular, layout, None, &DecodeOptions::default(), fallback);
        let quantisation = Quantisation::of_quality(75, true);
        let tiles = TileBlocks { quantisation, side: 12, orientation: Orientation::UPRIGHT };
        assert!(!reader.begin_blocks(&tiles));
        read(Ok(Box::new(reader)));
    }

    #[test]
    fn a_number_of_lines_behind_the_picture_is_ignored_as_by_libjpeg() {
        let mut file = jpeg(3, (120, 90));
        let end = file.len() - 2;
        file.splice(end..end, [0xff, 0xdc, 0, 4, 0, 50]);
        check(&file);
        assert!(is_read_by_ours(&file));
        // libjpeg refuses a picture whose height is only there.
        let frame = file.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
        file[frame + 5..frame + 7].fill(0);
        check(&file);
        assert!(as_pixels(&file)[0].2.is_some());
    }

    #[test]
    fn changed_files_look_as_libjpeg_shows_them() {
        let cases =
            std::env::var("EDGEZOOM_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300);
        let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(cases) });
        runner
            .run(&changed(), |file| {
                check_with(&file, LIBJPEG_SATURATES);
                Ok(())
            })
            .unwrap();
    }
}
