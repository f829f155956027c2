//! `tiler edge-metrics`: exports the Worker's counters to Prometheus. Run one per Worker.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use edgezoom_tiler::edge_metrics::{self, EdgeMetricsSettings};
use edgezoom_tiler::secret::Secret;
use url::Url;

use super::log::{self, LogFormat};

/// Exports the Worker's counters from its dataset at Cloudflare to Prometheus
#[derive(clap::Args)]
pub struct Args {
    /// URL of the SQL API: https://api.cloudflare.com/client/v4/accounts/<account>/analytics_engine/sql
    #[arg(long, env = "EDGEZOOM_ANALYTICS_URL")]
    url: Url,
    /// Token with permission to read the account's analytics (Account Analytics: Read)
    #[arg(long, env = "EDGEZOOM_ANALYTICS_TOKEN", hide_env_values = true)]
    token: Secret,
    /// Name of the dataset: the Worker's name with underscores instead of hyphens
    #[arg(long, env = "EDGEZOOM_ANALYTICS_DATASET", default_value = "edgezoom")]
    dataset: String,
    /// Address for /metrics
    #[arg(long, env = "EDGEZOOM_EDGE_METRICS_LISTEN", default_value = "127.0.0.1:9601")]
    listen: SocketAddr,
    /// Minimum age of data points, in seconds: Cloudflare makes them available some time after they were written
    #[arg(long, env = "EDGEZOOM_ANALYTICS_DELAY", default_value = "120")]
    delay: u64,
    /// Format of the log; RUST_LOG selects what is logged
    #[arg(long, env = "EDGEZOOM_LOG", default_value = "text")]
    log: LogFormat,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    log::start(args.log);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(edge_metrics::run(EdgeMetricsSettings {
        url: args.url.clone(),
        token: args.token.clone(),
        dataset: args.dataset.clone(),
        listen: args.listen,
        delay: Duration::from_secs(args.delay),
    }))?;
    Ok(ExitCode::SUCCESS)
}
