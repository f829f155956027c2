//! Watches what a renderer process costs while its parent waits for it: processor time, wall time, and time without any
//! activity.
//!
//! A hostile source takes processor time from others, and this time is the same on a busy machine. The allowance grows
//! with the bytes of the source and with the pixels produced so far. So a large picture may take minutes, while a small
//! file that computes forever is ended after [`Limits::renderer_cpu`].

use std::fs::File;
use std::time::Duration;

use edgezoom_content::Size;
use tokio::time::{Instant, sleep_until};

use super::Output;
use super::arrival::Arrivals;
use super::error::RenderError;
use crate::limits::Limits;
use crate::proc;

/// Interval between checks of a process.
const INTERVAL: Duration = Duration::from_millis(250);

/// Consumption and output of one process.
pub struct Watchdog {
    limits: Limits,
    /// Length of the source in bytes, as far as it has arrived.
    bytes: u64,
    idle: Duration,
    deadline: Instant,
    next_check: Instant,
    size: Option<Size>,
    /// Number of pixels in the rows that it has read.
    pixels: u64,
    /// Processor time that it had used when it last read a row.
    at_last_row: Duration,
    used: Duration,
    idle_since: Instant,
    /// The source while it is being downloaded. The download has a time limit of its own, so the process may wait for
    /// it.
    arriving: Option<Arrivals>,
}

/// Returns the processor time that a process may use for a source of `bytes` once it has read `pixels`.
pub fn allowed_cpu_time(limits: &Limits, bytes: u64, pixels: u64) -> Duration {
    let for_bytes = limits.renderer_cpu_per_mib.as_secs_f64() * bytes as f64 / f64::from(1 << 20);
    let for_pixels = limits.renderer_cpu_per_megapixel.as_secs_f64() * pixels as f64 / 1e6;
    let allowed = limits.renderer_cpu.as_secs_f64() + for_bytes + for_pixels;
    Duration::try_from_secs_f64(allowed).unwrap_or(Duration::MAX)
}

impl Watchdog {
    /// Starts to watch. A source without a known length comes through a pipe, whose writer has time limits of its own.
    pub fn new(limits: &Limits, bytes: Option<u64>) -> Self {
        let now = Instant::now();
        Self {
            limits: limits.clone(),
            bytes: bytes.unwrap_or(0),
            idle: bytes.map_or(Duration::MAX, |_| limits.renderer_idle),
            deadline: now + limits.renderer_time,
            next_check: now + INTERVAL,
            size: None,
            pixels: 0,
            at_last_row: Duration::ZERO,
            used: Duration::ZERO,
            idle_since: now,
            arriving: None,
        }
    }

    /// Starts to watch a process whose source is still being downloaded.
    pub fn of_arriving(limits: &Limits, arrivals: Arrivals) -> Self {
        Self { arriving: Some(arrivals), ..Self::new(limits, Some(0)) }
    }

    /// Restarts the time without activity: while the parent did not read, the process could not write.
    pub fn resume(&mut self) {
        self.idle_since = Instant::now();
    }

    /// Records an output, and checks the process if a check is due.
    ///
    /// # Errors
    /// The process has used up its allowance.
    pub fn record(&mut self, output: &Output, process: Option<u32>) -> Result<(), RenderError> {
        let now = Instant::now();
        self.idle_since = now;
        match *output {
            Output::Started(dzi) => self.size = Some(dzi.size),
            Output::Progress(rows) => {
                let all = self.size.map_or(0, |size| size.pixels());
                self.pixels = (all as f64 * rows) as u64;
                self.at_last_row = self.used;
            }
            Output::Tile(_)
            | Output::Preview(..)
            | Output::Coarse(_)
            | Output::Text(_)
            | Output::Vectors(_)
            | Output::PixelsOnly(_)
            | Output::Title(_)
            | Output::Credits(_) => {}
            Output::Finished { .. } => return Ok(()),
        }
        if now >= self.next_check { self.check(now, process) } else { Ok(()) }
    }

    /// Waits until the process has used up its allowance, and returns the error.
    pub async fn expired(&mut self, process: Option<u32>) -> RenderError {
        loop {
            sleep_until(self.next_check).await;
            if let Err(error) = self.check(Instant::now(), process) {
                return error;
            }
        }
    }

