//! From a grey pixel's number to a shade: rescaled to what it measures, then the window of what is shown.
//!
//! Source: DICOM PS3.3, C.11.1.1.2 (rescale slope and intercept), C.11.2.1.2 (window center and width), C.11.2.1.3 (the
//! functions of the window).

use super::codec::Codec;
use super::elements::{Elements, tag};
use super::error::NAME;
use super::pixel::Pixel;
use crate::SourceError;

/// The rows that are looked at for the smallest and the largest number, at most.
const MAX_ROWS: u32 = 4096;

pub struct Window {
    slope: f64,
    intercept: f64,
    shape: Shape,
    is_inverted: bool,
    /// The number of pixels that are no part of the picture.
    padding: Option<i32>,
    /// The shades of numbers of at most 16 bits, from the smallest one.
    table: Vec<u8>,
    smallest: i32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// Numbers of 8 bits without a window are shades.
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
    Unknown,
}

impl Window {
    pub fn of(elements: &Elements, pixel: Pixel, is_inverted: bool) -> Self {
        let center = elements.decimal(tag::CENTER);
        let width = elements.decimal(tag::WIDTH).filter(|&width| width > 0.0);
        let shape = match (center.zip(width), elements.text(tag::FUNCTION).as_deref()) {
            (Some((center, width)), Some("SIGMOID")) => Shape::Sigmoid { center, width },
            (Some((center, width)), Some("LINEAR_EXACT")) => Shape::LinearExact { center, width },
            (Some((center, width)), _) => Shape::Linear { center, width },
            (None, _) if pixel.stored == 8 && !pixel.is_signed => Shape::Plain,
            (None, _) => Shape::Unknown,
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
            Self { slope, intercept, shape, is_inverted, padding, table: Vec::new(), smallest: 0 };
        window.tabulate(pixel);
        window
    }

    /// Whether the file does not say what to show.
    pub fn is_unknown(&self) -> bool {
        self.shape == Shape::Unknown
    }

    /// Shows everything from the smallest number to the largest one.
    pub fn look_at(&mut self, codec: &mut Codec, pixel: Pixel) -> Result<(), SourceError> {
        let mut row = vec![0; pixel.size.width as usize];
        let mut ends: Option<(i32, i32)> = None;
        for index in 0..pixel.size.height.min(MAX_ROWS) {
            match codec.read_row(&mut row) {
                // What is cut off is looked at as far as it goes.
                Err(error) if index == 0 => return Err(error),
                Err(_) => break,
                Ok(()) => {}
            }
            for &number in row.iter().filter(|&&number| Some(number) != self.padding) {
                let (least, most) = ends.unwrap_or((number, number));
                ends = Some((least.min(number), most.max(number)));
            }
        }
        let (least, most) = ends.ok_or_else(|| NAME.corrupt("it has nothing but padding"))?;
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
        self.slope * f64::from(number) + self.intercept
    }

    fn computed(&self, number: i32) -> u8 {
        let value = self.measure(number);
        let shade = match self.shape {
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
