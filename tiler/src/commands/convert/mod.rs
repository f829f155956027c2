//! `tiler convert`: converts sources into pyramids on disk, like `vips dzsave`. It uses the same
//! [`pipeline`](edgezoom_tiler::pipeline) as the service.

mod capture;
mod dzsave;
mod output;
mod progress_bars;
mod site;
mod suffix;

use std::collections::HashMap;
use std::fs::File;
use std::future::Future;
use std::io::{self, Seek};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Display, Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use edgezoom_codecs::{DrawingOptions, SourceError};
use edgezoom_content::address::RefusedAddress;
use edgezoom_content::{Alternative, Failure, FailureCode, SourceUrl};
use edgezoom_pyramid::sinks::{ArchiveFormat, Site};
use edgezoom_tiler::browser::PageError;
use edgezoom_tiler::fetch::FetchError;
use edgezoom_tiler::pipeline::{Origin, Pipeline, PipelineError};
use edgezoom_tiler::renderer::{RenderError, RenderOptions};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use super::flags::ConversionArgs;
use super::seal::FieldArgs;
use capture::CaptureArgs;
use dzsave::TileArgs;
use output::{Container, FileSink};
use progress_bars::ProgressBars;
use site::name_of;

/// Exit code after an interrupt: 128 plus the number of SIGINT, as in shells.
const INTERRUPTED: u8 = 130;
/// Name of standard input.
const STANDARD_INPUT: &str = "-";

/// Converts pictures, documents and web pages into zoomable images on disk
///
/// The options for tiles are those of `vips dzsave`.
#[derive(clap::Args)]
pub struct Args {
    #[arg(required = true, value_name = "SOURCE", help = format!("Files, URLs, or - for standard input: HTML, {}", edgezoom_codecs::Format::list()))]
    sources: Vec<PathBuf>,
    /// Name of the pyramid, with or without the ending .dz, or an existing directory for a pyramid of the source's name
    /// [default: the source's name, in the current directory]
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Kind of output [default: from the extension of the output's name, otherwise a directory]
    #[arg(long)]
    container: Option<Container>,
    /// Page of a PDF or TIFF, from 1, like #page=N in a URL [default: all pages, side by side]
    #[arg(long)]
    page: Option<NonZeroU32>,
    /// Number of threads [default: number of processors]
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Write the words of a document, too, as <OUTPUT>.text.json and <OUTPUT>.hocr
    #[arg(long)]
    text: bool,
    /// Write a page with the viewer, too: index.html, viewer.js and viewer.css in the output's folder, for any web server
    /// and for opening from a disk
    #[arg(long)]
    viewer: bool,
    /// Alternative text of the picture on that page, for people who do not see it
    #[arg(long, value_name = "TEXT", requires = "viewer")]
    alt: Option<String>,
    /// Replace an existing pyramid
    #[arg(long)]
    force: bool,
    /// Fail on a damaged picture instead of converting what is readable
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    tiles: TileArgs,
    #[command(flatten)]
    conversion: ConversionArgs,
    #[command(flatten)]
    capture: CaptureArgs,
    #[command(flatten)]
    fields: FieldArgs,
}

impl Args {
    /// Returns the name that the user chose for the pyramid of a single source. Other layouts than Deep Zoom are a
    /// directory of that name.
    fn chosen(&self) -> Option<&Path> {
        let is_single = self.sources.len() == 1;
        let output = self.output.as_deref().filter(|_| is_single)?;
        (!output.is_dir() || self.tiles.is_directory()).then_some(output)
    }

