//! Programs that tests run beside a system: Prometheus, a browser, Edgezoom's own. They end with the test, even if it
//! is killed.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use reqwest::Url;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::Client;
use crate::{eventually, system};

/// A running program. Dropping it kills it; xtask's watchdog does so if the tests are killed.
pub struct Program {
    process: Child,
    watchdog: Child,
}

impl Program {
    /// Starts a program.
    ///
    /// # Errors
    /// The program is not installed.
    pub fn start(command: &mut Command) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let process = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let watchdog = system::watch(process.id())?;
        Ok(Self { process, watchdog })
    }

    /// Waits until the program answers at this URL.
    ///
    /// # Errors
    /// The program ends, or takes too long.
    pub async fn answers(&mut self, url: &str) -> Result<()> {
        let client = Client::new(url)?;
        let answered = eventually(url, async || {
            ensure!(self.process.try_wait()?.is_none(), "{url} does not answer");
            Ok(client.get(url).await.is_ok_and(|answer| answer.status.is_success()).then_some(()))
        });
        if let Err(error) = answered.await {
            let _ = self.process.kill(); // fails if it has ended
            let mut errors = String::new();
            self.process.stderr.take().context("no output")?.read_to_string(&mut errors)?;
            return Err(error.context(errors));
        }
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill(); // fails if it has ended
        drop(self.watchdog.stdin.take());
        let _ = (self.process.wait(), self.watchdog.wait());
    }
}

/// Returns an address on this machine that nothing listens on.
///
/// # Errors
/// No port is free.
pub fn free_address() -> Result<String> {
    Ok(format!("127.0.0.1:{}", xtask::dev::free_port(0)?))
}

/// A running Prometheus that reads metrics every second.
pub struct Prometheus {
    client: Client,
    url: String,
    _process: Program,
    _folder: TempDir,
}

impl Prometheus {
    /// Starts Prometheus with jobs, each a name and addresses, and alert rules.
    ///
    /// # Errors
    /// Prometheus is not installed, or the rules are invalid.
    pub async fn start(jobs: &[(&str, &[&str])], rules: &str) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("edgezoom-prometheus-").tempdir()?;
        let path = |name: &str| folder.path().join(name);
        fs::write(path("rules.yml"), rules)?;
        let jobs: Vec<Value> = jobs
            .iter()
            .map(|(name, targets)| json!({ "job_name": name, "static_configs": [{ "targets": targets }] }))
            .collect();
        let configuration = json!({ // JSON is YAML
            "global": { "scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s" },
            "rule_files": ["rules.yml"],
            "scrape_configs": jobs,
        });
        fs::write(path("prometheus.yml"), configuration.to_string())?;
        let address = free_address()?;
        let mut command = Command::new("prometheus");
        command.arg("--log.level=warn").arg(format!("--web.listen-address={address}"));
        command.arg("--config.file").arg(path("prometheus.yml"));
        command.arg("--storage.tsdb.path").arg(path("data"));
        let mut process = Program::start(&mut command).context("install it with `cargo xtask setup`")?;
        let url = format!("http://{address}");
        process.answers(&format!("{url}/-/ready")).await?;
        Ok(Self { client: Client::new(&url)?, url, _process: process, _folder: folder })
    }

    /// Returns the current values of a query, without NaN.
    ///
    /// # Errors
    /// The query is invalid.
    pub async fn query(&self, query: &str) -> Result<Vec<f64>> {
        let url = Url::parse_with_params(&format!("{}/api/v1/query", self.url), [("query", query)])?;
        let answer = self.get(url.as_str()).await.with_context(|| query.to_owned())?;
        let series = answer["result"].as_array().context("no result")?;
        let values = series.iter().filter_map(|series| series["value"][1].as_str()?.parse().ok());
        Ok(values.filter(|value: &f64| !value.is_nan()).collect())
    }

    /// Returns all rules with the result of their last evaluation.
    ///
    /// # Errors
    /// Prometheus does not answer.
    pub async fn rules(&self) -> Result<Vec<Value>> {
        let mut groups = self.get(&format!("{}/api/v1/rules", self.url)).await?;
        let groups = groups["groups"].as_array_mut().context("no groups")?;
        Ok(groups.iter_mut().filter_map(|group| group["rules"].as_array().cloned()).flatten().collect())
    }

    async fn get(&self, url: &str) -> Result<Value> {
        let answer = self.client.get(url).await?;
        ensure!(answer.status.is_success(), "{}", answer.text());
        Ok(answer.json()?["data"].take())
    }
}

/// Debian's paths of Chromium.
const BROWSERS: [&str; 2] = ["/usr/bin/chromium", "/usr/lib/chromium/chromium-headless-shell"];

/// Returns the path of a browser.
///
/// # Errors
/// Chromium is not installed.
pub fn chromium() -> Result<&'static str> {
    BROWSERS.into_iter().find(|browser| Path::new(browser).exists()).context("Chromium is not installed")
}

/// Runs a script of `tests/browser`, which drives a browser with Playwright. Its arguments and its result are JSON
/// values.
///
/// # Errors
/// The script fails.
pub async fn run_in_browser(script: &str, mut arguments: Value) -> Result<Value> {
    arguments["browser"] = chromium()?.into();
    run_script(script, arguments).await
}

/// Runs a script of `tests/browser` in Node.js. Its arguments and its result are JSON values.
///
/// # Errors
/// The script fails.
pub async fn run_script(script: &str, arguments: Value) -> Result<Value> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let node: PathBuf = tests.join("../node_modules/.bin/node");
    let mut command = tokio::process::Command::new(&node);
    command.arg(tests.join("browser").join(script)).arg(arguments.to_string()).kill_on_drop(true);
    let output = command.output().await.with_context(|| node.display().to_string())?;
    let (result, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        bail!("{script} failed:\n{result}\n{errors}");
    }
    let last = result.lines().last().unwrap_or_default(); // the Workers runtime may have logged before
    serde_json::from_str(last).with_context(|| format!("{script} printed {result}"))
}
