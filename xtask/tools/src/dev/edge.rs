//! The edge of the local service: one wrangler that runs the Worker with its KV, R2 and Durable Objects, and the
//! emulator of Cloudflare's pull queue, all on one port.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::process::Command;
use xtask::dev::Options;
use xtask::project::Project;

use super::state::State;

/// The address of a local edge.
#[derive(Clone, Debug)]
pub struct EdgeAddress {
    /// Port on the loopback address.
    pub port: u16,
}

impl EdgeAddress {
    /// Returns the base URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the base URL of the queue's pull API.
    pub fn queue_url(&self) -> String {
        format!("{}/accounts/local/queues/edgezoom-jobs", self.url())
    }

    /// Returns the S3 endpoint of the local R2.
    pub fn s3_url(&self) -> String {
        format!("{}/cdn-cgi/local/r2/s3", self.url())
    }
}

/// Returns the command that runs the edge at `address`.
pub fn command(
    project: &Project,
    state: &State,
    address: &EdgeAddress,
    options: &Options,
) -> Result<Command> {
    if project.root.join(".dev.vars").exists() {
        bail!(
            "wrangler would read its variables from .dev.vars; move that file away to run `cargo xtask dev`"
        );
    }
    let mut command = Command::from(project.node_tool("wrangler")?);
    // The first configuration is the main Worker's, which gets the port: the emulator passes on requests that are not
    // for it.
    command.args(["dev", "--config=edge/local/wrangler.toml", "--config"]);
    command.arg(configuration(project, state, options.faults_at.is_some())?);
    command.arg(format!("--ip={}", options.ip)).arg(format!("--port={}", address.port));
    command.arg("--inspector-port=0");
    // The level `log` shows the Worker's lines, and some of wrangler's that `part` filters out.
    command.arg(if options.log == "json" { "--log-level=log" } else { "--log-level=warn" });
    command.arg("--persist-to").arg(state.bindings());
    command.env("WRANGLER_REGISTRY_PATH", state.registry());
    // wrangler reads variables from its environment if wrangler.toml names them under [vars] or [secrets].
    command.env("TILER_TOKEN", state.token()).env("ALLOW_NETWORKS", &options.allow_networks);
    command.env("ADMIN_TOKENS", format!("operator:{}", state.admin_token()));
    let seconds = |of: Option<u32>| of.map(|of| of.to_string()).unwrap_or_default();
    command.env("LEASE_SECONDS", seconds(options.lease_seconds));
    command.env("RETRY_SECONDS", options.retry_seconds.as_deref().unwrap_or_default());
    command.env("ASK_AGAIN_SECONDS", seconds(options.ask_again_seconds));
    command.env("BACKLOG_LIMIT", options.backlog_limit.to_string());
    command.env("RENDERER", if options.building && options.tilers > 0 { "building" } else { "" });
    command.env("DEVELOPMENT", "on").env("MAINTENANCE", if options.maintenance { "on" } else { "off" });
    command.env("REGIONS", "on").env("REGIONS_A_DAY", "1000000");
    command.env("UPLOAD_BYTES", options.upload_bytes.to_string()).env("UPLOAD_ORIGINS", "");
    for address in ["BASE_URL", "SHARE_BASE", "CACHE_URL"] {
        command.env(address, ""); // the requested origin, whatever this process's environment says
    }
    for (name, value) in QUIET {
        command.env(name, value);
    }
    Ok(command)
}

/// Writes the Worker's local configuration and returns its path: wrangler.toml with the emulator's dataset in place of
/// Cloudflare's, which `wrangler dev` does not emulate. With faults, KV is one that can be made stale, too.
fn configuration(project: &Project, state: &State, has_faults: bool) -> Result<PathBuf> {
    let text = fs::read_to_string(project.root.join("wrangler.toml")).context("cannot read wrangler.toml")?;
    let mut worker: Value = toml::from_str(&text).context("cannot parse wrangler.toml")?;
    for place in ["/main", "/assets/directory"] {
        let path = worker.pointer_mut(place).with_context(|| format!("wrangler.toml has no {place}"))?;
        *path = json!(project.root.join(path.as_str().unwrap_or_default()));
    }
    let all = worker.as_object_mut().context("wrangler.toml is not a table")?;
    all.remove("analytics_engine_datasets");
    let emulated = |binding, entrypoint| json!({ "binding": binding, "service": "edgezoom-local", "entrypoint": entrypoint });
    let mut services = vec![emulated("METRICS", "Metrics")];
    if has_faults {
        all.remove("kv_namespaces");
        services.push(emulated("FINISHED", "StaleKv"));
    }
    all.insert("services".to_owned(), services.into());
    let path = state.configuration();
    fs::write(&path, worker.to_string()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Disables wrangler's questions, log files, telemetry, banner, look-up of a visitor's location, and traces of all
/// requests, which it would keep in memory and on disk for its explorer.
const QUIET: [(&str, &str); 8] = [
    ("CI", "1"),
    ("WRANGLER_WRITE_LOGS", "false"),
    ("WRANGLER_DISABLE_EXPERIMENTAL_WARNING", "true"), // of the local S3 interface
    ("WRANGLER_SEND_METRICS", "false"),
    ("WRANGLER_HIDE_BANNER", "true"),
    ("CLOUDFLARE_CF_FETCH_ENABLED", "false"),
    ("X_LOCAL_EXPLORER", "false"),
    ("X_LOCAL_OBSERVABILITY", "false"),
];
