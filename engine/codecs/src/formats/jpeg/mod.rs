//! JPEG, row by row: regular pictures with `edgezoom_jpeg`, all others with libjpeg (mozjpeg) and its SIMD.
//!
//! Baseline pictures are decoded as they are read, in a few rows of memory. Pictures of several scans, too, once all of
//! the file has arrived. If libjpeg decodes such a picture, it keeps the coefficients of the whole in memory, within
//! the bounds.
//!
//! A damaged file is shown as far as libjpeg can decode it, as in browsers.
//!
//! Source: ITU-T T.81 (the codec), ITU-T T.871 (JFIF).

pub mod embedded;
mod error_manager;
#[cfg(test)]
mod generated;
mod header;
mod losses;
mod regular;
pub mod thumbnail;
pub mod ycbcr420;

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use edgezoom_geometry::Size;
use mozjpeg::decompress::{DecompressBuilder, DecompressStarted};
use mozjpeg::{ColorSpace, Decompress};

use crate::colour::cmyk::CmykConverter;
use crate::colour::icc::Profile;
use crate::format::{Decoded, Input, Open, READ_BYTES};
use crate::formats::ifd::orientation_of_exif;
use crate::{
    AsPlanes, Bounds, Damage, DecodeOptions, Format, Layout, Orientation, Reading, RowReader, SourceError,
    SourceFile,
};
use error_manager::{catch_damage, catch_errors};
use losses::Losses;
use regular::{Regular, RegularReader};
use ycbcr420::PlanesReader;

pub(crate) static FORMAT: Format = Format {
    name: "JPEG",
    media_types: &["image/jpeg"],
    endings: &["jpg", "jpeg"],
    reading: Reading::Rows,
    in_order: true,
    signature: |head| head.starts_with(&[0xff, 0xd8, 0xff]),
    open: Open::Directly(open),
};

/// Number of rows decoded at once, so that few are lost by an error that stops libjpeg.
const ROWS_AT_ONCE: u32 = 16;

/// The rows of a JPEG.
struct Rows<R> {
    size: Size,
    layout: Layout,
    decoder: DecompressStarted<R>,
    losses: Losses,
    cmyk: Option<Cmyk>,
}

/// The conversion of a JPEG in CMYK. 255 means no ink, as in files of Adobe's programs. Chromium, libvips and Pillow
/// read files without Adobe's marker in the same way.
struct Cmyk {
    converter: CmykConverter,
    rows: Vec<u8>,
}

impl Cmyk {
    /// Returns the conversion of a picture with this profile.
    fn new(profile: Option<&Profile>) -> Self {
        Self { converter: CmykConverter::new(profile), rows: Vec::new() }
    }

    /// Fills rows in RGB with those in CMYK that `read` decodes.
    fn convert<E>(
        &mut self,
        into: &mut [u8],
        read: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.rows.resize(into.len() / 3 * 4, 0);
        read(&mut self.rows)?;
        self.rows.iter_mut().for_each(|sample| *sample = 255 - *sample);
        self.converter.convert(&self.rows, into);
        Ok(())
    }
}

