//! The image that an image request selects: a stored tile, the stored preview, or a rendering, and its canonical path
//! (section 4.7), which is the same however the image was asked for.

use edgezoom_content::{Dzi, PreviewKind, Size, TileFormat};
use edgezoom_regions::{Colours, Format, MAX_PIXELS, Region, Rendering, Turn};

use crate::request::iiif::ImageRequestError::{Enlarged, NotStored, Outside, TooLarge};
use crate::request::iiif::{ImageRequest, ImageRequestError, RequestedRegion, RequestedSize, SizeForm};
use crate::request::object_key::PyramidObject;

/// Maximum side of a rendering in pixels: `maxWidth` and `maxHeight`. `maxArea` is [`MAX_PIXELS`].
pub const MAX_SIDE: u32 = 2048;

/// An image that exists or can be rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    pub rendering: Rendering,
    /// The stored image that is exactly this one.
    pub stored: Option<StoredImage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredImage {
    Tile(PyramidObject),
    /// The large preview.
    Preview,
}

/// Returns the image that a request selects. Without `renders` it is a stored one.
///
/// # Errors
/// The picture has no such part or size, or no stored image is exactly the requested one.
pub fn select(request: &ImageRequest, dzi: &Dzi, renders: bool) -> Result<Image, ImageRequestError> {
    if !renders {
        return stored(request, dzi, renders);
    }
    let rendering = rendering(request, dzi.size)?;
    // A request for one side of a tile selects it although the other side could be rounded to another size.
    let by_sides = matches!(request.size.form, SizeForm::Sides { .. }).then_some(*request);
    let Size { width, height } = rendering.size;
    let form = SizeForm::Sides { width: Some(width), height: Some(height) };
    let exact = ImageRequest {
        region: RequestedRegion::Pixels(rendering.region),
        size: RequestedSize { upscaled: false, form },
        ..*request
    };
    let found = by_sides.into_iter().chain([exact]).find_map(|of| stored(&of, dzi, renders).ok());
    Ok(found.unwrap_or(Image { rendering, stored: None }))
}

/// Returns the path of an image below the base URI.
pub fn canonical_path(rendering: &Rendering, dzi: &Dzi, renders: bool) -> String {
    let Rendering { region, size, turn, mirrored, colours, format } = rendering;
    let whole = whole(dzi.size);
    let is_upscaled = size.width > region.width || size.height > region.height;
    let Region { left, top, width, height } = region;
    let part = if *region == whole { "full".to_owned() } else { format!("{left},{top},{width},{height}") };
    let upscaled = if is_upscaled { "^" } else { "" };
    let size = if *region == whole && *size == max_size(dzi, renders, is_upscaled) {
        "max".to_owned()
    } else {
        format!("{},{}", size.width, size.height)
    };
    let mirrored = if *mirrored { "!" } else { "" };
    let degrees = 90 * *turn as u32;
    let quality = match colours {
        Colours::Colour => "default",
        Colours::Grey => "gray",
        Colours::Bitonal => "bitonal",
    };
    let format = match format {
        Format::Jpg => "jpg",
        Format::Png => "png",
        Format::WebP => "webp",
    };
    format!("{part}/{upscaled}{size}/{mirrored}{degrees}/{quality}.{format}")
}

/// Returns the full image at a size, in a format of tiles or previews.
pub fn full(size: Size, format: TileFormat, dzi: &Dzi) -> Rendering {
    plain(whole(dzi.size), size, image_format(format))
}

/// Returns the size of `full/max`, or of `full/^max`.
pub fn max_size(dzi: &Dzi, renders: bool, is_upscaled: bool) -> Size {
    if renders {
        scaled_within(whole(dzi.size), MAX_SIDE, MAX_SIDE, is_upscaled)
    } else {
        PreviewKind::Large.size(dzi.size)
    }
}

fn image_format(format: TileFormat) -> Format {
    if format == TileFormat::Png { Format::Png } else { Format::Jpg }
}

