//! Options as the Python package passes them: a dictionary with libvips' names and values.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use edgezoom_pyramid::codecs::{Bounds, DecodeOptions};
use edgezoom_pyramid::sinks::{ArchiveFormat, Site, Tree};
use edgezoom_pyramid::{Angle, Depth, Options, RegionShrink, TileFormat, TileLayout};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The dictionary. `edgezoom/options.py` describes and makes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    layout: Option<String>,
    tile_size: Option<u32>,
    overlap: Option<u32>,
    depth: Option<String>,
    region_shrink: Option<String>,
    centre: bool,
    angle: Option<String>,
    background: Option<[u8; 3]>,
    skip_blanks: Option<i32>,
    id: Option<String>,
    properties: bool,
    container: Option<String>,
    /// Name of a pyramid that has no path.
    pub imagename: Option<String>,
    /// Extension of tiles, without a dot.
    extension: Option<String>,
    quality: Option<u8>,
    pub replace: bool,
    strict: bool,
    page: Option<u32>,
    dpi: Option<u32>,
    threads: Option<usize>,
    memory: Option<u64>,
    max_pixels: Option<u64>,
    pub pdfium: Option<PathBuf>,
    /// Contents of the viewer's files.
    viewer: Option<[String; 3]>,
    /// True if a site has vectors.
    vectors: bool,
    /// Title of a picture that states none.
    name: Option<String>,
    alt: Option<String>,
}

/// Returns the value with a name, or `None` for no name.
fn one_of<T: Copy>(option: &str, name: Option<&str>, values: &[(&str, T)]) -> PyResult<Option<T>> {
    let Some(name) = name else { return Ok(None) };
    let value = values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let known: Vec<&str> = values.iter().map(|(known, _)| *known).collect();
    let wrong =
        || PyValueError::new_err(format!("{option} is {name:?}, and has to be one of {}", known.join(", ")));
    value.map(Some).ok_or_else(wrong)
}

impl Settings {
    /// Returns the options of a pyramid.
    pub fn options(&self) -> PyResult<Options> {
        let layouts = [
            ("dz", TileLayout::Dz),
            ("zoomify", TileLayout::Zoomify),
            ("google", TileLayout::Google),
            ("iiif", TileLayout::Iiif),
            ("iiif3", TileLayout::Iiif3),
        ];
        let depths = [("onepixel", Depth::OnePixel), ("onetile", Depth::OneTile), ("one", Depth::One)];
        let shrinks = [
            ("mean", RegionShrink::Mean),
            ("mode", RegionShrink::Mode),
            ("nearest", RegionShrink::Nearest),
            ("median", RegionShrink::Median),
            ("max", RegionShrink::Max),
            ("min", RegionShrink::Min),
        ];
        let angles = [("d0", Angle::D0), ("d90", Angle::D90), ("d180", Angle::D180), ("d270", Angle::D270)];
        let formats = [
            ("jpg", TileFormat::Jpg),
            ("jpeg", TileFormat::Jpg),
            ("png", TileFormat::Png),
            ("webp", TileFormat::Webp),
        ];
        let defaults =
            Options::of_layout(one_of("layout", self.layout.as_deref(), &layouts)?.unwrap_or_default());
        let mut options = Options {
            tile_size: self.tile_size.unwrap_or(defaults.tile_size),
            overlap: self.overlap.unwrap_or(defaults.overlap),
            quality: self.quality.unwrap_or(defaults.quality),
            format: one_of("suffix", self.extension.as_deref(), &formats)?,
            depth: one_of("depth", self.depth.as_deref(), &depths)?.unwrap_or(defaults.depth),
            skip_blanks: self.skip_blanks.map_or(defaults.skip_blanks, |within| u16::try_from(within).ok()),
            background: self.background.unwrap_or(defaults.background),
            region_shrink: one_of("region_shrink", self.region_shrink.as_deref(), &shrinks)?
                .unwrap_or_default(),
            centre: self.centre,
            angle: one_of("angle", self.angle.as_deref(), &angles)?.unwrap_or_default(),
            strict: self.strict,
            threads: self.threads.and_then(NonZeroUsize::new).unwrap_or(defaults.threads),
            ..defaults
        };
        options.drawing.page = self.page.and_then(NonZeroU32::new);
        options.drawing.dpi = self.dpi.unwrap_or(options.drawing.dpi);
        options.drawing.text = self.viewer.is_some();
        options.drawing.vectors = self.viewer.is_some() && self.vectors;
        options.check().map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(options)
    }

    /// Returns the names of a pyramid's files.
    pub fn tree(&self) -> PyResult<Tree> {
        let mut tree = Tree::of(&self.options()?).with_properties(self.properties);
        if let Some(id) = &self.id {
            tree = tree.with_id(id);
        }
        Ok(if self.extension.as_deref() == Some("jpeg") { tree.with_jpeg_extension() } else { tree })
    }

    /// Returns the archive to write; `None` is a folder.
    pub fn container(&self) -> PyResult<Option<Option<ArchiveFormat>>> {
        let containers = [("fs", None), ("zip", Some(ArchiveFormat::Zip)), ("szi", Some(ArchiveFormat::Szi))];
        one_of("container", self.container.as_deref(), &containers)
    }

    /// Returns the site to write beside a folder's pyramid, and that pyramid only.
    pub fn site(&self, of_folder: bool) -> PyResult<Option<Site>> {
        let Some(viewer) = self.viewer.clone() else { return Ok(None) };
        let Options { layout, depth, skip_blanks, .. } = self.options()?;
        if !of_folder || (layout, depth, skip_blanks) != (TileLayout::Dz, Depth::OnePixel, None) {
            return Err(PyValueError::new_err("a viewer needs a folder with all tiles of Deep Zoom"));
        }
        let (name, alternative) = (self.name.clone().unwrap_or_default(), self.alt.clone());
        Ok(Some(Site { viewer, name, alternative }))
    }

    /// Returns the options to decode a picture for its own sake.
    pub fn decode_options(&self) -> PyResult<DecodeOptions> {
        let Options { drawing, strict, threads, .. } = self.options()?;
        Ok(DecodeOptions { drawing, strict, threads, ..DecodeOptions::default() })
    }

    /// Returns the bounds: this machine's, unless the caller has others.
    pub fn bounds(&self) -> Bounds {
        let bounds = Bounds::of_machine();
        Bounds {
            memory: self.memory.unwrap_or(bounds.memory),
            pixels: self.max_pixels.unwrap_or(bounds.pixels),
            ..bounds
        }
    }
}
