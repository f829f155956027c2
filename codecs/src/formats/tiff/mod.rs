//! TIFF and BigTIFF, chunk by chunk: a chunk is a strip of rows or a tile. One row of chunks is held at a time, so the
//! file's layout decides the memory; a file that is a single strip is buffered.
//!
//! ```text
//! TIFF     "II" or "MM" (byte order)  42: u16                        offset of the first directory: u32
//! BigTIFF  "II" or "MM"               43: u16  8: u16  0: u16        offset of the first directory: u64
//! ```
//! Source: TIFF 6.0 (Adobe, 1992), section 2 for the structure, 3 for strips, 15 for tiles; the BigTIFF design
//! (libtiff.gitlab.io/libtiff/specification/bigtiff.html).

mod ccitt;
mod colour;
mod directory;
mod error;
mod jpeg;
mod raw;

use ::tiff::ColorType;
use ::tiff::decoder::{ChunkType, Decoder, Limits};
use ::tiff::tags::Tag;
use edgezoom_content::Size;

use crate::colour::icc::Profile;
use crate::colour::icc::Transform16;
use crate::decoder::Decoded;
use crate::decoder::{Input, Open};
use crate::{Bounds, DecodeOptions, Format, Layout, Orientation, Reading, RowReader, SourceError};
use ccitt::Ccitt;
use colour::{Colour, Sample};
use directory::PatchedFile;
use error::{NAME, error};
use jpeg::JpegChunks;
use raw::Raw;

pub(crate) static FORMAT: Format = Format {
    name: NAME,
    media_types: &["image/tiff"],
    endings: &["tif", "tiff"],
    reading: Reading::Rows,
    signature: |head| matches!(head, [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..]),
    open: Open::Directly(open),
};

/// The bytes that one of the file's tables may have: enough for a million chunks.
const TABLE_BYTES: usize = 16 << 20;
/// The bytes that a colour profile may have.
const PROFILE_BYTES: usize = 4 << 20;

struct Chunks {
    size: Size,
    decoder: Decoder<PatchedFile>,
    colour: Colour,
    sample: Sample,
    transform_16: Option<Transform16>,
    /// The decoder of fax chunks.
    ccitt: Option<Ccitt>,
    /// The samples of a pixel that are stored together: all (chunky), or one (planar).
    together: usize,
    planes: u32,
    /// The rows of a chunk.
    chunk_rows: u32,
    chunks_across: u32,
    chunks_in_plane: u32,
    /// The stored samples of the chunk that is being decoded.
    stored: Vec<u8>,
    /// Samples of a row of chunks, 8-bit, pixel by pixel.
    samples: Vec<u8>,
    /// A row of chunks in the layout that is read, and how many of its bytes have been read.
    band: Vec<u8>,
    band_read: usize,
    /// The picture's row that the next row of chunks begins with.
    next: u32,
}

/// Opens a TIFF; a camera raw file without a preview too.
pub fn open(Input { file, bounds, options }: Input<'_>) -> Result<Decoded, SourceError> {
    let memory = usize::try_from(bounds.memory).unwrap_or(usize::MAX);
    let mut limits = Limits::default();
    limits.decoding_buffer_size = memory;
    limits.intermediate_buffer_size = memory;
    limits.ifd_value_size = TABLE_BYTES;
    let mut decoder = Decoder::new(PatchedFile::new(file)).map_err(error)?.with_limits(limits);
    directory::choose(&mut decoder)?;
    let (width, height) = decoder.dimensions().map_err(error)?;
    let size = bounds.admit(width, height)?;
    let orientation = decoder.find_tag_unsigned(Tag::Orientation).ok().flatten();
    let orientation = orientation.map_or(Orientation::UPRIGHT, Orientation::from_exif);
    let profile = decoder.get_tag_u8_vec(Tag::IccProfile).ok().filter(|bytes| bytes.len() <= PROFILE_BYTES);
    let profile = profile.and_then(|bytes| Profile::of_icc(&bytes));
    if jpeg::is_ycbcr(&mut decoder)? {
        // Turning and colour conversion work on pixels, not on planes.
        let is_srgb = !profile.as_ref().is_some_and(|profile| profile.changes(Layout::Rgb));
        let ycbcr420 = options.ycbcr420 && orientation == Orientation::UPRIGHT && is_srgb;
        let reader =
            Box::new(JpegChunks::new(decoder, size, bounds, DecodeOptions { ycbcr420, ..*options })?);
        return Ok(Decoded { reader, orientation, profile: profile.filter(|_| !is_srgb) });
    }
    let colour = colour_of(&mut decoder, profile.as_ref())?;
    let mut chunks = Chunks::new(decoder, colour, size, bounds)?;
    if chunks.sample == Sample::Uint16 && chunks.planes == 1 && chunks.colour.is_final() {
        chunks.transform_16 = profile.as_ref().and_then(|profile| profile.transform_16(chunks.layout()));
    }
    // Pixels that are converted with 16 bits are sRGB after that.
    let profile = profile.filter(|_| chunks.transform_16.is_none());
    let layout = chunks.layout();
    let offsets = match chunks.is_final() {
        true => raw::offsets(&mut chunks.decoder, size, layout)?,
        false => None,
    };
    if directory::is_reversed(&mut chunks.decoder) {
        chunks.decoder.inner().reverse();
    }
    let reader: Box<dyn RowReader> = match offsets {
        Some(offsets) => Box::new(Raw::new(chunks.decoder, size, layout, offsets)),
        None => Box::new(chunks),
    };
    Ok(Decoded { reader, orientation, profile })
}