fn plain(region: Region, size: Size, format: Format) -> Rendering {
    Rendering { region, size, turn: Turn::None, mirrored: false, colours: Colours::Colour, format }
}

fn whole(Size { width, height }: Size) -> Region {
    Region { left: 0, top: 0, width, height }
}

/// Returns what a request asks for, in pixels.
fn rendering(request: &ImageRequest, picture: Size) -> Result<Rendering, ImageRequestError> {
    let &ImageRequest { region, size, mirrored, turn, colours, format } = request;
    let region = region_of(region, picture)?;
    let size = size_of(size, region)?;
    Ok(Rendering { region, size, turn, mirrored, colours, format })
}

fn region_of(requested: RequestedRegion, picture: Size) -> Result<Region, ImageRequestError> {
    match requested {
        RequestedRegion::Full => Ok(whole(picture)),
        RequestedRegion::Square => {
            let side = picture.width.min(picture.height);
            let (left, top) = ((picture.width - side) / 2, (picture.height - side) / 2);
            Ok(Region { left, top, width: side, height: side })
        }
        RequestedRegion::Pixels(region) => cropped(region, picture),
        RequestedRegion::Percent([left, top, width, height]) => {
            let part = |percent: f64, side: u32| (f64::from(side) * percent / 100.0).round() as u32;
            let region = Region {
                left: part(left, picture.width),
                top: part(top, picture.height),
                width: part(width, picture.width).max(1),
                height: part(height, picture.height).max(1),
            };
            cropped(region, picture)
        }
    }
}

/// Returns the part of a region inside the picture.
fn cropped(region: Region, picture: Size) -> Result<Region, ImageRequestError> {
    let Region { left, top, width, height } = region;
    if left >= picture.width || top >= picture.height {
        return Err(Outside);
    }
    let (width, height) = (width.min(picture.width - left), height.min(picture.height - top));
    Ok(Region { left, top, width, height })
}

fn size_of(requested: RequestedSize, region: Region) -> Result<Size, ImageRequestError> {
    let RequestedSize { upscaled, form } = requested;
    // Both sides have a pixel at least: thin pictures have thumbnails, too.
    let scaled = |side: u32, by: f64| ((f64::from(side) * by).round() as u32).max(1);
    let ratio = f64::from(region.width) / f64::from(region.height);
    let size = match form {
        SizeForm::Max => return Ok(scaled_within(region, MAX_SIDE, MAX_SIDE, upscaled)),
        // IIIF's validator wants no image (`size_noup`), although the standard's text would permit the region's own
        // size.
        SizeForm::Confined { width, height }
            if !upscaled && width > region.width && height > region.height =>
        {
            return Err(Enlarged);
        }
        SizeForm::Confined { width, height } => {
            return Ok(scaled_within(region, width.min(MAX_SIDE), height.min(MAX_SIDE), upscaled));
        }
        SizeForm::Percent(percent) => {
            let by = percent / 100.0;
            Size { width: scaled(region.width, by), height: scaled(region.height, by) }
        }
        SizeForm::Sides { width, height } => Size {
            width: width.unwrap_or_else(|| scaled(height.unwrap_or(1), ratio)),
            height: height.unwrap_or_else(|| scaled(width.unwrap_or(1), 1.0 / ratio)),
        },
    };
    if !upscaled && (size.width > region.width || size.height > region.height) {
        return Err(Enlarged);
    }
    if size.width > MAX_SIDE || size.height > MAX_SIDE || size.pixels() > MAX_PIXELS {
        return Err(TooLarge);
    }
    Ok(size)
}

/// Returns the largest size with a region's aspect ratio within two sides and [`MAX_PIXELS`].
fn scaled_within(region: Region, max_width: u32, max_height: u32, upscaled: bool) -> Size {
    let (width, height) = (f64::from(region.width), f64::from(region.height));
    let area = (MAX_PIXELS as f64 / (width * height)).sqrt();
    let scale = (f64::from(max_width) / width).min(f64::from(max_height) / height).min(area);
    let scale = if upscaled { scale } else { scale.min(1.0) };
    let size = |round: fn(f64) -> f64| Size {
        width: (round(width * scale) as u32).clamp(1, max_width),
        height: (round(height * scale) as u32).clamp(1, max_height),
    };
    let nearest = size(f64::round);
    if nearest.pixels() > MAX_PIXELS { size(|side| (side + 1e-6).floor()) } else { nearest }
}

