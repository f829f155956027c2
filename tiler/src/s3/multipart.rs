//! Requests for one object in parts: CreateMultipartUpload, UploadPart, CompleteMultipartUpload, AbortMultipartUpload and
//! ListMultipartUploads.

use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};
use bytes::Bytes;

use super::bucket::{Bucket, IMMUTABLE};
use super::client::timeouts;
use super::error::{StoreError, reason};

/// A part that is stored.
pub(super) struct Part {
    /// From 1.
    pub number: i32,
    pub bytes: u64,
    /// The store's tag of it, by which the upload is completed.
    tag: String,
}

impl Bucket {
    /// Begins an object in parts, and gives the id of the upload.
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

    /// Makes the object of its parts, which are in the order of their numbers. The store may have done so without a response
    /// that came in time: when the client tries again, it knows no such upload, but the object is there.
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
        let is_unknown = error.raw_response().is_some_and(|response| response.status().as_u16() == 404);
        if is_unknown && self.length(key).await == Some(bytes) {
            return Ok(());
        }
        Err(StoreError::Put { key: key.to_owned(), reason: reason(&error) })
    }

    /// How many bytes an object has, if it is there and the store says so.
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

    /// Aborts all uploads of an object. A store that cannot list them, such as the local one of wrangler, has a lifecycle
    /// rule for them or none to list.
    pub(super) async fn abort_multiparts(&self, key: &str) -> Result<(), StoreError> {
        let listing = self.client.list_multipart_uploads().bucket(&self.name).prefix(key).send().await;
        let listing = match listing {
            Ok(listing) => listing,
            Err(error) if error.raw_response().is_some_and(|response| response.status().as_u16() == 501) => {
                return Ok(());
            }
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
