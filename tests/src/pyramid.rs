//! A pyramid as a viewer gets it: reads the descriptor as XML, finds the tiles by an independent implementation of the
//! Deep Zoom format, and compares each tile with the source.

use anyhow::{Context, Result, ensure};
use edgezoom_test_pictures::compared::{copy, cut, decibels, halved, mean_square};
use futures::{StreamExt, TryStreamExt};
use image::{ImageFormat, RgbaImage};
use serde_json::Value;

use crate::Client;
use crate::client::Answer;

/// A parsed descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// File extension of the tiles.
    pub format: String,
    /// Overlap in pixels.
    pub overlap: u32,
    /// Side of a tile in pixels, without overlap.
    pub tile_size: u32,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// A completely fetched pyramid.
pub struct Pyramid {
    /// URL of the descriptor.
    pub url: String,
    /// The descriptor.
    pub descriptor: Descriptor,
    tiles: Vec<(Place, RgbaImage)>,
}

/// The address of a tile, and the part of its level that it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    level: u32,
    column: u32,
    row: u32,
    left: u32,
    top: u32,
    width: u32,
    height: u32,
}

/// The namespace of descriptors since Deep Zoom Composer was released.
const NAMESPACE: &str = "http://schemas.microsoft.com/deepzoom/2008";
/// Smallest side of a level that is compared.
const COMPARED_SIDE: u32 = 64;
/// Minimum PSNR of a single tile in decibels. The whole picture has a higher one.
const TILE_PSNR: f64 = 28.0;

impl Descriptor {
    /// Parses a descriptor.
    ///
    /// # Errors
    /// It is no Deep Zoom descriptor.
    pub fn parse(xml: &str) -> Result<Self> {
        let document = roxmltree::Document::parse(xml)?;
        let image = document.root_element();
        ensure!(image.has_tag_name((NAMESPACE, "Image")), "no Image of 2008: {xml}");
        let size =
            image.children().find(|child| child.has_tag_name((NAMESPACE, "Size"))).context("no Size")?;
        let text = |node: roxmltree::Node<'_, '_>, name| {
            node.attribute(name).map(str::to_owned).with_context(|| format!("no {name}: {xml}"))
        };
        let number = |node, name| Ok::<u32, anyhow::Error>(text(node, name)?.parse()?);
        Ok(Self {
            format: text(image, "Format")?,
            overlap: number(image, "Overlap")?,
            tile_size: number(image, "TileSize")?,
            width: number(size, "Width")?,
            height: number(size, "Height")?,
        })
    }

    /// Returns the level of full size.
    #[must_use]
    pub fn top_level(&self) -> u32 {
        (0..).find(|level| 1_u64 << level >= u64::from(self.width.max(self.height))).unwrap_or_default()
    }

    /// Returns the width and height of a level.
    #[must_use]
    pub fn level_size(&self, level: u32) -> (u32, u32) {
        let scale = 1_u64 << (self.top_level() - level);
        let side = |full: u32| u64::from(full).div_ceil(scale) as u32;
        (side(self.width), side(self.height))
    }

    /// Returns the places of all tiles.
    #[must_use]
    pub fn places(&self) -> Vec<Place> {
        let mut places = vec![];
        for level in 0..=self.top_level() {
            let (width, height) = self.level_size(level);
            for row in 0..height.div_ceil(self.tile_size) {
                for column in 0..width.div_ceil(self.tile_size) {
                    let (left, right) = self.span(column, width);
                    let (top, bottom) = self.span(row, height);
                    let (width, height) = (right - left, bottom - top);
                    places.push(Place { level, column, row, left, top, width, height });
                }
            }
        }
        places
    }

    /// Returns the first and last pixel (exclusive) of a column or row of tiles.
    fn span(&self, number: u32, side: u32) -> (u32, u32) {
        let begin = (number * self.tile_size).saturating_sub(self.overlap);
        (begin, ((number + 1) * self.tile_size + self.overlap).min(side))
    }
}

