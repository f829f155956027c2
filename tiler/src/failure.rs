//! Errors as failures of the interface: a code for programs and a sentence for people. This is the only module of the
//! tiler that chooses codes. Each match is exhaustive, so a new variant of an error does not compile until it has a code
//! here.

use edgezoom_codecs::SourceError;
use edgezoom_content::{Failure, FailureCode};
use edgezoom_pyramid::BuildError;

use crate::browser::PageError;
use crate::fetch::FetchError;
use crate::pipeline::{PipelineError, SetupError, SinkError};
use crate::renderer::RenderError;
use crate::s3::{StoreError, UploadedFileError};

impl From<PipelineError> for Failure {
    fn from(error: PipelineError) -> Self {
        match error {
            PipelineError::Setup(error) => error.into(),
            PipelineError::Fetch(error) => error.into(),
            PipelineError::File(_) => Self::new(FailureCode::Internal, error.to_string()),
            PipelineError::Page(error) => error.into(),
            PipelineError::Render(error) => error.into(),
            PipelineError::Sink(error) => error.into(),
            PipelineError::Upload(error) => error.into(),
        }
    }
}

impl From<UploadedFileError> for Failure {
    fn from(error: UploadedFileError) -> Self {
        let code = match error {
            UploadedFileError::Gone => FailureCode::SourceNotFound,
            UploadedFileError::TooLarge(_) => FailureCode::SourceTooLarge,
            UploadedFileError::Store(_) | UploadedFileError::File(_) => FailureCode::Internal,
        };
        Self::new(code, error.to_string())
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        let code = match error {
            SetupError::HttpClient(_) => FailureCode::Internal,
        };
        Self::new(code, "The conversion could not be started.")
    }
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        let code = match &error {
            FetchError::Refused(_) | FetchError::RedirectRefused(_) => FailureCode::SourceForbidden,
            FetchError::Answered { status, .. } => of_status(status.as_u16()),
            FetchError::Disallowed | FetchError::Reserved(_) => FailureCode::SourceExcluded,
            FetchError::TooManyRedirects(_)
            | FetchError::RedirectsNowhere
            | FetchError::Unresolved
            | FetchError::NameServersDown
            | FetchError::Certificate
            | FetchError::Unreachable
            | FetchError::HostBusy
            | FetchError::HostPaused(_)
            | FetchError::RobotsUnreadable(_)
            | FetchError::BrokenOff => FailureCode::SourceUnreachable,
            FetchError::TooLarge(_) => FailureCode::SourceTooLarge,
            FetchError::ConnectTimedOut | FetchError::Stalled(_) | FetchError::TookTooLong(_) => {
                FailureCode::TimedOut
            }
            FetchError::File(_) => FailureCode::Internal,
        };
        Self::new(code, error.to_string())
    }
}

impl From<PageError> for Failure {
    fn from(error: PageError) -> Self {
        let code = match &error {
            PageError::NoBrowser
            | PageError::NotContained
            | PageError::NoPage
            | PageError::SentAsFile
            | PageError::LeadsTo(_) => FailureCode::UnsupportedFormat,
            PageError::Crashed => FailureCode::CorruptSource,
            PageError::TooMuchMemory(_) | PageError::TooMuchTraffic(_) => FailureCode::SourceTooLarge,
            PageError::Refused => FailureCode::SourceForbidden,
            PageError::Reserved(_) => FailureCode::SourceExcluded,
            PageError::Answered(status) => of_status(*status),
            PageError::Unresolved | PageError::Unreachable => FailureCode::SourceUnreachable,
            PageError::NeverLoaded(_) | PageError::TookTooLong(_) => FailureCode::TimedOut,
            PageError::NotStarted(_)
            | PageError::BrowserGone
            | PageError::Command(_)
            | PageError::File(_) => FailureCode::Internal,
        };
        Self::new(code, error.to_string())
    }
}

/// What a server's status other than success says of the source.
fn of_status(status: u16) -> FailureCode {
    match status {
        404 | 410 => FailureCode::SourceNotFound,
        401 | 403 | 407 | 451 => FailureCode::SourceForbidden,
        _ => FailureCode::SourceUnreachable, // above all 429 and 5xx, which may pass
    }
}

