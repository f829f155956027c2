//! The classification of errors: the failure code that clients see, and whether another attempt may succeed. Each error type has one exhaustive match, so a new variant does not
//! compile until both are stated. docs/retries.md describes all layers of retrying.

use std::time::Duration;

use edgezoom_content::protocol::Retry;
use edgezoom_content::{Failure, FailureCode};

use crate::browser::PageError;
use crate::fetch::{FetchError, is_transient_status};
use crate::pipeline::PipelineError;
use crate::renderer::RenderError;
use crate::s3::{SinkError, StoreError, UploadedFileError};

/// The meaning of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Code that clients see.
    pub code: FailureCode,
    /// Retry of the attempt: never, later or elsewhere.
    pub retry: Retry,
}

impl Class {
    fn never(code: FailureCode) -> Self {
        Self { code, retry: Retry::Never }
    }

    fn later(code: FailureCode) -> Self {
        Self::later_after(code, None)
    }

    fn later_after(code: FailureCode, wait: Option<Duration>) -> Self {
        let after_seconds = wait.map(|wait| wait.as_secs_f64().ceil() as u32);
        Self { code, retry: Retry::Later { after_seconds } }
    }

    fn elsewhere(code: FailureCode) -> Self {
        Self { code, retry: Retry::Elsewhere }
    }
}

/// Returns the failure that ended an attempt, and whether another attempt may succeed.
#[must_use]
pub fn of_attempt(error: &PipelineError) -> (Failure, Retry) {
    let class = match error {
        PipelineError::HttpClient(_) | PipelineError::File(_) => Class::later(FailureCode::Internal),
        PipelineError::Sealed(_) => Class::never(FailureCode::SourceForbidden),
        PipelineError::Fetch(error) => of_download(error),
        PipelineError::Page(error) => of_page(error),
        PipelineError::Render(error) => of_render(error),
        PipelineError::Upload(error) => of_uploaded_file(error),
        PipelineError::Sink(error) => of_sink(error),
    };
    let message = match error {
        PipelineError::HttpClient(_) => "The conversion could not be started.".to_owned(),
        // The sink belongs to the service, so clients see neither its name nor its messages.
        PipelineError::Sink(_) => "The pyramid could not be stored.".to_owned(),
        error => error.to_string(),
    };
    (Failure::new(class.code, message), class.retry)
}

/// Returns the failure of an attempt that panicked, which is a bug of the tiler.
#[must_use]
pub fn of_panic() -> (Failure, Retry) {
    (
        Failure::new(FailureCode::Internal, "The conversion failed because of a bug in the service."),
        Retry::Never,
    )
}

/// Classifies the error of a download.
#[must_use]
pub fn of_download(error: &FetchError) -> Class {
    use FailureCode::*;
    match error {
        FetchError::Unreachable
        | FetchError::NameServersDown
        | FetchError::BrokenOff
        | FetchError::HostBusy => Class::later(SourceUnreachable),
        FetchError::Stalled(_) | FetchError::ConnectTimedOut => Class::later(TimedOut),
        FetchError::Answered { status, retry_after } => of_status(status.as_u16(), *retry_after),
        FetchError::RobotsUnreadable(wait) => Class::later_after(SourceUnreachable, *wait),
        FetchError::HostPaused(rest) => Class::later_after(SourceUnreachable, Some(*rest)),
        FetchError::File(_) => Class::later(Internal),
        // Each further download would take half an hour too.
        FetchError::TookTooLong(_) => Class::never(TimedOut),
        FetchError::Refused(_) | FetchError::RedirectRefused(_) => Class::never(SourceForbidden),
        FetchError::Disallowed => Class::never(SourceExcluded),
        FetchError::TooManyRedirects(_)
        | FetchError::RedirectsNowhere
        | FetchError::Unresolved
        | FetchError::Certificate => Class::never(SourceUnreachable),
        FetchError::TooLarge(_) => Class::never(SourceTooLarge),
        FetchError::BrokenHttp | FetchError::OnlyPart => Class::never(CorruptSource),
    }
}

/// Classifies the error of a web page.
#[must_use]
pub fn of_page(error: &PageError) -> Class {
    use FailureCode::*;
    match error {
        PageError::Answered(status) => of_status(*status, None),
        PageError::BrowserGone => Class::elsewhere(Internal),
        PageError::NotStarted(_) | PageError::Command(_) | PageError::File(_) => Class::later(Internal),
        PageError::Unreachable => Class::later(SourceUnreachable),
        PageError::NeverLoaded(_) | PageError::Starved(_) => Class::later(TimedOut),
        PageError::TookTooLong(_) => Class::never(TimedOut),
        PageError::Unresolved => Class::never(SourceUnreachable),
        // The page is as it was meant to be.
        PageError::NoElement(_) | PageError::NoSelector(_) => Class::never(NoSuchElement),
        PageError::NoBrowser
        | PageError::NotContained
        | PageError::OptionsWithoutPage
        | PageError::NoPage
        | PageError::SentAsFile
        | PageError::LeadsTo(_) => Class::never(UnsupportedFormat),
        PageError::Crashed => Class::never(CorruptSource),
        PageError::TooMuchCpu(_) => Class::never(TooComplex),
        PageError::TooMuchMemory(_) | PageError::TooMuchTraffic { .. } => Class::never(SourceTooLarge),
        PageError::Refused => Class::never(SourceForbidden),
    }
}

/// Classifies an error status of the source's server.
fn of_status(status: u16, retry_after: Option<Duration>) -> Class {
    match status {
        404 | 410 => Class::never(FailureCode::SourceNotFound),
        401 | 403 | 407 | 451 => Class::never(FailureCode::SourceForbidden),
        status if is_transient_status(status) => {
            Class::later_after(FailureCode::SourceUnreachable, retry_after)
        }
        _ => Class::never(FailureCode::SourceUnreachable),
    }
}

