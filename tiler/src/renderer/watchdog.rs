//! Watches what a renderer process costs while its parent waits for it: processor time, time on the clock, and whether
//! it still does anything.
//!
//! Processor time is what a hostile source takes from others, and the same on a busy machine. What a process may use of
//! it grows with what is really there: the bytes of its source, and the pixels it has given so far. So a large picture
//! may take minutes, and a small file that computes for ever ends after [`Limits::renderer_cpu`].

use std::fs::File;
use std::time::Duration;

use edgezoom_content::Size;
use tokio::time::{Instant, sleep_until};

use super::error::RenderError;
use super::output::Output;
use crate::arrival::Arrivals;
use crate::limits::Limits;

/// How often a process is looked at.
const INTERVAL: Duration = Duration::from_millis(250);

/// The processor time that a process may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuAllowance {
    /// Before the first row, and from then on without another row.
    start: Duration,
    /// Without a byte of the source.
    without_bytes: Duration,
    per_mib: Duration,
    per_megapixel: Duration,
}

/// What one process has used and given.
pub struct Watchdog {
    allowance: CpuAllowance,
    idle: Duration,
    deadline: Instant,
    next_check: Instant,
    size: Option<Size>,
    /// The pixels of the rows that it has read.
    pixels: u64,
    /// The processor time that it had used when it last read a row.
    at_last_row: Duration,
    used: Duration,
    idle_since: Instant,
    /// The longest time that a process may take, once its source is complete.
    time: Duration,
    /// The source, while it arrives. Meanwhile the process may wait for it, which is no more than the download may take.
    arriving: Option<Arrivals>,
}

impl CpuAllowance {
    /// The processor time for a source of so many bytes, if they are known.
    pub fn new(limits: &Limits, bytes: Option<u64>) -> Self {
        let mut allowance = Self {
            start: limits.renderer_cpu,
            without_bytes: limits.renderer_cpu,
            per_mib: limits.renderer_cpu_per_mib,
            per_megapixel: limits.renderer_cpu_per_megapixel,
        };
        allowance.set_bytes(bytes.unwrap_or(0));
        allowance
    }

    /// The source has so many bytes by now.
    fn set_bytes(&mut self, bytes: u64) {
        let for_bytes = self.per_mib.as_secs_f64() * bytes as f64 / f64::from(1 << 20);
        let start = Duration::try_from_secs_f64(self.without_bytes.as_secs_f64() + for_bytes);
        self.start = start.unwrap_or(Duration::MAX);
    }

    /// What may be used once so many pixels are there.
    pub fn after(&self, pixels: u64) -> Duration {
        let for_pixels = self.per_megapixel.as_secs_f64() * pixels as f64 / 1e6;
        Duration::try_from_secs_f64(for_pixels)
            .ok()
            .and_then(|for_pixels| self.start.checked_add(for_pixels))
            .unwrap_or(Duration::MAX)
    }
}

impl Watchdog {
    /// Begins now. A source whose length is not known comes through a pipe, from what has time limits of its own.
    pub fn new(limits: &Limits, bytes: Option<u64>) -> Self {
        let now = Instant::now();
        Self {
            allowance: CpuAllowance::new(limits, bytes),
            idle: bytes.map_or(Duration::MAX, |_| limits.renderer_idle),
            deadline: now + limits.renderer_time,
            next_check: now + INTERVAL,
            size: None,
            pixels: 0,
            at_last_row: Duration::ZERO,
            used: Duration::ZERO,
            idle_since: now,
            time: limits.renderer_time,
            arriving: None,
        }
    }

    /// The same for a source that still arrives.
    pub fn of_arriving(limits: &Limits, arrivals: Arrivals) -> Self {
        Self { arriving: Some(arrivals), ..Self::new(limits, Some(0)) }
    }

    /// Begins to wait for the process. It could not write meanwhile, so it may have done nothing.
    pub fn resume(&mut self) {
        self.idle_since = Instant::now();
    }

    /// Takes note of what the process has given, and looks at it if that is due.
    ///
    /// # Errors
    /// It has used up what it may use.
    pub fn gave(&mut self, output: &Output, process: Option<u32>) -> Result<(), RenderError> {
        let now = Instant::now();
        self.idle_since = now;
        match *output {
            Output::Started(dzi) => self.size = Some(dzi.size),
            Output::Progress(rows) => {
                let all = self.size.map_or(0, |size| size.pixels());
                self.pixels = (all as f64 * rows) as u64;
                self.at_last_row = self.used;
            }
            Output::Tile(_) | Output::Preview(..) | Output::Coarse(_) => {}
            Output::Finished { .. } => return Ok(()),
        }
        if now >= self.next_check { self.check(now, process) } else { Ok(()) }
    }

