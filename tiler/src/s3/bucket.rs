//! Requests to one bucket: PutObject, ListObjectsV2 and DeleteObjects.

use std::time::{Duration, Instant};

use aws_sdk_s3::Client;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use bytes::Bytes;

use super::client::{S3Settings, client, timeouts};
use super::error::{StoreError, reason};

/// A bucket. Clones share their connections.
#[derive(Clone)]
pub(super) struct Bucket {
    pub(super) client: Client,
    pub(super) name: String,
}

/// A PutObject request that succeeded.
pub(super) struct CompletedPut {
    pub bytes: u64,
    /// The time from the request to its response, retries included.
    pub latency: Duration,
}

/// From so many bytes on, a request may take as long as it takes to send them.
const LARGE: u64 = 1 << 20;

/// Keys contain the attempt's number, so the object of a key never changes.
pub(super) const IMMUTABLE: &str = "public, max-age=31536000, immutable";

impl Bucket {
    pub(super) fn new(settings: &S3Settings) -> Self {
        Self { client: client(settings), name: settings.bucket.clone() }
    }

    pub(super) async fn put(
        &self,
        key: String,
        bytes: Bytes,
        media_type: &'static str,
    ) -> Result<CompletedPut, StoreError> {
        let (length, start) = (bytes.len() as u64, Instant::now());
        let put = self.client.put_object().bucket(&self.name).key(&key).body(ByteStream::from(bytes));
        let put = put.content_type(media_type).cache_control(IMMUTABLE);
        let sent = match length {
            0..LARGE => put.send().await,
            _ => put.customize().config_override(timeouts(length)).send().await,
        };
        match sent {
            Ok(_) => Ok(CompletedPut { bytes: length, latency: start.elapsed() }),
            Err(error) => Err(StoreError::Put { key, reason: reason(&error) }),
        }
    }

    /// Deletes the objects whose keys begin with `prefix`, and returns how many there were.
    pub(super) async fn delete_prefix(&self, prefix: &str) -> Result<usize, StoreError> {
        let listing = self.client.list_objects_v2().bucket(&self.name).prefix(prefix);
        let mut pages = listing.into_paginator().send();
        let mut deleted = 0;
        while let Some(page) = pages.next().await {
            let failed = |error| StoreError::List { prefix: prefix.to_owned(), reason: reason(&error) };
            let page = page.map_err(failed)?;
            // A page has at most 1,000 keys, and one DeleteObjects request takes as many.
            let keys: Vec<String> =
                page.contents().iter().filter_map(|object| object.key()).map(str::to_owned).collect();
            if !keys.is_empty() {
                deleted += keys.len();
                self.delete(keys).await?;
            }
        }
        Ok(deleted)
    }

    pub(super) async fn delete(&self, keys: Vec<String>) -> Result<(), StoreError> {
        let first = keys.first().cloned().unwrap_or_default();
        let failed = |reason: String| StoreError::Delete { first: first.clone(), reason };
        let objects: Result<Vec<_>, _> =
            keys.into_iter().map(|key| ObjectIdentifier::builder().key(key).build()).collect();
        let delete = objects
            .and_then(|objects| Delete::builder().set_objects(Some(objects)).quiet(true).build())
            .map_err(|error| failed(error.to_string()))?;
        let response = self.client.delete_objects().bucket(&self.name).delete(delete).send().await;
        let response = response.map_err(|error| failed(reason(&error)))?;
        match response.errors().first() {
            Some(error) => Err(failed(error.message().or(error.code()).unwrap_or("refused").to_owned())),
            None => Ok(()),
        }
    }
}
