//! The upload of one attempt's pyramid as one object, an SZI archive. A small archive takes one PutObject. A large one
//! is a multipart upload: parts are sent while tiles are still being rendered, and the object exists once the upload is
//! completed.
//!
//! R2 requires all parts but the last to have the same size, at least 5 MiB:
//! <https://developers.cloudflare.com/r2/objects/multipart-objects/>.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use edgezoom_codecs::PageVectors;
use edgezoom_content::{
    Attempt, ContentId, Dzi, PreviewKind, Previews, StoredText, StoredVectors, TileRange,
};
use edgezoom_pyramid::sinks::{ArchiveFormat, ArchiveStream, VectorPages};
use edgezoom_pyramid::{Built, Tile};
use edgezoom_text::Text;
use tokio::sync::OnceCell;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::bucket::{Bucket, Part, Stored};
use super::client::StoreError;
use super::text::{PackedText, gzip};
use super::tile_sink::{Places, SinkError, TileSink};
use crate::renderer::Labels;

/// Media type of an archive: that of ZIP, because SZI has none of its own.
const MEDIA_TYPE: &str = "application/zip";
/// Size of parts for a picture of up to [`PIXELS_OF_SMALL_PARTS`], in bytes.
const SMALL_PART: usize = 8 << 20;
/// Size of parts for a larger picture, in bytes. Halves the number of requests.
const LARGE_PART: usize = 16 << 20;
/// Pixels of about 40 MB of tiles.
const PIXELS_OF_SMALL_PARTS: u64 = 100_000_000;
/// Maximum number of parts being sent. With the part being filled, this bounds the memory of an upload: 64 MiB.
const PARTS_IN_FLIGHT: usize = 3;

/// The upload of one attempt's pyramid. Dropping it cancels the running requests.
pub struct Upload {
    bucket: Bucket,
    key: String,
    id: ContentId,
    /// The archive with the bytes that are not sent yet. `None` before the first tile and after the last one.
    stream: Option<ArchiveStream<Vec<u8>>>,
    part_bytes: usize,
    /// Id of the multipart upload. The task that sends the first part starts it, so that rendering does not wait.
    upload_id: Arc<OnceCell<String>>,
    in_flight: JoinSet<Result<Part, StoreError>>,
    parts: Vec<Part>,
    /// Number of parts sent.
    sent: i32,
    is_complete: bool,
    stored: Stored,
    /// Places of the previews in the archive.
    large: Option<TileRange>,
    thumbnail: Option<TileRange>,
    text: Option<Box<StoredText>>,
    /// Places of the vectors in the picture.
    vectors: VectorPages,
}

impl Upload {
    pub(super) fn new(bucket: Bucket, id: ContentId, attempt: Attempt) -> Self {
        Self {
            bucket,
            key: attempt.archive_key(id),
            id,
            stream: None,
            part_bytes: SMALL_PART,
            upload_id: Arc::default(),
            in_flight: JoinSet::new(),
            parts: Vec::new(),
            sent: 0,
            is_complete: false,
            stored: Stored::default(),
            large: None,
            thumbnail: None,
            text: None,
            vectors: VectorPages::default(),
        }
    }

    /// Abandons the upload. Waits at most `patience` for the store to delete its parts.
    pub async fn abandon(&mut self, patience: Duration) {
        // If this fails, the next attempt or the bucket's lifecycle rule aborts it.
        let _ = timeout(patience, self.abort()).await;
        self.in_flight.shutdown().await;
    }

    /// Returns the counts of what is stored so far.
    #[must_use]
    pub fn stored(&self) -> Stored {
        self.stored
    }

    fn stream(&mut self, dzi: &Dzi) -> &mut ArchiveStream<Vec<u8>> {
        self.part_bytes = if dzi.size.pixels() > PIXELS_OF_SMALL_PARTS { LARGE_PART } else { SMALL_PART };
        let (name, date) = (self.id.to_string(), SystemTime::now());
        self.stream.get_or_insert_with(|| ArchiveStream::new(Vec::new(), name, dzi, ArchiveFormat::Szi, date))
    }

    async fn send_full_parts(&mut self, dzi: &Dzi) -> Result<(), StoreError> {
        loop {
            let part_bytes = self.part_bytes;
            let waiting = self.stream(dzi).get_mut();
            // One byte more, so that a last part always remains.
            if waiting.len() <= part_bytes {
                return Ok(());
            }
            let after = waiting.split_off(part_bytes);
            let part = std::mem::replace(waiting, after);
            self.send(part.into()).await?;
        }
    }

    /// Starts to send a part, as soon as fewer than [`PARTS_IN_FLIGHT`] are being sent.
    async fn send(&mut self, bytes: Bytes) -> Result<(), StoreError> {
        while self.in_flight.len() >= PARTS_IN_FLIGHT {
            self.complete_one().await?;
        }
        self.sent += 1;
        let (bucket, key, number) = (self.bucket.clone(), self.key.clone(), self.sent);
        let upload_id = Arc::clone(&self.upload_id);
        self.in_flight.spawn(async move {
            let upload_id = begin(&upload_id, &bucket, &key).await?;
            bucket.put_part(key.clone(), upload_id, number, bytes).await
        });
        Ok(())
    }

    /// Returns the id of the multipart upload. Waits for the request that starts it.
    async fn begun(&self) -> Result<&str, StoreError> {
        begin(&self.upload_id, &self.bucket, &self.key).await
    }

    /// Cancels running requests and deletes the stored parts.
    async fn abort(&mut self) -> Result<(), StoreError> {
        if self.sent > 0 && !self.is_complete {
            // The id first: without it, the upload could not be aborted.
            let upload_id = self.begun().await?.to_owned();
            self.in_flight.shutdown().await;
            self.bucket.abort_multipart(&self.key, &upload_id).await?;
        }
        self.upload_id = Arc::default();
        Ok(())
    }