    /// Waits until the process has used up what it may use, and says what that was.
    pub async fn expired(&mut self, process: Option<u32>) -> RenderError {
        loop {
            sleep_until(self.next_check).await;
            if let Err(error) = self.check(Instant::now(), process) {
                return error;
            }
        }
    }

    fn check(&mut self, now: Instant, process: Option<u32>) -> Result<(), RenderError> {
        self.look_at_source(now);
        self.next_check = (now + INTERVAL).min(self.deadline.max(now + INTERVAL / 10));
        if let Some(used) = process.and_then(cpu_time) {
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

    /// Takes note of what has arrived of the source. Until it is complete, no time on the clock counts.
    fn look_at_source(&mut self, now: Instant) {
        let Some(arrivals) = &self.arriving else { return };
        let (bytes, is_complete) =
            arrivals.borrow().as_ref().map_or((0, false), |arrival| (arrival.bytes, arrival.is_complete));
        self.allowance.set_bytes(bytes);
        self.idle_since = now;
        self.deadline = now + self.time;
        if is_complete {
            self.arriving = None;
        }
    }

    /// Compares the processor time that the process has used with what it may use.
    fn account(&mut self, used: Duration, now: Instant) -> Result<(), RenderError> {
        if used > self.used {
            self.used = used;
            self.idle_since = now;
        }
        let allowed =
            self.allowance.after(self.pixels).min(self.at_last_row.saturating_add(self.allowance.start));
        if used > allowed { Err(RenderError::TooComplex { allowed }) } else { Ok(()) }
    }
}

/// The length of a source in bytes. One that is still being written, through a pipe, has none.
pub fn length(source: &File) -> Option<u64> {
    source.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len())
}

/// The processor time that a process and its threads have used, those that have ended included: `utime` and `stime` of
/// proc_pid_stat(5). `None` when there is no such process. Elsewhere than on Linux `RLIMIT_CPU` alone counts.
fn cpu_time(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may hold spaces and parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let ticks = ticks()?.checked_add(ticks()?)?;
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
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
        let allowance = |bytes, pixels| CpuAllowance::new(&limits(), Some(bytes)).after(pixels);
        assert_eq!(allowance(0, 0), 20 * SECOND);
        assert_eq!(allowance(3 << 20, 0), 26 * SECOND);
        assert_eq!(allowance(0, 67_000_000), SECOND * 267 / 10);
        assert!(allowance(u64::MAX, u64::MAX) > Duration::from_secs(1 << 40));
    }

    #[tokio::test]
    async fn pixels_earn_time_and_a_stretch_without_any_ends_it() {
        let now = Instant::now();
        let mut idle = watchdog(0);
        assert!(idle.account(20 * SECOND, now).is_ok());
        assert!(matches!(
            idle.account(21 * SECOND, now),
            Err(RenderError::TooComplex { allowed }) if allowed == 20 * SECOND
        ));
        let mut busy = watchdog(0);
        busy.gave(&started(), None).unwrap();
        for row in 1..=10 {
            busy.account(row * 28 * SECOND / 10, now).unwrap();
            busy.gave(&Output::Progress(f64::from(row) / 10.0), None).unwrap();
        }
        // A hundred megapixels allow for ten seconds more; the last row was at 28.
        assert!(matches!(busy.account(31 * SECOND, now), Err(RenderError::TooComplex { .. })));
        let mut quick = watchdog(0);
        quick.gave(&started(), None).unwrap();
        quick.gave(&Output::Progress(1.0), None).unwrap();
        assert!(matches!(
            quick.account(21 * SECOND, now),
            Err(RenderError::TooComplex { allowed }) if allowed == 20 * SECOND
        ));
    }

    #[test]
    fn the_processor_time_of_this_process_is_known_and_grows() {
        let before = cpu_time(std::process::id()).unwrap();
        let (begun, mut sum) = (std::time::Instant::now(), 0_u64);
        while cpu_time(std::process::id()).unwrap() == before {
            sum = std::hint::black_box(sum + 1);
            assert!(begun.elapsed() < 60 * SECOND, "it does not grow");
        }
        assert_eq!(cpu_time(u32::MAX), None);
    }
}
