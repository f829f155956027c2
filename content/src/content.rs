//! What is known of a content: what the Durable Object tells, what KV keeps when it is finished, and what every answer
//! to a client is made of. It holds no address of the service; an answer adds those.

use serde::{Deserialize, Serialize};

use crate::{Attempt, ContentId, Dzi, Failure, Progress, SourceUrl, Title};

/// A content as clients may see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// Its identifier.
    pub id: ContentId,
    /// Where it comes from.
    pub url: SourceUrl,
    /// How far its conversion has come: 1 when ready, where it stopped when failed.
    pub progress: Progress,
    /// Whether it is under way, ready or failed.
    pub status: Status,
}

/// Where a content's conversion stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Under way.
    Processing {
        /// What is being done.
        stage: Stage,
    },
    /// The pyramid can be seen, for good.
    Ready {
        /// The attempt that rendered it; its pyramid is the one that is linked.
        attempt: Attempt,
        /// The picture's description.
        dzi: Dzi,
        /// What the source calls itself, if it is a web page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<Title>,
    },
    /// It could not be done.
    Failed {
        /// Why.
        failure: Failure,
    },
}

/// What is being done for a content that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// It waits for a tiler.
    Queued,
    /// The source is being downloaded.
    Downloading,
    /// The pyramid is being rendered and uploaded.
    Rendering,
    /// All tiles are rendered; the last of them and the descriptor are being put in place.
    Publishing,
}

impl Content {
    /// Whether the conversion has ended, ready or failed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        !matches!(self.status, Status::Processing { .. })
    }
}