impl Pyramid {
    /// Fetches the pyramid of a ready content.
    ///
    /// # Errors
    /// The descriptor differs from the content object, or a tile is missing or has a wrong type or size.
    pub async fn fetch(client: &Client, content: &Value) -> Result<Self> {
        let dzi = &content["dzi"];
        let url = dzi["url"].as_str().with_context(|| format!("no dzi: {content}"))?.to_owned();
        let answer = client.get(&url).await?;
        ensure!(answer.status == 200, "{url}: {}", answer.status);
        let descriptor = Descriptor::parse(&answer.text())?;
        let told = (&dzi["width"], &dzi["height"], &dzi["tileSize"], &dzi["tileOverlap"], &dzi["tileFormat"]);
        let Descriptor { format, overlap, tile_size, width, height } = &descriptor;
        ensure!(
            told == (
                &(*width).into(),
                &(*height).into(),
                &(*tile_size).into(),
                &(*overlap).into(),
                &format.as_str().into()
            ),
            "the content says {dzi}, the descriptor {descriptor:?}"
        );
        let stem = url.strip_suffix(".dzi").context("not a .dzi")?;
        let fetches = descriptor.places().into_iter().map(|place| {
            let (url, format) = (format!("{stem}_files/{}", place.path(&descriptor)), &descriptor.format);
            async move { Ok((place, tile(&client.get(&url).await?, place, format).context(url)?)) }
        });
        let tiles: Vec<_> = futures::stream::iter(fetches)
            .buffer_unordered(8)
            .try_collect::<Vec<_>>()
            .await
            .map_err(|error: anyhow::Error| error)?;
        Ok(Self { url, descriptor, tiles })
    }

    /// Assembles a level from its tiles without their overlap.
    #[must_use]
    pub fn level(&self, level: u32) -> RgbaImage {
        let (width, height) = self.descriptor.level_size(level);
        let mut picture = RgbaImage::new(width, height);
        for (place, tile) in self.tiles.iter().filter(|(place, _)| place.level == level) {
            let (x, y) = (place.column * self.descriptor.tile_size, place.row * self.descriptor.tile_size);
            copy(tile, (x - place.left, y - place.top), &mut picture, (x, y));
        }
        picture
    }

    /// Assembles the level of full size.
    #[must_use]
    pub fn picture(&self) -> RgbaImage {
        self.level(self.descriptor.top_level())
    }

    /// Compares the pyramid with its source: the assembled picture by this PSNR in decibels, and every tile with its
    /// place and level by a lower one.
    ///
    /// # Errors
    /// Something differs.
    pub fn equals(&self, source: &RgbaImage, psnr: f64) -> Result<()> {
        let top = self.descriptor.top_level();
        let picture = self.picture();
        ensure!(picture.dimensions() == source.dimensions(), "the picture has another size");
        let whole = decibels(mean_square(&picture, source, (0, 0)));
        ensure!(whole >= psnr, "the rebuilt picture has {whole:.1} dB");
        let mut reference = source.clone();
        for level in (0..=top).rev() {
            let (width, height) = reference.dimensions();
            ensure!((width, height) == self.descriptor.level_size(level), "level {level} has another size");
            if width.min(height) < COMPARED_SIDE {
                break;
            }
            for (place, tile) in self.tiles.iter().filter(|(place, _)| place.level == level) {
                fits(*place, tile, &reference).with_context(|| place.path(&self.descriptor))?;
            }
            reference = halved(&reference);
        }
        Ok(())
    }
}

impl Place {
    fn path(&self, descriptor: &Descriptor) -> String {
        format!("{}/{}_{}.{}", self.level, self.column, self.row, descriptor.format)
    }
}

