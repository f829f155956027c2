//! What goes into [`decide`](super::decide), and what comes out of it: events, effects, replies.

use std::time::Duration;

use crate::protocol::{Claim, ClaimRequest, Report};
use crate::{Attempt, Content, ContentId, Removal, RemovalKind, SourceUrl, UploadKey};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client asks for the content by its URL.
    Created {
        /// The content's id.
        id: ContentId,
        /// The URL of its source.
        url: SourceUrl,
    },
    /// A client has sent a file.
    Uploaded {
        /// The content's id.
        id: ContentId,
        /// The URL of the file.
        url: SourceUrl,
        /// Where the file lies.
        upload: UploadKey,
    },
    /// A client asks for the content by its id.
    Requested,
    /// A client asks for a content that failed, or waits for its next attempt, to be tried now.
    RetryAsked,
    /// A tiler pulled the job and claims it.
    Claimed(ClaimRequest),
    /// A tiler reports on the attempt that it claimed.
    Reported(Report),
    /// The alarm fired: a lease expired, or a message or a value for KV has to be sent again.
    AlarmFired,
    /// The queue did not take the message.
    EnqueueFailed,
    /// KV has the finished content.
    CacheWritten,
    /// The objects of earlier attempts are deleted.
    Swept {
        /// The attempts before this one.
        before: Attempt,
    },
    /// The operator starts a content that is not ready anew, at once.
    Reset,
    /// The operator takes a content down or lifts that; or it is deleted because it is not used.
    Removed {
        /// The content's id.
        id: ContentId,
        /// The URL of its source, if it may be one that no client has asked for yet.
        url: Option<SourceUrl>,
        /// What happens, and why.
        removal: Removal,
    },
    /// KV and the operator's log have the removal.
    RemovalRecorded(RemovalKind),
}

/// Something to be done outside, after the new state is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send the content's [job](crate::Conversion::job) to the queue. On failure: [`Event::EnqueueFailed`].
    Enqueue,
    /// Write the finished content to KV. On success: [`Event::CacheWritten`].
    WriteCache {
        /// The content.
        content: Content,
        /// When a failed content may be tried again; a ready one stays. KV takes no less than a minute.
        expires_in: Option<Duration>,
    },
    /// Delete the content from KV.
    DeleteFromCache,
    /// Delete a file that is not needed, or not any more.
    DeleteUpload(UploadKey),
    /// Delete from the store what attempts have left. On success: [`Event::Swept`].
    Sweep {
        /// All attempts before this one; no tiler has or gets them any more.
        before: Attempt,
        /// Except for the one that is published.
        keep: Option<Attempt>,
        /// And the file that a client has sent, if it is still there.
        upload: Option<UploadKey>,
    },
    /// Write to KV that the content is removed, and to the operator's log. On success: [`Event::RemovalRecorded`].
    RecordRemoval(Removal),
}

/// The reply to the sender of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The content as it is now.
    Content(Content),
    /// The claim on the job.
    Claim(Claim),
    /// The report is accepted; or the event needs no reply.
    Accepted,
    /// There is no such conversion.
    NotFound,
    /// The claim or the report is refused: another attempt has the lease, the conversion waits or is finished, or the
    /// tiler has other jobs and must have none.
    Conflict,
    /// The id belongs to another URL.
    IdTaken,
    /// The operator has taken the content down, for this reason.
    TakenDown(String),
    /// The content's removal is not recorded everywhere yet. The sender tries again.
    NotYet,
}