/// What the samples mean. The `tiff` crate reads no palettes and no L*a*b*: their PhotometricInterpretation is patched.
fn colour_of(decoder: &mut Decoder<PatchedFile>, profile: Option<&Profile>) -> Result<Colour, SourceError> {
    match decoder.find_tag_unsigned::<u16>(Tag::PhotometricInterpretation).map_err(error)? {
        Some(directory::PALETTE) => {
            let entries = decoder.get_tag_u16_vec(Tag::ColorMap).map_err(error)?;
            directory::patch(decoder, directory::GREY)?;
            if decoder.colortype().map_err(error)?.num_samples() != 1 {
                return Err(FORMAT.unsupported("it has a palette and more than one sample"));
            }
            Ok(Colour::of_palette(directory::palette(&entries)))
        }
        Some(directory::LAB) => {
            directory::patch(decoder, directory::RGB)?;
            let color = decoder.colortype().map_err(error)?;
            Ok(Colour::of_lab(usize::from(color.num_samples())))
        }
        _ => {
            let extra = decoder.find_tag_unsigned_vec::<u16>(Tag::ExtraSamples).ok().flatten();
            let color = decoder.colortype().map_err(error)?;
            Colour::new(color, &extra.unwrap_or_default(), profile)
        }
    }
}

impl Chunks {
    fn new(
        mut decoder: Decoder<PatchedFile>,
        colour: Colour,
        size: Size,
        bounds: Bounds,
    ) -> Result<Self, SourceError> {
        let color = decoder.colortype().map_err(error)?;
        let preference = decoder.image_chunk_buffer_layout(0).map_err(error)?;
        let sample = Sample::new(color.bit_depth(), preference.sample_type)?;
        refuse_subsampling(&mut decoder, color)?;

        let samples = colour.samples();
        let planar = decoder.find_tag_unsigned::<u16>(Tag::PlanarConfiguration).map_err(error)? == Some(2);
        let (together, planes) = if planar { (1, samples as u32) } else { (samples, 1) };
        let (chunk_width, chunk_rows) = decoder.chunk_dimensions();
        let chunk_rows = chunk_rows.clamp(1, size.height);
        let chunk_width = match decoder.get_chunk_type() {
            ChunkType::Strip => size.width,
            ChunkType::Tile => chunk_width.max(1),
        };
        let chunks_across = size.width.div_ceil(chunk_width);
        let pixels = u64::from(size.width) * u64::from(chunk_rows);
        // The stored samples, the 8-bit samples and the pixels exist at the same time.
        let bytes = pixels * (samples * (sample.bytes() + 1) + colour.layout().channels()) as u64;
        bounds.admit_memory(bytes, "decoding the strips or tiles of the TIFF")?;
        // While a buffer grows, two copies of it exist.
        let ccitt = Ccitt::of(&mut decoder, chunk_width, (bounds.memory - bytes) / 2)?;
        if ccitt.is_some() && (sample != Sample::Bits(1) || together != 1) {
            return Err(FORMAT.unsupported("it is fax of more than 1 bit"));
        }
        Ok(Self {
            size,
            decoder,
            colour,
            sample,
            transform_16: None,
            ccitt,
            together,
            planes,
            chunk_rows,
            chunks_across,
            chunks_in_plane: chunks_across * size.height.div_ceil(chunk_rows),
            stored: Vec::new(),
            samples: Vec::new(),
            band: Vec::new(),
            band_read: 0,
            next: 0,
        })
    }

    fn row_bytes(&self) -> usize {
        self.size.width as usize * self.colour.layout().channels()
    }

