//! `tiler edge-metrics`: what the Worker counts, for Prometheus. One of it is enough for a Worker.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use edgezoom_tiler::edge_metrics::{self, EdgeMetricsSettings};
use edgezoom_tiler::secret::Secret;
use url::Url;

use super::log::{self, LogFormat};

/// Gives Prometheus what the Worker counts, from its dataset at Cloudflare.
#[derive(clap::Args)]
pub struct Args {
    /// The SQL API: https://api.cloudflare.com/client/v4/accounts/<account>/analytics_engine/sql
    #[arg(long, env = "EDGEZOOM_ANALYTICS_URL")]
    url: Url,
    /// A token that may read the account's analytics (Account Analytics: Read)
    #[arg(long, env = "EDGEZOOM_ANALYTICS_TOKEN", hide_env_values = true)]
    token: Secret,
    /// The dataset: the Worker's name, with underscores for hyphens
    #[arg(long, env = "EDGEZOOM_ANALYTICS_DATASET", default_value = "edgezoom")]
    dataset: String,
    /// The address for /metrics
    #[arg(long, env = "EDGEZOOM_EDGE_METRICS_LISTEN", default_value = "127.0.0.1:9601")]
    listen: SocketAddr,
    /// How old data points have to be, in seconds: Cloudflare has them some time after they were written
    #[arg(long, env = "EDGEZOOM_ANALYTICS_DELAY", default_value = "120")]
    delay: u64,
    /// The format of the log. RUST_LOG sets what is logged
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