/// Opens a JPEG that is a file of its own.
fn open(Input { file, bounds, options, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let file = file.get_ref().apart();
    if options.planes != AsPlanes::Never
        && let Some(decoded) = open_as_planes(&file, bounds, options)?
    {
        return Ok(decoded);
    }
    open_shared(file, bounds, options)
}

/// Opens a JPEG as planes, if the file has such or its chroma may be averaged, and they need not be changed.
fn open_as_planes(
    file: &SourceFile,
    bounds: Bounds,
    options: &DecodeOptions,
) -> Result<Option<Decoded>, SourceError> {
    let mut start = BufReader::with_capacity(READ_BYTES, file.clone());
    let markers = read_markers(&mut start, bounds)?;
    let header = read_header(start)?;
    let size = bounds.admit(side(header.width()), side(header.height()))?;
    let orientation = orientation_of(&header);
    // Colour conversion works on pixels, not on planes.
    let is_srgb = !profile(&header).is_some_and(|profile| profile.changes(Layout::Rgb));
    let is_halved = ycbcr420::is_ycbcr420(&header);
    if !(options.allow_planes(orientation, size)
        && is_srgb
        && (is_halved || options.planes == AsPlanes::Averaged))
    {
        return Ok(None);
    }
    drop(header);
    let is_buffered = markers.is_some_and(|markers| markers.is_buffered);
    let regular = Regular::find(file.clone(), Layout::YCbCr420, size, is_buffered)?;
    let again = file.clone();
    let by_libjpeg = move || -> Result<Box<dyn RowReader>, SourceError> {
        admit_coefficients(markers, bounds)?;
        let file = BufReader::with_capacity(READ_BYTES, again).chain(padding(markers));
        Ok(Box::new(PlanesReader::open(file, size)?))
    };
    let reader: Box<dyn RowReader> = match regular {
        None if is_halved => by_libjpeg()?,
        None => return Ok(None),
        Some(regular) => Box::new(RegularReader::open(
            file,
            regular,
            Layout::YCbCr420,
            None,
            options,
            Box::new(by_libjpeg),
        )),
    };
    Ok(Some(Decoded { orientation, ..Decoded::of(reader) }))
}

/// Opens a JPEG as rows of pixels, from a file that is at its start and whose clones are read independently.
pub fn open_shared<R>(file: R, bounds: Bounds, options: &DecodeOptions) -> Result<Decoded, SourceError>
where
    R: Read + Seek + Clone + Send + 'static,
{
    let buffered = |file: &R| BufReader::with_capacity(READ_BYTES, file.clone());
    let mut start = buffered(&file);
    let Some(markers) = read_markers(&mut start, bounds)? else {
        return open_reader(buffered(&file), bounds);
    };
    let header = read_header(start)?;
    let size = bounds.admit(side(header.width()), side(header.height()))?;
    let (orientation, profile) = (orientation_of(&header), profile(&header));
    let (layout, cmyk) = match header.color_space() {
        ColorSpace::JCS_GRAYSCALE => (Some(Layout::Grey), None),
        ColorSpace::JCS_YCbCr | ColorSpace::JCS_RGB => (Some(Layout::Rgb), None),
        ColorSpace::JCS_CMYK | ColorSpace::JCS_YCCK => (Some(Layout::Rgb), Some(Cmyk::new(profile.as_ref()))),
        _ => (None, None),
    };
    drop(header);
    let found = match layout {
        Some(layout) => Regular::find(file.clone(), layout, size, markers.is_buffered)?,
        None => None,
    };
    let (Some(regular), Some(layout)) = (found, layout) else {
        return open_reader(buffered(&file), bounds);
    };
    let again = buffered(&file);
    let fallback = Box::new(move || open_reader(again, bounds).map(|decoded| decoded.reader));
    let reader = Box::new(RegularReader::open(&file, regular, layout, cmyk, options, fallback));
    Ok(Decoded { orientation, profile, ..Decoded::of(reader) })
}

/// Opens a JPEG from a reader that is at its start, with libjpeg.
pub fn open_reader<R>(mut file: R, bounds: Bounds) -> Result<Decoded, SourceError>
where
    R: BufRead + Seek + 'static,
{
    let markers = read_markers(&mut file, bounds)?;
    let header = read_header(file.chain(padding(markers)))?;
    let size = bounds.admit(side(header.width()), side(header.height()))?;
    admit_coefficients(markers, bounds)?;
    let (orientation, profile) = (orientation_of(&header), profile(&header));
    let (mut losses, mut cmyk) = (Losses::default(), None);
    let (layout, decoder) = match header.color_space() {
        ColorSpace::JCS_GRAYSCALE => (Layout::Grey, catch_damage(&mut losses, || header.grayscale())?),
        ColorSpace::JCS_YCbCr | ColorSpace::JCS_RGB => {
            (Layout::Rgb, catch_damage(&mut losses, || header.rgb())?)
        }
        ColorSpace::JCS_CMYK | ColorSpace::JCS_YCCK => {
            cmyk = Some(Cmyk::new(profile.as_ref()));
            (Layout::Rgb, catch_damage(&mut losses, || header.to_colorspace(ColorSpace::JCS_CMYK))?)
        }
        _ => return Err(FORMAT.unsupported("its colour space is unknown")),
    };
    let reader = Box::new(Rows { size, layout, decoder, losses, cmyk });
    Ok(Decoded { orientation, profile, ..Decoded::of(reader) })
}

impl<R: BufRead> RowReader for Rows<R> {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let Self { decoder, losses, cmyk, .. } = self;
        let mut read =
            |rows: &mut [u8]| catch_damage(losses, || decoder.read_scanlines_into(rows).map(|_| ()));
        match cmyk {
            Some(cmyk) => cmyk.convert(into, read),
            None => read(into),
        }
    }

    fn damage(&self) -> Option<Damage> {
        self.losses.damage()
    }

    fn rows_at_once(&self) -> u32 {
        ROWS_AT_ONCE
    }
}

/// Reads the markers, checks the size, and rewinds the file.
fn read_markers(
    file: &mut (impl BufRead + Seek),
    bounds: Bounds,
) -> Result<Option<header::Header>, SourceError> {
    let markers = header::read(file)?;
    if let Some(markers) = markers {
        bounds.admit(u32::from(markers.width), u32::from(markers.height))?;
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(markers)
}

fn open_in_memory(file: &[u8]) -> Result<Decompress<&[u8]>, SourceError> {
    catch_errors(|| DecompressBuilder::new().with_err(error_manager::new()).from_mem(file))
}

fn read_header<R: BufRead>(file: R) -> Result<Decompress<R>, SourceError> {
    catch_errors(|| {
        DecompressBuilder::new().with_err(error_manager::new()).with_markers(header::SAVED).from_reader(file)
    })
}

fn orientation_of<R>(header: &Decompress<R>) -> Orientation {
    header::exif(header).map_or(Orientation::UPRIGHT, orientation_of_exif)
}

fn profile<R>(header: &Decompress<R>) -> Option<Profile> {
    header::profile(header).and_then(|profile| Profile::of_icc(&profile))
}

/// The use of a JPEG's large memory, for messages.
const BUFFERING: &str = "decoding a progressive JPEG";

/// Checks the scans of a picture, and the memory for its coefficients, of which libjpeg keeps all.
fn admit_coefficients(markers: Option<header::Header>, bounds: Bounds) -> Result<(), SourceError> {
    let Some(markers) = markers.filter(|markers| markers.is_buffered) else { return Ok(()) };
    header::admit_scans(markers)?;
    bounds.admit_memory(markers.coefficients, BUFFERING)
}

/// Returns the bytes to read behind a file that ends in a segment: the binding cannot skip a segment that is not whole,
/// where libjpeg's own sources insert ends of the picture, so that the scans before are shown.
fn padding(markers: Option<header::Header>) -> &'static [u8] {
    static ENDS: [[u8; 2]; 1 << 15] = [[0xff, 0xd9]; 1 << 15];
    if markers.is_some_and(|markers| markers.ends_in_segment) { ENDS.as_flattened() } else { &[] }
}

/// Converts a side of libjpeg, which is at most 65,535.
fn side(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
