//! The colours of pixels' numbers: a grey number is rescaled to what it measures and then shown through a window, or by a
//! table if the file has no window. An index is looked up in a palette.
//!
//! Source: DICOM PS3.3, C.7.6.3.1.5 and C.7.6.3.1.6 (palettes), C.11.1 (rescale slope and intercept, modality LUT),
//! C.11.2.1.1 (VOI LUT), C.11.2.1.2 (window center and width), C.11.2.1.3 (the functions of the window).

use super::FORMAT;
use super::codec::{Codec, Pixel};
use super::elements::{Elements, tag};
use crate::SourceError;
use crate::colour::samples::round_16;

/// The largest number of rows that are searched for the smallest and the largest number.
const MAX_ROWS: u32 = 4096;
/// The conversion of grey numbers to shades.
pub struct Window {
    slope: f64,
    intercept: f64,
    /// The table that takes the place of slope and intercept.
    modality: Option<Table>,
    shape: Shape,
    is_inverted: bool,
    /// The number of pixels that do not belong to the picture.
    padding: Option<i32>,
    /// The shades of all numbers of up to 16 bits.
    table: Vec<u8>,
    /// The number of the table's first shade.
    smallest: i32,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    /// Numbers of 8 bits without a window are shades already.
    Plain,
    Linear {
        center: f64,
        width: f64,
    },
    LinearExact {
        center: f64,
        width: f64,
    },
    Sigmoid {
        center: f64,
        width: f64,
    },
    /// The table of shades that the file has in place of a window.
    Table(Table),
    Unknown,
}

impl Window {
    pub fn of(elements: &Elements, pixel: Pixel, is_inverted: bool) -> Self {
        let center = elements.decimal(tag::CENTER);
        let width = elements.decimal(tag::WIDTH).filter(|&width| width > 0.0);
        let modality = Table::of(elements, tag::MODALITY_LUTS, pixel.is_signed);
        let is_signed = match &modality {
            Some(_) => false,
            None => {
                pixel.is_signed || elements.decimal(tag::INTERCEPT).is_some_and(|intercept| intercept < 0.0)
            }
        };
        let table = Table::of(elements, tag::VOI_LUTS, is_signed);
        let shape = match (center.zip(width), elements.text(tag::FUNCTION).as_deref()) {
            (Some((center, width)), Some("SIGMOID")) => Shape::Sigmoid { center, width },
            (Some((center, width)), Some("LINEAR_EXACT")) => Shape::LinearExact { center, width },
            (Some((center, width)), _) => Shape::Linear { center, width },
            (None, _) => match table {
                Some(table) => Shape::Table(table),
                None if pixel.stored == 8 && !pixel.is_signed && modality.is_none() => Shape::Plain,
                None => Shape::Unknown,
            },
        };
        let (slope, intercept) = match shape {
            Shape::Plain => (1.0, 0.0),
            _ => {
                (elements.decimal(tag::SLOPE).unwrap_or(1.0), elements.decimal(tag::INTERCEPT).unwrap_or(0.0))
            }
        };
        let padding = elements.number(tag::PADDING);
        let padding =
            padding.map(|number| if pixel.is_signed { i32::from(number as i16) } else { number.into() });
        let mut window =
            Self { slope, intercept, modality, shape, is_inverted, padding, table: Vec::new(), smallest: 0 };
        window.tabulate(pixel);
        window
    }

    /// Returns true if the file has no window and needs one.
    pub fn is_unknown(&self) -> bool {
        self.shape == Shape::Unknown
    }

    /// Makes a window of all numbers, from the smallest to the largest.
    pub fn show_all(&mut self, codec: &mut Codec, pixel: Pixel) -> Result<(), SourceError> {
        let mut row = vec![0; pixel.size.width as usize];
        let mut ends: Option<(i32, i32)> = None;
        for index in 0..pixel.size.height.min(MAX_ROWS) {
            match codec.read_row(&mut row) {
                // A file that is cut off is searched as far as it goes.
                Err(error) if index == 0 => return Err(error),
                Err(_) => break,
                Ok(()) => {}
            }
            for &number in row.iter().filter(|&&number| Some(number) != self.padding) {
                let (least, most) = ends.unwrap_or((number, number));
                ends = Some((least.min(number), most.max(number)));
            }
        }
        let (least, most) = ends.ok_or_else(|| FORMAT.corrupt("all of its pixels are padding"))?;
        let (one, other) = (self.measure(least), self.measure(most));
        let (low, high) = (one.min(other), one.max(other));
        self.shape =
            Shape::LinearExact { center: (low + high) / 2.0, width: (high - low).max(f64::MIN_POSITIVE) };
        self.tabulate(pixel);
        Ok(())
    }

    fn tabulate(&mut self, pixel: Pixel) {
        if pixel.stored <= 16 && !self.is_unknown() {
            self.smallest = if pixel.is_signed { -(1 << (pixel.stored - 1)) } else { 0 };
            self.table = (0..1 << pixel.stored).map(|index| self.computed(self.smallest + index)).collect();
        }
    }

