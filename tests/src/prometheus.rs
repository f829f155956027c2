//! A real Prometheus (Debian's package `prometheus`) that reads the metrics of a system under test each second.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use reqwest::Url;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::Client;
use crate::helper::{Helper, free_address};

/// A running Prometheus.
pub struct Prometheus {
    client: Client,
    url: String,
    _process: Helper,
    _folder: TempDir,
}

impl Prometheus {
    /// Starts one that reads these addresses, each with the name of its job, and evaluates these rules.
    ///
    /// # Errors
    /// It is not installed, or the rules are wrong.
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
        let mut process =
            Helper::start(&mut command).context("`cargo xtask setup` installs Debian's prometheus")?;
        let url = format!("http://{address}");
        process.answers(&format!("{url}/-/ready")).await?;
        Ok(Self { client: Client::new(&url)?, url, _process: process, _folder: folder })
    }

    /// The values that a query has now, without those that are no numbers.
    ///
    /// # Errors
    /// The query is wrong.
    pub async fn query(&self, query: &str) -> Result<Vec<f64>> {
        let url = Url::parse_with_params(&format!("{}/api/v1/query", self.url), [("query", query)])?;
        let answer = self.get(url.as_str()).await.with_context(|| query.to_owned())?;
        let series = answer["result"].as_array().context("no result")?;
        let values = series.iter().filter_map(|series| series["value"][1].as_str()?.parse().ok());
        Ok(values.filter(|value: &f64| !value.is_nan()).collect())
    }

    /// All rules, as Prometheus has last evaluated them.
    ///
    /// # Errors
    /// It does not answer.
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
