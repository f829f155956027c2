//! Pyramids in an S3 store: R2, or what speaks its language. An attempt's tiles are put with bounded concurrency, and its
//! descriptor only when every tile is there, so that no pyramid is ever linked half-done. Nothing is overwritten: each
//! attempt has keys of its own. What an attempt leaves behind is deleted by listing it.
//!
//! It knows nothing of queues, leases or how tiles come to be.

use std::error::Error;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::interceptors::InterceptorContext;
use aws_sdk_s3::config::retry::{ClassifyRetry, RetryAction, RetryConfig};
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{
    BehaviorVersion, Config, Credentials, Region, RequestChecksumCalculation, ResponseChecksumValidation,
};
use aws_sdk_s3::error::SdkError;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use aws_smithy_http_client::tls;
use bytes::Bytes;
use edgezoom_content::{Attempt, ContentId, Dzi};
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::Url;

mod concurrency_limit;

use crate::secret::Secret;
use concurrency_limit::Pace;
use edgezoom_pyramid::Tile;

/// Where pyramids are kept, and who may write there.
#[derive(Clone, Debug)]
pub struct S3Settings {
    /// The base address of the S3 API.
    pub endpoint: Url,
    /// The bucket.
    pub bucket: String,
    /// The access key's name.
    pub access_key_id: String,
    /// The access key.
    pub secret_access_key: Secret,
}

/// A store of pyramids. Clones share their connections.
#[derive(Clone)]
pub struct S3Store {
    client: Client,
    bucket: String,
}

/// One attempt's pyramid on its way into the store. Dropped: what is under way is cut off.
pub struct Upload {
    store: S3Store,
    id: ContentId,
    attempt: Attempt,
    pace: Pace,
    puts: JoinSet<Result<Put, StoreError>>,
    stored: Stored,
}

/// A tile that the store has taken.
struct Put {
    bytes: u64,
    took: Duration,
}

/// How much is in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// The tiles.
    pub tiles: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The store did not do what was asked, after all retries. The messages are for the log: they may name the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// An object was not taken.
    #[error("`{key}` cannot be put: {reason}")]
    Put {
        /// Its key.
        key: String,
        /// What the store or the network said.
        reason: String,
    },
    /// What there is could not be listed.
    #[error("`{prefix}` cannot be listed: {reason}")]
    List {
        /// What the keys begin with.
        prefix: String,
        /// What the store or the network said.
        reason: String,
    },
    /// Objects were not deleted.
    #[error("`{first}` and others cannot be deleted: {reason}")]
    Delete {
        /// The first of the objects' keys.
        first: String,
        /// What the store or the network said.
        reason: String,
    },
}

/// Keys name the attempt, so what lies under one never changes.
const FOREVER: &str = "public, max-age=31536000, immutable";

/// A store that is restarted or throttles comes back within these 10 s or so; for longer troubles there are jobs' retries.
const ATTEMPTS: u32 = 6;
const FIRST_BACKOFF: Duration = Duration::from_millis(300);
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// A tile has some 50 KB: what takes longer than this hangs.
const REQUEST_TIME: Duration = Duration::from_secs(20);

/// A request with its retries. A cleaner that waits for a dead store holds up its job no longer than this.
const OPERATION_TIME: Duration = Duration::from_secs(45);

/// 429 is to be tried again as well, which the SDK by itself only does for answers that also have a code it knows.
#[derive(Debug)]
struct TooMany;

impl ClassifyRetry for TooMany {
    fn classify_retry(&self, context: &InterceptorContext) -> RetryAction {
        match context.response().map(|response| response.status().as_u16()) {
            Some(429) => RetryAction::throttling_error(),
            _ => RetryAction::NoActionIndicated,
        }
    }

    fn name(&self) -> &'static str {
        "too many requests"
    }
}

