//! The operators' view of a running system: dashboard queries and alert rules in a real Prometheus, the log of a
//! conversion, and the status page.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use edgezoom_tests::programs::{Program, Prometheus, free_address};
use edgezoom_tests::{
    Client, Course, Options, Source, SourceServer, System, eventually, patience, picture, processes, system,
};
use rustix::process::Signal;
use serde_json::Value;

use crate::operator::purges_what_is_old;

const SVG: &str =
    r#"<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200"><circle r="90"/></svg>"#;
const PAGE: &str = "<!doctype html><title>A page</title><p style='height:900px'>Words";

/// A monitored system.
struct Watched {
    system: System,
    client: Client,
    sources: SourceServer,
    _edge_metrics: Program,
    prometheus: Prometheus,
}

#[tokio::test]
async fn dashboard_alerts_log_and_status_page_show_what_happens() -> Result<()> {
    let watched = Watched::start().await?;
    let ready = watched.convert_after_a_death().await?;
    let failed = watched.client.convert(&watched.sources.url("nothing.jpg")).await?;
    assert_eq!(failed.failure_code()?, "source-not-found");
    watched.every_panel_has_data(&ready).await?;
    watched.rules_hold().await?;
    watched.log_tells_the_course_of_a_conversion(&ready.id()?)?;
    watched.status_page_shows(&ready.id()?, &failed.id()?).await?;
    purges_what_is_old(&watched.system, &watched.client, &ready).await
}

impl Watched {
    async fn start() -> Result<Self> {
        let system = System::start(Options { log: "json", ..Options::default() })?;
        let listen = free_address()?;
        let mut exporter = Command::new(system::built("tiler")?);
        exporter.arg("edge-metrics").env("EDGEZOOM_ANALYTICS_TOKEN", system.token()?);
        exporter.arg(format!("--url={}/accounts/local/analytics_engine/sql", system.url()));
        exporter.arg(format!("--listen={listen}")).arg("--delay=0");
        let mut edge_metrics = Program::start(&mut exporter)?;
        edge_metrics.answers(&format!("http://{listen}/metrics")).await?;
        let tiler = system.tiler()?.address;
        let gone = free_address()?; // a tiler that does not listen
        let jobs: [(&str, &[&str]); 2] =
            [("edgezoom-tiler", &[&tiler, &gone]), ("edgezoom-edge", &[&listen])];
        let prometheus = Prometheus::start(&jobs, &impatient(&monitoring("alerts.yml")?)).await?;
        let client = Client::new(system.url())?;
        Ok(Self { client, sources: SourceServer::start()?, system, _edge_metrics: edge_metrics, prometheus })
    }

    /// Converts a picture whose first renderer is killed.
    async fn convert_after_a_death(&self) -> Result<Course> {
        let jpeg = picture::jpeg(&picture::photograph(1600, 1200, 3))?;
        // A renderer waits while the source arrives.
        let (file, gate) = Source::file("image/jpeg", jpeg).held(2);
        gate.pass();
        let mut course = self.client.begin(&self.sources.serve("killed.jpg", file)).await?;
        let renderer = eventually("a renderer", async || {
            Ok(processes::renderers(self.system.tiler()?.process)?.first().copied())
        });
        processes::signal(renderer.await?, Signal::KILL)?;
        gate.open();
        self.client.follow(&mut course).await?;
        course.ready()?;
        Ok(course)
    }

