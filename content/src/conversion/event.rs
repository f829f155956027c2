//! The inputs and outputs of [`decide`](super::decide): events, effects and replies.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::protocol::{Claim, ClaimRequest, Report};
use crate::{
    Alternative, Attempt, Content, ContentId, DeletionKeyHash, Membership, Removal, RemovalKind, SourceUrl,
    UploadKey,
};

/// Something that happened. Those of the Worker, the tilers and the operator are sent to the Durable Object as JSON;
/// the object makes the others itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A client asks for the content by its URL.
    Created {
        /// Id of the content.
        id: ContentId,
        /// URL of its source.
        url: SourceUrl,
        /// Alternative text of the picture, if the client gives one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alternative: Option<Alternative>,
    },
    /// A collection has the content among its entries: it is created, or described by other words.
    Entered {
        /// Id of the content.
        id: ContentId,
        /// URL of its source.
        url: SourceUrl,
        /// The collection, and what its owner says about the picture.
        member: Box<Membership>,
        /// True if a failed content starts again, whatever its date.
        again: bool,
        /// Key of the file in the store, if the owner has uploaded one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        upload: Option<UploadKey>,
    },
    /// A client has uploaded a file.
    Uploaded {
        /// Id of the content.
        id: ContentId,
        /// URL of the file.
        url: SourceUrl,
        /// Key of the file in the store.
        upload: UploadKey,
        /// Hash of the client's key, if it gets one.
        owner: Option<DeletionKeyHash>,
        /// Alternative text of the picture, if the client gives one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alternative: Option<Alternative>,
    },
    /// A client asks to delete the content of an uploaded file, with a key that has this hash.
    DeletionAsked(DeletionKeyHash),
    /// A client asks for the content by its id.
    Requested,
    /// A client asks for another attempt now, at a content that failed or waits for its next attempt.
    RetryAsked,
    /// A tiler pulled the job and claims it.
    Claimed(ClaimRequest),
    /// A tiler reports on the attempt that it claimed.
    Reported(Report),
    /// The alarm fired: a lease expired, or a message or a value for KV has to be sent again.
    #[serde(skip)]
    AlarmFired,
    /// The queue refused the message.
    #[serde(skip)]
    EnqueueFailed,
    /// KV has the finished content.
    #[serde(skip)]
    CacheWritten,
    /// The objects of earlier attempts are deleted.
    #[serde(skip)]
    Swept {
        /// The attempts before this one.
        before: Attempt,
    },
    /// The operator starts a content that is not ready again, at once.
    Reset,
    /// The operator takes the content down or lifts a takedown, or the content is deleted as unused.
    Removed {
        /// Id of the content.
        id: ContentId,
        /// URL of its source, if no client may have asked for it yet.
        url: Option<SourceUrl>,
        /// The removal.
        removal: Removal,
    },
    /// KV and the operator's log have the removal.
    #[serde(skip)]
    RemovalRecorded(RemovalKind),
}

impl Event {
    /// Returns true if handling the event twice leaves the conversion as once, with the same reply. A second claim would be
    /// refused, and so would a second report of a failure.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        matches!(self, Self::Created { .. } | Self::Requested)
    }
}

/// Something to do outside, after the new state is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send the content's [job](crate::Conversion::job) to the queue. On failure: [`Event::EnqueueFailed`].
    Enqueue,
    /// Write the finished content to KV. On success: [`Event::CacheWritten`].
    WriteCache {
        /// The content.
        content: Content,
        /// Time until a failed content may be tried again; `None` for a ready one, which stays. KV's minimum is a
        /// minute.
        expires_in: Option<Duration>,
    },
    /// Delete the content from KV.
    DeleteFromCache,
    /// Delete an uploaded file that is not needed.
    DeleteUpload(UploadKey),
    /// Delete what attempts left in the store. On success: [`Event::Swept`].
    Sweep {
        /// All attempts before this one. No tiler has a claim on them.
        before: Attempt,
        /// The published attempt, which stays.
        keep: Option<Attempt>,
        /// An uploaded file, to delete if it is still there.
        upload: Option<UploadKey>,
    },
    /// Write the removal to KV and to the operator's log. On success: [`Event::RemovalRecorded`].
    RecordRemoval(Removal),
}

/// The reply to the sender of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// The content as it is now.
    Content(Content),
    /// The content of a file that was uploaded. The client that uploaded it may delete it.
    Owned(Content),
    /// The claim on the job.
    Claim(Claim),
    /// The report is accepted, or the event needs no reply.
    Accepted,
    /// There is no such conversion.
    NotFound,
    /// The claim or report is refused: another attempt has the lease, the conversion waits or is finished, or the job
    /// has to be alone on its tiler.
    Conflict,
    /// The id belongs to another URL, or to a content of the same file that its uploader has deleted.
    IdTaken,
    /// The operator has taken the content down, for this reason.
    TakenDown(String),
    /// The uploader has deleted the content.
    Deleted,
    /// The deletion key is wrong.
    Forbidden,
    /// The content's removal is not recorded everywhere yet. The sender has to try again.
    NotYet,
}