impl From<RenderError> for Failure {
    fn from(error: RenderError) -> Self {
        let code = match error {
            RenderError::Reported(failure) => return failure,
            RenderError::TimedOut | RenderError::Idle(_) => FailureCode::TimedOut,
            RenderError::TooComplex { .. } => FailureCode::TooComplex,
            RenderError::OutOfMemory => FailureCode::TooManyPixels,
            RenderError::NotStarted(_)
            | RenderError::Crashed { .. }
            | RenderError::Killed { .. }
            | RenderError::Died
            | RenderError::Protocol(_)
            | RenderError::Pipe(_) => FailureCode::Internal,
        };
        Self::new(code, error.to_string())
    }
}

/// The failure that a renderer process reports to its parent.
#[must_use]
pub fn of_build(error: &BuildError) -> Failure {
    match error {
        BuildError::Source(error) => of_source(error),
        BuildError::Output(_) | BuildError::Thread => {
            Failure::new(FailureCode::Internal, "The tiles could not be made.")
        }
    }
}

/// The failure of a source that cannot be read.
#[must_use]
pub fn of_source(error: &SourceError) -> Failure {
    let code = match error {
        SourceError::NoBytes
        | SourceError::Unknown { .. }
        | SourceError::Refused(_)
        | SourceError::Unsupported { .. }
        | SourceError::NoPdf => FailureCode::UnsupportedFormat,
        SourceError::Encrypted => FailureCode::SourceForbidden,
        SourceError::NoSuchPage { .. } => FailureCode::SourceNotFound,
        SourceError::Corrupt { .. } | SourceError::Empty => FailureCode::CorruptSource,
        SourceError::TooManyPixels { .. }
        | SourceError::TooFewBytes { .. }
        | SourceError::TooLong { .. }
        | SourceError::TooMuchMemory { .. }
        | SourceError::OutOfMemory => FailureCode::TooManyPixels,
        SourceError::TooComplex { .. } => FailureCode::TooComplex,
        SourceError::TooManyBytes { .. } => FailureCode::SourceTooLarge,
        SourceError::NeedsWhole | SourceError::Io(_) => FailureCode::Internal,
    };
    Failure::new(code, error.to_string())
}

/// The sink belongs to the service, so clients do not see its name or its messages.
impl From<SinkError> for Failure {
    fn from(error: SinkError) -> Self {
        let code = match error {
            SinkError::Store(
                StoreError::Put { .. }
                | StoreError::List { .. }
                | StoreError::Abort { .. }
                | StoreError::Delete { .. },
            )
            | SinkError::Files(_) => FailureCode::Internal,
        };
        Self::new(code, "The pyramid could not be stored.")
    }
}

/// A panic during a conversion, which is a bug of the tiler.
#[must_use]
pub fn of_panic() -> Failure {
    Failure::new(FailureCode::Internal, "The conversion met a bug.")
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::time::Duration;

    use edgezoom_content::SourceUrl;
    use edgezoom_content::address::RefusedAddress;
    use reqwest::StatusCode;

    use super::*;

    fn answered(status: u16) -> FetchError {
        FetchError::Answered { status: StatusCode::from_u16(status).unwrap(), retry_after: None }
    }

    #[test]
    fn every_way_a_download_fails_has_its_code() {
        use FailureCode::*;
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
            (FetchError::Refused(RefusedAddress::Port), SourceForbidden),
            (FetchError::RedirectRefused(refused), SourceForbidden),
            (FetchError::Disallowed, SourceExcluded),
            (FetchError::RobotsUnreadable(None), SourceUnreachable),
            (FetchError::HostPaused(Duration::ZERO), SourceUnreachable),
            (FetchError::TooManyRedirects(5), SourceUnreachable),
            (FetchError::Unresolved, SourceUnreachable),
            (FetchError::NameServersDown, SourceUnreachable),
            (FetchError::Certificate, SourceUnreachable),
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
    fn a_page_and_a_download_have_the_same_code_for_the_same_status() {
        for status in 400..600 {
            let download = answered(status);
            let page = PageError::Answered(status);
            assert_eq!(Failure::from(page).code, Failure::from(download).code, "{status}");
        }
    }

    #[test]
    fn messages_name_nothing_of_the_service() {
        let disk = io::Error::other("/var/tmp: no space left");
        assert!(!Failure::from(FetchError::File(disk)).message.contains("/var"));
        let store = StoreError::Put { key: "a/1.dzi".into(), reason: "http://10.0.0.7:9000".into() };
        assert!(!Failure::from(SinkError::from(store)).message.contains("10.0"));
        let renderer = RenderError::NotStarted(io::Error::other("/proc/self/exe: not found"));
        assert!(!Failure::from(renderer).message.contains("/proc"));
    }
}
