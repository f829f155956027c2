//! A content as clients may see it. Its Durable Object sends it, KV stores it once it is finished, and every response
//! about it is made from it. It holds none of the service's addresses; responses add those.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use time::UtcDateTime;

use crate::{
    Alternative, Archive, Attempt, Beginning, CoarseNumber, ContentId, Credits, Damage, Dzi, Failure,
    Previews, Progress, Scale, SourceUrl, TileRange, Title,
};

/// A content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// Identifier.
    pub id: ContentId,
    /// URL of the source.
    pub url: SourceUrl,
    /// Alternative text of the picture, from the request that created the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternative: Option<Alternative>,
    /// Progress of the conversion: 1 when ready; when failed, the last one reported.
    pub progress: Progress,
    /// State of the conversion.
    pub status: Status,
}

/// The state of a content's conversion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The conversion is not finished.
    Processing {
        /// Stage of the conversion.
        stage: Stage,
        /// Latest coarse picture.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        coarse: Option<Coarse>,
        /// Next attempt, while `stage` is [`Stage::Waiting`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<NextTry>,
    },
    /// The pyramid is published, for good.
    Ready {
        /// Attempt whose pyramid is published.
        attempt: Attempt,
        /// Result of the attempt.
        #[serde(flatten)]
        finished: Finished,
    },
    /// The conversion failed.
    Failed {
        /// Reason.
        failure: Failure,
        /// Time from which a request starts the conversion again.
        retry_at: Timestamp,
    },
}

/// The result of a finished conversion: the tiler reports it, the Durable Object and KV store it, and the content
/// object shows it.
///
/// A new member is optional, with `#[serde(default, skip_serializing_if = …)]`: stored records do not have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// Description of the picture.
    pub dzi: Dzi,
    /// Title that the source states: a web page's, a PDF's, an SVG's, or a picture's in XMP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Title>,
    /// Credits that the source states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credits: Option<Box<Credits>>,
    /// The part that a damaged source lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage: Option<Damage>,
    /// Physical size of a pixel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// The words, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Box<StoredText>>,
    /// The pages as vectors, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<StoredVectors>,
    /// Place of the index in the archive.
    pub archive: Archive,
    /// Places of the preview images in the archive.
    pub previews: Previews,
}

/// Bytes of an archive that count as a tile of the day's budgets. A tile of a photograph has about as many.
pub const TILE_BYTES: u64 = 50_000;

/// The words in a picture: where their forms are in the archive, all but the table with gzip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredText {
    /// `edgezoom_text::Text` as JSON.
    pub json: TileRange,
    /// Plain text, with a form feed between pages.
    pub plain: TileRange,
    /// Length of the plain text unpacked, in bytes.
    pub plain_bytes: u32,
    /// HTML.
    pub html: TileRange,
    /// The [`PageTable`](crate::PageTable) as JSON.
    pub table: TileRange,
    /// Number of pages.
    pub pages: u32,
    /// The first words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beginning: Option<Beginning>,
}

/// The pages of a picture as vectors: SVGs with gzip, which the archive's index has after the tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredVectors {
    /// The places of the pages as JSON with gzip, for viewers.
    pub table: TileRange,
    /// Number of pages in the index. Some may have no vectors.
    pub pages: u32,
}

/// The next attempt after one that failed for a passing reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextTry {
    /// Time at which its job is queued.
    pub until: Timestamp,
    /// Number of attempts left, this one included.
    pub left: u32,
    /// Why the last attempt failed.
    pub reason: Failure,
}

/// A coarse picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coarse {
    /// Attempt that made it.
    pub attempt: Attempt,
    /// Its number within the attempt.
    pub number: CoarseNumber,
}

/// The stages of a conversion, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The job waits for a tiler.
    Queued,
    /// An attempt failed for a passing reason, and the next one is scheduled.
    Waiting,
    /// The source is being downloaded.
    Downloading,
    /// The pyramid is being rendered and uploaded.
    Rendering,
    /// All tiles are rendered; the rest of the archive is being uploaded.
    Publishing,
}