/// Decodes a tile and checks its size.
fn tile(answer: &Answer, place: Place, format: &str) -> Result<RgbaImage> {
    ensure!(answer.status == 200, "{}", answer.status);
    let (format, media_type) =
        if format == "png" { (ImageFormat::Png, "image/png") } else { (ImageFormat::Jpeg, "image/jpeg") };
    ensure!(answer.header("content-type") == media_type, "is served as {}", answer.header("content-type"));
    let tile = image::load_from_memory_with_format(&answer.body, format)?.into_rgba8();
    let (width, height) = tile.dimensions();
    ensure!(
        (width, height) == (place.width, place.height),
        "has {width}x{height}, not {}x{}",
        place.width,
        place.height
    );
    Ok(tile)
}

/// Checks that a tile shows its place of the level, and not a place one pixel beside it.
fn fits(place: Place, tile: &RgbaImage, level: &RgbaImage) -> Result<()> {
    let shown = cut(level, (place.left, place.top), (place.width, place.height));
    let error = |by| mean_square(tile, &shown, by);
    let here = error((0, 0));
    ensure!(decibels(here) >= TILE_PSNR, "has {:.1} dB", decibels(here));
    if place.width.min(place.height) >= COMPARED_SIDE {
        for by in [(-1, 0), (1, 0), (0, -1), (0, 1)] {
            ensure!(error(by) > here || here == 0.0, "fits better when moved by {by:?}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture;

    fn descriptor() -> Descriptor {
        Descriptor { format: "jpg".to_owned(), overlap: 1, tile_size: 254, width: 600, height: 400 }
    }

    fn pyramid(source: &RgbaImage) -> Pyramid {
        let descriptor = descriptor();
        let mut levels = vec![source.clone()];
        while levels.len() <= descriptor.top_level() as usize {
            levels.push(halved(&levels[levels.len() - 1]));
        }
        let tile = |place: Place| {
            let level = &levels[(descriptor.top_level() - place.level) as usize];
            (place, cut(level, (place.left, place.top), (place.width, place.height)))
        };
        let tiles = descriptor.places().into_iter().map(tile).collect();
        Pyramid { url: String::new(), descriptor, tiles }
    }

    fn source() -> RgbaImage {
        image::DynamicImage::from(picture::photograph(600, 400, 1)).into_rgba8()
    }

    #[test]
    fn a_correct_pyramid_passes() {
        let source = source();
        let pyramid = pyramid(&source);
        assert_eq!(pyramid.picture(), source);
        pyramid.equals(&source, 60.0).unwrap();
    }

    #[test]
    fn a_tile_shifted_by_a_pixel_is_an_error() {
        let source = source();
        let mut pyramid = pyramid(&source);
        let (place, tile) = pyramid.tiles.last_mut().unwrap();
        *tile = cut(&source, (place.left - 1, place.top), (place.width, place.height));
        pyramid.equals(&source, 32.0).unwrap_err();
    }

    #[test]
    fn a_tile_of_another_level_is_an_error() {
        let source = source();
        let mut pyramid = pyramid(&source);
        let low = pyramid.tiles.iter().position(|(place, _)| place.level == 9).unwrap();
        let width = pyramid.tiles[low].1.width();
        pyramid.tiles[low].1 = cut(&source, (0, 0), (width, pyramid.tiles[low].1.height()));
        pyramid.equals(&source, 32.0).unwrap_err();
    }

    #[test]
    fn places_cover_every_level_with_overlap() {
        let places = descriptor().places();
        let of = |level| places.iter().filter(move |place| place.level == level).collect::<Vec<_>>();
        assert_eq!(of(10).len(), 6);
        let last = of(10)[5];
        assert_eq!((last.left, last.top, last.width, last.height), (507, 253, 93, 147));
        assert_eq!(of(8).len(), 1);
        assert_eq!((of(0)[0].width, of(0)[0].height), (1, 1));
    }

    #[test]
    fn a_descriptor_in_another_namespace_is_an_error() {
        let xml = r#"<Image xmlns="NS" Format="jpg" Overlap="1" TileSize="254"><Size Width="3" Height="2"/></Image>"#;
        Descriptor::parse(&xml.replace("NS", NAMESPACE)).unwrap();
        Descriptor::parse(&xml.replace("NS", "http://schemas.microsoft.com/deepzoom/2009")).unwrap_err();
    }
}