    /// Whether a stored chunk needs no conversion: full rows of 8-bit samples in the layout.
    fn is_final(&self) -> bool {
        self.planes == 1 && self.chunks_across == 1 && self.sample == Sample::Uint8 && self.colour.is_final()
    }

    /// Decodes the next row of chunks into `band`.
    fn decode_band(&mut self) -> Result<(), SourceError> {
        let rows = self.chunk_rows.min(self.size.height - self.next);
        let samples = self.together * self.planes as usize;
        let pixels = self.size.width as usize * rows as usize;
        self.samples.resize(pixels * samples, 0);
        self.band.resize(pixels * self.colour.layout().channels(), 0);
        let first = self.next / self.chunk_rows * self.chunks_across;
        for plane in 0..self.planes {
            let mut left = 0;
            for chunk in first..first + self.chunks_across {
                let chunk = plane * self.chunks_in_plane + chunk;
                let (width, height) = self.decoder.chunk_data_dimensions(chunk);
                let row_bytes = self.sample.row_bytes(width as usize * self.together);
                self.stored.resize(row_bytes * height as usize, 0);
                match &mut self.ccitt {
                    Some(ccitt) => {
                        ccitt.read_chunk(self.decoder.inner(), chunk, row_bytes, &mut self.stored)?;
                    }
                    None => self.decoder.read_chunk_bytes(chunk, &mut self.stored).map_err(error)?,
                }
                let stored_rows = self.stored.chunks_exact(row_bytes);
                if let Some(transform) = &mut self.transform_16 {
                    let (across, start) = (self.size.width as usize * samples, left * samples);
                    for (stored, row) in stored_rows.zip(self.band.chunks_exact_mut(across)) {
                        let stored: Vec<u16> =
                            stored.as_chunks().0.iter().map(|&sample| u16::from_ne_bytes(sample)).collect();
                        transform.convert(&stored, &mut row[start..start + width as usize * samples]);
                    }
                    left += width as usize;
                    continue;
                }
                let sample_rows = self.samples.chunks_exact_mut(self.size.width as usize * samples);
                for (stored, row) in stored_rows.zip(sample_rows) {
                    if self.planes == 1 && self.sample == Sample::Uint8 {
                        row[left * samples..(left + width as usize) * samples].copy_from_slice(stored);
                        continue;
                    }
                    let pixels = row.chunks_exact_mut(samples).skip(left).take(width as usize);
                    if self.colour.is_palette() {
                        self.sample.unpack_indices(stored, pixels);
                    } else {
                        self.sample.unpack_8_bit(stored, self.together, pixels, plane as usize);
                    }
                }
                left += width as usize;
            }
        }
        if self.transform_16.is_none() {
            self.colour.convert(&self.samples, &mut self.band);
        }
        self.band_read = 0;
        self.next += rows;
        Ok(())
    }
}

impl RowReader for Chunks {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.colour.layout()
    }

    fn read_rows(&mut self, mut into: &mut [u8]) -> Result<(), SourceError> {
        while !into.is_empty() {
            let waiting = &self.band[self.band_read..];
            if !waiting.is_empty() {
                let bytes = waiting.len().min(into.len());
                let (now, later) = into.split_at_mut(bytes);
                now.copy_from_slice(&waiting[..bytes]);
                self.band_read += bytes;
                into = later;
                continue;
            }
            let rows = self.chunk_rows.min(self.size.height - self.next);
            let bytes = rows as usize * self.row_bytes();
            if self.is_final() && bytes <= into.len() {
                let (now, later) = into.split_at_mut(bytes);
                self.decoder.read_chunk_bytes(self.next / self.chunk_rows, now).map_err(error)?;
                self.next += rows;
                into = later;
            } else {
                self.decode_band()?;
            }
        }
        Ok(())
    }
}

/// The `tiff` crate takes subsampled YCbCr for full pixels, which would show noise. JPEG chunks are upsampled by their
/// own decoder.
fn refuse_subsampling(decoder: &mut Decoder<PatchedFile>, color: ColorType) -> Result<(), SourceError> {
    const JPEG: u16 = 7;
    let compression = decoder.find_tag_unsigned::<u16>(Tag::Compression).map_err(error)?;
    // Without the tag it is 2×2 (TIFF 6.0, section 21).
    let factors = decoder.find_tag_unsigned_vec::<u16>(Tag::ChromaSubsampling).map_err(error)?;
    if matches!(color, ColorType::YCbCr(_))
        && compression != Some(JPEG)
        && factors.as_deref() != Some(&[1, 1])
    {
        return Err(FORMAT.unsupported("its chroma is subsampled"));
    }
    Ok(())
}
