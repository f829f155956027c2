//! What is asked for: 95 of 100 asks are for contents that are ready, by id and by URL; 4 for new ones, each of a client of
//! its own; 1 is bogus.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use edgezoom_tests::{Client, Source, SourceServer, System, picture};

/// Contents that are ready before the first ask.
const KNOWN: u32 = 30;
const SHARES: [(Kind, f64); 2] = [(Kind::Known, 0.95), (Kind::New, 0.04)];

/// A kind of asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Known,
    New,
    Bogus,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Known, Self::New, Self::Bogus];

    /// What stands over its latencies.
    pub fn heading(self) -> String {
        format!("{self:?}: p50, p99, p99.9 ms").to_lowercase()
    }

    /// Whether a status is what such an ask has to get. 503 is another matter.
    pub fn expects(self, status: u16) -> bool {
        match self {
            Self::Known | Self::New => matches!(status, 200 | 301),
            Self::Bogus => matches!(status, 400 | 404),
        }
    }
}

/// An ask under way: the status of its answer, or nothing.
pub type Ask = Pin<Box<dyn Future<Output = Option<u16>> + Send>>;

/// The asks.
pub struct Mix {
    client: Client,
    sources: SourceServer,
    small: Source,
    /// Ids and URLs.
    known: Vec<(String, String)>,
    asked: AtomicUsize,
}

impl Mix {
    /// Has contents converted.
    pub async fn prepare(system: &System) -> Result<Self> {
        let (client, sources) = (Client::new(system.url())?, SourceServer::start()?);
        let small = Source::file("image/jpeg", picture::jpeg(&picture::photograph(640, 480, 1))?);
        let mut known = vec![];
        for _ in 0..KNOWN {
            let source = sources.serve("known.jpg", small.clone());
            let course = client.convert(&source).await?;
            course.ready().context("a picture is not converted")?;
            known.push((course.id()?, source));
        }
        Ok(Self { client, sources, small, known, asked: AtomicUsize::new(0) })
    }

    /// The next ask.
    pub fn ask(&self, random: &mut fastrand::Rng) -> (Kind, Ask) {
        let mut left = random.f64();
        let found = SHARES.into_iter().find(|(_, share)| {
            left -= share;
            left < 0.0
        });
        let kind = found.map_or(Kind::Bogus, |(kind, _)| kind);
        (kind, self.ask_of(kind, random))
    }

    /// An ask of this kind.
    pub fn ask_of(&self, kind: Kind, random: &mut fastrand::Rng) -> Ask {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
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
            Kind::Bogus => match random.u8(..3) {
                0 => by_id(&format!("{number:011}")),
                1 => by_url("ftp://example.com/a.jpg"),
                _ => by_url("http://10.0.0.1/a.jpg"),
            },
        };
        Box::pin(async move { client.get(&target).await.ok().map(|answer| answer.status.as_u16()) })
    }
}