    fn measure(&self, number: i32) -> f64 {
        match &self.modality {
            Some(table) => table.value(number.into()),
            None => self.slope * f64::from(number) + self.intercept,
        }
    }

    fn computed(&self, number: i32) -> u8 {
        let value = self.measure(number);
        let shade = match self.shape {
            Shape::Table(ref table) => table.value(value) / table.most,
            Shape::Plain | Shape::Unknown => value / 255.0,
            Shape::Linear { center, width } if width > 1.0 => (value - (center - 0.5)) / (width - 1.0) + 0.5,
            Shape::Linear { center, .. } => f64::from(u8::from(value > center - 0.5)),
            Shape::LinearExact { center, width } => (value - center) / width + 0.5,
            Shape::Sigmoid { center, width } => 1.0 / (1.0 + (-4.0 * (value - center) / width).exp()),
        };
        let shade = (shade.clamp(0.0, 1.0) * 255.0).round() as u8;
        if self.is_inverted { 255 - shade } else { shade }
    }

    pub fn shade(&self, number: i32) -> u8 {
        let index = usize::try_from(i64::from(number) - i64::from(self.smallest)).ok();
        index.and_then(|index| self.table.get(index).copied()).unwrap_or_else(|| self.computed(number))
    }
}

/// A table of values for consecutive numbers.
#[derive(Clone, Debug, PartialEq)]
struct Table {
    /// The number of the first value.
    first: f64,
    values: Vec<u16>,
    /// The greatest value that its entries may have.
    most: f64,
}

impl Table {
    /// Reads the table of a sequence's first item. `is_signed` is true if the numbers that it is for may be negative.
    ///
    /// ```text
    /// descriptor   count: u16, 0 for 65,536  first number  bits of each entry: u16
    /// ```
    fn of(elements: &Elements, sequence: u32, is_signed: bool) -> Option<Self> {
        let [count, first, bits] = *elements.numbers_in(sequence, tag::LUT_DESCRIPTOR) else { return None };
        let count = if count == 0 { 1 << 16 } else { usize::from(count) };
        let bytes = elements.bytes_in(sequence, tag::LUT_DATA)?;
        // Entries of 8 bits have a byte each, but some programs give each of them two.
        let mut values: Vec<u16> = if bits <= 8 && bytes.len() < 2 * count {
            bytes.iter().map(|&byte| byte.into()).collect()
        } else {
            elements.numbers_in(sequence, tag::LUT_DATA)
        };
        values.truncate(count);
        let greatest = values.iter().copied().max()?;
        let stated = (1_u32 << bits.clamp(1, 16)) - 1;
        let first = if is_signed { f64::from(first as i16) } else { first.into() };
        Some(Self { first, values, most: f64::from(stated.max(greatest.into())) })
    }

    /// Returns the value for a number. Numbers outside the table have its first or last value.
    fn value(&self, number: f64) -> f64 {
        let last = self.values.len().saturating_sub(1);
        let index = ((number - self.first).round().max(0.0) as usize).min(last);
        self.values.get(index).copied().unwrap_or_default().into()
    }
}

/// A palette of 8 or 16 bits.
pub struct Palette {
    /// The number of the first colour.
    first: i32,
    colours: Vec<[u8; 3]>,
}

impl Palette {
    pub fn of(elements: &Elements) -> Result<Self, SourceError> {
        let missing = || FORMAT.corrupt("its palette is missing");
        let mut channels = Vec::new();
        let mut first = 0;
        for (descriptor, values) in tag::DESCRIPTORS.into_iter().zip(tag::PALETTES) {
            let [count, start, bits] = *elements.numbers(descriptor) else { return Err(missing()) };
            // 65,536 does not fit into 16 bits.
            let count = if count == 0 { 1 << 16 } else { usize::from(count) };
            first = i32::from(start as i16);
            let bytes = elements.bytes(values).ok_or_else(missing)?;
            let mut channel: Vec<u8> = match bits {
                // Each 16 bits hold two colours, unless there are enough of them to hold one.
                8 if bytes.len() < 2 * count => bytes.to_vec(),
                8 => elements.numbers(values).into_iter().map(|value| value as u8).collect(),
                _ => elements.numbers(values).into_iter().map(round_16).collect(),
            };
            channel.resize(count, 0);
            channels.push(channel);
        }
        let [reds, greens, blues] = channels.as_slice() else { return Err(missing()) };
        let colours = reds.iter().zip(greens).zip(blues).map(|((&red, &green), &blue)| [red, green, blue]);
        Ok(Self { first, colours: colours.collect() })
    }

    /// Returns the colour of a number. Numbers outside the palette have its first or last colour.
    pub fn colour(&self, number: i32) -> [u8; 3] {
        let index = usize::try_from(i64::from(number) - i64::from(self.first)).unwrap_or(0);
        let last = self.colours.len().saturating_sub(1);
        self.colours.get(index.min(last)).copied().unwrap_or_default()
    }
}