    fn reads_words(&self) -> bool {
        self.text || self.viewer
    }
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    // Logs nothing by default. RUST_LOG=warn shows why a renderer process died.
    tracing_subscriber::fmt().with_writer(io::stderr).with_env_filter(EnvFilter::from_default_env()).init();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let interrupted = interrupted()?;
        tokio::select! {
            result = convert_all(args) => result,
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

/// Converts each source. An error of one does not stop the others.
async fn convert_all(args: &Args) -> anyhow::Result<ExitCode> {
    if args.viewer && args.sources.len() > 1 {
        bail!("--viewer writes the page of one source: convert each alone, into a folder of its own");
    }
    let mut settings = args.conversion.settings(None, std::env::temp_dir())?;
    settings.page_limits.capture = args.capture.capture()?;
    settings.access.fields = args.fields.fields()?;
    if !args.reads_words() {
        settings.page_limits.words = 0;
    }
    let pipeline = Pipeline::new(settings);
    let mut taken = HashMap::new();
    let mut code = ExitCode::SUCCESS;
    for source in &args.sources {
        let converted = match output(args, source) {
            Ok(output) => match taken.insert(output.clone(), source) {
                Some(other) => Err(anyhow!(
                    "{}: {} has the same name; convert it with an --output of its own",
                    source.display(),
                    other.display()
                )),
                None => convert(args, &pipeline, source, &output).await,
            },
            Err(error) => Err(error),
        };
        if let Err(error) = converted {
            eprintln!("tiler: {error:#}");
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// Returns the path of a source's pyramid: the chosen one, or the source's name in the output directory.
fn output(args: &Args, source: &Path) -> anyhow::Result<PathBuf> {
    if let Some(chosen) = args.chosen() {
        let has_ending = chosen.extension().is_some_and(|ending| ending == "dz" || ending == "dzi");
        return Ok(if has_ending { chosen.with_extension("") } else { chosen.to_owned() });
    }
    if source == Path::new(STANDARD_INPUT) {
        bail!("standard input has no name: give it one with --output, and convert it alone");
    }
    let name = source.file_stem().unwrap_or_default();
    match &args.output {
        Some(directory) if !directory.is_dir() => {
            bail!("the directory {} does not exist: create it first", directory.display())
        }
        Some(directory) => Ok(directory.join(name)),
        None => Ok(name.into()),
    }
}

/// Returns a source's name for messages.
fn shown(source: &Path) -> Display<'_> {
    if source == Path::new(STANDARD_INPUT) { Path::new("standard input").display() } else { source.display() }
}

async fn convert(args: &Args, pipeline: &Pipeline, source: &Path, output: &Path) -> anyhow::Result<()> {
    let archive = match args.container {
        Some(container) => container.archive(),
        // The name of a source says nothing about the output.
        None => args.chosen().and_then(ArchiveFormat::from_path),
    };
    let site = args.viewer.then(|| site(args, source, output, archive)).transpose()?;
    let mut sink = FileSink::new(output, archive, args.tiles.tree(), site, args.force)?.with_text(args.text);
    let origin = origin(source)?;
    let mut bars = ProgressBars::new()?;
    let converted = pipeline.convert(origin, &options(args), &mut sink, |progress| bars.show(progress)).await;
    bars.clear();
    let converted = converted.map_err(|error| explain(source, error))?;
    if let Some(damage) = converted.damage {
        eprintln!("tiler: {}: {damage}", shown(source));
    }
    Ok(())
}

/// Prepares the site of `--viewer`.
fn site(args: &Args, source: &Path, output: &Path, archive: Option<ArchiveFormat>) -> anyhow::Result<Site> {
    if archive.is_some() || !args.tiles.is_whole_deep_zoom() {
        bail!(
            "--viewer needs a directory with all tiles of Deep Zoom: leave out --container, --layout, --depth and \
             --skip-blanks, and the extension of --output"
        );
    }
    let name = if source == Path::new(STANDARD_INPUT) { name_of(output) } else { name_of(source) };
    let alternative = args.alt.as_deref().and_then(Alternative::of).map(|line| line.as_str().to_owned());
    Ok(Site { viewer: site::viewer()?, name, alternative })
}

/// Returns the URL or file that the argument names.
fn origin(source: &Path) -> anyhow::Result<Origin> {
    let is_url = |name: &&str| name.starts_with("http://") || name.starts_with("https://");
    if let Some(url) = source.to_str().filter(is_url) {
        return Ok(Origin::Url(SourceUrl::parse(url).with_context(|| url.to_owned())?));
    }
    if source == Path::new(STANDARD_INPUT) {
        return Ok(Origin::Upload(standard_input().context("cannot read standard input")?));
    }
    if source.is_dir() {
        bail!("{} is a directory: name a picture in it", source.display());
    }
    Ok(Origin::File(source.to_owned()))
}

/// Copies standard input to a file without a name: formats are read more than once.
fn standard_input() -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut io::stdin().lock(), &mut file)?;
    file.rewind()?;
    Ok(file)
}

fn options(args: &Args) -> RenderOptions {
    let options = args.tiles.options();
    let drawing = args.conversion.drawing(args.page, args.reads_words());
    RenderOptions {
        threads: args.threads.unwrap_or(options.threads),
        drawing: DrawingOptions { vectors: args.viewer && drawing.vectors, ..drawing },
        strict: args.strict,
        ..options
    }
}

/// Describes an error in one line that names the source and, if there is one, the remedy.
fn explain(source: &Path, error: PipelineError) -> anyhow::Error {
    let hint = match &error {
        PipelineError::File(reason) => return anyhow!("cannot read {}: {reason}", shown(source)),
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
        PipelineError::Sealed(_)
        | PipelineError::Fetch(_)
        | PipelineError::Page(_)
        | PipelineError::Render(_) => "",
    };
    anyhow!("{}: {error}{hint}", shown(source))
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
