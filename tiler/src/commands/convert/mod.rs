//! `tiler convert`: converts one source into a pyramid on disk, like `vips dzsave`. It uses the same
//! [`pipeline`](edgezoom_tiler::pipeline) as the service.

mod output;
mod progress_bars;

use std::future::Future;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use clap::{ValueEnum, value_parser};
use edgezoom_codecs::SourceError;
use edgezoom_content::address::RefusedAddress;
use edgezoom_content::{Failure, FailureCode, SourceUrl, TileFormat};
use edgezoom_tiler::browser::PageError;
use edgezoom_tiler::fetch::FetchError;
use edgezoom_tiler::pipeline::{Origin, Pipeline, PipelineError};
use edgezoom_tiler::renderer::{RenderError, RenderOptions};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use super::flags::ConversionArgs;
use output::{Container, FileSink};
use progress_bars::ProgressBars;

/// Exit code after an interrupt: 128 plus the number of SIGINT, as in shells.
const INTERRUPTED: u8 = 130;

/// Converts a picture, document or web page into a Deep Zoom pyramid on disk
#[derive(clap::Args)]
pub struct Args {
    #[arg(help = format!("File or URL: HTML, {}", edgezoom_codecs::Format::list()))]
    source: PathBuf,
    /// Name of the pyramid: writes <OUTPUT>.dzi and <OUTPUT>_files/ [default: the source's name, in the current directory]
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Kind of output [default: from the extension of the output's name, otherwise a directory]
    #[arg(long)]
    container: Option<Container>,
    /// Width and height of a tile without overlap, in pixels
    #[arg(long, default_value_t = RenderOptions::default().tile_size, value_parser = value_parser!(u32).range(1..=4096))]
    tile_size: u32,
    /// Overlap of neighbouring tiles, in pixels
    #[arg(long, default_value_t = RenderOptions::default().overlap)]
    overlap: u32,
    /// Quality of JPEG tiles, 1 to 100
    #[arg(long, default_value_t = RenderOptions::default().quality, value_parser = value_parser!(u8).range(1..=100))]
    quality: u8,
    /// Format of the tiles [default: PNG if the picture has transparency, otherwise JPEG]
    #[arg(long)]
    format: Option<Format>,
    /// Page of a PDF or TIFF, from 1, like #page=N in a URL [default: all pages, side by side]
    #[arg(long)]
    page: Option<NonZeroU32>,
    /// Number of threads [default: number of processors]
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Replace an existing pyramid
    #[arg(long)]
    force: bool,
    /// Fail on a damaged picture instead of converting what is readable
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    conversion: ConversionArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Jpg,
    Png,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    // Logs nothing by default. RUST_LOG=warn shows why a renderer process died.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(EnvFilter::from_default_env())
        .init();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let interrupted = interrupted()?;
        tokio::select! {
            result = convert(args) => result.map(|()| ExitCode::SUCCESS),
            () = interrupted => Ok(ExitCode::from(INTERRUPTED)),
        }
    })
}

/// Waits for SIGINT, SIGTERM or SIGHUP. The caller then drops the conversion, which deletes the unfinished pyramid.
fn interrupted() -> anyhow::Result<impl Future<Output = ()>> {
    let mut signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()]
        .into_iter()
        .map(signal)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(async move {
        let waiting = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
        futures::future::select_all(waiting).await;
    })
}

async fn convert(args: &Args) -> anyhow::Result<()> {
    let mut sink = FileSink::new(args.output.as_deref(), &args.source, args.container, args.force)?;
    let origin = origin(&args.source)?;
    let pipeline = Pipeline::new(args.conversion.settings(None, std::env::temp_dir())?);
    let mut bars = ProgressBars::new()?;
    let converted = pipeline.convert(origin, &options(args), &mut sink, |progress| bars.show(progress)).await;
    bars.clear();
    let converted = converted.map_err(|error| explain(&args.source, error))?;
    if let Some(warning) = converted.warning {
        eprintln!("tiler: {}: {warning}", args.source.display());
    }
    Ok(())
}

/// Returns the URL or file that the argument names.
fn origin(source: &Path) -> anyhow::Result<Origin> {
    let is_url = |name: &&str| name.starts_with("http://") || name.starts_with("https://");
    if let Some(url) = source.to_str().filter(is_url) {
        return Ok(Origin::Url(SourceUrl::parse(url).with_context(|| url.to_owned())?));
    }
    if source.is_dir() {
        bail!("{} is a directory: name a picture in it", source.display());
    }
    Ok(Origin::File(source.to_owned()))
}

fn options(args: &Args) -> RenderOptions {
    RenderOptions {
        tile_size: args.tile_size,
        overlap: args.overlap,
        quality: args.quality,
        format: args.format.map(|format| match format {
            Format::Jpg => TileFormat::Jpg,
            Format::Png => TileFormat::Png,
        }),
        threads: args.threads.unwrap_or_else(|| RenderOptions::default().threads),
        drawing: args.conversion.drawing(args.page),
        strict: args.strict,
        previews: false,
        coarse_every: None,
    }
}

/// Describes an error in one line that names the source and, if there is one, the remedy.
fn explain(source: &Path, error: PipelineError) -> anyhow::Error {
    let hint = match &error {
        PipelineError::File(reason) => return anyhow!("cannot read {}: {reason}", source.display()),
        PipelineError::Sink(_) | PipelineError::HttpClient(_) | PipelineError::Upload(_) => {
            return error.into();
        }
        // An option is out of range, or the machine cannot start a process.
        PipelineError::Render(RenderError::NotStarted(reason)) => return anyhow!("{reason}"),
        PipelineError::Fetch(FetchError::Refused(RefusedAddress::Network))
        | PipelineError::Page(PageError::Refused) => " Allow it with --allow-networks.",
        PipelineError::Fetch(FetchError::Disallowed | FetchError::RobotsUnreadable(_)) => {
            " If you have the owner's permission, use --robots ignore."
        }
        PipelineError::Page(PageError::NotContained) => {
            " Run as a user other than root, or run `tiler doctor` to see what namespaces need, or trust the page with \
             --web-pages-without-sandbox."
        }
        PipelineError::Page(PageError::NoBrowser) => " Install Chromium, or pass its path with --chromium.",
        PipelineError::Render(RenderError::OutOfMemory) => TOO_MANY_PIXELS,
        PipelineError::Render(RenderError::TooComplex { .. }) => {
            " If the machine is slow, allow more with --cpu-seconds."
        }
        PipelineError::Render(RenderError::Reported(failure)) => for_failure(failure),
        PipelineError::Fetch(_) | PipelineError::Page(_) | PipelineError::Render(_) => "",
    };
    anyhow!("{}: {error}{hint}", source.display())
}

const TOO_MANY_PIXELS: &str = " If memory is the problem, allow more with --memory.";

/// Returns the remedy for a failure that the renderer reported.
fn for_failure(failure: &Failure) -> &'static str {
    match failure.code {
        FailureCode::TooManyPixels => TOO_MANY_PIXELS,
        FailureCode::CorruptSource => " Download or export the file again.",
        FailureCode::UnsupportedFormat if failure.message == SourceError::NoPdf.to_string() => {
            " Set the path of its library, libpdfium.so, in EDGEZOOM_PDFIUM."
        }
        FailureCode::UnsupportedFormat => " Convert it to a common format first.",
        _ => "",
    }
}
