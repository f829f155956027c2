//! Deletes what attempts have left in the store. An attempt that fails deletes its own objects. One that finishes deletes
//! those of earlier attempts, which exist only when a tiler was killed.

use std::time::Duration;

use edgezoom_content::Attempt;
use edgezoom_content::protocol::Claim;
use tokio::time::timeout;
use tracing::warn;

use super::context::ServiceContext;
use crate::s3::Upload;

/// How long requests under way to the store may take to end, once the job is over.
const SETTLE_TIME: Duration = Duration::from_secs(2);
/// How long deleting an attempt's objects may take. In a shutdown the service's own limit comes first.
const DELETE_TIME: Duration = Duration::from_secs(120);
/// How many earlier attempts are searched for objects.
const MAX_EARLIER_ATTEMPTS: usize = 16;

/// Stops the job's upload and deletes its objects.
pub(super) async fn delete_own(context: &ServiceContext, claim: &Claim, upload: &mut Upload) {
    upload.abandon(SETTLE_TIME).await;
    delete_attempt(context, claim, claim.attempt).await;
}

/// Deletes the objects of earlier attempts, the latest first, until the service shuts down.
pub(super) async fn delete_earlier(context: &ServiceContext, claim: &Claim) {
    let mut earlier: Vec<Attempt> = claim.attempt.earlier().collect();
    earlier.reverse();
    for attempt in earlier.into_iter().take(MAX_EARLIER_ATTEMPTS) {
        tokio::select! {
            () = delete_attempt(context, claim, attempt) => {}
            () = context.shutdown.cancelled() => return,
        }
    }
}

/// Deletes an attempt's objects. When that fails they stay until a later attempt finishes; no address leads to them.
async fn delete_attempt(context: &ServiceContext, claim: &Claim, attempt: Attempt) {
    let id = claim.id;
    match timeout(DELETE_TIME, context.store.delete_attempt(id, attempt)).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => warn!(of = %attempt, %error, "an attempt's objects are left in the store"),
        Err(_) => warn!(of = %attempt, "an attempt's objects are left in the store: deleting took too long"),
    }
}
