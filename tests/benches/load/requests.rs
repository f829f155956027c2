//! The requests and their latencies: 95 of 100 are for ready contents, by id and by URL; 4 for new ones, each by
//! another client; 1 is invalid.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use edgezoom_tests::{Client, Source, SourceServer, System, picture};

/// Number of contents that are ready before the first request.
const KNOWN: u32 = 30;
const SHARES: [(Kind, f64); 2] = [(Kind::Known, 0.95), (Kind::New, 0.04)];

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Known,
    New,
    Invalid,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Known, Self::New, Self::Invalid];

    /// Returns the heading of its latencies.
    pub fn heading(self) -> String {
        format!("{self:?}: p50, p99, p99.9 ms").to_lowercase()
    }

    /// Returns true if this status is correct. 503 is counted separately.
    pub fn expects(self, status: u16) -> bool {
        match self {
            Self::Known | Self::New => matches!(status, 200 | 301),
            Self::Invalid => matches!(status, 400 | 404),
        }
    }
}

/// A running request: its response's status, if there is one.
pub type Running = Pin<Box<dyn Future<Output = Option<u16>> + Send>>;

/// Makes the requests.
pub struct Mix {
    client: Client,
    sources: SourceServer,
    small: Source,
    /// Ids and URLs.
    known: Vec<(String, String)>,
    count: AtomicUsize,
}

impl Mix {
    /// Converts the known contents.
    pub async fn prepare(system: &System) -> Result<Self> {
        let (client, sources) = (Client::new(system.url())?, SourceServer::start()?);
        let small = Source::file("image/jpeg", picture::jpeg(&picture::photograph(640, 480, 1))?);
        let mut known = vec![];
        for _ in 0..KNOWN {
            let source = sources.serve("known.jpg", small.clone());
            let course = client.convert(&source).await?;
            course.ready().context("a picture was not converted")?;
            known.push((course.id()?, source));
        }
        Ok(Self { client, sources, small, known, count: AtomicUsize::new(0) })
    }

    /// Starts a request of a random kind.
    pub fn next(&self, random: &mut fastrand::Rng) -> (Kind, Running) {
        let mut left = random.f64();
        let found = SHARES.into_iter().find(|(_, share)| {
            left -= share;
            left < 0.0
        });
        let kind = found.map_or(Kind::Invalid, |(kind, _)| kind);
        (kind, self.request(kind, random))
    }

    /// Starts a request of this kind.
    pub fn request(&self, kind: Kind, random: &mut fastrand::Rng) -> Running {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let [a, b] = [number >> 8, number].map(|byte| byte & 0xff);
        let client = self.client.at(format_args!("198.18.{a}.{b}"));
        let (id, url) = &self.known[random.usize(..self.known.len())];
        let by_id = |id: &str| format!("/v1/content/{id}");
        let by_url = |url: &str| {
            let url: String = url.bytes().map(|byte| format!("%{byte:02X}")).collect();
            format!("/v1/content/?url={url}")
        };
        let target = match kind {
            Kind::Known if random.bool() => by_id(id),
            Kind::Known => by_url(url),
            Kind::New => by_url(&self.sources.serve("new.jpg", self.small.clone())),
            Kind::Invalid => match random.u8(..3) {
                0 => by_id(&format!("{number:011}")),
                1 => by_url("ftp://example.com/a.jpg"),
                _ => by_url("http://10.0.0.1/a.jpg"),
            },
        };
        Box::pin(async move { client.get(&target).await.ok().map(|answer| answer.status.as_u16()) })
    }
}

/// Latencies at one rate.
#[derive(Default)]
pub struct Latencies {
    /// From the scheduled time to the end of the response.
    all: Vec<(Kind, Duration)>,
    /// 503 responses.
    shed: usize,
    /// Missing and incorrect responses.
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

    /// Returns a percentile in milliseconds.
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

    /// Returns the cells of a row: responses a second, percentiles, shed and failed.
    pub fn row(&self, time: Duration) -> String {
        let asked = self.all.len().max(1) as f64;
        let kinds = Kind::ALL.map(|kind| self.percentiles(kind)).join(" | ");
        let rate = asked / time.as_secs_f64();
        format!("{rate:.0} | {kinds} | {:.2} % | {} |", 100.0 * self.shed as f64 / asked, self.failed)
    }

    /// Returns a summary in one line.
    pub fn line(&self) -> String {
        let kinds = Kind::ALL.map(|kind| format!("{kind:?} {}", self.percentiles(kind)));
        format!(
            "{} requests, {}, shed {}, failed {}",
            self.all.len(),
            kinds.join("; "),
            self.shed,
            self.failed
        )
    }
}
