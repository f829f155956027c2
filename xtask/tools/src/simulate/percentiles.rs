//! What half of the values, 95 and 99 of 100 do not exceed.

#[derive(Clone, Copy, Debug)]
pub struct Percentiles {
    pub half: f64,
    pub most: f64,
    pub nearly_all: f64,
}

impl Percentiles {
    /// Those of values in any order; no numbers where there are none.
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let last = values.len().saturating_sub(1);
            values.get((last as f64 * share).round() as usize).copied().unwrap_or(f64::NAN)
        };
        Self { half: at(0.5), most: at(0.95), nearly_all: at(0.99) }
    }

    pub fn text(&self) -> String {
        format!("{:.1}, {:.1}, {:.1}", self.half, self.most, self.nearly_all)
    }
}
