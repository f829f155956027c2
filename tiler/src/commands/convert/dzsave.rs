//! The options that `tiler convert` has in common with libvips' `dzsave`, by the same names and with the same meaning.

use clap::builder::PossibleValue;
use clap::value_parser;
use edgezoom_content::TileFormat;
use edgezoom_pyramid::sinks::Tree;
use edgezoom_pyramid::{Angle, Depth, RegionShrink, TileLayout};
use edgezoom_tiler::renderer::RenderOptions;

use super::suffix::Suffix;
use crate::commands::flags::one_of;

#[derive(clap::Args)]
#[command(next_help_heading = "Tiles")]
pub(super) struct TileArgs {
    /// Layout of the files
    #[arg(long, default_value = "dz", value_parser = one_of([
        (PossibleValue::new("dz").help("<OUTPUT>.dzi and <OUTPUT>_files/"), TileLayout::Dz),
        (PossibleValue::new("zoomify").help("<OUTPUT>/ImageProperties.xml and TileGroup0/"), TileLayout::Zoomify),
        (PossibleValue::new("google").help("<OUTPUT>/<zoom>/<row>/<column>.jpg"), TileLayout::Google),
        (PossibleValue::new("iiif").help("<OUTPUT>/info.json for version 2"), TileLayout::Iiif),
        (PossibleValue::new("iiif3").help("<OUTPUT>/info.json for version 3"), TileLayout::Iiif3),
    ]))]
    layout: TileLayout,
    /// Width and height of a tile without overlap, in pixels [default: 512; 256 in zoomify and google]
    #[arg(long, value_parser = value_parser!(u32).range(1..=4096))]
    tile_size: Option<u32>,
    /// Overlap of neighbouring tiles, in pixels
    #[arg(long, default_value_t = RenderOptions::default().overlap)]
    overlap: u32,
    /// Smallest level [default: onepixel in dz, otherwise onetile]
    #[arg(long, value_parser = one_of([
        (PossibleValue::new("onepixel"), Depth::OnePixel),
        (PossibleValue::new("onetile"), Depth::OneTile),
        (PossibleValue::new("one"), Depth::One),
    ]))]
    depth: Option<Depth>,
    /// Quality of JPEG and WebP tiles, 1 to 100
    #[arg(long, default_value_t = RenderOptions::default().quality, value_parser = value_parser!(u8).range(1..=100))]
    quality: u8,
    /// Format of the tiles [default: PNG if the picture has transparency or is a document in greys or one colour,
    /// otherwise JPEG]
    #[arg(long, value_parser = one_of([
        (PossibleValue::new("jpg"), TileFormat::Jpg),
        (PossibleValue::new("png"), TileFormat::Png),
        (PossibleValue::new("webp").help("lossy, for viewers that take it"), TileFormat::Webp),
    ]))]
    format: Option<TileFormat>,
    /// Format and quality in libvips' words, such as .png, .jpg[Q=85] or .webp
    #[arg(long, conflicts_with_all = ["format", "quality"])]
    suffix: Option<Suffix>,
    /// Choice of a pixel of a smaller level from the four that it covers. For pictures whose colours are labels, such as
    /// classes of a map, take mode or nearest, and .png
    #[arg(long, default_value = "mean", value_parser = one_of([
        (PossibleValue::new("mean").help("their mean"), RegionShrink::Mean),
        (PossibleValue::new("mode").help("the most frequent"), RegionShrink::Mode),
        (PossibleValue::new("nearest").help("the upper left"), RegionShrink::Nearest),
        (PossibleValue::new("median").help("the middle of each channel"), RegionShrink::Median),
        (PossibleValue::new("max").help("the largest of each channel"), RegionShrink::Max),
        (PossibleValue::new("min").help("the smallest of each channel"), RegionShrink::Min),
    ]))]
    region_shrink: RegionShrink,
    /// Rotation in degrees, clockwise
    #[arg(long, default_value = "0", value_parser = one_of([
        (PossibleValue::new("0").alias("d0"), Angle::D0),
        (PossibleValue::new("90").alias("d90"), Angle::D90),
        (PossibleValue::new("180").alias("d180"), Angle::D180),
        (PossibleValue::new("270").alias("d270"), Angle::D270),
    ]))]
    angle: Angle,
    /// Put the picture into the middle of a square, with --layout google
    #[arg(long, alias = "center")]
    centre: bool,
    /// Colour behind transparent pixels and past the picture's edge: one value, or red, green and blue, such as "255
    /// 128 0"
    #[arg(long, default_value = "255", value_parser = colour)]
    background: [u8; 3],
    /// Leave out tiles that differ from the background by at most this much; -1 leaves out none [default: 5 in google,
    /// otherwise -1]
    #[arg(long, allow_negative_numbers = true, value_parser = value_parser!(i32).range(-1..=65535))]
    skip_blanks: Option<i32>,
    /// URL of the folder where IIIF clients will find the pyramid's folder
    #[arg(long, default_value = "https://example.com/iiif")]
    id: String,
    /// Write vips-properties.xml, too
    #[arg(long)]
    properties: bool,
}

impl TileArgs {
    /// Returns the options of a rendering. Those of other kinds have their defaults.
    pub(super) fn options(&self) -> RenderOptions {
        let defaults = RenderOptions::of_layout(self.layout);
        RenderOptions {
            tile_size: self.tile_size.unwrap_or(defaults.tile_size),
            overlap: self.overlap,
            quality: self.suffix.and_then(|suffix| suffix.quality).unwrap_or(self.quality),
            format: self.suffix.map(|suffix| suffix.format).or(self.format),
            depth: self.depth.unwrap_or(defaults.depth),
            skip_blanks: self.skip_blanks.map_or(defaults.skip_blanks, |within| u16::try_from(within).ok()),
            background: self.background,
            region_shrink: self.region_shrink,
            centre: self.centre,
            angle: self.angle,
            ..defaults
        }
    }

    /// Returns the names of the files.
    pub(super) fn tree(&self) -> Tree {
        let tree = Tree::of(&self.options()).with_id(&*self.id).with_properties(self.properties);
        if self.suffix.is_some_and(|suffix| suffix.is_jpeg) { tree.with_jpeg_extension() } else { tree }
    }

    /// Returns true if the pyramid is a directory of its name.
    pub(super) fn is_directory(&self) -> bool {
        self.layout != TileLayout::Dz
    }

    /// Returns true if the tiles are all that viewers of Deep Zoom expect.
    pub(super) fn is_whole_deep_zoom(&self) -> bool {
        let RenderOptions { layout, depth, skip_blanks, .. } = self.options();
        layout == TileLayout::Dz && depth == Depth::OnePixel && skip_blanks.is_none()
    }
}

/// Parses a colour as libvips does: one value for all channels, or three, separated by spaces or commas.
fn colour(text: &str) -> Result<[u8; 3], String> {
    let values: Result<Vec<u8>, _> =
        text.split([' ', ',']).filter(|value| !value.is_empty()).map(str::parse).collect();
    match values.as_deref() {
        Ok([grey]) => Ok([*grey; 3]),
        Ok(&[red, green, blue]) => Ok([red, green, blue]),
        _ => Err("a colour is one or three values from 0 to 255".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_has_one_or_three_values() {
        assert_eq!(colour("255"), Ok([255; 3]));
        assert_eq!(colour("1 2 3"), Ok([1, 2, 3]));
        assert_eq!(colour("1,2, 3"), Ok([1, 2, 3]));
        for text in ["", "1 2", "256", "red", "1 2 3 4"] {
            assert!(colour(text).is_err(), "{text}");
        }
    }
}
