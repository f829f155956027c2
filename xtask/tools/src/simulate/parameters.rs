//! What is modelled of the platform, the tilers and the sources, with where each number is from. docs/scaling.md has the
//! same numbers in its tables.

use std::time::Duration;

use edgezoom_content::conversion::Rules;

/// A duration or an amount that varies: lognormal, as latencies and sizes are.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// Half are below it.
    pub median: f64,
    /// The standard deviation of the logarithm: the 95th percentile is `median × e^(1.645 sigma)`.
    pub sigma: f64,
}

/// All of a simulation but the load and the number of tilers.
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
    /// How long the Worker is busy with an ask for a new content before it begins the next one; 0 where each ask has an
    /// instance of its own.
    pub ask: f64,
    /// How many of the tiler's cores that keeps busy; 0 where the Worker is elsewhere.
    pub ask_cores: f64,
    /// From `send` until the message can be pulled.
    pub send: Spread,
    /// A pull or an acknowledgement, by its REST API.
    pub api_call: Spread,
    /// A call of a tiler to a content's Durable Object, through the Worker.
    pub edge_call: Spread,
    /// Until KV has taken a value.
    pub kv_write: Spread,
    /// How many messages a queue takes in a second.
    pub sends_per_second: f64,
    /// How many API calls an account may make in five minutes.
    pub api_calls: Option<f64>,
    /// How many messages in a million are lost.
    pub lost_per_million: f64,
    /// How many writes to KV in a million fail.
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
    /// How many cores one rendering keeps busy.
    pub threads: f64,
    /// EDGEZOOM_POLL_MS.
    pub poll_ms: u64,
    /// How long it runs before it dies without a word, on average.
    pub life: Option<Duration>,
    /// Until another one runs in its place.
    pub restart: Duration,
}

/// A kind of sources.
#[derive(Clone, Debug)]
pub struct Source {
    /// Of all contents; together 1.
    pub share: f64,
    /// Downloading, or loading a page, in milliseconds: waiting, not computing.
    pub fetch: Spread,
    /// In megapixels.
    pub size: Spread,
    /// Processor time, in milliseconds, whatever the size.
    pub cpu: f64,
    /// Processor time for each megapixel, in milliseconds.
    pub cpu_per_megapixel: f64,
    /// From the last row until the archive is complete, in milliseconds.
    pub upload: Spread,
    /// How many cannot be converted, now or later.
    pub bad: f64,
    /// How many attempts fail for a reason that passes.
    pub busy: f64,
}

impl Parameters {
    /// The service as it is deployed, with the public web as its source.
    pub fn deployed() -> Self {
        let spread = |median, sigma| Spread { median, sigma };
        // Photographs and drawings, most of them from a camera or a phone.
        let picture = Source {
            share: 0.85,
            fetch: spread(600.0, 1.0),
            size: spread(6.0, 1.2),
            // 9.6 ms of processor time for a megapixel of JPEG, and PNG five times that (docs/benchmarks): one in ten.
            cpu: 40.0,
            cpu_per_megapixel: 14.0,
            upload: spread(250.0, 0.6),
            bad: 0.06,
            busy: 0.01,
        };
        let document = Source {
            share: 0.05,
            size: spread(80.0, 1.0),
            cpu: 150.0,
            cpu_per_megapixel: 12.0,
            ..picture.clone()
        };
        let page = Source {
            share: 0.10,
            fetch: spread(7_000.0, 0.5),
            size: spread(12.0, 0.7),
            cpu: 2_500.0,
            cpu_per_megapixel: 40.0,
            bad: 0.08,
            busy: 0.03,
            ..picture.clone()
        };
        Self {
            platform: Platform {
                ask: 0.0,
                ask_cores: 0.0,
                send: spread(60.0, 0.6), // blog.cloudflare.com/how-we-built-cloudflare-queues
                api_call: spread(120.0, 0.5),
                edge_call: spread(60.0, 0.6),
                kv_write: spread(250.0, 0.8),
                sends_per_second: 5_000.0,
                api_calls: None, // pulls have not counted since 2025
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

    /// `cargo xtask bench service`: one tiler on two cores, everything on one machine, a JPEG of 12 megapixels.
    pub fn on_one_machine() -> Self {
        let exactly = |median| Spread { median, sigma: 0.0 };
        let mut parameters = Self::deployed();
        parameters.platform = Platform {
            send: exactly(5.0),
            api_call: exactly(4.0),
            edge_call: exactly(4.0),
            kv_write: exactly(4.0),
            lost_per_million: 0.0,
            kv_failures_per_million: 0.0,
            ..parameters.platform
        };
        parameters.tiler = Tiler { cores: 2.0, jobs: 2, poll_ms: 100, life: None, ..parameters.tiler };
        parameters.sources = vec![Source {
            share: 1.0,
            fetch: exactly(10.0),
            size: exactly(12.0),
            cpu: 10.0,
            cpu_per_megapixel: 9.6,
            upload: exactly(10.0),
            bad: 0.0,
            busy: 0.0,
        }];
        parameters
    }
}

impl Spread {
    /// A value of it.
    pub fn draw(self, random: &mut fastrand::Rng) -> f64 {
        if self.sigma == 0.0 {
            return self.median;
        }
        // Box and Muller's way to a normal value; 1 - x is never 0.
        let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
        self.median * (self.sigma * radius * (std::f64::consts::TAU * random.f64()).cos()).exp()
    }

    /// The same in whole milliseconds.
    pub fn millis(self, random: &mut fastrand::Rng) -> u64 {
        self.draw(random).round() as u64
    }

    /// The mean of it.
    pub fn mean(self) -> f64 {
        self.median * (self.sigma * self.sigma / 2.0).exp()
    }
}

impl Source {
    /// The processor time of one conversion on average, in milliseconds.
    pub fn mean_cpu(&self) -> f64 {
        (1.0 - self.bad) * (self.cpu + self.cpu_per_megapixel * self.size.mean())
    }
}
