//! The S3 client: its settings, time-outs and retries, the options that R2 needs, and the errors of its requests.

use std::error::Error;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::interceptors::InterceptorContext;
use aws_sdk_s3::config::retry::{ClassifyRetry, RetryAction, RetryConfig};
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{
    BehaviorVersion, Config, Credentials, Region, RequestChecksumCalculation, ResponseChecksumValidation,
};
use aws_sdk_s3::error::SdkError;
use aws_smithy_http_client::tls;
use url::Url;

use crate::secret::Secret;

/// Address and credentials of the store.
#[derive(Clone, Debug)]
pub struct S3Settings {
    /// Base URL of the S3 API.
    pub endpoint: Url,
    /// Name of the bucket.
    pub bucket: String,
    /// Id of the access key.
    pub access_key_id: String,
    /// Secret of the access key.
    pub secret_access_key: Secret,
}

/// Requests per operation. With the pauses below that is about 10 s, enough for a store that restarts or throttles. The
/// conversion is retried after longer outages.
const ATTEMPTS: u32 = 6;
const FIRST_BACKOFF: Duration = Duration::from_millis(300);
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// Slowest acceptable upload rate. Extends the time-outs of a request with a body.
const BYTES_PER_SECOND: u64 = 128 << 10;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time-out of one request. A small object takes far less.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

/// Time-out of an operation with its retries. Deleting from a store that is down delays the job by at most this time.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(45);

/// Creates the client. It connects at the first request.
pub(super) fn client(settings: &S3Settings) -> Client {
    let http = aws_smithy_http_client::Builder::new()
        .tls_provider(tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring))
        .build_https();
    let credentials = Credentials::new(
        &settings.access_key_id,
        settings.secret_access_key.reveal(),
        None,
        None,
        "settings",
    );
    let retry = RetryConfig::standard()
        .with_max_attempts(ATTEMPTS)
        .with_initial_backoff(FIRST_BACKOFF)
        .with_max_backoff(MAX_BACKOFF);
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(REQUEST_TIMEOUT)
        .operation_timeout(OPERATION_TIMEOUT)
        .build();
    let config = Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .http_client(http)
        .endpoint_url(base_url(&settings.endpoint))
        .region(Region::from_static("auto"))
        .credentials_provider(credentials)
        .force_path_style(true)
        // R2 responds 501 to the checksums that the SDK adds by default. The signature covers the body anyway.
        .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
        .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
        .retry_config(retry)
        .retry_classifier(RetryTooManyRequests)
        .timeout_config(timeouts)
        .build();
    Client::from_conf(config)
}

/// Returns the time-outs of a request that sends `bytes` bytes.
pub(super) fn timeouts(bytes: u64) -> aws_sdk_s3::config::Builder {
    let sending = Duration::from_secs(bytes / BYTES_PER_SECOND);
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(REQUEST_TIMEOUT + sending)
        .operation_timeout(OPERATION_TIMEOUT + 3 * sending)
        .build();
    Config::builder().timeout_config(timeouts)
}

/// Returns the endpoint with a final slash. Without it, the SDK appends the bucket's name to the last path segment.
fn base_url(endpoint: &Url) -> String {
    format!("{}/", endpoint.as_str().trim_end_matches('/'))
}

/// Retries status 429. The SDK itself retries only responses with an error code that it knows.
#[derive(Debug)]
struct RetryTooManyRequests;

impl ClassifyRetry for RetryTooManyRequests {
    fn classify_retry(&self, context: &InterceptorContext) -> RetryAction {
        match context.response().map(|response| response.status().as_u16()) {
            Some(429) => RetryAction::throttling_error(),
            _ => RetryAction::NoActionIndicated,
        }
    }

    fn name(&self) -> &'static str {
        "too many requests"
    }
}

/// The reason why the store did not carry out a request, after all retries. The messages may name the store, so they
/// are only for the log.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// An object could not be stored.
    #[error("cannot store `{key}`: {reason}")]
    Put {
        /// Key of the object.
        key: String,
        /// Response of the store, or network error.
        reason: String,
    },
    /// Unfinished uploads of an archive could not be aborted.
    #[error("cannot abort the uploads of `{key}`: {reason}")]
    Abort {
        /// Key of the object.
        key: String,
        /// Response of the store, or network error.
        reason: String,
    },
    /// Objects could not be deleted.
    #[error("cannot delete `{first}` and other objects: {reason}")]
    Delete {
        /// Key of the first object.
        first: String,
        /// Response of the store, or network error.
        reason: String,
    },
}

/// Formats the HTTP status of an error and all its causes. The SDK's own message says little, such as "service error".
pub(super) fn reason<E: Error + 'static>(error: &SdkError<E>) -> String {
    let status = status(error).map(|status| format!("status {status}"));
    let causes = std::iter::successors(Some(error as &dyn Error), |cause| (*cause).source());
    status.into_iter().chain(causes.map(ToString::to_string)).collect::<Vec<_>>().join(": ")
}

/// Returns the HTTP status of an error, if the store responded.
pub(super) fn status<E>(error: &SdkError<E>) -> Option<u16> {
    error.raw_response().map(|response| response.status().as_u16())
}
