//! Calls to a collection. All are idempotent, so they are repeated after a missing response or a transient failure, when
//! the service asks for it.

use std::fs::File;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};
use edgezoom_content::CollectionName;
use edgezoom_tiler::fetch::is_transient_status;
use edgezoom_tiler::http_client::{self, retry_after};
use edgezoom_tiler::secret::Secret;
use indicatif::ProgressBar;
use reqwest::{Body, Client, RequestBuilder, Response, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

/// A collection of the service.
pub(super) struct Service {
    client: Client,
    /// URL of the collection.
    url: String,
    pub(super) name: String,
    key: Option<Secret>,
    /// Shows why a call waits.
    pub(super) bar: ProgressBar,
}

/// A collection as the service describes it.
#[derive(Deserialize)]
pub(super) struct Collection {
    pub(super) counts: Counts,
    /// Number of its latest change.
    pub(super) last: u64,
    /// Its notices, which only the owner sees.
    pub(super) notices: Option<Notices>,
}

/// Notices of changes.
#[derive(Deserialize)]
pub(super) struct Notices {
    /// The secret that signs them.
    pub(super) secret: String,
}

/// Numbers of entries in the states that `watch` shows.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct Counts {
    pub(super) waiting: u64,
    pub(super) converting: u64,
    pub(super) ready: u64,
    pub(super) failed: u64,
}

/// Answer to lines.
#[derive(Deserialize)]
pub(super) struct Taken {
    pub(super) accepted: u64,
    pub(super) changed: u64,
    pub(super) refused: Vec<Refusal>,
}

/// A line that the service has refused.
#[derive(Deserialize)]
pub(super) struct Refusal {
    /// Its number, from 1.
    pub(super) line: usize,
    pub(super) code: String,
    pub(super) message: String,
}

/// A call that the service has refused for good.
#[derive(Debug, thiserror::Error)]
#[error("{collection}: {status}: {reason}")]
pub(super) struct Refused {
    collection: String,
    pub(super) status: StatusCode,
    pub(super) reason: String,
}

/// Time limit of a call: 8 MiB over a slow line.
const CALL_TIME: Duration = Duration::from_secs(180);
/// Time limit of a call with a file, which is the service's.
const FILE_TIME: Duration = Duration::from_secs(30 * 60);
/// Pauses before a call is repeated, if the service names none.
const PAUSES: [Duration; 9] = {
    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }
    [ms(300), ms(1000), ms(3000), ms(10_000), ms(30_000), ms(60_000), ms(60_000), ms(60_000), ms(60_000)]
};
/// Maximum size of an answer: 1,000 entries of 16 KiB.
const MAX_ANSWER: usize = 32 << 20;

impl Service {
    pub(super) fn new(edge: &Url, name: &str, key: Option<Secret>, bar: ProgressBar) -> anyhow::Result<Self> {
        let _: CollectionName = name.parse().with_context(|| name.to_owned())?;
        let client = http_client::builder().timeout(CALL_TIME).build()?;
        let url = format!("{}/v1/collections/{name}", edge.as_str().trim_end_matches('/'));
        Ok(Self { client, url, name: name.to_owned(), key, bar })
    }

    /// Returns the collection, if its key is known.
    pub(super) fn with_key(self) -> anyhow::Result<Self> {
        if self.key.is_none() {
            bail!("set EDGEZOOM_COLLECTION_KEY to the collection's key, or --key-file to a file with it");
        }
        Ok(self)
    }

    /// Returns its settings and counts.
    pub(super) async fn get(&self) -> anyhow::Result<Collection> {
        let answer = self.call(|| Ok(self.client.get(&self.url))).await?;
        serde_json::from_str(&answer).context("the service's answer is no collection")
    }