impl S3Store {
    /// The store at `settings`. Nothing is connected to before the first request.
    #[must_use]
    pub fn new(settings: &S3Settings) -> Self {
        let http = aws_smithy_http_client::Builder::new()
            .tls_provider(tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring))
            .build_https();
        let credentials = Credentials::new(
            &settings.access_key_id,
            settings.secret_access_key.reveal(),
            None,
            None,
            "settings",
        );
        let retry = RetryConfig::standard()
            .with_max_attempts(ATTEMPTS)
            .with_initial_backoff(FIRST_BACKOFF)
            .with_max_backoff(MAX_BACKOFF);
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(Duration::from_secs(5))
            .operation_attempt_timeout(REQUEST_TIME)
            .operation_timeout(OPERATION_TIME)
            .build();
        let config = Config::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .http_client(http)
            .endpoint_url(base(&settings.endpoint))
            .region(Region::from_static("auto"))
            .credentials_provider(credentials)
            .force_path_style(true)
            // R2 answers 501 to the checksums that the SDK would add; the signature covers the body as it is.
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
            .retry_config(retry)
            .retry_classifier(TooMany)
            .timeout_config(timeouts)
            .build();
        Self { client: Client::from_conf(config), bucket: settings.bucket.clone() }
    }

    /// Begins the upload of an attempt's pyramid, with at most `at_once` tiles under way, and fewer as long as the store is
    /// not the better for more.
    #[must_use]
    pub fn upload(&self, id: ContentId, attempt: Attempt, at_once: NonZeroUsize) -> Upload {
        Upload {
            store: self.clone(),
            id,
            attempt,
            pace: Pace::new(at_once),
            puts: JoinSet::new(),
            stored: Stored::default(),
        }
    }

    /// Deletes whatever an attempt has left, its descriptor first, and tells how many tiles there were.
    ///
    /// # Errors
    /// The store did not list or delete; what is left then is part of the pyramid, never the descriptor alone.
    pub async fn delete_attempt(&self, id: ContentId, attempt: Attempt) -> Result<usize, StoreError> {
        self.delete(vec![attempt.descriptor_key(id)]).await?;
        let prefix = attempt.tiles_prefix(id);
        let listing = self.client.list_objects_v2().bucket(&self.bucket).prefix(&prefix);
        let mut pages = listing.into_paginator().send();
        let mut deleted = 0;
        while let Some(page) = pages.next().await {
            let page =
                page.map_err(|error| StoreError::List { prefix: prefix.clone(), reason: reason(&error) })?;
            // A page has at most 1,000 keys, which is also the most that one request deletes.
            let keys: Vec<String> =
                page.contents().iter().filter_map(|object| object.key()).map(str::to_owned).collect();
            if !keys.is_empty() {
                deleted += keys.len();
                self.delete(keys).await?;
            }
        }
        Ok(deleted)
    }

    async fn delete(&self, keys: Vec<String>) -> Result<(), StoreError> {
        let first = keys.first().cloned().unwrap_or_default();
        let failed = |reason: String| StoreError::Delete { first: first.clone(), reason };
        let objects: Result<Vec<_>, _> =
            keys.into_iter().map(|key| ObjectIdentifier::builder().key(key).build()).collect();
        let delete = objects
            .and_then(|objects| Delete::builder().set_objects(Some(objects)).quiet(true).build())
            .map_err(|error| failed(error.to_string()))?;
        let answer = self.client.delete_objects().bucket(&self.bucket).delete(delete).send().await;
        let answer = answer.map_err(|error| failed(reason(&error)))?;
        match answer.errors().first() {
            Some(error) => Err(failed(error.message().or(error.code()).unwrap_or("refused").to_owned())),
            None => Ok(()),
        }
    }

    async fn put(&self, key: String, bytes: Bytes, media_type: &'static str) -> Result<Put, StoreError> {
        let (length, begun) = (bytes.len() as u64, Instant::now());
        let put = self.client.put_object().bucket(&self.bucket).key(&key).body(ByteStream::from(bytes));
        match put.content_type(media_type).cache_control(FOREVER).send().await {
            Ok(_) => Ok(Put { bytes: length, took: begun.elapsed() }),
            Err(error) => Err(StoreError::Put { key, reason: reason(&error) }),
        }
    }
}

impl Upload {
    /// Takes a tile, once there is room for one more under way. So no more tiles are ever in memory here than that.
    ///
    /// # Errors
    /// This tile's or an earlier one's: the upload has failed.
    pub async fn put_tile(&mut self, dzi: &Dzi, tile: Tile) -> Result<(), StoreError> {
        while self.puts.len() >= self.pace.window() {
            self.settle_one().await?;
        }
        let path = dzi.tile_path(tile.level, tile.column, tile.row);
        let key = format!("{}{path}", self.attempt.tiles_prefix(self.id));
        let store = self.store.clone();
        let media_type = dzi.tile_format.media_type();
        self.puts.spawn(async move { store.put(key, tile.bytes, media_type).await });
        Ok(())
    }

    /// Waits until one tile more is in the store. `false`: there is none under way.
    async fn settle_one(&mut self) -> Result<bool, StoreError> {
        match self.puts.join_next().await {
            None => Ok(false),
            Some(Ok(put)) => {
                let Put { bytes, took } = put?;
                self.pace.settled(took);
                self.stored.bytes += bytes;
                self.stored.tiles += 1;
                Ok(true)
            }
            Some(Err(died)) => {
                Err(StoreError::Put { key: self.attempt.tiles_prefix(self.id), reason: died.to_string() })
            }
        }
    }

    /// Completes the pyramid: waits for the tiles under way, and tells `on_settled` after each how many are missing of how
    /// many; then puts the descriptor.
    ///
    /// # Errors
    /// A tile or the descriptor is not in the store. There is no descriptor then, unless its answer was lost.
    pub async fn finish(
        &mut self,
        dzi: &Dzi,
        mut on_settled: impl FnMut(usize, usize),
    ) -> Result<(), StoreError> {
        let last = self.puts.len();
        while self.settle_one().await? {
            on_settled(self.puts.len(), last);
        }
        let key = self.attempt.descriptor_key(self.id);
        self.store.put(key, dzi.descriptor().into(), Dzi::MEDIA_TYPE).await.map(drop)
    }

    /// Takes nothing more, and waits for what is under way for at most `patience`: a request cut off may still be carried
    /// out by the store, after whatever is there was deleted.
    pub async fn abandon(&mut self, patience: Duration) {
        let settled = async { while self.puts.join_next().await.is_some() {} };
        if timeout(patience, settled).await.is_err() {
            self.puts.shutdown().await;
        }
    }

    /// How much is in the store so far.
    #[must_use]
    pub fn stored(&self) -> Stored {
        self.stored
    }
}

/// The endpoint with a slash at its end: without, the SDK glues the bucket's name to the last part of the path.
fn base(endpoint: &Url) -> String {
    format!("{}/", endpoint.as_str().trim_end_matches('/'))
}

/// An error with its status and its causes: the SDK's own texts are only headings.
fn reason<E: Error + 'static>(error: &SdkError<E>) -> String {
    let status = error.raw_response().map(|response| format!("status {}", response.status()));
    let causes = std::iter::successors(Some(error as &dyn Error), |cause| (*cause).source());
    status.into_iter().chain(causes.map(ToString::to_string)).collect::<Vec<_>>().join(": ")
}
