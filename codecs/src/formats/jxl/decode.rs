//! Drives the decoder: feeds it the file, checks the header against the bounds, and runs its work on several threads.

use std::io::{self, IoSliceMut, Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

use edgezoom_content::Size;
use jxl::api::{
    AlphaMode, Endianness, Event, ExtraChannel, JxlBasicInfo, JxlBitstreamInput, JxlColorProfile,
    JxlColorType, JxlDataFormat, JxlDecoder, JxlDecoderOptions, JxlOutputBuffer, JxlParallelRunner,
    JxlParallelRunnerFun, JxlPixelFormat, JxlTransferFunction, ProfileLevel,
};
use jxl::error::Error;

use super::error::NAME;
use crate::parallel::in_parallel;
use crate::{Bounds, SourceError};

/// The memory that decoding takes beside the picture itself, in bytes. For each of its pixels: the low frequencies of
/// all blocks, or what a lossless picture keeps of each group. For each pixel of its width: groups whose neighbours are not
/// there yet.
const BYTES_A_PIXEL: u64 = 2;
const BYTES_A_COLUMN: u64 = 4 << 10;

/// A file whose header has been read.
pub struct Decoding {
    input: FileInput,
    decoder: JxlDecoder,
    basics: JxlBasicInfo,
    size: Size,
}

/// What the decoder writes of each pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Samples {
    pub kind: JxlColorType,
    /// Whether samples have 16 bits: those of a linear picture, which 8 bits would show in steps.
    pub is_deep: bool,
    /// Alpha beside the four colours of CMYK.
    alpha_plane: Option<usize>,
}

/// A decoded picture: interleaved samples, and alpha by itself if it is in CMYK.
pub struct Picture {
    pub size: Size,
    pub samples: Vec<u8>,
    pub alpha: Option<Vec<u8>>,
}

impl Decoding {
    /// Reads the header. The bounds are checked as soon as the size is known.
    pub fn begin(file: impl Read + Seek + 'static, bounds: Bounds) -> Result<Self, SourceError> {
        let mut input = FileInput::new(file)?;
        let mut options = JxlDecoderOptions::default();
        options.adjust_orientation = false;
        options.alpha_mode = AlphaMode::Unpremultiplied;
        options.max_profile_level = ProfileLevel::Main10;
        // A sample takes a byte at least, in the picture or in a frame that it is made of.
        options.sample_limit = Some(usize::try_from(bounds.memory).unwrap_or(usize::MAX));
        let mut decoder = JxlDecoder::new(options);
        match decoder.process(&mut input, None, None).map_err(error)? {
            Event::BasicInfo => {}
            _ => return Err(NAME.corrupt("it ends in its header")),
        }
        let basics = decoder.basic_info().ok_or_else(|| NAME.corrupt("it has no header"))?.clone();
        let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let size = bounds.admit(side(basics.size.0), side(basics.size.1))?;
        Ok(Self { input, decoder, basics, size })
    }

    /// The orientation as EXIF counts it.
    pub fn orientation(&self) -> u32 {
        self.basics.orientation as u32
    }

    /// The colour space of the samples that the decoder writes.
    pub fn profile(&self) -> Option<&JxlColorProfile> {
        self.decoder.output_color_profile()
    }

    /// Tells the decoder what to write.
    pub fn choose_samples(&mut self) -> Result<Samples, SourceError> {
        let channels = &self.basics.extra_channels;
        let find = |wanted: ExtraChannel| channels.iter().position(|channel| channel.ec_type == wanted);
        let (alpha, black) = (find(ExtraChannel::Alpha), find(ExtraChannel::Black));
        let default = self.decoder.current_pixel_format().map(|format| format.color_type);
        let is_grey = default.is_some_and(|kind| kind.is_grayscale());
        let kind = match (is_grey, alpha.is_some()) {
            (true, false) => JxlColorType::Grayscale,
            (true, true) => JxlColorType::GrayscaleAlpha,
            (false, _) if black.is_some() => JxlColorType::Cmyk,
            (false, false) => JxlColorType::Rgb,
            (false, true) => JxlColorType::Rgba,
        };
        let is_linear =
            self.profile().is_some_and(|it| it.transfer_function() == Some(&JxlTransferFunction::Linear));
        let is_deep = is_linear && matches!(kind, JxlColorType::Rgb | JxlColorType::Rgba);
        let samples = Samples { kind, is_deep, alpha_plane: alpha.filter(|_| kind == JxlColorType::Cmyk) };
        let mut extra_channel_format = vec![None; channels.len()];
        if let Some(format) = samples.alpha_plane.and_then(|alpha| extra_channel_format.get_mut(alpha)) {
            *format = Some(samples.format());
        }
        let format = JxlPixelFormat {
            color_type: kind,
            color_data_format: Some(samples.format()),
            extra_channel_format,
        };
        self.decoder.set_pixel_format(format).map_err(error)?;
        Ok(samples)
    }