/// A point in time, in milliseconds since the Unix epoch. The rules take it as an argument; only the caller reads a
/// clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl fmt::Display for Timestamp {
    /// Writes a time as in RFC 3339, in seconds (UTC). Times after the year 9999 become its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = UtcDateTime::from_unix_timestamp((self.0 / 1000) as i64).unwrap_or(UtcDateTime::MAX);
        let (hour, minute, second) = time.time().as_hms();
        write!(f, "{}T{hour:02}:{minute:02}:{second:02}Z", time.date())
    }
}

impl Content {
    /// Returns true if the conversion is ready or has failed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        !matches!(self.status, Status::Processing { .. })
    }

    /// Returns the title: the one that the source states, once it is known, or else the name of an uploaded file.
    #[must_use]
    pub fn title(&self) -> Option<Title> {
        let of_file = || self.url.file_name().and_then(|name| Title::of_file(&name));
        self.status.finished().and_then(|finished| finished.title.clone()).or_else(of_file)
    }

    /// Returns the credits that the source states, once they are known.
    #[must_use]
    pub fn credits(&self) -> Option<&Credits> {
        self.status.finished()?.credits.as_deref()
    }

    /// Returns the alternative text: the one of the request, or else the one that the source states.
    #[must_use]
    pub fn alternative_text(&self) -> Option<&Alternative> {
        self.alternative.as_ref().or_else(|| self.credits()?.alternative.as_ref())
    }
}

impl Status {
    /// Returns the status of a conversion in a stage, without optional members.
    #[must_use]
    pub fn processing(stage: Stage) -> Self {
        Self::Processing { stage, coarse: None, next: None }
    }

    /// Returns the result of the conversion if the content is ready.
    #[must_use]
    pub fn finished(&self) -> Option<&Finished> {
        match self {
            Self::Ready { finished, .. } => Some(finished),
            Self::Processing { .. } | Self::Failed { .. } => None,
        }
    }
}

impl Finished {
    /// Returns a result without optional members.
    #[must_use]
    pub fn new(dzi: Dzi, archive: Archive, previews: Previews) -> Self {
        Self {
            dzi,
            title: None,
            credits: None,
            damage: None,
            scale: None,
            text: None,
            vectors: None,
            archive,
            previews,
        }
    }

    /// Returns the number of tiles that count in the day's budgets: those of the pyramid, or more if they are large.
    #[must_use]
    pub fn counted_tiles(&self) -> u64 {
        // The index is the last but for the directory of the archive.
        let bytes = self.archive.index_offset.saturating_add(self.archive.index_length.into());
        self.dzi.tile_count().max(bytes / TILE_BYTES)
    }
}

impl Timestamp {
    const DAY: u64 = 24 * 60 * 60 * 1000;

    /// Returns the end of the day (UTC).
    #[must_use]
    pub fn next_midnight(self) -> Self {
        Self((self.day() + 1) * Self::DAY)
    }

    /// Returns the number of days (UTC) since the Unix epoch.
    #[must_use]
    pub fn day(self) -> u64 {
        self.0 / Self::DAY
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.as_millis() as u64))
    }
}

impl Sub for Timestamp {
    type Output = Duration;

    /// Returns the time since `earlier`; zero if that is later.
    fn sub(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

#[cfg(test)]
mod tests {
    use edgezoom_geometry::{Size, TileFormat};

    use super::*;

    #[test]
    fn times_are_written_as_dates() {
        for (milliseconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_796_040_123_999, "2026-11-30T12:02:03Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (u64::MAX, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(Timestamp(milliseconds).to_string(), text);
        }
    }

    #[test]
    fn tiles_count_by_their_bytes() {
        let size = Size { width: 800, height: 600 };
        let dzi = Dzi { size, tile_size: 512, tile_overlap: 0, tile_format: TileFormat::Png };
        let tiles = |index_offset| {
            let archive = Archive { index_offset, index_length: 100 };
            Finished::new(dzi, archive, Previews::default()).counted_tiles()
        };
        assert_eq!((tiles(40_000), tiles(30_000_000)), (dzi.tile_count(), 600));
    }
}
