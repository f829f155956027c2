//! Palettes of 8 or 16 bits. Source: DICOM PS3.3, C.7.6.3.1.5 and C.7.6.3.1.6.

use super::elements::{Elements, tag};
use super::error::NAME;
use crate::SourceError;
use crate::colour::samples::round_16;

pub struct Palette {
    /// The number that has the first colour.
    first: i32,
    colours: Vec<[u8; 3]>,
}

impl Palette {
    pub fn of(elements: &Elements) -> Result<Self, SourceError> {
        let missing = || NAME.corrupt("its palette is missing");
        let mut channels = Vec::new();
        let mut first = 0;
        for (descriptor, values) in tag::DESCRIPTORS.into_iter().zip(tag::PALETTES) {
            let [count, start, bits] = *elements.numbers(descriptor) else { return Err(missing()) };
            // 65,536 does not fit into 16 bits.
            let count = if count == 0 { 1 << 16 } else { usize::from(count) };
            first = i32::from(start as i16);
            let bytes = elements.bytes(values).ok_or_else(missing)?;
            let mut channel: Vec<u8> = match bits {
                // Two colours in 16 bits, unless each has 16 of its own.
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

    /// The colour of a number: of those beyond the palette the nearest.
    pub fn colour(&self, number: i32) -> [u8; 3] {
        let index = usize::try_from(i64::from(number) - i64::from(self.first)).unwrap_or(0);
        let last = self.colours.len().saturating_sub(1);
        self.colours.get(index.min(last)).copied().unwrap_or_default()
    }
}
