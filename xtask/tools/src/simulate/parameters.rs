//! The numbers of the model: platform, tilers, sources. docs/scaling.md lists them too. Times are in milliseconds.

/// From `send` until the message can be pulled (blog.cloudflare.com/how-we-built-cloudflare-queues).
pub const SEND: LogNormal = log_normal(60.0, 0.6);
/// A pull or acknowledgement by the REST API.
pub const API_CALL: LogNormal = log_normal(120.0, 0.5);
/// A tiler's call to a content's Durable Object, through the Worker.
pub const EDGE_CALL: LogNormal = log_normal(60.0, 0.6);
/// A write to KV.
pub const KV_WRITE: LogNormal = log_normal(250.0, 0.8);
/// Maximum number of API calls in five minutes, if pulls count.
pub const API_CALLS: f64 = 1_200.0;
/// Cores of a tiler's machine.
pub const CORES: f64 = 8.0;
/// Number of cores that one rendering can use.
pub const THREADS: f64 = 2.0;
/// EDGEZOOM_POLL_MS.
pub const POLL_MS: u64 = 1_000;

/// A kind of sources.
#[derive(Debug)]
pub struct Source {
    /// Share of all contents.
    pub share: f64,
    /// Waiting for the download or page.
    pub fetch: LogNormal,
    /// Megapixels.
    pub size: LogNormal,
    /// CPU time independent of the size.
    pub cpu: f64,
    /// CPU time for a megapixel.
    pub cpu_per_megapixel: f64,
    /// Share that can never be converted.
    pub bad: f64,
    /// Share of attempts with transient failures.
    pub busy: f64,
}

/// From the last row until the archive is complete.
pub const UPLOAD: LogNormal = log_normal(250.0, 0.6);

/// Sources from the public web.
pub const SOURCES: [Source; 3] = [
    // Photographs and drawings, mostly from cameras and phones. A megapixel takes 9.6 ms as JPEG and five times as much
    // as PNG (docs/benchmarks), which is one in ten.
    Source {
        share: 0.85,
        fetch: log_normal(600.0, 1.0),
        size: log_normal(6.0, 1.2),
        cpu: 40.0,
        cpu_per_megapixel: 14.0,
        bad: 0.06,
        busy: 0.01,
    },
    // Documents.
    Source {
        share: 0.05,
        fetch: log_normal(600.0, 1.0),
        size: log_normal(80.0, 1.0),
        cpu: 150.0,
        cpu_per_megapixel: 12.0,
        bad: 0.06,
        busy: 0.01,
    },
    // Web pages.
    Source {
        share: 0.10,
        fetch: log_normal(7_000.0, 0.5),
        size: log_normal(12.0, 0.7),
        cpu: 2_500.0,
        cpu_per_megapixel: 40.0,
        bad: 0.08,
        busy: 0.03,
    },
];

impl Source {
    /// Returns the mean CPU time of a conversion.
    pub fn mean_cpu(&self) -> f64 {
        (1.0 - self.bad) * (self.cpu + self.cpu_per_megapixel * self.size.mean())
    }
}

/// A lognormal distribution, as of latencies and sizes.
#[derive(Clone, Copy, Debug)]
pub struct LogNormal {
    median: f64,
    /// Standard deviation of the logarithm: the 95th percentile is `median × e^(1.645 sigma)`.
    sigma: f64,
}

const fn log_normal(median: f64, sigma: f64) -> LogNormal {
    LogNormal { median, sigma }
}

impl LogNormal {
    /// Draws a value.
    pub fn sample(self, random: &mut fastrand::Rng) -> f64 {
        // Box–Muller transform; 1 - x is never 0.
        let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
        self.median * (self.sigma * radius * (std::f64::consts::TAU * random.f64()).cos()).exp()
    }

    /// Draws a value in whole milliseconds.
    pub fn millis(self, random: &mut fastrand::Rng) -> u64 {
        self.sample(random).round() as u64
    }

    fn mean(self) -> f64 {
        self.median * (self.sigma * self.sigma / 2.0).exp()
    }
}
