//! What clients are told of each error. The one place where errors become codes.

use std::io;

use edgezoom_content::{Failure, FailureCode};
use reqwest::StatusCode;

use crate::fetch::FetchError;
use crate::s3::StoreError;

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        Self::new(code_of(&error), error.to_string())
    }
}

fn code_of(error: &FetchError) -> FailureCode {
    match error {
        FetchError::Refused | FetchError::RedirectRefused(_) => FailureCode::SourceForbidden,
        FetchError::Answered(status) => code_of_status(*status),
        FetchError::TooManyRedirects(_)
        | FetchError::RedirectsNowhere
        | FetchError::Unresolved
        | FetchError::Unreachable
        | FetchError::BrokenOff => FailureCode::SourceUnreachable,
        FetchError::TooLarge(_) => FailureCode::SourceTooLarge,
        FetchError::ConnectTimedOut | FetchError::Stalled(_) | FetchError::TookTooLong(_) => {
            FailureCode::TimedOut
        }
        FetchError::File(_) => FailureCode::Internal,
    }
}

fn code_of_status(status: StatusCode) -> FailureCode {
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => FailureCode::SourceNotFound,
        StatusCode::UNAUTHORIZED
        | StatusCode::FORBIDDEN
        | StatusCode::PROXY_AUTHENTICATION_REQUIRED
        | StatusCode::UNAVAILABLE_FOR_LEGAL_REASONS => FailureCode::SourceForbidden,
        _ => FailureCode::SourceUnreachable, // 429 and 5xx above all: it may pass
    }
}

/// The store is ours, and its name and words are nobody's business.
impl From<StoreError> for Failure {
    fn from(_: StoreError) -> Self {
        Self::new(FailureCode::Internal, "The pyramid could not be stored.")
    }
}

/// The renderer process did not start.
pub(super) fn not_started(_: io::Error) -> Failure {
    Failure::new(
        FailureCode::Internal,
        "The picture could not be rendered: no process for it could be started.",
    )
}

/// The renderer process spoke of tiles before it said of what.
pub(super) fn out_of_order() -> Failure {
    Failure::new(FailureCode::Internal, "The picture could not be rendered: its process broke the rules.")
}

/// A panic: a bug of ours.
pub(super) fn panicked() -> Failure {
    Failure::new(FailureCode::Internal, "The conversion met a bug.")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use edgezoom_content::SourceUrl;

    use super::*;

    #[test]
    fn every_way_a_download_fails_has_its_code() {
        use FailureCode::*;
        let answered = |status: u16| FetchError::Answered(StatusCode::from_u16(status).unwrap());
        let refused = SourceUrl::parse("file:///etc/passwd").unwrap_err();
        for (error, code) in [
            (answered(404), SourceNotFound),
            (answered(410), SourceNotFound),
            (answered(401), SourceForbidden),
            (answered(403), SourceForbidden),
            (answered(451), SourceForbidden),
            (answered(400), SourceUnreachable),
            (answered(429), SourceUnreachable),
            (answered(500), SourceUnreachable),
            (answered(503), SourceUnreachable),
            (FetchError::Refused, SourceForbidden),
            (FetchError::RedirectRefused(refused), SourceForbidden),
            (FetchError::TooManyRedirects(5), SourceUnreachable),
            (FetchError::Unresolved, SourceUnreachable),
            (FetchError::BrokenOff, SourceUnreachable),
            (FetchError::TooLarge(1), SourceTooLarge),
            (FetchError::ConnectTimedOut, TimedOut),
            (FetchError::Stalled(Duration::ZERO), TimedOut),
            (FetchError::File(io::Error::other("disk full")), Internal),
        ] {
            assert_eq!(Failure::from(error).code, code);
        }
    }

    #[test]
    fn what_is_wrong_with_our_machines_is_not_told() {
        let disk = io::Error::other("/var/tmp: no space left");
        assert!(!Failure::from(FetchError::File(disk)).message.contains("/var"));
        let store = StoreError::Put { key: "a/1.dzi".into(), reason: "http://10.0.0.7:9000".into() };
        assert!(!Failure::from(store).message.contains("10.0"));
    }
}
