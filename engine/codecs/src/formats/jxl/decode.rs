//! Runs the decoder: feeds it the file, checks the header against the bounds, and spreads its work over threads.

use std::io::{self, IoSliceMut, Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

use edgezoom_geometry::Size;
use jxl::api::{
    AlphaMode, Endianness, Event, ExtraChannel, JxlBasicInfo, JxlBitstreamInput, JxlColorProfile,
    JxlColorType, JxlDataFormat, JxlDecoder, JxlDecoderOptions, JxlOutputBuffer, JxlParallelRunner,
    JxlParallelRunnerFun, JxlPixelFormat, JxlTransferFunction, ProfileLevel,
};
use jxl::error::Error;

use super::FORMAT;
use crate::parallel::in_parallel;
use crate::tolerant::NEUTRAL;
use crate::{Bounds, SourceError};

/// Number of pixels for each byte of memory that decoding takes besides the picture: for the low frequencies of all
/// blocks, or for the state of each group of a lossless picture.
const PIXELS_A_BYTE: u64 = 2;
/// Bytes of memory for each column, for groups whose neighbours are still missing.
const BYTES_A_COLUMN: u64 = 4 << 10;
/// The use of memory, in messages.
const REASON: &str = "decoding a JPEG XL";
/// Number of pixels whose bytes are given to the decoder at a time.
const STEP_PIXELS: u64 = 8_000_000;
/// The largest and the smallest number of those bytes.
const STEP_BYTES: usize = 4 << 20;
const LEAST_STEP_BYTES: usize = 32 << 10;

/// A file whose header has been read.
pub struct Decoding {
    input: FileInput,
    decoder: JxlDecoder,
    basics: JxlBasicInfo,
    size: Size,
}

/// The samples that the decoder writes for each pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Samples {
    pub kind: JxlColorType,
    /// True for samples of 16 bits: those of a linear picture, where 8 bits would show banding.
    pub is_deep: bool,
    /// The index of alpha, if it comes besides the four colours of CMYK.
    alpha_plane: Option<usize>,
}

/// A decoded picture: interleaved samples, followed by a plane of alpha if it is in CMYK with alpha.
pub struct Picture {
    pub size: Size,
    pub samples: Vec<u8>,
    pub has_alpha_plane: bool,
    /// True if the file ends before the picture does.
    pub is_cut_off: bool,
}

/// The resources for decoding a picture.
#[derive(Clone, Copy)]
pub struct Means {
    pub bounds: Bounds,
    pub threads: usize,
}

impl Decoding {
    /// Reads the header. The bounds are checked as soon as the size is known.
    pub fn begin(file: impl Read + Seek + 'static, Means { bounds, .. }: Means) -> Result<Self, SourceError> {
        let mut input = FileInput::new(file)?;
        let mut options = JxlDecoderOptions::default();
        options.adjust_orientation = false;
        options.alpha_mode = AlphaMode::Unpremultiplied;
        options.max_profile_level = ProfileLevel::Main10;
        // Each sample takes at least a byte, in the picture or in a frame that it is made from.
        options.sample_limit = Some(usize::try_from(bounds.memory).unwrap_or(usize::MAX));
        let mut decoder = JxlDecoder::new(options);
        let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let refusal = |failure| match failure {
            // The decoder compares the size with its limit before it tells the size.
            Error::ImageSizeTooLarge(width, height) => match bounds.admit(side(width), side(height)) {
                Ok(size) => {
                    SourceError::TooMuchMemory { reason: REASON, bytes: size.pixels(), memory: bounds.memory }
                }
                Err(refused) => refused,
            },
            other => error(other),
        };
        loop {
            let left = input.allow(STEP_BYTES);
            match decoder.process(&mut input, None, None).map_err(refusal)? {
                Event::BasicInfo => break,
                Event::NeedMoreInput { .. } if input.left < left => {}
                _ => return Err(FORMAT.ends_in_header()),
            }
        }
        let basics = decoder.basic_info().ok_or_else(|| FORMAT.corrupt("it has no header"))?.clone();
        let size = bounds.admit(side(basics.size.0), side(basics.size.1))?;
        Ok(Self { input, decoder, basics, size })
    }

    /// Returns the orientation as a value of EXIF.
    pub fn orientation(&self) -> u32 {
        self.basics.orientation as u32
    }

    /// Returns the colour space of the samples that the decoder writes.
    pub fn profile(&self) -> Option<&JxlColorProfile> {
        self.decoder.output_color_profile()
    }

    /// Tells the decoder which samples to write.
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

