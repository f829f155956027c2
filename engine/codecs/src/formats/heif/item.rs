//! The primary picture of a file: its coded frames, its alpha, and its properties.
//!
//! Source: ISO/IEC 23008-12, 6.6.2.3 (grids), 6.4.4 and 6.6.2.1.3 (auxiliary and premultiplied pictures); AV1 Image
//! File Format (AVIF) 1.1.0, sections 2 and 4.

use edgezoom_geometry::Size;
use heifer::color::ColorParams;
use heifer::heifer_isobmff::boxes::{ColorInfo, Property};
use heifer::heifer_isobmff::{HeifFile, ItemId};

use super::transform::Transform;
use crate::{Format, SourceError};

/// The values of `auxC` that mean alpha: in HEVC, and in general.
const ALPHA: [&str; 2] = ["urn:mpeg:hevc:2015:auxid:1", "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    Hevc,
    Av1,
}

/// A picture of one frame, or of a grid of frames of equal size.
pub struct Coded {
    pub codec: Codec,
    /// The frames, row by row.
    pub cells: Vec<ItemId>,
    pub columns: usize,
    pub cell_size: Size,
    /// The picture's size. Cells at its right and lower edge may extend beyond it.
    pub size: Size,
    /// The colour coding of the samples, if the container gives it.
    pub params: Option<ColorParams>,
}

/// The primary picture of a file.
pub struct Primary {
    pub colours: Coded,
    pub alpha: Option<Coded>,
    /// True if the colours are multiplied by alpha.
    pub is_premultiplied: bool,
    pub transform: Transform,
}

impl Primary {
    /// Finds the primary picture. Returns `None` if it is not made of frames, but is, for example, an overlay.
    pub fn find(file: &HeifFile<'_>, format: &'static Format) -> Result<Option<Self>, SourceError> {
        let id = file.primary_id;
        let Some(colours) = Coded::find(file, id, format)? else { return Ok(None) };
        let alpha = match alpha_of(file, id) {
            Some(alpha) => match Coded::find(file, alpha, format)? {
                Some(alpha) => Some(alpha),
                None => return Ok(None),
            },
            // Old encoders give each cell of a grid an alpha of its own.
            None if colours.cells != [id] => {
                let cells: Option<Vec<ItemId>> =
                    colours.cells.iter().map(|&cell| alpha_of(file, cell)).collect();
                let codec = cells.as_ref().and_then(|cells| codec(file, *cells.first()?));
                cells.zip(codec).map(|(cells, codec)| Coded { cells, codec, params: None, ..colours })
            }
            None => None,
        };
        if let Some(alpha) = &alpha
            && (alpha.size.width < colours.size.width || alpha.size.height < colours.size.height)
        {
            return Err(format.unsupported("its alpha plane has another size"));
        }
        let properties = file.item_properties(id).map_err(|error| format.corrupt(error))?;
        let transform = Transform::of(properties, colours.size)
            .ok_or_else(|| format.corrupt("its crop leaves nothing"))?;
        let is_premultiplied = alpha.is_some() && !file.referenced_items(id, b"prem").is_empty();
        Ok(Some(Self { colours, alpha, is_premultiplied, transform }))
    }
}

impl Coded {
    fn find(file: &HeifFile<'_>, id: ItemId, format: &'static Format) -> Result<Option<Self>, SourceError> {
        let corrupt = |error| format.corrupt(error);
        let size_of = |id: ItemId| -> Result<Option<Size>, SourceError> {
            let size = file.image_size(id).map_err(corrupt)?;
            Ok(size.map(|(width, height)| Size { width, height }).filter(|size| size.pixels() > 0))
        };
        let kind = file.item(id).map_err(corrupt)?.item_type;
        let (cells, columns, size) = if kind.0 == *b"grid" {
            let grid = file.grid(id).map_err(corrupt)?;
            let cells = file.referenced_items(id, b"dimg").to_vec();
            let columns = usize::from(grid.columns);
            if cells.is_empty() || cells.len() != columns * usize::from(grid.rows) {
                return Err(format.corrupt("its grid is invalid"));
            }
            (cells, columns, Size { width: grid.output_width, height: grid.output_height })
        } else {
            let Some(size) = size_of(id)? else { return Ok(None) };
            (vec![id], 1, size)
        };
        let first = cells[0];
        let (Some(codec), Some(cell_size)) = (codec(file, first), size_of(first)?) else { return Ok(None) };
        if cells != [id] {
            if !cells.iter().all(|&cell| is_plain(file, cell, codec)) {
                return Ok(None);
            }
            let rows = (cells.len() / columns) as u64;
            if u64::from(cell_size.width) * (columns as u64) < u64::from(size.width)
                || u64::from(cell_size.height) * rows < u64::from(size.height)
            {
                return Err(format.corrupt("its grid is smaller than the picture"));
            }
        }
        let params = coded_params(file, id).or_else(|| coded_params(file, first));
        Ok(Some(Self { codec, cells, columns, cell_size, size, params }))
    }

    /// Returns the number of rows of the grid.
    pub fn cell_rows(&self) -> usize {
        self.cells.len() / self.columns.max(1)
    }
}

/// Returns the codec of a frame, or `None` if the item is not a frame of a supported codec.
fn codec(file: &HeifFile<'_>, id: ItemId) -> Option<Codec> {
    match &file.item(id).ok()?.item_type.0 {
        b"av01" => Some(Codec::Av1),
        b"hvc1" | b"hev1" => Some(Codec::Hevc),
        _ => None,
    }
}

/// Returns true if a cell of a grid is a frame of this codec and is shown as it is coded.
fn is_plain(file: &HeifFile<'_>, id: ItemId, expected: Codec) -> bool {
    let is_transform = |property: &Property| {
        matches!(property, Property::CleanAperture { .. } | Property::Rotation(1..) | Property::Mirror(_))
    };
    codec(file, id) == Some(expected)
        && file.item_properties(id).is_ok_and(|mut properties| !properties.any(is_transform))
}

/// Returns the item that is the alpha of another.
fn alpha_of(file: &HeifFile<'_>, id: ItemId) -> Option<ItemId> {
    let is_alpha = |other: &ItemId| {
        file.item_properties(*other).is_ok_and(|mut properties| {
            properties.any(|property| {
                matches!(property, Property::AuxiliaryType(kind) if ALPHA.contains(&kind.as_str()))
            })
        })
    };
    file.referencing_items(id, b"auxl").into_iter().find(is_alpha)
}

fn coded_params(file: &HeifFile<'_>, id: ItemId) -> Option<ColorParams> {
    file.item_properties(id).ok()?.find_map(|property| match *property {
        Property::Color(ColorInfo::Nclx { matrix, full_range, .. }) => {
            Some(ColorParams { matrix, full_range })
        }
        _ => None,
    })
}
