//! Regular baseline JPEGs, decoded on several threads by `edgezoom_jpeg`. Where such a file turns out to be irregular,
//! libjpeg begins again and goes on where this reader stopped, so that damaged files look as libjpeg shows them.

use std::io::{BufReader, Seek, SeekFrom};

use edgezoom_geometry::Size;
use edgezoom_jpeg::decoder::frame::{self, Colours, Frame};
use edgezoom_jpeg::decoder::mcu_rows::{McuRows, Source, Stop};
use edgezoom_jpeg::decoder::pipeline::Pipeline;
use edgezoom_jpeg::decoder::rows::{self, Rows};
use edgezoom_jpeg::ycbcr420::{self, PairMut};

use super::{Cmyk, FORMAT};
use crate::{Damage, DecodeOptions, Layout, RowReader, SourceError, SourceFile};

/// Opens the same picture with libjpeg.
pub type Fallback = Box<dyn FnOnce() -> Result<Box<dyn RowReader>, SourceError>>;

/// A JPEG that is decoded on several threads.
pub struct RegularReader {
    size: Size,
    layout: Layout,
    decoder: Decoder,
    /// The conversion of a picture in CMYK.
    cmyk: Option<Cmyk>,
    /// Rows of pixels that were given.
    row: u32,
    fallback: Option<Fallback>,
    /// Steps of luma and chroma, if planes are read.
    steps: Option<[[u16; 64]; 2]>,
}

enum Decoder {
    Planes(McuRows<Pipeline>),
    Rows(Rows<Pipeline>),
    Libjpeg(Box<dyn RowReader>),
}

/// Reads the headers of a picture of this size. `None`: it must be decoded by libjpeg.
pub fn frame_of(file: &SourceFile, layout: Layout, size: Size) -> Result<Option<Frame>, SourceError> {
    let frame = frame::read(&mut BufReader::new(file.apart()))?;
    Ok(frame.filter(|frame| {
        let is_readable = match layout {
            Layout::YCbCr420 => frame.is_ycbcr420(),
            Layout::Grey => frame.colours == Colours::Grey,
            Layout::Rgb => frame.colours != Colours::Grey && rows::can_read(frame),
            Layout::Rgba => false,
        };
        is_readable && (frame.width, frame.height) == (size.width, size.height)
    }))
}