    /// Decodes the first frame, a limited number of bytes at a time.
    pub fn decode(
        mut self,
        samples: Samples,
        Means { bounds, threads }: Means,
    ) -> Result<Picture, SourceError> {
        let pixels = self.size.pixels();
        let has_alpha_plane = samples.alpha_plane.is_some();
        let colour_bytes = pixels * samples.bytes();
        let picture_bytes = colour_bytes + if has_alpha_plane { pixels } else { 0 };
        let beside = pixels / PIXELS_A_BYTE + u64::from(self.size.width) * BYTES_A_COLUMN;
        bounds.admit_memory(picture_bytes.saturating_add(beside), REASON)?;
        let mut picture = bounds.allocate(picture_bytes, REASON)?;
        let colour_bytes = usize::try_from(colour_bytes).map_err(|_| SourceError::OutOfMemory)?;
        // The missing part of a file that is cut off is grey, or transparent.
        let has_alpha = matches!(samples.kind, JxlColorType::GrayscaleAlpha | JxlColorType::Rgba);
        let missing = if has_alpha { 0 } else { NEUTRAL };
        picture.fill(missing);
        let (width, rows) = (self.size.width as usize, self.size.height as usize);
        let mut runner = Threads(threads);
        let step = self.input.left.saturating_mul(STEP_PIXELS) / pixels.max(1);
        let step = usize::try_from(step).unwrap_or(STEP_BYTES).clamp(LEAST_STEP_BYTES, STEP_BYTES);
        let is_cut_off = loop {
            let left = self.input.allow(step);
            let (colours, alpha) = picture.split_at_mut(colour_bytes);
            let mut buffers = vec![JxlOutputBuffer::new(colours, rows, width * samples.bytes() as usize)];
            if has_alpha_plane {
                buffers.push(JxlOutputBuffer::new(alpha, rows, width));
            }
            match self.decoder.process(&mut self.input, Some(&mut buffers), Some(&mut runner)) {
                // Only the first frame of an animation is shown.
                Ok(Event::FrameComplete { .. }) => break false,
                Ok(Event::BasicInfo | Event::FrameHeader) => {}
                Ok(Event::NeedMoreInput { .. }) if self.input.left < left => {}
                Ok(Event::NeedMoreInput { .. } | Event::Complete) => {
                    // Incomplete groups are drawn, too, if possible.
                    let _ = self.decoder.flush_pixels(&mut buffers, Some(&mut runner));
                    if picture.iter().all(|&byte| byte == missing) {
                        return Err(FORMAT.corrupt("it ends before its first row"));
                    }
                    break true;
                }
                Err(failure) => return Err(error(failure)),
            }
        };
        Ok(Picture { size: self.size, samples: picture, has_alpha_plane, is_cut_off })
    }
}

impl Samples {
    fn format(self) -> JxlDataFormat {
        if self.is_deep {
            JxlDataFormat::U16 { endianness: Endianness::native(), bit_depth: 16 }
        } else {
            JxlDataFormat::U8 { bit_depth: 8 }
        }
    }

    /// Returns the bytes of a pixel, without the plane of alpha.
    pub fn bytes(self) -> u64 {
        (self.kind.samples_per_pixel() * self.format().bytes_per_sample()) as u64
    }
}

fn error(error: Error) -> SourceError {
    match error {
        Error::OutOfMemory(_) | Error::ImageOutOfMemory(..) | Error::ImageSizeTooLarge(..) => {
            SourceError::OutOfMemory
        }
        Error::IOError(error) => error.into(),
        other => FORMAT.corrupt(other),
    }
}

/// Gives the decoder the bytes of a file, a limited number at a time, because it holds them until it has decoded them.
struct FileInput {
    file: Box<dyn Read>,
    left: u64,
    allowed: usize,
}

impl FileInput {
    fn new(mut file: impl Read + Seek + 'static) -> io::Result<Self> {
        // The sandbox forbids asking for metadata, so the length comes from seeking to the end.
        let left = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(0))?;
        Ok(Self { file: Box::new(file), left, allowed: 0 })
    }

    /// Lets the decoder read this number of bytes. Returns the number of bytes left in the file.
    fn allow(&mut self, bytes: usize) -> u64 {
        self.allowed = bytes;
        self.left
    }
}

impl JxlBitstreamInput for FileInput {
    fn available_bytes(&mut self) -> io::Result<usize> {
        Ok(usize::try_from(self.left).unwrap_or(usize::MAX).min(self.allowed))
    }

    fn read(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let mut total = 0;
        for buffer in buffers {
            let mut filled = 0;
            let wanted = buffer.len().min(self.allowed);
            while filled < wanted {
                match self.file.read(&mut buffer[filled..wanted])? {
                    0 => {
                        self.left = 0;
                        return Ok(total);
                    }
                    read => {
                        filled += read;
                        total += read;
                        self.allowed = self.allowed.saturating_sub(read);
                        self.left = self.left.saturating_sub(read as u64);
                    }
                }
            }
        }
        Ok(total)
    }
}

/// Runs the decoder's work on several threads.
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
