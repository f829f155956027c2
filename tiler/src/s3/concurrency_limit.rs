//! An adaptive limit on concurrent requests to a store. It grows while responses are about as fast as the fastest ones, and
//! shrinks when they slow down because requests queue at the store. So a distant store gets the maximum, which hides its
//! latency, and a store that is busy or on the renderer's own machine is not overloaded.
//!
//! This is the congestion avoidance of TCP Vegas (Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a
//! Global Internet", 1995): it detects a queue by latency above the lowest one, not by losses.

use std::num::NonZeroUsize;
use std::time::Duration;

/// Lowest limit, unless the maximum is lower.
const MIN: f64 = 4.0;
/// A latency is high if it exceeds the lowest one by this factor
const HIGH_FACTOR: f64 = 3.0;
/// and by this number of milliseconds, which the machine's scheduler may add.
const JITTER_MS: f64 = 20.0;
/// Weight of a new measurement in the smoothed latency.
const SMOOTHING: f64 = 1.0 / 8.0;
/// Factor by which the lowest latency rises with each measurement, because the path to a store may become longer.
const LOWEST_DECAY: f64 = 1.0005;

/// Maximum number of concurrent requests.
#[derive(Clone, Debug)]
pub(super) struct ConcurrencyLimit {
    max: f64,
    current: f64,
    /// True until a latency is high. Until then the limit grows by one per response, later by one per full round.
    is_slow_start: bool,
    /// Smoothed latency in milliseconds.
    latency: Option<f64>,
    /// Lowest smoothed latency in milliseconds.
    lowest: f64,
}

impl ConcurrencyLimit {
    /// Creates a limit of at most `max` requests.
    pub(super) fn new(max: NonZeroUsize) -> Self {
        let max = max.get() as f64;
        Self { max, current: max.min(2.0 * MIN), is_slow_start: true, latency: None, lowest: f64::INFINITY }
    }

    /// Returns the current maximum number of concurrent requests.
    pub(super) fn current(&self) -> usize {
        self.current as usize
    }

    /// Adjusts the limit to the latency of a completed request, retries included.
    pub(super) fn record(&mut self, latency: Duration) {
        let new = latency.as_secs_f64() * 1000.0;
        let latency = self.latency.map_or(new, |latency| latency + (new - latency) * SMOOTHING);
        self.latency = Some(latency);
        self.lowest = (self.lowest * LOWEST_DECAY).min(latency);
        if latency > HIGH_FACTOR * self.lowest && latency > self.lowest + JITTER_MS {
            self.is_slow_start = false;
            // A full round of slow responses reduces the limit by a fifth.
            self.current -= 0.2;
        } else {
            self.current += if self.is_slow_start { 1.0 } else { 1.0 / self.current };
        }
        self.current = self.current.clamp(MIN.min(self.max), self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(max: usize) -> ConcurrencyLimit {
        ConcurrencyLimit::new(NonZeroUsize::new(max).unwrap())
    }

    fn record(limit: &mut ConcurrencyLimit, responses: usize, milliseconds: u64) {
        (0..responses).for_each(|_| limit.record(Duration::from_millis(milliseconds)));
    }

    #[test]
    fn a_distant_store_gets_the_maximum_soon() {
        let mut limit = limit(64);
        assert_eq!(limit.current(), 8);
        record(&mut limit, 8, 50);
        assert_eq!(limit.current(), 16);
        record(&mut limit, 48, 50);
        assert_eq!(limit.current(), 64);
        record(&mut limit, 1000, 60);
        assert_eq!(limit.current(), 64);
    }

    #[test]
    fn the_limit_falls_when_a_store_becomes_slow_and_rises_when_it_recovers() {
        let mut limit = limit(64);
        record(&mut limit, 100, 20);
        record(&mut limit, 400, 2000);
        assert_eq!(limit.current(), 4);
        record(&mut limit, 100, 20);
        let recovering = limit.current();
        assert!((5..64).contains(&recovering), "{recovering}");
        record(&mut limit, 5000, 20);
        assert_eq!(limit.current(), 64);
    }

    #[test]
    fn a_single_slow_response_changes_nothing() {
        let mut limit = limit(16);
        record(&mut limit, 50, 30);
        record(&mut limit, 1, 300);
        record(&mut limit, 10, 30);
        assert_eq!(limit.current(), 16);
    }

    #[test]
    fn the_maximum_is_never_exceeded_however_low() {
        for max in 1..6 {
            let mut limit = limit(max);
            record(&mut limit, 100, 5);
            assert_eq!(limit.current(), max);
            record(&mut limit, 200, 5000);
            assert_eq!(limit.current(), max.min(4));
        }
    }
}