    /// Converts sources until every query of every panel has a value.
    async fn every_panel_has_data(&self, ready: &Course) -> Result<()> {
        let dashboard: Value = serde_json::from_str(&monitoring("dashboard.json")?)?;
        let mut missing = vec![];
        for panel in dashboard["panels"].as_array().context("no panels")? {
            for target in panel["targets"].as_array().context("no queries")? {
                let query = target["expr"].as_str().context("no query")?;
                let query = query.replace("$__rate_interval", "5m").replace("$tiler", ".*");
                // No containers run here: `containers` has a system with them.
                if !query.contains("edgezoom_edge_container") {
                    missing.push((panel["title"].to_string(), query));
                }
            }
        }
        ensure!(missing.len() > 30, "too few queries: {missing:?}");
        for kind in ["picture", "document", "page"] {
            let rendered =
                format!(r#"edgezoom_job_phase_seconds_count{{phase="render", kind="{kind}"}} > 0"#);
            missing.push((format!("conversions of the kind {kind}"), rendered));
        }
        let page = self.sources.serve("page.html", Source::file("text/html", PAGE));
        self.client.convert(&page).await?.ready()?;
        let tile =
            ready.ready()?["dzi"]["url"].as_str().context("no address")?.replace(".dzi", "_files/0/0_0.jpg");
        let deadline = Instant::now() + patience();
        for number in 0.. {
            ensure!(Instant::now() < deadline, "no data: {missing:#?}\n{}", self.system.log());
            let small = picture::jpeg(&picture::photograph(300, 200, number))?;
            let sources = [
                self.sources.serve("small.jpg", Source::file("image/jpeg", small)),
                self.sources.serve("drawing.svg", Source::file("image/svg+xml", SVG)),
                self.sources.url(&format!("nothing-{number}.jpg")),
            ];
            for source in sources {
                self.client.convert(&source).await?;
            }
            if missing.iter().any(|(_, query)| query.contains("cache")) {
                for _ in 0..100 {
                    self.client.get(&tile).await?; // one in sixteen is counted
                }
            }
            let region = format!("/iiif/{}/square/{},/0/default.jpg", ready.id()?, 20 + number);
            assert_eq!(self.client.get(&region).await?.status, 200);
            let mut still = vec![];
            for (title, query) in missing {
                if self.prometheus.query(&query).await?.is_empty() {
                    still.push((title, query));
                }
            }
            missing = still;
            if missing.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Waits until Prometheus has evaluated every rule, and of the alerts about parts that are missing only that about
    /// the one tiler fires. On a busy machine a part may be missing for a moment.
    async fn rules_hold(&self) -> Result<()> {
        let mut rules = vec![];
        let hold = eventually("the alert about one tiler alone", async || {
            rules = self.prometheus.rules().await?;
            ensure!(rules.len() > 10, "too few rules");
            ensure!(rules.iter().all(|rule| rule["health"] != "err"), "a rule is wrong");
            let fires = |name| rules.iter().any(|rule| rule["name"] == name && rule["state"] == "firing");
            let is_evaluated = rules.iter().all(|rule| rule["health"] == "ok");
            let others = fires("EdgezoomNoTiler") || fires("EdgezoomEdgeUnseen");
            Ok((is_evaluated && fires("EdgezoomTilerDown") && !others).then_some(()))
        });
        hold.await.with_context(|| format!("{rules:#?}"))
    }

    /// Checks that the log lines with a content's id tell its whole course, of the Worker, the tiler and the renderers.
    fn log_tells_the_course_of_a_conversion(&self, id: &str) -> Result<()> {
        let log = self.system.log();
        let lines =
            log.lines().filter_map(|line| serde_json::from_str::<Value>(line.split_once(" | ")?.1).ok());
        let found: Vec<Value> = lines.filter(|line| line["id"] == id).collect();
        let told: Vec<String> = found
            .iter()
            .map(|line| {
                let word = |name: &str| line[name].as_str().unwrap_or_default();
                format!("{} {}", word("attempt"), word("message")).trim().to_owned()
            })
            .collect();
        let mut left = told.iter();
        for expected in [
            "content queued",
            "1 job claimed",
            "1 renderer started",
            "1 a renderer died",
            "1 job ended",
            "2 job claimed",
            "2 renderer started",
            "2 renderer ended",
            "2 job ended",
        ] {
            ensure!(left.any(|line| line == expected), "`{expected}` is missing or misplaced: {told:#?}");
        }
        // The Worker's lines come through another pipe, in another order.
        for expected in ["1 content claimed", "content queued", "2 content claimed", "2 content ready"] {
            ensure!(told.iter().any(|line| line == expected), "`{expected}` is missing: {told:#?}");
        }
        Ok(())
    }

    async fn status_page_shows(&self, ready: &str, failed: &str) -> Result<()> {
        let status = self.client.get("/internal/status").await?.json()?;
        let count = |list: &str, field: &str, value: &str| {
            let rows = status[list].as_array().into_iter().flatten();
            rows.filter(|row| row[field] == value).filter_map(|row| row["count"].as_f64()).sum::<f64>()
        };
        assert!(count("contents", "state", "ready") >= 2.0, "{status:#}");
        assert!(count("contents", "state", "failed") >= 1.0, "{status:#}");
        assert!(count("requests", "part", "v1") > 10.0, "{status:#}");
        assert!(status["tilers"][0]["slots"].as_u64() >= Some(1), "{status:#}");
        let failures = status["failures"].as_array().context("no failures")?;
        let ours =
            failures.iter().find(|failure| failure["id"] == failed).context("the failure is not listed")?;
        assert_eq!(ours["code"], "source-not-found");
        let page = self.client.get("/internal/status?format=html").await?.text();
        assert!(page.contains(&format!("<a href=\"/{failed}\">")) && !page.contains(ready), "{page}");
        Ok(())
    }
}

fn monitoring(name: &str) -> Result<String> {
    Ok(fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/monitoring").join(name))?)
}

/// Returns the rules without the time for which a condition must hold before an alert fires.
fn impatient(rules: &str) -> String {
    rules
        .lines()
        .filter(|line| !line.trim_start().starts_with("for: "))
        .fold(String::new(), |all, line| all + line + "\n")
}