    /// Begins it, or replaces its settings. `signature` is a query.
    pub(super) async fn put(
        &self,
        signature: &[(&str, String)],
        settings: &impl Serialize,
    ) -> anyhow::Result<Value> {
        let mut url = Url::parse(&self.url)?;
        url.query_pairs_mut().extend_pairs(signature);
        let answer = self.call(|| Ok(self.client.put(url.clone()).json(settings))).await?;
        serde_json::from_str(&answer).context("the service's answer is no collection")
    }

    /// Sends lines.
    pub(super) async fn send(&self, lines: &[u8]) -> anyhow::Result<Taken> {
        let url = format!("{}/entries", self.url);
        let request = || {
            let request = self.client.post(&url).header("Content-Type", "application/x-ndjson");
            Ok(request.body(lines.to_vec()))
        };
        let answer = self.call(request).await?;
        serde_json::from_str(&answer).context("the service's answer to lines is malformed")
    }

    /// Sends a file, whose name and hash are in a query.
    pub(super) async fn send_file(&self, path: &Path, query: &[(&str, String)]) -> anyhow::Result<Taken> {
        let mut url = Url::parse(&format!("{}/files", self.url))?;
        url.query_pairs_mut().extend_pairs(query);
        let request = || {
            let file = File::open(path)?;
            let request = self.client.post(url.clone()).timeout(FILE_TIME);
            let request = request.header("Content-Length", file.metadata()?.len());
            let request = request.header("Content-Type", "application/octet-stream");
            Ok(request.body(Body::from(tokio::fs::File::from_std(file))))
        };
        let answer = self.call(request).await?;
        serde_json::from_str(&answer).context("the service's answer to a file is malformed")
    }

    /// Returns a page of the journal as JSON Lines.
    pub(super) async fn entries(&self, query: &[(&str, &str)]) -> anyhow::Result<String> {
        let mut url = Url::parse(&format!("{}/entries", self.url))?;
        url.query_pairs_mut().extend_pairs(query);
        self.call(|| Ok(self.client.get(url.clone()))).await
    }

    /// Deletes the collection.
    pub(super) async fn delete(&self) -> anyhow::Result<ExitCode> {
        self.call(|| Ok(self.client.delete(&self.url))).await?;
        println!("{}: the service is deleting it", self.name);
        Ok(ExitCode::SUCCESS)
    }

    /// Makes a call until it has a final answer, and returns its body.
    async fn call(&self, request: impl Fn() -> anyhow::Result<RequestBuilder>) -> anyhow::Result<String> {
        let mut pauses = PAUSES.into_iter();
        loop {
            let mut request = request()?;
            if let Some(key) = &self.key {
                request = request.bearer_auth(key.reveal());
            }
            let (failed, wish) = match request.send().await {
                Ok(response) => {
                    let status = response.status();
                    let wish = retry_after(response.headers(), SystemTime::now());
                    match text(response).await {
                        Ok(text) if status.is_success() => return Ok(text),
                        Ok(text) if !is_transient_status(status.as_u16()) => {
                            let (collection, reason) = (self.name.clone(), text.trim().to_owned());
                            return Err(Refused { collection, status, reason }.into());
                        }
                        Ok(text) => (format!("{status}: {}", text.trim()), wish),
                        Err(error) => (format!("broken response: {error:#}"), None),
                    }
                }
                Err(error) => (format!("no response: {:#}", anyhow::Error::from(error)), None),
            };
            let Some(pause) = pauses.next() else {
                bail!("{}: {failed} Run the command again: it goes on where it ended.", self.name);
            };
            let pause = wish.map_or(pause, |wish| wish.max(PAUSES[0]));
            self.bar.set_message(format!("waiting {} s: {}", pause.as_secs_f64().ceil(), failed));
            tokio::time::sleep(pause).await;
            self.bar.set_message("");
        }
    }
}

/// Reads a bounded answer.
async fn text(mut response: Response) -> anyhow::Result<String> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > MAX_ANSWER {
            bail!("it is longer than {} MiB", MAX_ANSWER >> 20);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8(body)?)
}