/// Returns the stored image that is exactly the requested one.
fn stored(request: &ImageRequest, dzi: &Dzi, renders: bool) -> Result<Image, ImageRequestError> {
    let region = match request.region {
        RequestedRegion::Full => whole(dzi.size),
        RequestedRegion::Pixels(region) => cropped(region, dzi.size)?,
        RequestedRegion::Square | RequestedRegion::Percent(_) => return Err(NotStored),
    };
    let sides = match request.size.form {
        SizeForm::Max => None,
        SizeForm::Sides { width, height } => Some((width, height)),
        SizeForm::Percent(_) | SizeForm::Confined { .. } => return Err(NotStored),
    };
    let is_changed = request.mirrored || request.turn != Turn::None || request.colours != Colours::Colour;
    if is_changed || request.size.upscaled {
        return Err(NotStored);
    }
    if let Some((width, height)) = sides
        && (width.is_some_and(|width| width > region.width)
            || height.is_some_and(|height| height > region.height))
    {
        return Err(Enlarged);
    }
    let fits = |size: Size, max: Size| match sides {
        None => size == max,
        Some((width, height)) => {
            width.is_none_or(|width| width == size.width) && height.is_none_or(|height| height == size.height)
        }
    };
    let own = Size { width: region.width, height: region.height };
    let is_tile = request.format == image_format(dzi.tile_format);
    let tile = (0..=dzi.max_level())
        .rev()
        .filter_map(|level| tile_at(level, region, dzi))
        .find(|(_, size)| is_tile && fits(*size, own));
    let preview = || {
        let size = PreviewKind::Large.size(dzi.size);
        let max = max_size(dzi, renders, false);
        let is_preview = region == whole(dzi.size) && request.format == Format::Jpg && fits(size, max);
        is_preview.then_some((StoredImage::Preview, size))
    };
    let found = tile.map(|(object, size)| (StoredImage::Tile(object), size)).or_else(preview);
    let (stored, size) = found.ok_or(NotStored)?;
    Ok(Image { rendering: plain(region, size, request.format), stored: Some(stored) })
}

/// Returns the tile of a level that shows exactly this region, and its size. The region is a tile of the level times
/// the scale factor, or ends with the picture; the size is that divided by the factor and rounded up, as the levels of
/// a Deep Zoom Image are (<https://iiif.io/api/image/3.0/implementation/#3-tile-region-parameter-calculation>).
fn tile_at(level: u32, region: Region, dzi: &Dzi) -> Option<(PyramidObject, Size)> {
    if dzi.tile_overlap > 0 && dzi.grid(level) != (1, 1) {
        return None;
    }
    let scale = scale_factor(dzi, level);
    let step = u64::from(dzi.tile_size.max(1)) * scale;
    let place = |start: u32, length: u32, side: u32| {
        let start = u64::from(start);
        let is_tile = start % step == 0 && u64::from(length) == step.min(u64::from(side) - start);
        is_tile.then(|| ((start / step) as u32, u64::from(length).div_ceil(scale) as u32))
    };
    let (column, width) = place(region.left, region.width, dzi.size.width)?;
    let (row, height) = place(region.top, region.height, dzi.size.height)?;
    let object = PyramidObject::Tile { level, column, row, format: dzi.tile_format };
    Some((object, Size { width, height }))
}

/// Returns the scale factor of a level: pixels of the full image per pixel of the level, in each direction.
pub fn scale_factor(dzi: &Dzi, level: u32) -> u64 {
    1 << dzi.max_level().saturating_sub(level).min(32)
}

#[cfg(test)]
mod tests;
