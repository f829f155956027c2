//! The numbers of the model: platform, tilers, sources. docs/scaling.md lists them too.

use std::time::Duration;

use edgezoom_content::conversion::Rules;

/// A lognormal distribution, as of latencies and sizes.
#[derive(Clone, Copy, Debug)]
pub struct LogNormal {
    pub median: f64,
    /// Standard deviation of the logarithm: the 95th percentile is `median × e^(1.645 sigma)`.
    pub sigma: f64,
}

/// Everything but the load and the number of tilers.
#[derive(Clone, Debug)]
pub struct Parameters {
    pub platform: Platform,
    pub tiler: Tiler,
    pub sources: Vec<Source>,
    pub rules: Rules,
}

/// Cloudflare. Times in milliseconds.
#[derive(Clone, Debug)]
pub struct Platform {
    /// Time for which a request for a new content blocks the next one; 0 if each has an instance of its own.
    pub request: f64,
    /// Number of the tiler's cores used for requests; 0 if the Worker runs elsewhere.
    pub request_cores: f64,
    /// From `send` until the message can be pulled.
    pub send: LogNormal,
    /// A pull or acknowledgement by the REST API.
    pub api_call: LogNormal,
    /// A tiler's call to a content's Durable Object, through the Worker.
    pub edge_call: LogNormal,
    /// A write to KV.
    pub kv_write: LogNormal,
    /// Maximum number of messages a second.
    pub sends_per_second: f64,
    /// Maximum number of API calls in five minutes, if pulls count.
    pub api_calls: Option<f64>,
    /// Lost messages in a million.
    pub lost_per_million: f64,
    /// Failed KV writes in a million.
    pub kv_failures_per_million: f64,
    /// The Worker's BACKLOG_LIMIT.
    pub backlog_limit: usize,
}

/// A machine with one tiler.
#[derive(Clone, Debug)]
pub struct Tiler {
    pub cores: f64,
    /// EDGEZOOM_JOBS.
    pub jobs: usize,
    /// Number of cores that one rendering can use.
    pub threads: f64,
    /// EDGEZOOM_POLL_MS.
    pub poll_ms: u64,
    /// Mean time until it dies.
    pub life: Option<Duration>,
    /// Time until it is replaced.
    pub restart: Duration,
}

/// A kind of sources.
#[derive(Clone, Debug)]
pub struct Source {
    /// Share of all contents.
    pub share: f64,
    /// Milliseconds of waiting for the download or page.
    pub fetch: LogNormal,
    /// Megapixels.
    pub size: LogNormal,
    /// CPU time independent of the size, in milliseconds.
    pub cpu: f64,
    /// CPU time for a megapixel, in milliseconds.
    pub cpu_per_megapixel: f64,
    /// Milliseconds from the last row until the archive is complete.
    pub upload: LogNormal,
    /// Share that can never be converted.
    pub bad: f64,
    /// Share of attempts with transient failures.
    pub busy: f64,
}

impl Parameters {
    /// The deployed service, with sources from the public web.
    pub fn deployed() -> Self {
        let varying = |median, sigma| LogNormal { median, sigma };
        // Photographs and drawings, mostly from cameras and phones.
        let picture = Source {
            share: 0.85,
            fetch: varying(600.0, 1.0),
            size: varying(6.0, 1.2),
            // A megapixel takes 9.6 ms as JPEG and five times as much as PNG (docs/benchmarks), which is one in ten.
            cpu: 40.0,
            cpu_per_megapixel: 14.0,
            upload: varying(250.0, 0.6),
            bad: 0.06,
            busy: 0.01,
        };
        let document = Source {
            share: 0.05,
            size: varying(80.0, 1.0),
            cpu: 150.0,
            cpu_per_megapixel: 12.0,
            ..picture.clone()
        };
        let page = Source {
            share: 0.10,
            fetch: varying(7_000.0, 0.5),
            size: varying(12.0, 0.7),
            cpu: 2_500.0,
            cpu_per_megapixel: 40.0,
            bad: 0.08,
            busy: 0.03,
            ..picture.clone()
        };
        Self {
            platform: Platform {
                request: 0.0,
                request_cores: 0.0,
                send: varying(60.0, 0.6), // blog.cloudflare.com/how-we-built-cloudflare-queues
                api_call: varying(120.0, 0.5),
                edge_call: varying(60.0, 0.6),
                kv_write: varying(250.0, 0.8),
                sends_per_second: 5_000.0,
                api_calls: None, // since 2025 pulls do not count
                lost_per_million: 1.0,
                kv_failures_per_million: 100.0,
                backlog_limit: 10_000,
            },
            tiler: Tiler {
                cores: 8.0,
                jobs: 32,
                threads: 2.0,
                poll_ms: 1_000,
                life: Some(Duration::from_secs(24 * 60 * 60)),
                restart: Duration::from_secs(30),
            },
            sources: vec![picture, document, page],
            rules: Rules::default(),
        }
    }
}

impl LogNormal {
    /// Draws a value.
    pub fn sample(self, random: &mut fastrand::Rng) -> f64 {
        if self.sigma == 0.0 {
            return self.median;
        }
        // Box–Muller transform; 1 - x is never 0.
        let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
        self.median * (self.sigma * radius * (std::f64::consts::TAU * random.f64()).cos()).exp()
    }

    /// Draws a value in whole milliseconds.
    pub fn millis(self, random: &mut fastrand::Rng) -> u64 {
        self.sample(random).round() as u64
    }

    /// Returns the mean.
    pub fn mean(self) -> f64 {
        self.median * (self.sigma * self.sigma / 2.0).exp()
    }
}

impl Source {
    /// Returns the mean CPU time of a conversion in milliseconds.
    pub fn mean_cpu(&self) -> f64 {
        (1.0 - self.bad) * (self.cpu + self.cpu_per_megapixel * self.size.mean())
    }
}
