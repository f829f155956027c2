//! Errors of the object store, as text for the log: they may name the store's host. Clients never see them.

use std::error::Error;

use aws_sdk_s3::error::SdkError;

/// The store did not carry out a request, after all retries. The messages are for the log: they may name the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// An object could not be stored.
    #[error("cannot store `{key}`: {reason}")]
    Put {
        /// The object's key.
        key: String,
        /// The response of the store, or the network error.
        reason: String,
    },
    /// The objects of an attempt could not be listed.
    #[error("cannot list `{prefix}`: {reason}")]
    List {
        /// The prefix of the keys.
        prefix: String,
        /// The response of the store, or the network error.
        reason: String,
    },
    /// The uploads of an archive that were never completed could not be aborted.
    #[error("cannot abort the uploads of `{key}`: {reason}")]
    Abort {
        /// The object's key.
        key: String,
        /// The response of the store, or the network error.
        reason: String,
    },
    /// Objects could not be deleted.
    #[error("cannot delete `{first}` and other objects: {reason}")]
    Delete {
        /// The key of the first object.
        first: String,
        /// The response of the store, or the network error.
        reason: String,
    },
}

/// The HTTP status of an error and all its causes. The message of an SDK error alone says little, such as "service
/// error".
pub(super) fn reason<E: Error + 'static>(error: &SdkError<E>) -> String {
    let status = error.raw_response().map(|response| format!("status {}", response.status()));
    let causes = std::iter::successors(Some(error as &dyn Error), |cause| (*cause).source());
    status.into_iter().chain(causes.map(ToString::to_string)).collect::<Vec<_>>().join(": ")
}
