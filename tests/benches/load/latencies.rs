//! The times of answers, by kind of ask.

use std::time::Duration;

use super::mix::Kind;

/// The times of all answers at one rate.
#[derive(Default)]
pub struct Latencies {
    /// From the schedule to the end of the answer.
    all: Vec<(Kind, Duration)>,
    /// Asks that got 503.
    shed: usize,
    /// Asks that got another answer than they had to get, or none.
    failed: usize,
}

impl Latencies {
    pub fn add(&mut self, (kind, time, status): (Kind, Duration, Option<u16>)) {
        match status {
            Some(503) => self.shed += 1,
            Some(status) if kind.expects(status) => {}
            _ => self.failed += 1,
        }
        self.all.push((kind, time));
    }

    /// In milliseconds: the time that this share of the answers of a kind has at most.
    fn at(&self, kind: Kind, share: f64) -> f64 {
        let times = self.all.iter().filter(|(of, _)| *of == kind);
        let mut times: Vec<f64> = times.map(|(_, time)| time.as_secs_f64() * 1000.0).collect();
        times.sort_by(f64::total_cmp);
        let rank = (times.len() as f64 * share).ceil() as usize;
        times.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }

    pub fn worst_p99(&self) -> Duration {
        let worst = Kind::ALL.into_iter().map(|kind| self.at(kind, 0.99)).fold(0.0, f64::max);
        Duration::from_secs_f64(worst / 1000.0)
    }

    fn percentiles(&self, kind: Kind) -> String {
        if self.all.iter().all(|(of, _)| *of != kind) {
            return "none".to_owned();
        }
        [0.5, 0.99, 0.999].map(|share| format!("{:.0}", self.at(kind, share))).join(", ")
    }

    /// The rest of a row: answered a second, percentiles, shed and failed.
    pub fn row(&self, time: Duration) -> String {
        let asked = self.all.len().max(1) as f64;
        let kinds = Kind::ALL.map(|kind| self.percentiles(kind)).join(" | ");
        let rate = asked / time.as_secs_f64();
        format!("{rate:.0} | {kinds} | {:.2} % | {} |", 100.0 * self.shed as f64 / asked, self.failed)
    }

    /// In a line.
    pub fn line(&self) -> String {
        let kinds = Kind::ALL.map(|kind| format!("{kind:?} {}", self.percentiles(kind)));
        format!("{} asks, {}, shed {}, failed {}", self.all.len(), kinds.join("; "), self.shed, self.failed)
    }
}