impl RegularReader {
    /// Begins to decode.
    pub fn open(
        file: &SourceFile,
        frame: Frame,
        layout: Layout,
        cmyk: Option<Cmyk>,
        options: &DecodeOptions,
        fallback: Fallback,
    ) -> Result<Self, SourceError> {
        let size = Size { width: frame.width, height: frame.height };
        let mut scan = file.apart();
        scan.seek(SeekFrom::Start(frame.header_bytes))?;
        let steps = frame.steps().filter(|_| layout == Layout::YCbCr420);
        let pipeline = Pipeline::start(frame, scan, options.threads.get())?;
        let decoder = match layout {
            Layout::YCbCr420 => Decoder::Planes(McuRows::new(pipeline)),
            _ => Decoder::Rows(Rows::new(pipeline)),
        };
        Ok(Self { size, layout, decoder, cmyk, row: 0, fallback: Some(fallback), steps })
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

/// Reads a row of MCUs into the pairs of 16 rows.
pub fn read_pairs<S: Source>(planes: &mut McuRows<S>, band: &mut [PairMut<'_>]) -> Result<(), Stop> {
    planes.read(|plan, segment| {
        let luma = band.iter_mut().flat_map(|pair| pair.luma.iter_mut().map(|row| &mut **row));
        segment.copy_to(plan, 0, luma);
        for plane in 0..2 {
            let rows = band.iter_mut().filter_map(|pair| pair.chroma.get_mut(plane).map(|row| &mut **row));
            segment.copy_to(plan, 1 + plane, rows);
        }
    })
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
            Decoder::Planes(_) | Decoder::Rows(_) => None,
            Decoder::Libjpeg(reader) => reader.damage(),
        }
    }

    fn jpeg_steps(&self) -> Option<[[u16; 64]; 2]> {
        self.steps
    }

    fn rows_at_once(&self) -> u32 {
        16
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let rows = self.layout.rows_read(1);
        let bytes = self.layout.row_bytes(self.size.width) * rows as usize;
        for to in into.chunks_exact_mut(bytes) {
            while let Err(stop) = match (&mut self.decoder, &mut self.cmyk) {
                (Decoder::Planes(planes), _) => {
                    let mut band: Vec<_> = ycbcr420::pairs_mut(to, self.size.width).collect();
                    read_pairs(planes, &mut band)
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

/// Reads rows with libjpeg, whose errors are final.
fn return_rows(reader: &mut Box<dyn RowReader>, to: &mut [u8]) -> Result<Result<(), Stop>, SourceError> {
    reader.read_rows(to).map(Ok)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;
    use proptest::test_runner::{Config, TestRunner};

    use super::super::generated::{changed, jpeg};
    use super::super::ycbcr420::YCbCr420Reader;
    use super::super::{open_file, open_with, read_header, side};
    use super::*;
    use crate::Bounds;
    use crate::format::READ_BYTES;

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
        let open = |file| BufReader::with_capacity(READ_BYTES, file);
        let options = DecodeOptions::default();
        let ours = open_file(open(source(bytes)), bounds, &options, None).map(|decoded| decoded.reader);
        let theirs = open_with(open(source(bytes)), bounds, None).map(|decoded| decoded.reader);
        [read(ours), read(theirs)]
    }

    /// The same as planes, if the file has such.
    fn as_planes(bytes: &[u8]) -> Option<[Result; 2]> {
        let file = source(bytes);
        let header = read_header(BufReader::new(file.apart())).ok()?;
        let size = Size { width: side(header.width()), height: side(header.height()) };
        let frame = frame_of(&file, Layout::YCbCr420, size).ok()??;
        let by_libjpeg = move |bytes: &[u8]| -> std::result::Result<Box<dyn RowReader>, SourceError> {
            Ok(Box::new(YCbCr420Reader::open(source(bytes), size, None)?))
        };
        let again = bytes.to_vec();
        let fallback = Box::new(move || by_libjpeg(&again));
        let options = DecodeOptions { threads: 2.try_into().unwrap(), ..DecodeOptions::default() };
        let ours = RegularReader::open(&file, frame, Layout::YCbCr420, None, &options, fallback);
        Some([read(ours.map(|reader| Box::new(reader) as Box<dyn RowReader>)), read(by_libjpeg(bytes))])
    }

    fn check(bytes: &[u8]) {
        let [ours, theirs] = as_pixels(bytes);
        assert_eq!((&ours.1, &ours.2), (&theirs.1, &theirs.2));
        assert!(ours.0 == theirs.0, "pixels differ");
        if let Some([ours, theirs]) = as_planes(bytes) {
            assert_eq!((&ours.1, &ours.2), (&theirs.1, &theirs.2));
            assert!(ours.0 == theirs.0, "planes differ");
        }
    }

    /// Returns true if our decoder reads the file up to its last row.
    fn is_read_by_ours(bytes: &[u8]) -> bool {
        let file = source(bytes);
        let frame = frame::read(&mut BufReader::new(file.apart())).unwrap().unwrap();
        let mut row = vec![0; 4 * frame.width as usize];
        let row = &mut row[..frame.components.len() * frame.width as usize];
        let mut scan = file.apart();
        scan.seek(SeekFrom::Start(frame.header_bytes)).unwrap();
        let height = frame.height;
        let mut rows = Rows::new(Pipeline::start(frame, scan, 2).unwrap());
        (0..height).all(|_| rows.read_row(row).is_ok())
    }

    #[test]
    fn regular_files_have_libjpegs_samples() {
        let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(120) });
        let sizes = (1_usize..300, 1_usize..200);
        runner
            .run(&(any::<u64>(), sizes), |(seed, size)| {
                let file = jpeg(seed, size);
                check(&file);
                assert!(is_read_by_ours(&file));
                Ok(())
            })
            .unwrap();
        check(&jpeg(7, (2000, 1500)));
    }

    #[test]
    fn changed_files_look_as_libjpeg_shows_them() {
        let cases =
            std::env::var("EDGEZOOM_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300);
        let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(cases) });
        runner
            .run(&changed(), |file| {
                check(&file);
                Ok(())
            })
            .unwrap();
    }
}
