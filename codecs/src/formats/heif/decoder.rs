//! Decodes a frame of HEVC or AV1, as a whole or while it is read.

use edgezoom_geometry::Size;
use heifer::heifer_hevc_dec::decoder::{DecodeOptions, decode_picture};
use heifer::heifer_isobmff::{HeifFile, ItemId};
use re_rav1d::dav1d::{Decoder, Error, Picture, Settings};

use super::frame::Frame;
use super::hevc::{self, FrameBands, Limits};
use super::item::Codec;
use crate::{Format, SourceError};

/// A coded frame may be larger than the picture that its container describes: whole blocks of 64 pixels, and some.
const BLOCK: u32 = 64;

/// Decodes the frame of an item, which claims to be of this size.
pub fn decode(
    file: &HeifFile<'_>,
    id: ItemId,
    (codec, size): (Codec, Size),
    threads: usize,
    format: &'static Format,
) -> Result<Frame, SourceError> {
    let max_pixels = max_pixels(size);
    let frame = match codec {
        Codec::Hevc => {
            let stream = file.hevc_bitstream(id).map_err(|error| format.corrupt(error))?;
            let options = DecodeOptions { max_pixels, ..DecodeOptions::default() };
            Frame::Hevc(decode_picture(&stream, options).map_err(|error| hevc::refusal(format, error))?)
        }
        Codec::Av1 => {
            let bytes = file.item_data(id).map_err(|error| format.corrupt(error))?.into_owned();
            Frame::of_av1(decode_av1(bytes, threads, max_pixels, format)?)
        }
    };
    let (width, height) = frame.size();
    check_size((width as u32, height as u32), size, format)?;
    Ok(frame)
}

/// Starts to decode the only frame of a picture of HEVC, which claims to be of this size.
pub fn start(
    file: &HeifFile<'_>,
    id: ItemId,
    size: Size,
    format: &'static Format,
) -> Result<FrameBands, SourceError> {
    let stream = file.hevc_bitstream(id).map_err(|error| format.corrupt(error))?;
    let has_tiles = file.hevc_config(id).is_ok_and(|config| config.is_some_and(hevc::has_tiles));
    let bands = FrameBands::start(stream, Limits { pixels: max_pixels(size), has_tiles }, format)?;
    check_size(bands.size(), size, format)?;
    Ok(bands)
}

/// The most pixels of a coded frame that is shown in this size.
fn max_pixels(size: Size) -> u64 {
    let side = |length: u32| u64::from(length.next_multiple_of(BLOCK)) + u64::from(BLOCK);
    side(size.width) * side(size.height)
}

fn check_size((width, height): (u32, u32), size: Size, format: &'static Format) -> Result<(), SourceError> {
    if width < size.width || height < size.height {
        return Err(format.corrupt("a frame is smaller than it should be"));
    }
    Ok(())
}

fn decode_av1(
    bytes: Vec<u8>,
    threads: usize,
    max_pixels: u64,
    format: &'static Format,
) -> Result<Picture, SourceError> {
    if bytes.is_empty() {
        return Err(format.corrupt("a frame is empty"));
    }
    let refusal = |error| match error {
        Error::NotEnoughMemory => SourceError::OutOfMemory,
        Error::UnsupportedBitstream => format.unsupported("a part of AV1"),
        _ => format.corrupt("a frame cannot be decoded"),
    };
    let mut settings = Settings::new();
    settings.set_n_threads(u32::try_from(threads).unwrap_or(1).max(1));
    // A still picture has one frame.
    settings.set_max_frame_delay(1);
    settings.set_all_layers(false);
    settings.set_frame_size_limit(u32::try_from(max_pixels).unwrap_or(u32::MAX));
    let mut decoder = Decoder::with_settings(&settings).map_err(refusal)?;
    match decoder.send_data(bytes, None, None, None) {
        Ok(()) | Err(Error::Again) => {}
        Err(error) => return Err(refusal(error)),
    }
    loop {
        match decoder.get_picture() {
            Ok(picture) => return Ok(picture),
            Err(Error::Again) => match decoder.send_pending_data() {
                Ok(()) => {
                    return decoder.get_picture().map_err(|_| format.corrupt("it ends before its last row"));
                }
                Err(Error::Again) => {}
                Err(error) => return Err(refusal(error)),
            },
            Err(error) => return Err(refusal(error)),
        }
    }
}
