//! JPEG XL, as a codestream or in its container: the first frame, upright. Buffered: `jxl-oxide` decodes whole frames.
//!
//! Source: ISO/IEC 18181-1 (codestream), ISO/IEC 18181-2 (container).

use std::fs::File;
use std::io::{BufReader, Read};

use jxl_oxide::{
    AllocTracker, EnumColourEncoding, InitializeResult, JxlImage, PixelFormat, Render, RenderingIntent,
};

use crate::buffered::Buffered;
use crate::buffered::catch_panics;
use crate::colour::cmyk::CmykConverter;
use crate::colour::icc::Profile;
use crate::decoder::Decoded;
use crate::decoder::READ_BYTES;
use crate::decoder::{Input, Open};
use crate::{Bounds, Format, Layout, Orientation, Reading, SourceError};

pub(crate) static FORMAT: Format = Format {
    name: "JPEG XL",
    media_types: &["image/jxl"],
    endings: &["jxl"],
    reading: Reading::Buffered,
    signature: |head| head.starts_with(&[0xff, 0x0a]) || head.starts_with(b"\0\0\0\x0cJXL \r\n\x87\n"),
    open: Open::Directly(open),
};

/// The memory that decoding takes for each pixel, in bytes: 27.5 were measured. The decoder itself counts too, and
/// stops at the limit.
const BYTES_A_PIXEL: u64 = 28;

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    catch_panics(FORMAT.name, || decode(file, bounds))
}

fn decode(file: BufReader<File>, bounds: Bounds) -> Result<Decoded, SourceError> {
    let mut image = load(file, bounds)?;
    // Greys, and colours with an ICC profile, come in their own colour space; the decoder converts all others to sRGB.
    let is_grey = image.pixel_format().is_grayscale();
    let profile = (is_grey || image.original_icc().is_some()).then(|| image.rendered_icc());
    let profile = profile.and_then(|profile| Profile::of_icc(&profile));
    if profile.is_none() {
        image.request_color_encoding(EnumColourEncoding::srgb(RenderingIntent::Relative));
    }
    if image.num_loaded_keyframes() == 0 {
        return Err(FORMAT.corrupt("it ends before its last row"));
    }
    let frame = image.render_frame(0).map_err(error)?;
    let picture = paint(&frame, image.pixel_format(), profile.as_ref(), bounds)?;
    Ok(Decoded {
        reader: Box::new(picture.without_opaque_alpha()),
        orientation: Orientation::UPRIGHT,
        profile: profile.filter(|_| !image.pixel_format().has_black()),
    })
}

/// Feeds the decoder until the first frame is loaded. The bounds are checked as soon as the size is known.
fn load(mut file: BufReader<File>, bounds: Bounds) -> Result<JxlImage, SourceError> {
    let memory = usize::try_from(bounds.memory).unwrap_or(usize::MAX);
    let mut unread = JxlImage::builder().alloc_tracker(AllocTracker::with_limit(memory)).build_uninit();
    let (mut buffer, mut filled) = (vec![0; READ_BYTES], 0);
    let mut image = loop {
        let read = file.read(&mut buffer[filled..])?;
        if read == 0 {
            return Err(FORMAT.corrupt("it ends in its header"));
        }
        filled += read;
        let used = unread.feed_bytes(&buffer[..filled]).map_err(error)?;
        buffer.copy_within(used..filled, 0);
        filled -= used;
        match unread.try_init().map_err(error)? {
            InitializeResult::NeedMoreData(more) => unread = more,
            InitializeResult::Initialized(image) => break image,
        }
    };
    let size = bounds.admit(image.width(), image.height())?;
    bounds.admit_memory(size.pixels() * BYTES_A_PIXEL, "decoding a JPEG XL")?;
    // Of an animation only the first frame is shown.
    while image.num_loaded_keyframes() == 0 && !image.is_loading_done() {
        let read = file.read(&mut buffer[filled..])?;
        if read == 0 {
            break;
        }
        filled += read;
        let used = image.feed_bytes(&buffer[..filled]).map_err(error)?;
        buffer.copy_within(used..filled, 0);
        filled -= used;
    }
    Ok(image)
}

fn paint(
    frame: &Render,
    format: PixelFormat,
    profile: Option<&Profile>,
    bounds: Bounds,
) -> Result<Buffered, SourceError> {
    let mut stream = frame.stream();
    let size = bounds.admit(stream.width(), stream.height())?;
    let layout = match format {
        PixelFormat::Gray => Layout::Grey,
        PixelFormat::Rgb | PixelFormat::Cmyk => Layout::Rgb,
        PixelFormat::Rgba | PixelFormat::Graya | PixelFormat::Cmyka => Layout::Rgba,
    };
    let mut picture = Buffered::new(size, layout, bounds)?;
    let channels = stream.channels() as usize;
    let cmyk = CmykConverter::new(profile);
    let mut row = vec![0u8; size.width as usize * channels];
    for out in picture.pixels.chunks_exact_mut(size.width as usize * layout.channels()) {
        stream.write_to_buffer(&mut row);
        if channels == layout.channels() && !format.has_black() {
            out.copy_from_slice(&row);
            continue;
        }
        for (out, pixel) in out.chunks_exact_mut(layout.channels()).zip(row.chunks_exact(channels)) {
            match *pixel {
                [grey, alpha] => out.copy_from_slice(&[grey, grey, grey, alpha]),
                [cyan, magenta, yellow, black, ..] => {
                    // In JPEG XL 0 is full ink.
                    let stored = [cyan, magenta, yellow, black].map(|sample| 255 - sample);
                    cmyk.convert(&stored, &mut out[..3]);
                    if let (Some(out), Some(&alpha)) = (out.get_mut(3), pixel.get(4)) {
                        *out = alpha;
                    }
                }
                _ => {}
            }
        }
    }
    Ok(picture)
}

fn error(error: Box<dyn std::error::Error + Send + Sync>) -> SourceError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&*error);
    while let Some(one) = cause {
        if one.to_string().contains("out of memory") {
            return SourceError::OutOfMemory;
        }
        cause = one.source();
    }
    FORMAT.corrupt(error)
}