fn of_render(error: &RenderError) -> Class {
    use FailureCode::*;
    match error {
        RenderError::Killed { .. } => Class::elsewhere(Internal),
        RenderError::NotStarted(_) => Class::later(Internal),
        // The renderer has classified it, and would report the same for the same source.
        RenderError::Reported(failure) => Class::never(failure.code),
        // The pipeline opens a browser, or has it drawn without.
        RenderError::NeedsBrowser(_) => Class::never(UnsupportedFormat),
        RenderError::TimedOut | RenderError::Idle(_) => Class::never(TimedOut),
        RenderError::TooComplex { .. } => Class::never(TooComplex),
        RenderError::UnpacksTooLarge(_) => Class::never(SourceTooLarge),
        RenderError::OutOfMemory => Class::never(TooManyPixels),
        // The pipeline renders a document again that needs its pixels.
        RenderError::NeedsPixels
        | RenderError::Crashed { .. }
        | RenderError::Died
        | RenderError::Protocol(_)
        | RenderError::Pipe(_) => Class::never(Internal),
    }
}

fn of_uploaded_file(error: &UploadedFileError) -> Class {
    match error {
        UploadedFileError::Store(_) | UploadedFileError::File(_) => Class::later(FailureCode::Internal),
        UploadedFileError::Gone => Class::never(FailureCode::SourceNotFound),
        UploadedFileError::TooLarge(_) => Class::never(FailureCode::SourceTooLarge),
    }
}

fn of_sink(error: &SinkError) -> Class {
    match error {
        SinkError::Store(StoreError::Put { .. } | StoreError::Abort { .. } | StoreError::Delete { .. })
        | SinkError::Files(_) => Class::later(FailureCode::Internal),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use edgezoom_content::SourceUrl;
    use edgezoom_content::address::RefusedAddress;
    use reqwest::StatusCode;

    use super::*;

    const LATER: Retry = Retry::Later { after_seconds: None };

    fn answered(status: u16, seconds: Option<u64>) -> FetchError {
        let retry_after = seconds.map(Duration::from_secs);
        FetchError::Answered { status: StatusCode::from_u16(status).unwrap(), retry_after }
    }

    #[test]
    fn each_download_error_has_its_code() {
        use FailureCode::*;
        let refused = SourceUrl::parse("file:///etc/passwd").unwrap_err();
        for (error, code) in [
            (answered(404, None), SourceNotFound),
            (answered(410, None), SourceNotFound),
            (answered(401, None), SourceForbidden),
            (answered(403, None), SourceForbidden),
            (answered(451, None), SourceForbidden),
            (answered(400, None), SourceUnreachable),
            (answered(429, None), SourceUnreachable),
            (answered(500, None), SourceUnreachable),
            (answered(503, None), SourceUnreachable),
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
            assert_eq!(of_download(&error).code, code, "{error}");
        }
    }

    #[test]
    fn pages_and_downloads_classify_a_status_alike() {
        for status in 400..600 {
            assert_eq!(
                of_page(&PageError::Answered(status)),
                of_download(&answered(status, None)),
                "{status}"
            );
        }
    }

    #[test]
    fn messages_reveal_nothing_about_the_service() {
        let message = |error: PipelineError| of_attempt(&error).0.message;
        let disk = FetchError::File(io::Error::other("/var/tmp: no space left"));
        assert!(!message(disk.into()).contains("/var"));
        let store = StoreError::Put { key: "a/1.dzi".into(), reason: "http://10.0.0.7:9000".into() };
        assert!(!message(SinkError::from(store).into()).contains("10.0"));
        let renderer = RenderError::NotStarted(io::Error::other("/proc/self/exe: not found"));
        assert!(!message(renderer.into()).contains("/proc"));
    }

    #[test]
    fn server_errors_are_retried_and_client_errors_are_not() {
        for status in [408, 425, 429, 500, 502, 503, 504, 520, 599] {
            assert_eq!(of_download(&answered(status, None)).retry, LATER, "{status}");
        }
        for status in [400, 401, 403, 404, 410, 416, 451] {
            assert_eq!(of_download(&answered(status, Some(1))).retry, Retry::Never, "{status}");
        }
    }

    #[test]
    fn the_time_that_a_server_asks_for_is_passed_on() {
        let after = |error: &FetchError| match of_download(error).retry {
            Retry::Later { after_seconds } => after_seconds,
            retry => panic!("{retry:?}"),
        };
        assert_eq!(after(&answered(503, Some(90))), Some(90));
        assert_eq!(after(&answered(429, Some(u64::MAX))), Some(u32::MAX));
        let paused = FetchError::HostPaused(Duration::from_millis(1500));
        assert_eq!(after(&paused), Some(2), "not before the pause is over");
    }

    #[test]
    fn a_process_killed_from_outside_is_retried_elsewhere() {
        let retry = |error: PipelineError| of_attempt(&error).1;
        assert_eq!(retry(RenderError::Killed { signal: 9 }.into()), Retry::Elsewhere);
        assert_eq!(retry(PageError::BrowserGone.into()), Retry::Elsewhere);
        assert_eq!(retry(RenderError::Died.into()), Retry::Never, "a crash repeats itself");
        assert_eq!(retry(RenderError::OutOfMemory.into()), Retry::Never);
    }

    #[test]
    fn a_page_whose_browser_waited_for_a_processor_too_long_is_tried_again_later() {
        assert_eq!(of_page(&PageError::Starved(Duration::ZERO)).retry, LATER);
        assert_eq!(of_page(&PageError::TookTooLong(Duration::ZERO)).retry, Retry::Never);
    }
}
