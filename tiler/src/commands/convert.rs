//! `tiler convert`: one picture to a pyramid on disk, in the manner of `vips dzsave`. A picture on the web is downloaded
//! first, and a web page captured, as the service does it.

mod source;

use std::future::Future;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context, anyhow, bail};
use clap::{ValueEnum, value_parser};
use edgezoom_codecs::SourceError;
use edgezoom_content::{Failure, FailureCode, TileFormat};
use edgezoom_pyramid::sinks::{ArchiveFormat, ArchiveSink, DirectorySink, Sink};
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::{Output, RenderOptions, Renderer};
use indicatif::{ProgressBar, ProgressStyle};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use super::{drawing, limits, pages};
use source::Source;

/// What shells expect of a command that was interrupted.
const INTERRUPTED: u8 = 130;

/// Makes a picture zoomable: writes a Deep Zoom pyramid to disk.
#[derive(clap::Args)]
pub struct Args {
    #[arg(help = format!("The picture, document or web page, a file or a URL: HTML, {}", edgezoom_codecs::Format::list()))]
    source: PathBuf,
    /// Where the pyramid goes: writes <OUTPUT>.dzi and <OUTPUT>_files/. Without it, the source's name in this folder.
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// What the tiles are put into. Without it, what the output's name ends in, else a directory.
    #[arg(long)]
    container: Option<Container>,
    /// A tile's width and height in pixels, without overlap.
    #[arg(long, default_value_t = RenderOptions::default().tile_size, value_parser = value_parser!(u32).range(1..=4096))]
    tile_size: u32,
    /// The pixels that a tile carries of each neighbour.
    #[arg(long, default_value_t = RenderOptions::default().overlap)]
    overlap: u32,
    /// The quality of JPEG tiles, 1 to 100.
    #[arg(long, default_value_t = RenderOptions::default().quality, value_parser = value_parser!(u8).range(1..=100))]
    quality: u8,
    /// The tiles' format. Without it, PNG where the picture has transparency, else JPEG.
    #[arg(long)]
    format: Option<Format>,
    /// The page of a PDF to convert, counted from 1, as #page=N in a URL. Without it, all of them, side by side.
    #[arg(long)]
    page: Option<NonZeroU32>,
    /// The threads to use. Without it, all that the machine has.
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Replaces a pyramid that is there already.
    #[arg(long)]
    force: bool,
    /// Private networks that a URL may lead to, as 127.0.0.0/8,fd00::/8
    #[arg(long, env = "EDGEZOOM_ALLOW_NETWORKS", default_value = "")]
    allow_networks: String,
    #[command(flatten)]
    drawing: drawing::Args,
    #[command(flatten)]
    pages: pages::Args,
    #[command(flatten)]
    limits: limits::Args,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Jpg,
    Png,
}

#[derive(Clone, Copy, ValueEnum)]
enum Container {
    /// <OUTPUT>.dzi and <OUTPUT>_files/
    Directory,
    /// <OUTPUT>.zip: the same in one file, not compressed
    Zip,
    /// <OUTPUT>.szi: that, with the properties that slide viewers read
    Szi,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    // What a renderer died of is for whoever looks into it: RUST_LOG=warn shows it.
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

/// Waits for Ctrl-C, or for being told to end in another way. What has begun is then dropped, and with it undone.
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
    let sink = sink(args)?;
    sink.check().context("add --force to replace it, or choose another --output")?;
    let limits = Limits::from(&args.limits);
    let Source { file, capturing, page } = source::get(args, &limits).await?;
    let options = RenderOptions { page: args.page.or(page), ..options(args) };
    let renderer = Renderer::start(file, &options, &limits)?;
    match (write(renderer, &*sink).await, capturing) {
        (Err(Broken::Failed(failure)), Some(capturing)) => {
            Err(explain(&args.source, &capturing.explain(failure).await))
        }
        (Err(Broken::Failed(failure)), None) => Err(explain(&args.source, &failure)),
        (Err(Broken::Other(error)), _) => Err(error),
        (Ok(()), _) => Ok(()),
    }
}

/// Why there is no pyramid.
enum Broken {
    /// The source cannot be rendered.
    Failed(Failure),
    /// It cannot be written.
    Other(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Broken {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

/// Writes what a renderer makes to disk.
async fn write(mut renderer: Renderer, sink: &dyn Sink) -> Result<(), Broken> {
    let bar = ProgressBar::new(1000).with_style(ProgressStyle::with_template("{bar:40} {percent}% {eta}")?);
    let mut writer = None;
    loop {
        let output = renderer.next().await.map_err(Broken::Failed)?;
        match (output, &mut writer) {
            (Output::Begun(dzi), writer) => *writer = Some(sink.begin(&dzi)?),
            (Output::Progress(done), _) => bar.set_position((done * 1000.0) as u64),
            (Output::Tile(tile), Some(writer)) => writer.put(tile)?,
            (Output::Finished(_), _) => break,
            (Output::Tile(_), None) => return Err(anyhow!("a tile came before the beginning").into()),
        }
    }
    bar.finish_and_clear();
    writer.ok_or_else(|| anyhow!("the end came before the beginning"))?.publish()?;
    Ok(())
}

/// Where the pyramid goes.
fn sink(args: &Args) -> anyhow::Result<Box<dyn Sink>> {
    let stem = args.source.file_stem().map(PathBuf::from).unwrap_or_default();
    let path = args.output.as_ref().unwrap_or(&stem);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        bail!("the folder {} does not exist: create it first", folder.display());
    }
    let archive = match args.container {
        Some(Container::Directory) => None,
        Some(Container::Zip) => Some(ArchiveFormat::Zip),
        Some(Container::Szi) => Some(ArchiveFormat::Szi),
        None => args.output.as_deref().and_then(ArchiveFormat::from_path),
    };
    Ok(match archive {
        None => Box::new(DirectorySink::new(path)?.replacing(args.force)),
        Some(format) => Box::new(ArchiveSink::new(path, format, SystemTime::now())?.replacing(args.force)),
    })
}

fn options(args: &Args) -> RenderOptions {
    args.drawing.set(RenderOptions {
        tile_size: args.tile_size,
        overlap: args.overlap,
        quality: args.quality,
        format: args.format.map(|format| match format {
            Format::Jpg => TileFormat::Jpg,
            Format::Png => TileFormat::Png,
        }),
        threads: args.threads,
        ..RenderOptions::default()
    })
}

/// A failure as one line that names the file and, where there is one, the way out.
fn explain(source: &Path, failure: &Failure) -> anyhow::Error {
    let hint = match failure.code {
        FailureCode::TooManyPixels => " If it is memory that is lacking, --memory allows more.",
        FailureCode::CorruptSource => " Fetch or export the file again.",
        FailureCode::UnsupportedFormat if failure.message == SourceError::NoPdf.to_string() => {
            " Name its library, libpdfium.so, in EDGEZOOM_PDFIUM."
        }
        FailureCode::UnsupportedFormat => " Convert it to one of the usual formats first.",
        _ => "",
    };
    anyhow!("{}: {}{hint}", source.display(), failure.message)
}
