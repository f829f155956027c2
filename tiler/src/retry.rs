//! Whether an attempt that failed is worth another one. Each match is exhaustive, as in [`failure`](crate::failure): a new
//! variant of an error does not compile until it is decided here whether it may pass.

use std::time::Duration;

use edgezoom_content::protocol::Retry;

use crate::browser::PageError;
use crate::fetch::{FetchError, is_transient_status};
use crate::pipeline::{PipelineError, SinkError};
use crate::renderer::RenderError;
use crate::s3::UploadedFileError;

/// Soon, but no server said when.
const LATER: Retry = Retry::Later { after_seconds: None };

/// Whether another attempt may succeed after this error.
#[must_use]
pub fn after(error: &PipelineError) -> Retry {
    match error {
        PipelineError::Setup(_) | PipelineError::File(_) => LATER,
        PipelineError::Fetch(error) => after_fetch(error),
        PipelineError::Page(error) => after_page(error),
        PipelineError::Render(error) => after_render(error),
        PipelineError::Upload(UploadedFileError::Store(_) | UploadedFileError::File(_)) => LATER,
        PipelineError::Upload(UploadedFileError::Gone | UploadedFileError::TooLarge(_)) => Retry::Never,
        PipelineError::Sink(SinkError::Store(_) | SinkError::Files(_)) => LATER,
    }
}

fn after_fetch(error: &FetchError) -> Retry {
    match error {
        FetchError::Answered { status, retry_after } if is_transient_status(status.as_u16()) => {
            Retry::Later { after_seconds: retry_after.map(whole_seconds) }
        }
        FetchError::RobotsUnreadable(wish) => Retry::Later { after_seconds: wish.map(whole_seconds) },
        FetchError::HostPaused(rest) => Retry::Later { after_seconds: Some(whole_seconds(*rest)) },
        FetchError::Unreachable
        | FetchError::NameServersDown
        | FetchError::BrokenOff
        | FetchError::HostBusy
        | FetchError::ConnectTimedOut
        | FetchError::Stalled(_)
        | FetchError::File(_) => LATER,
        // A download that takes too long has had its half hour. Each further one would cost as much.
        FetchError::TookTooLong(_)
        | FetchError::Refused(_)
        | FetchError::Disallowed
        | FetchError::Reserved(_)
        | FetchError::RedirectRefused(_)
        | FetchError::RedirectsNowhere
        | FetchError::TooManyRedirects(_)
        | FetchError::Answered { .. }
        | FetchError::Unresolved
        | FetchError::Certificate
        | FetchError::TooLarge(_) => Retry::Never,
    }
}

fn whole_seconds(time: Duration) -> u32 {
    time.as_secs_f64().ceil() as u32
}

fn after_page(error: &PageError) -> Retry {
    match error {
        PageError::BrowserGone => Retry::Elsewhere,
        PageError::Answered(status) if is_transient_status(*status) => LATER,
        PageError::NotStarted(_)
        | PageError::Command(_)
        | PageError::Unreachable
        | PageError::NeverLoaded(_)
        | PageError::File(_) => LATER,
        PageError::NoBrowser
        | PageError::NotContained
        | PageError::Crashed
        | PageError::TooMuchMemory(_)
        | PageError::TooMuchTraffic(_)
        | PageError::Refused
        | PageError::Reserved(_)
        | PageError::Unresolved
        | PageError::Answered(_)
        | PageError::NoPage
        | PageError::SentAsFile
        | PageError::LeadsTo(_)
        | PageError::TookTooLong(_) => Retry::Never,
    }
}

fn after_render(error: &RenderError) -> Retry {
    match error {
        RenderError::Killed { .. } => Retry::Elsewhere,
        RenderError::NotStarted(_) => LATER,
        RenderError::Reported(_)
        | RenderError::TimedOut
        | RenderError::Idle(_)
        | RenderError::TooComplex { .. }
        | RenderError::Crashed { .. }
        | RenderError::OutOfMemory
        | RenderError::Died
        | RenderError::Protocol(_)
        | RenderError::Pipe(_) => Retry::Never,
    }
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;

    use super::*;

    fn answered(status: u16, seconds: Option<u64>) -> PipelineError {
        let retry_after = seconds.map(Duration::from_secs);
        FetchError::Answered { status: StatusCode::from_u16(status).unwrap(), retry_after }.into()
    }

    #[test]
    fn a_servers_fault_may_pass_and_a_clients_does_not() {
        for status in [408, 425, 429, 500, 502, 503, 504, 520, 599] {
            assert_eq!(after(&answered(status, None)), LATER, "{status}");
            assert_eq!(after(&PageError::Answered(status).into()), LATER, "{status}");
        }
        for status in [400, 401, 403, 404, 410, 416, 451] {
            assert_eq!(after(&answered(status, Some(1))), Retry::Never, "{status}");
        }
    }

    #[test]
    fn a_servers_wish_is_passed_on() {
        assert_eq!(after(&answered(503, Some(90))), Retry::Later { after_seconds: Some(90) });
        assert_eq!(after(&answered(429, Some(u64::MAX))), Retry::Later { after_seconds: Some(u32::MAX) });
        let paused = FetchError::HostPaused(Duration::from_millis(1500)).into();
        assert_eq!(after(&paused), Retry::Later { after_seconds: Some(2) }, "not before the pause is over");
    }

    #[test]
    fn what_was_killed_from_outside_is_tried_elsewhere() {
        assert_eq!(after(&RenderError::Killed { signal: 9 }.into()), Retry::Elsewhere);
        assert_eq!(after(&PageError::BrowserGone.into()), Retry::Elsewhere);
        assert_eq!(after(&RenderError::Died.into()), Retry::Never, "a crash repeats itself");
        assert_eq!(after(&RenderError::OutOfMemory.into()), Retry::Never);
    }
}
