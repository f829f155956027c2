//! The S3 client: its settings, time-outs and retries, and the options that R2 needs.

use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::interceptors::InterceptorContext;
use aws_sdk_s3::config::retry::{ClassifyRetry, RetryAction, RetryConfig};
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{
    BehaviorVersion, Config, Credentials, Region, RequestChecksumCalculation, ResponseChecksumValidation,
};
use aws_smithy_http_client::tls;
use url::Url;

use crate::secret::Secret;

/// The address of the store, and the credentials to write to it.
#[derive(Clone, Debug)]
pub struct S3Settings {
    /// The base URL of the S3 API.
    pub endpoint: Url,
    /// The bucket.
    pub bucket: String,
    /// The id of the access key.
    pub access_key_id: String,
    /// The secret of the access key.
    pub secret_access_key: Secret,
}

/// A store that restarts or throttles requests is back after these 10 s or so. Longer outages are left to the retries
/// of jobs.
const ATTEMPTS: u32 = 6;
const FIRST_BACKOFF: Duration = Duration::from_millis(300);
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// What a request with a body may take more, at the slowest rate that is waited for.
const BYTES_PER_SECOND: u64 = 128 << 10;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A tile has about 50 KB: a request that takes longer than this hangs.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

/// The limit for a request with its retries. Deleting from a store that is down delays the job by no more than this.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(45);

/// Builds the client. It does not connect before the first request.
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
        // R2 answers 501 to the checksums that the SDK adds by default. The signature covers the body in any case.
        .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
        .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
        .retry_config(retry)
        .retry_classifier(RetryTooManyRequests)
        .timeout_config(timeouts)
        .build();
    Client::from_conf(config)
}

/// The time-outs of a request that sends so many bytes.
pub(super) fn timeouts(bytes: u64) -> aws_sdk_s3::config::Builder {
    let sending = Duration::from_secs(bytes / BYTES_PER_SECOND);
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(REQUEST_TIMEOUT + sending)
        .operation_timeout(OPERATION_TIMEOUT + 3 * sending)
        .build();
    Config::builder().timeout_config(timeouts)
}

/// The endpoint with a slash at its end. Without it, the SDK appends the bucket's name to the last path segment.
fn base_url(endpoint: &Url) -> String {
    format!("{}/", endpoint.as_str().trim_end_matches('/'))
}

/// Retries after status 429. By itself, the SDK does so only for responses with an error code that it knows.
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
