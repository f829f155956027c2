//! A content: the Durable Object sends it, KV has it when it is finished, and every response about it is made of it. It
//! holds no address of the service; the response adds those.

use serde::{Deserialize, Serialize};

use crate::{
    Archive, Attempt, CoarseNumber, ContentId, Dzi, Failure, Previews, Progress, SourceUrl, Timestamp, Title,
    Warning,
};

/// A content as clients may see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// Its identifier.
    pub id: ContentId,
    /// The URL of its source.
    pub url: SourceUrl,
    /// The progress of its conversion: 1 when ready; when failed, the last one.
    pub progress: Progress,
    /// Whether it is processing, ready or failed.
    pub status: Status,
}

/// The state of a content's conversion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The conversion is not finished.
    Processing {
        /// The stage of the conversion.
        stage: Stage,
        /// The picture so far.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        coarse: Option<Coarse>,
    },
    /// The pyramid is published, for ever.
    Ready {
        /// The attempt whose pyramid is published.
        attempt: Attempt,
        /// The picture's description.
        dzi: Dzi,
        /// The title of a web page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<Title>,
        /// What is missing of a source that is damaged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        warning: Option<Warning>,
        /// Where the archive has its index, if the pyramid is stored as one object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        archive: Option<Archive>,
        /// Where the small pictures are. An older tiler made none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        previews: Option<Previews>,
    },
    /// The conversion failed.
    Failed {
        /// Why.
        failure: Failure,
        /// From when on a request starts the conversion anew.
        #[serde(default)]
        retry_at: Timestamp,
    },
}

/// A coarse picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coarse {
    /// The attempt that made it.
    pub attempt: Attempt,
    /// Which one of the attempt.
    pub number: CoarseNumber,
}

/// The stages of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The job waits for a tiler.
    Queued,
    /// An attempt failed for a reason that may pass. The next one has its date.
    Waiting,
    /// The source is being downloaded.
    Downloading,
    /// The pyramid is being rendered and uploaded.
    Rendering,
    /// All tiles are rendered; the last of them and the descriptor are being uploaded.
    Publishing,
}

impl Content {
    /// Whether the conversion has ended, ready or failed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        !matches!(self.status, Status::Processing { .. })
    }
}
