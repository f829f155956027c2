//! Rows of components as rows of pixels.

use super::coding::Coding;
use super::lifting::Sample;
use crate::formats::jp2::picture::Kind;

/// What converts rows.
pub struct Rows<'a> {
    kind: &'a Kind,
    width: usize,
    has_colour_transform: bool,
    /// For each component what is added to a sample, and what makes 8 bits of it.
    scales: Vec<(f32, f32)>,
}

impl<'a> Rows<'a> {
    pub fn new(coding: &Coding, kind: &'a Kind, width: usize) -> Self {
        let scales = coding.components.iter().map(|component| {
            let range = 1u32 << component.precision;
            ((range / 2) as f32, 255.0 / (range - 1) as f32)
        });
        Self { kind, width, has_colour_transform: coding.has_colour_transform, scales: scales.collect() }
    }

    /// Makes pixels of some rows of all components.
    pub fn convert<T: Sample>(&mut self, mut planes: Vec<Vec<T>>) -> Vec<u8> {
        let rows = planes.first().map_or(0, |plane| plane.len() / self.width);
        let mut out = vec![0; self.kind.layout.row_bytes(self.width as u32) * rows];
        if let ([red, green, blue, ..], true) = (&mut *planes, self.has_colour_transform) {
            T::colours([red, green, blue]);
        }
        let channels = self.kind.layout.channels();
        if self.kind.is_plain(planes.len()) {
            for (channel, (plane, &(offset, scale))) in planes.iter().zip(&self.scales).enumerate() {
                let to = out.iter_mut().skip(channel).step_by(channels);
                to.zip(plane).for_each(|(to, sample)| {
                    // Conversions of floats saturate.
                    *to = ((sample.to_float() + offset) * scale + 0.5) as u8;
                });
            }
            return out;
        }
        let floats: Vec<(Vec<f32>, f32)> = planes
            .into_iter()
            .zip(&self.scales)
            .map(|(plane, &(offset, scale))| {
                (plane.into_iter().map(|sample| sample.to_float() + offset).collect(), scale)
            })
            .collect();
        let planes: Vec<(&[f32], f32)> = floats.iter().map(|(plane, scale)| (&**plane, *scale)).collect();
        if planes.len() as u64 >= self.kind.samples() {
            self.kind.interleave(&planes, &mut out);
        }
        out
    }
}