    /// Waits until one more part is stored. Returns false if no request is running.
    async fn complete_one(&mut self) -> Result<bool, StoreError> {
        match self.in_flight.join_next().await {
            None => Ok(false),
            Some(Ok(part)) => {
                let part = part?;
                self.stored.bytes += part.bytes;
                self.parts.push(part);
                Ok(true)
            }
            Some(Err(panic)) => Err(self.failed(panic)),
        }
    }

    fn failed(&self, reason: impl ToString) -> StoreError {
        StoreError::Put { key: self.key.clone(), reason: reason.to_string() }
    }
}

/// The archive does not exist before [`TileSink::publish`], which returns the places of its parts. If
/// that fails, it does not exist either, unless only the response to the last request was lost.
impl TileSink for Upload {
    type Published = Places;

    async fn begin(&mut self, _: &Dzi) -> Result<(), SinkError> {
        Ok(())
    }

    async fn put(&mut self, dzi: &Dzi, tile: Tile) -> Result<(), SinkError> {
        let added = self.stream(dzi).add_tile(&tile);
        added.map_err(|error| self.failed(error))?;
        self.stored.tiles += 1;
        Ok(self.send_full_parts(dzi).await?)
    }

    async fn put_preview(&mut self, dzi: &Dzi, kind: PreviewKind, bytes: Bytes) -> Result<(), SinkError> {
        let added = self.stream(dzi).add_preview(kind, &bytes);
        let place = Some(added.map_err(|error| self.failed(error))?);
        match kind {
            PreviewKind::Large => self.large = place,
            PreviewKind::Thumbnail => self.thumbnail = place,
        }
        Ok(self.send_full_parts(dzi).await?)
    }

    async fn put_text(&mut self, dzi: &Dzi, text: Text) -> Result<(), SinkError> {
        // Not on a thread that serves connections.
        let packed = tokio::task::spawn_blocking(move || PackedText::of(&text)).await;
        let added =
            packed.map_err(io::Error::other).flatten().and_then(|packed| packed.add_to(self.stream(dzi)));
        self.text = Some(Box::new(added.map_err(|error| self.failed(error))?));
        Ok(self.send_full_parts(dzi).await?)
    }

    async fn put_vectors(&mut self, dzi: &Dzi, page: PageVectors) -> Result<(), SinkError> {
        let number = page.page;
        self.vectors.add(&page, format!("{number}.svg"));
        // Compressed again: bytes that follow the SVG in the renderer's would be passed on.
        let packed = tokio::task::spawn_blocking(move || gzip(page.svg.as_bytes())).await;
        let added = packed
            .map_err(io::Error::other)
            .flatten()
            .and_then(|svg| self.stream(dzi).add_numbered(number, &format!("vector/{number}.svg.gz"), &svg));
        added.map_err(|error| self.failed(error))?;
        Ok(self.send_full_parts(dzi).await?)
    }

    async fn publish(
        &mut self,
        _: &Built,
        _: &Labels,
        mut on_stored: impl FnMut(usize, usize) + Send,
    ) -> Result<Places, SinkError> {
        let mut stream = self.stream.take().ok_or_else(|| self.failed("there are no tiles"))?;
        let vectors = add_table(&self.vectors, &mut stream).map_err(|error| self.failed(error))?;
        let (mut rest, archive) = stream.finish().map_err(|error| self.failed(error))?;
        let previews = self.large.zip(self.thumbnail).map(|(large, thumbnail)| Previews { large, thumbnail });
        let (archive, previews) =
            archive.zip(previews).ok_or_else(|| self.failed("there are no previews"))?;
        let places = Places { archive, previews, text: self.text.take(), vectors };
        if self.sent == 0 && rest.len() <= self.part_bytes {
            self.stored.bytes += self.bucket.put(self.key.clone(), rest.into(), MEDIA_TYPE).await?;
            return Ok(places);
        }
        while rest.len() > self.part_bytes {
            let after = rest.split_off(self.part_bytes);
            self.send(std::mem::replace(&mut rest, after).into()).await?;
        }
        self.send(rest.into()).await?;
        let total = self.in_flight.len();
        while self.complete_one().await? {
            on_stored(self.in_flight.len(), total);
        }
        self.parts.sort_by_key(|part| part.number);
        let upload_id = self.begun().await?;
        self.bucket.complete_multipart(&self.key, upload_id, &self.parts).await?;
        self.is_complete = true;
        Ok(places)
    }

    async fn restart(&mut self) -> Result<(), SinkError> {
        self.abort().await?;
        self.stream = None;
        self.parts.clear();
        self.sent = 0;
        self.is_complete = false;
        self.stored = Stored::default();
        self.large = None;
        self.thumbnail = None;
        self.text = None;
        self.vectors = VectorPages::default();
        Ok(())
    }
}

/// Adds the places of the vectors to an archive.
fn add_table(pages: &VectorPages, to: &mut ArchiveStream<Vec<u8>>) -> io::Result<Option<StoredVectors>> {
    if pages.is_empty() {
        return Ok(None);
    }
    let table = to.add_file("vector.json.gz", &gzip(&serde_json::to_vec(pages)?)?)?;
    Ok(Some(StoredVectors { table, pages: to.numbered() }))
}

/// Returns the id of the multipart upload. The first call starts it.
async fn begin<'a>(
    upload_id: &'a OnceCell<String>,
    bucket: &Bucket,
    key: &str,
) -> Result<&'a str, StoreError> {
    upload_id.get_or_try_init(|| bucket.create_multipart(key, MEDIA_TYPE)).await.map(String::as_str)
}
