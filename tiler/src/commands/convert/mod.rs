//! `tiler convert`: one source to a pyramid on disk, in the manner of `vips dzsave`. It goes the same way as in the
//! service, through the [`pipeline`](edgezoom_tiler::pipeline).

mod hints;
mod output;
mod progress_bars;

use std::future::Future;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{ValueEnum, value_parser};
use edgezoom_content::{SourceUrl, TileFormat};
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::pipeline::{Origin, Pipeline, PipelineSettings};
use edgezoom_tiler::renderer::RenderOptions;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use super::{bot, drawing, limits, pages, policy};
use output::{Container, FileSink};
use progress_bars::ProgressBars;

/// The exit code of a program that was interrupted: 128 and the number of SIGINT, as shells have it.
const INTERRUPTED: u8 = 130;

/// Converts a picture, document or web page into a Deep Zoom pyramid on disk.
#[derive(clap::Args)]
pub struct Args {
    #[arg(help = format!("A file or URL: HTML, {}", edgezoom_codecs::Format::list()))]
    source: PathBuf,
    /// The pyramid's name: writes <OUTPUT>.dzi and <OUTPUT>_files/ [default: the source's name, in the current folder]
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// The kind of output [default: by the ending of the output's name, else a directory]
    #[arg(long)]
    container: Option<Container>,
    /// A tile's width and height in pixels, without overlap.
    #[arg(long, default_value_t = RenderOptions::default().tile_size, value_parser = value_parser!(u32).range(1..=4096))]
    tile_size: u32,
    /// The pixels that a tile has of each neighbour.
    #[arg(long, default_value_t = RenderOptions::default().overlap)]
    overlap: u32,
    /// The quality of JPEG tiles, 1 to 100.
    #[arg(long, default_value_t = RenderOptions::default().quality, value_parser = value_parser!(u8).range(1..=100))]
    quality: u8,
    /// The format of the tiles [default: PNG where the picture has transparency, else JPEG]
    #[arg(long)]
    format: Option<Format>,
    /// The page of a PDF or TIFF, counted from 1, as #page=N in a URL [default: all pages, side by side]
    #[arg(long)]
    page: Option<NonZeroU32>,
    /// The number of threads [default: as many as the machine runs at once]
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Replaces an existing pyramid.
    #[arg(long)]
    force: bool,
    /// Refuses a damaged picture, rather than showing it as far as it goes.
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    policy: policy::Args,
    #[command(flatten)]
    bot: bot::Args,
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

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    // Nothing is logged by default. RUST_LOG=warn shows why a renderer process died.
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

/// Waits for SIGINT, SIGTERM or SIGHUP. The conversion is dropped then, which deletes the unfinished pyramid.
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
    let pipeline = Pipeline::new(PipelineSettings {
        policy: args.policy.policy()?,
        browser: args.pages.chromium.clone(),
        page_limits: pages::limits(&args.pages, &Limits::from(&args.limits)),
        temporary: std::env::temp_dir(),
        limits: Limits::from(&args.limits),
        bot: args.bot.settings(None),
    });
    let mut bars = ProgressBars::new()?;
    let converted = pipeline.convert(origin, &options(args), &mut sink, |progress| bars.show(progress)).await;
    bars.clear();
    let converted = converted.map_err(|error| hints::explain(&args.source, error))?;
    if let Some(warning) = converted.warning {
        eprintln!("tiler: {}: {warning}", args.source.display());
    }
    Ok(())
}

/// The URL or the file that a source names.
fn origin(source: &Path) -> anyhow::Result<Origin> {
    let is_url = |name: &&str| name.starts_with("http://") || name.starts_with("https://");
    if let Some(url) = source.to_str().filter(is_url) {
        return Ok(Origin::Url(SourceUrl::parse(url).with_context(|| url.to_owned())?));
    }
    if source.is_dir() {
        bail!("{} is a folder: name a picture in it", source.display());
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
        drawing: args.drawing.options(args.page),
        strict: args.strict,
        previews: false,
        coarse_every: None,
    }
}
