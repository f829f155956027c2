//! What can be wrong with the operator's variables.

use edgezoom_content::address::{HostError, NetworkError};

use super::tiler_token::TilerToken;

/// A variable is malformed. The message is for the operator: it is logged, and clients do not see it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// An address is not a URL, or contains characters that would have to be escaped.
    #[error("{0}: `{1}` is not a plain http or https URL")]
    Address(&'static str, String),
    /// A list has something that is not a network.
    #[error("{0}: {1}")]
    Networks(&'static str, NetworkError),
    /// A list has something that is not a host.
    #[error("{0}: {1}")]
    Hosts(&'static str, HostError),
    /// Not a whole number from 1 on.
    #[error("{0}: `{1}` is not a whole number of seconds")]
    Seconds(&'static str, String),
    /// `RETRY_SECONDS` is not a list of three whole numbers.
    #[error("RETRY_SECONDS: `{0}` is not three whole numbers of seconds, such as 60,300,1800")]
    Retries(String),
    /// Not a whole number.
    #[error("{0}: `{1}` is not a whole number")]
    Number(&'static str, String),
    /// `MAINTENANCE` is neither `on` nor `off`.
    #[error("MAINTENANCE: `{0}` is neither on nor off")]
    Maintenance(String),
    /// `UPLOAD_ORIGINS` is neither `*` nor a list of origins.
    #[error("UPLOAD_ORIGINS: `{0}` is not an origin, such as https://example.com")]
    UploadOrigins(String),
    /// The token is short enough to be guessed.
    #[error("TILER_TOKEN has fewer than {} characters", TilerToken::MIN_LENGTH)]
    ShortToken,
    /// A signing key is malformed, or short enough to be guessed. It is not repeated, as this is logged.
    #[error(
        "SIGNING_KEYS is not a list such as shop:<16 characters at least>,press:<16 characters at least>"
    )]
    SigningKeys,
}