    fn check(&mut self, now: Instant, process: Option<u32>) -> Result<(), RenderError> {
        self.update_source(now);
        self.next_check = (now + INTERVAL).min(self.deadline.max(now + INTERVAL / 10));
        if let Some(used) = process.and_then(proc::cpu_time) {
            self.account(used, now)?;
        }
        if now >= self.deadline {
            return Err(RenderError::TimedOut);
        }
        if now.duration_since(self.idle_since) > self.idle {
            return Err(RenderError::Idle(self.idle));
        }
        Ok(())
    }

    /// Records how far the source has arrived. Until it is complete, wall time does not count.
    fn update_source(&mut self, now: Instant) {
        let Some(arrivals) = &self.arriving else { return };
        let (bytes, is_complete) =
            arrivals.borrow().as_ref().map_or((0, false), |arrival| (arrival.bytes, arrival.is_complete));
        self.bytes = bytes;
        self.idle_since = now;
        self.deadline = now + self.limits.renderer_time;
        if is_complete {
            self.arriving = None;
        }
    }

    /// Compares the used processor time with the allowance.
    fn account(&mut self, used: Duration, now: Instant) -> Result<(), RenderError> {
        if used > self.used {
            self.used = used;
            self.idle_since = now;
        }
        let allowed_for = |pixels| allowed_cpu_time(&self.limits, self.bytes, pixels);
        let allowed = allowed_for(self.pixels).min(self.at_last_row.saturating_add(allowed_for(0)));
        if used > allowed { Err(RenderError::TooComplex { allowed }) } else { Ok(()) }
    }
}

/// Returns the length of a source in bytes; `None` for a pipe.
pub fn length(source: &File) -> Option<u64> {
    source.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len())
}

#[cfg(test)]
mod tests {
    use edgezoom_content::{Dzi, TileFormat};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn limits() -> Limits {
        Limits {
            renderer_cpu: 20 * SECOND,
            renderer_cpu_per_mib: 2 * SECOND,
            renderer_cpu_per_megapixel: SECOND / 10,
            ..Limits::default()
        }
    }

    fn watchdog(bytes: u64) -> Watchdog {
        Watchdog::new(&limits(), Some(bytes))
    }

    fn started() -> Output {
        Output::Started(Dzi {
            size: Size { width: 100_000, height: 1_000 },
            tile_size: 510,
            tile_overlap: 1,
            tile_format: TileFormat::Jpg,
        })
    }

    #[test]
    fn the_allowance_grows_with_bytes_and_pixels() {
        let allowance = |bytes, pixels| allowed_cpu_time(&limits(), bytes, pixels);
        assert_eq!(allowance(0, 0), 20 * SECOND);
        assert_eq!(allowance(3 << 20, 0), 26 * SECOND);
        assert_eq!(allowance(0, 67_000_000), SECOND * 267 / 10);
        assert!(allowance(u64::MAX, u64::MAX) > Duration::from_secs(1 << 40));
    }

    #[tokio::test]
    async fn pixels_extend_the_allowance_and_a_stretch_without_any_ends_the_process() {
        let now = Instant::now();
        let mut idle = watchdog(0);
        assert!(idle.account(20 * SECOND, now).is_ok());
        assert!(matches!(
            idle.account(21 * SECOND, now),
            Err(RenderError::TooComplex { allowed }) if allowed == 20 * SECOND
        ));
        let mut busy = watchdog(0);
        busy.record(&started(), None).unwrap();
        for row in 1..=10 {
            busy.account(row * 28 * SECOND / 10, now).unwrap();
            busy.record(&Output::Progress(f64::from(row) / 10.0), None).unwrap();
        }
        // A hundred megapixels allow ten seconds more; the last row was at 28.
        assert!(matches!(busy.account(31 * SECOND, now), Err(RenderError::TooComplex { .. })));
        let mut quick = watchdog(0);
        quick.record(&started(), None).unwrap();
        quick.record(&Output::Progress(1.0), None).unwrap();
        assert!(matches!(
            quick.account(21 * SECOND, now),
            Err(RenderError::TooComplex { allowed }) if allowed == 20 * SECOND
        ));
    }
}
