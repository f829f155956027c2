//! An error of `tiler convert` as one line that names the source and, where there is one, the way out.

use std::path::Path;

use anyhow::anyhow;
use edgezoom_codecs::SourceError;
use edgezoom_content::address::RefusedAddress;
use edgezoom_content::{Failure, FailureCode};
use edgezoom_tiler::browser::PageError;
use edgezoom_tiler::fetch::FetchError;
use edgezoom_tiler::pipeline::PipelineError;
use edgezoom_tiler::renderer::RenderError;

/// The error as one line.
pub(super) fn explain(source: &Path, error: PipelineError) -> anyhow::Error {
    let hint = match &error {
        PipelineError::File(reason) => return anyhow!("cannot read {}: {reason}", source.display()),
        PipelineError::Sink(_) | PipelineError::Setup(_) | PipelineError::Upload(_) => return error.into(),
        // An option is out of range, or the machine has no room for a process.
        PipelineError::Render(RenderError::NotStarted(reason)) => return anyhow!("{reason}"),
        PipelineError::Fetch(FetchError::Refused(RefusedAddress::Network))
        | PipelineError::Page(PageError::Refused) => " Allow it with --allow-networks.",
        PipelineError::Fetch(FetchError::Disallowed | FetchError::RobotsUnreadable(_)) => {
            " If you have its owner's leave, --robots ignore does not ask."
        }
        PipelineError::Page(PageError::NotContained) => {
            " Run it as another user than root, or see `tiler doctor` for what namespaces need, or trust the page with \
             --web-pages-without-sandbox."
        }
        PipelineError::Page(PageError::NoBrowser) => " Install Chromium, or say where it is with --chromium.",
        PipelineError::Render(RenderError::OutOfMemory) => TOO_MANY_PIXELS,
        PipelineError::Render(RenderError::TooComplex { .. }) => {
            " If the machine is slow, --cpu-seconds allows more."
        }
        PipelineError::Render(RenderError::Reported(failure)) => for_failure(failure),
        PipelineError::Fetch(_) | PipelineError::Page(_) | PipelineError::Render(_) => "",
    };
    anyhow!("{}: {error}{hint}", source.display())
}

const TOO_MANY_PIXELS: &str = " If it is memory that is lacking, --memory allows more.";

fn for_failure(failure: &Failure) -> &'static str {
    match failure.code {
        FailureCode::TooManyPixels => TOO_MANY_PIXELS,
        FailureCode::CorruptSource => " Fetch or export the file again.",
        FailureCode::UnsupportedFormat if failure.message == SourceError::NoPdf.to_string() => {
            " Name its library, libpdfium.so, in EDGEZOOM_PDFIUM."
        }
        FailureCode::UnsupportedFormat => " Convert it to one of the usual formats first.",
        _ => "",
    }
}
