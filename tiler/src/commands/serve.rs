//! `tiler serve`: the service. Its settings are flags or environment variables. Secrets belong in the environment,
//! because other users of the machine can read a program's flags.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use edgezoom_tiler::credentials::SealKey;
use edgezoom_tiler::pipeline::PipelineSettings;
use edgezoom_tiler::proc;
use edgezoom_tiler::renderer::RenderOptions;
use edgezoom_tiler::s3::S3Settings;
use edgezoom_tiler::secret::Secret;
use edgezoom_tiler::service::{self, Settings};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::doctor::{self, Requirement};
use super::flags::ConversionArgs;
use super::log::{self, LogFormat};
use super::machine::Machine;

/// Interval at which renderers produce coarse pictures. The service stores a few of them.
const COARSE_EVERY: Duration = Duration::from_secs(1);

/// Runs the service: pulls jobs from the queue, converts their sources, and stores the pyramids
#[derive(clap::Args)]
pub struct Args {
    /// URL of the Worker
    #[arg(long, env = "EDGEZOOM_EDGE_URL")]
    edge_url: Option<Url>,
    /// Bearer token for calls under the Worker's /internal/
    #[arg(long, env = "EDGEZOOM_TILER_TOKEN", hide_env_values = true)]
    tiler_token: Option<Secret>,
    /// URL of the queue: https://api.cloudflare.com/client/v4/accounts/<account>/queues/<queue id>
    #[arg(long, env = "EDGEZOOM_QUEUE_URL")]
    queue_url: Option<Url>,
    /// Bearer token for the queue
    #[arg(long, env = "EDGEZOOM_QUEUE_TOKEN", hide_env_values = true)]
    queue_token: Option<Secret>,
    /// Key of sealed headers, as for `tiler seal`
    #[arg(long, env = "EDGEZOOM_SEAL_KEY", hide_env_values = true)]
    seal_key: Option<Secret>,
    /// URL of the store's S3 API
    #[arg(long, env = "EDGEZOOM_S3_ENDPOINT")]
    s3_endpoint: Option<Url>,
    /// Bucket for pyramids
    #[arg(long, env = "EDGEZOOM_S3_BUCKET")]
    s3_bucket: Option<String>,
    /// Id of the access key for the store
    #[arg(long, env = "EDGEZOOM_S3_ACCESS_KEY_ID")]
    s3_access_key_id: Option<String>,
    /// Secret of the access key for the store
    #[arg(long, env = "EDGEZOOM_S3_SECRET_ACCESS_KEY", hide_env_values = true)]
    s3_secret_access_key: Option<Secret>,
    /// Address for /health, /ready and /metrics
    #[arg(long, env = "EDGEZOOM_LISTEN", default_value = "127.0.0.1:9600")]
    listen: SocketAddr,
    /// Maximum number of concurrent conversions [default: two for each core, if memory suffices]
    #[arg(long, env = "EDGEZOOM_JOBS")]
    jobs: Option<NonZeroUsize>,
    /// Pause after a pull without messages, in milliseconds
    #[arg(long, env = "EDGEZOOM_POLL_MS", default_value = "1000")]
    poll_ms: u64,
    /// Maximum number of API calls that all tilers of the account make together in 5 minutes; 0 for no limit
    #[arg(long, env = "EDGEZOOM_API_CALLS", default_value = "1200")]
    api_calls: u32,
    /// Check the machine first as `tiler doctor --require` does, and end if one of these is missing
    #[arg(long, env = "EDGEZOOM_DOCTOR", value_delimiter = ',')]
    doctor: Vec<Requirement>,
    /// Time without a job after which the tiler exits, in seconds [default: it never does]
    #[arg(long, env = "EDGEZOOM_EXIT_WHEN_IDLE")]
    exit_when_idle: Option<u64>,
    /// Time that running jobs have to finish after SIGTERM before they are handed back, in seconds
    #[arg(long, env = "EDGEZOOM_DRAIN_SECONDS", default_value = "10")]
    drain_seconds: u64,
    /// Directory for temporary source files (unlinked) [default: the system's]
    #[arg(long, env = "EDGEZOOM_TMP")]
    tmp: Option<PathBuf>,
    /// Format of the log; RUST_LOG selects what is logged
    #[arg(long, env = "EDGEZOOM_LOG", default_value = "text")]
    log: LogFormat,
    #[command(flatten)]
    conversion: ConversionArgs,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut settings = settings(args)?;
    log::start(args.log);
    share_disk(&mut settings.pipeline, settings.jobs)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        if !args.doctor.is_empty() && !doctor::examine(&checks(args, &settings)).await {
            return Ok(ExitCode::FAILURE);
        }
        let shutdown = CancellationToken::new();
        tokio::spawn(shut_down_on(
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
            shutdown.clone(),
        ));
        service::run(settings, shutdown).await?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Returns the checks of the machine before it serves. The pull loop finds out whether the edge answers.
fn checks(args: &Args, Settings { pipeline, jobs, .. }: &Settings) -> doctor::Args {
    let (require, chromium) = (args.doctor.clone(), pipeline.browser.clone());
    doctor::Args { require, chromium, tmp: args.tmp.clone(), jobs: Some(*jobs), edge_url: None }
}

fn settings(args: &Args) -> anyhow::Result<Settings> {
    let edge_url = required(&args.edge_url, "EDGEZOOM_EDGE_URL")?;
    let mut pipeline = args.conversion.settings(Some(&edge_url), temporary(args)?)?;
    let seal_key = args.seal_key.as_ref().filter(|key| !key.reveal().is_empty());
    pipeline.access.key = seal_key.map(SealKey::of).transpose()?;
    let machine = Machine::this();
    let (renderer, page) = (pipeline.limits.renderer_memory, pipeline.page_limits.memory);
    let jobs = args.jobs.unwrap_or_else(|| machine.jobs(renderer));
    pipeline.page_limits.at_once = machine.pages(jobs, renderer, page);
    Ok(Settings {
        edge_url,
        tiler_token: required(&args.tiler_token, "EDGEZOOM_TILER_TOKEN")?,
        queue_url: required(&args.queue_url, "EDGEZOOM_QUEUE_URL")?,
        queue_token: required(&args.queue_token, "EDGEZOOM_QUEUE_TOKEN")?,
        store: S3Settings {
            endpoint: required(&args.s3_endpoint, "EDGEZOOM_S3_ENDPOINT")?,
            bucket: required(&args.s3_bucket, "EDGEZOOM_S3_BUCKET")?,
            access_key_id: required(&args.s3_access_key_id, "EDGEZOOM_S3_ACCESS_KEY_ID")?,
            secret_access_key: required(&args.s3_secret_access_key, "EDGEZOOM_S3_SECRET_ACCESS_KEY")?,
        },
        listen: args.listen,
        jobs,
        exit_when_idle: args.exit_when_idle.map(Duration::from_secs),
        poll: Duration::from_millis(args.poll_ms),
        api_calls: args.api_calls,
        drain: Duration::from_secs(args.drain_seconds),
        pipeline,
        render: RenderOptions {
            drawing: args.conversion.drawing(None, true),
            previews: true,
            coarse_every: Some(COARSE_EVERY),
            ..RenderOptions::default()
        },
    })
}

/// Reduces the temporary files of each job to its share of what is free, so that one job cannot make the others fail.
fn share_disk(pipeline: &mut PipelineSettings, jobs: NonZeroUsize) -> anyhow::Result<()> {
    let free = proc::free_bytes(&pipeline.temporary)?;
    let wanted = pipeline.limits.disk(jobs);
    pipeline.limits = pipeline.limits.clone().within_disk(free, jobs);
    if pipeline.limits.disk(jobs) < wanted {
        let [wanted, free, source] = [wanted, free, pipeline.limits.source_bytes].map(|bytes| bytes >> 20);
        tracing::warn!(
            folder = %pipeline.temporary.display(),
            "{free} MiB are free for temporary files and {wanted} would be used: sources are limited to {source} MiB"
        );
    }
    Ok(())
}

fn required<T: Clone>(value: &Option<T>, variable: &str) -> anyhow::Result<T> {
    value.clone().with_context(|| format!("{variable} is not set"))
}

/// Returns the directory for temporary files, after checking that it is writable: otherwise the first job would fail.
fn temporary(args: &Args) -> anyhow::Result<PathBuf> {
    let folder = args.tmp.clone().unwrap_or_else(std::env::temp_dir);
    tempfile::tempfile_in(&folder)
        .with_context(|| format!("EDGEZOOM_TMP: cannot create files in {}", folder.display()))?;
    Ok(folder)
}

/// Waits for signals. The first one starts the shutdown, the second one ends the process at once.
async fn shut_down_on(mut terminate: Signal, mut interrupt: Signal, shutdown: CancellationToken) {
    let mut next = async || {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    next().await;
    shutdown.cancel();
    next().await;
    std::process::exit(1);
}
