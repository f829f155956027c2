//! Requests to one bucket: storing and deleting objects, and multipart uploads.

use aws_sdk_s3::Client;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart, Delete, ObjectIdentifier};
use bytes::Bytes;

use super::client::{S3Settings, StoreError, client, reason, status, timeouts};

/// A bucket. Clones share their connections.
#[derive(Clone)]
pub(super) struct Bucket {
    pub(super) client: Client,
    pub(super) name: String,
}

/// Counts of what an upload has stored so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Number of tiles.
    pub tiles: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// A stored part of a multipart upload.
pub(super) struct Part {
    /// Number of the part, from 1.
    pub number: i32,
    pub bytes: u64,
    /// Entity tag, which completing the upload requires.
    tag: String,
}

/// Body size from which on a request gets longer time-outs.
const LARGE: u64 = 1 << 20;

/// Keys contain the attempt's number, so the object of a key never changes.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

impl Bucket {
    pub(super) fn new(settings: &S3Settings) -> Self {
        Self { client: client(settings), name: settings.bucket.clone() }
    }

    /// Stores an object and returns its size in bytes.
    pub(super) async fn put(
        &self,
        key: String,
        bytes: Bytes,
        media_type: &'static str,
    ) -> Result<u64, StoreError> {
        let length = bytes.len() as u64;
        let put = self.client.put_object().bucket(&self.name).key(&key).body(ByteStream::from(bytes));
        let put = put.content_type(media_type).cache_control(IMMUTABLE);
        let sent = match length {
            0..LARGE => put.send().await,
            _ => put.customize().config_override(timeouts(length)).send().await,
        };
        match sent {
            Ok(_) => Ok(length),
            Err(error) => Err(StoreError::Put { key, reason: reason(&error) }),
        }
    }

    /// Deletes objects.
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

    /// Starts a multipart upload and returns its id.
    pub(super) async fn create_multipart(
        &self,
        key: &str,
        media_type: &'static str,
    ) -> Result<String, StoreError> {
        let failed = |reason: String| StoreError::Put { key: key.to_owned(), reason };
        let create = self.client.create_multipart_upload().bucket(&self.name).key(key);
        let created = create.content_type(media_type).cache_control(IMMUTABLE).send().await;
        let created = created.map_err(|error| failed(reason(&error)))?;
        created.upload_id.ok_or_else(|| failed("the upload has no id".into()))
    }

    /// Stores a part.
    pub(super) async fn put_part(
        &self,
        key: String,
        upload_id: &str,
        number: i32,
        bytes: Bytes,
    ) -> Result<Part, StoreError> {
        let length = bytes.len() as u64;
        let put = self.client.upload_part().bucket(&self.name).key(&key).upload_id(upload_id);
        let put = put.part_number(number).body(ByteStream::from(bytes)).customize();
        match put.config_override(timeouts(length)).send().await {
            Ok(stored) => Ok(Part { number, bytes: length, tag: stored.e_tag.unwrap_or_default() }),
            Err(error) => Err(StoreError::Put { key, reason: reason(&error) }),
        }
    }

    /// Creates the object from its parts, which are sorted by number. The store may already have done so although its
    /// response was lost: to the client's retry it responds that there is no such upload, but the object exists.
    pub(super) async fn complete_multipart(
        &self,
        key: &str,
        upload_id: &str,
        parts: &[Part],
    ) -> Result<(), StoreError> {
        let bytes = parts.iter().map(|part| part.bytes).sum();
        let parts = parts
            .iter()
            .map(|part| CompletedPart::builder().part_number(part.number).e_tag(&part.tag).build());
        let parts = CompletedMultipartUpload::builder().set_parts(Some(parts.collect())).build();
        let complete = self.client.complete_multipart_upload().bucket(&self.name).key(key);
        let completed = complete.upload_id(upload_id).multipart_upload(parts).send().await;
        let Err(error) = completed else { return Ok(()) };
        if status(&error) == Some(404) && self.length(key).await == Some(bytes) {
            return Ok(());
        }
        Err(StoreError::Put { key: key.to_owned(), reason: reason(&error) })
    }

    /// Returns the length of an object, if it exists.
    async fn length(&self, key: &str) -> Option<u64> {
        let object = self.client.head_object().bucket(&self.name).key(key).send().await.ok()?;
        object.content_length()?.try_into().ok()
    }

    /// Deletes the parts of an upload.
    pub(super) async fn abort_multipart(&self, key: &str, upload_id: &str) -> Result<(), StoreError> {
        let abort = self.client.abort_multipart_upload().bucket(&self.name).key(key).upload_id(upload_id);
        let failed = |error| StoreError::Abort { key: key.to_owned(), reason: reason(&error) };
        abort.send().await.map(drop).map_err(failed)
    }

    /// Aborts all multipart uploads of an object. Ignores a store that cannot list them, such as wrangler's local one.
    pub(super) async fn abort_multiparts(&self, key: &str) -> Result<(), StoreError> {
        let listing = self.client.list_multipart_uploads().bucket(&self.name).prefix(key).send().await;
        let listing = match listing {
            Ok(listing) => listing,
            Err(error) if status(&error) == Some(501) => return Ok(()),
            Err(error) => return Err(StoreError::Abort { key: key.to_owned(), reason: reason(&error) }),
        };
        for upload in listing.uploads() {
            if let (Some(found), Some(upload_id)) = (upload.key(), upload.upload_id())
                && found == key
            {
                self.abort_multipart(key, upload_id).await?;
            }
        }
        Ok(())
    }
}
