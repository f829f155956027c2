//! A channel that may have fewer samples than the picture has pixels.

/// A channel as floats.
pub struct Plane {
    /// How many pixels beside each other, and below each other, have one sample.
    pub steps: [usize; 2],
    pub width: usize,
    pub samples: Vec<f32>,
}

impl Plane {
    /// The plane of a picture whose sides are multiples of `steps`.
    pub fn new(steps: [usize; 2], [width, height]: [usize; 2]) -> Self {
        let width = width / steps[0];
        Self { steps, width, samples: vec![0.0; width * (height / steps[1])] }
    }

    /// The row of samples at a row of the picture. `None`: that row has none.
    pub fn row_mut(&mut self, y: usize) -> Option<&mut [f32]> {
        let row = if y.is_multiple_of(self.steps[1]) { y / self.steps[1] } else { return None };
        self.samples.get_mut(row * self.width..(row + 1) * self.width)
    }

    /// The sample that stands for a pixel.
    pub fn nearest(&self, x: usize, y: usize) -> f32 {
        self.samples[y / self.steps[1] * self.width + x / self.steps[0]]
    }

    /// Between samples at each second pixel of each second row, their mean.
    pub fn between(&self, x: usize, y: usize) -> f32 {
        if self.steps != [2, 2] {
            return self.nearest(x, y);
        }
        let rows = self.samples.len() / self.width;
        let places = |place: usize, count: usize| [place / 2, place.div_ceil(2).min(count - 1)];
        let sum: f32 = places(y, rows)
            .iter()
            .flat_map(|row| places(x, self.width).map(|column| self.samples[row * self.width + column]))
            .sum();
        sum / 4.0
    }
}