    /// Decodes the first frame.
    pub fn decode(
        mut self,
        samples: Samples,
        bounds: Bounds,
        threads: usize,
    ) -> Result<Picture, SourceError> {
        let pixels = self.size.pixels();
        let picture_bytes = pixels * (samples.bytes() + u64::from(samples.alpha_plane.is_some()));
        let beside = pixels * BYTES_A_PIXEL + u64::from(self.size.width) * BYTES_A_COLUMN;
        bounds.admit_memory(picture_bytes.saturating_add(beside), "decoding a JPEG XL")?;
        let mut picture = zeros(pixels * samples.bytes())?;
        let mut alpha = samples.alpha_plane.map(|_| zeros(pixels)).transpose()?;
        let (width, rows) = (self.size.width as usize, self.size.height as usize);
        let mut buffers = vec![JxlOutputBuffer::new(&mut picture, rows, width * samples.bytes() as usize)];
        buffers.extend(alpha.as_mut().map(|alpha| JxlOutputBuffer::new(alpha, rows, width)));
        let mut runner = Threads(threads);
        loop {
            match self.decoder.process(&mut self.input, Some(&mut buffers), Some(&mut runner)) {
                // Of an animation only the first frame is shown.
                Ok(Event::FrameComplete { .. }) => break,
                Ok(Event::BasicInfo | Event::FrameHeader) => {}
                Ok(Event::NeedMoreInput { .. } | Event::Complete) => {
                    return Err(NAME.corrupt("it ends before its last row"));
                }
                Err(failure) => return Err(error(failure)),
            }
        }
        drop(buffers);
        Ok(Picture { size: self.size, samples: picture, alpha })
    }
}

impl Samples {
    fn format(self) -> JxlDataFormat {
        match self.is_deep {
            true => JxlDataFormat::U16 { endianness: Endianness::native(), bit_depth: 16 },
            false => JxlDataFormat::U8 { bit_depth: 8 },
        }
    }

    /// The bytes of a pixel, without alpha that is by itself.
    pub fn bytes(self) -> u64 {
        (self.kind.samples_per_pixel() * self.format().bytes_per_sample()) as u64
    }
}

fn zeros(bytes: u64) -> Result<Vec<u8>, SourceError> {
    let bytes = usize::try_from(bytes).map_err(|_| SourceError::OutOfMemory)?;
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(bytes).map_err(|_| SourceError::OutOfMemory)?;
    zeros.resize(bytes, 0);
    Ok(zeros)
}

fn error(error: Error) -> SourceError {
    match error {
        Error::OutOfMemory(_) | Error::ImageOutOfMemory(..) | Error::ImageSizeTooLarge(..) => {
            SourceError::OutOfMemory
        }
        Error::IOError(error) => error.into(),
        other => NAME.corrupt(other),
    }
}

/// Gives the decoder the bytes of a file.
struct FileInput {
    file: Box<dyn Read>,
    left: u64,
}

impl FileInput {
    fn new(mut file: impl Read + Seek + 'static) -> io::Result<Self> {
        // The sandbox forbids asking for metadata, so the length comes from seeking to the end.
        let left = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(0))?;
        Ok(Self { file: Box::new(file), left })
    }
}

impl JxlBitstreamInput for FileInput {
    fn available_bytes(&mut self) -> io::Result<usize> {
        Ok(usize::try_from(self.left).unwrap_or(usize::MAX))
    }

    fn read(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let mut total = 0;
        for buffer in buffers {
            let mut filled = 0;
            while filled < buffer.len() {
                match self.file.read(&mut buffer[filled..])? {
                    0 => {
                        self.left = 0;
                        return Ok(total);
                    }
                    read => {
                        filled += read;
                        total += read;
                        self.left = self.left.saturating_sub(read as u64);
                    }
                }
            }
        }
        Ok(total)
    }
}

/// Runs the decoder's work on so many threads.
struct Threads(usize);

impl JxlParallelRunner for Threads {
    fn run(&mut self, number: usize, work: &JxlParallelRunnerFun<'_>) -> Result<(), Error> {
        let failure = Mutex::new(None);
        let done = in_parallel(number, self.0, |index| {
            work(index).map_err(|error| {
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                SourceError::Empty
            })
        });
        match (done, failure.into_inner().unwrap_or_else(PoisonError::into_inner)) {
            (Err(_), Some(error)) => Err(error),
            _ => Ok(()),
        }
    }

    fn num_threads(&self) -> usize {
        self.0
    }
}
