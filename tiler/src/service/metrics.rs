//! The service's metrics in OpenMetrics text format, for Prometheus.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use edgezoom_content::FailureCode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::pipeline::SourceKind;

/// Media type of the text.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The service's counters, gauges and histograms.
pub(super) struct Metrics {
    registry: Registry,
    jobs: Family<JobLabels, Counter>,
    running: Gauge,
    slots: Gauge,
    queued: Gauge,
    tilers: Gauge,
    phases: Family<PhaseLabels, Histogram, fn() -> Histogram>,
    renderer_deaths: Family<DeathLabels, Counter>,
    queue_age: Histogram,
    pub fetched_bytes: Counter,
    pub uploaded_tiles: Counter,
    pub uploaded_bytes: Counter,
    pub claims_refused: Counter,
    pub pull_errors: Counter,
    pub foreign_messages: Counter,
}

/// Current load of the tiler and the queue.
pub(super) struct Load {
    /// Number of running jobs.
    pub running: usize,
    /// Maximum number of concurrent jobs.
    pub slots: usize,
    /// Number of messages in the queue at the last pull.
    pub queued: u64,
    /// Number of tilers, as counted by the edge.
    pub tilers: u32,
}

/// Result of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum JobResult {
    /// The pyramid is stored, and the edge has accepted the report.
    Finished,
    /// The source cannot be converted.
    Failed,
    /// The service is shutting down, so another tiler gets the job.
    HandedBack,
    /// The attempt was over: the edge refused a report, or did not respond for a whole lease.
    Superseded,
    /// The edge did not respond to the last report.
    Unheard,
}

/// Phase of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// Download of the source.
    Fetch,
    /// Rendering, from the end of the download to the last tile. Includes most of the upload.
    Render,
    /// Upload of the remaining tiles, until the pyramid is complete in the store.
    Upload,
    /// Final report, until the edge has accepted it.
    Report,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JobLabels {
    outcome: JobResult,
    code: Option<Code>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Code(FailureCode);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PhaseLabels {
    phase: Phase,
    kind: Kind,
}

/// Kind of source; empty if it was never determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Kind(Option<SourceKind>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DeathLabels {
    cause: &'static str,
}

/// Histogram buckets in seconds: from a small picture on loopback to a gigapixel from far away.
const SECONDS: [f64; 11] = [0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0];

impl Metrics {
    pub(super) fn new() -> Self {
        let mut registry = Registry::with_prefix("edgezoom");
        let jobs = Family::default();
        registry.register("jobs", "Finished jobs by outcome and failure code", jobs.clone());
        let phases = Family::new_with_constructor((|| Histogram::new(SECONDS)) as fn() -> Histogram);
        let help = "Duration of the phases of jobs by kind of source";
        registry.register("job_phase_seconds", help, phases.clone());
        let renderer_deaths = Family::default();
        let help = "Renderer processes that ended before their pyramid was complete by cause";
        registry.register("renderer_deaths", help, renderer_deaths.clone());
        let queue_age = Histogram::new(SECONDS);
        let help = "Time between sending a message to the queue and claiming its job";
        registry.register("queue_age_seconds", help, queue_age.clone());
        let running = Gauge::default();
        registry.register("jobs_running", "Running jobs", running.clone());
        let slots = Gauge::default();
        registry.register("job_slots", "Maximum number of concurrent jobs", slots.clone());
        let queued = Gauge::default();
        registry.register("queue_messages", "Messages in the queue at the last pull", queued.clone());
        let tilers = Gauge::default();
        registry.register("tilers", "Tilers that share the queue as counted by the edge", tilers.clone());
        let mut counter = |name: &str, help: &str| {
            let counter = Counter::<u64, AtomicU64>::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let fetched_bytes = counter("fetched_bytes", "Downloaded bytes of sources");
        let uploaded_tiles = counter("uploaded_tiles", "Tiles uploaded to the store");
        let uploaded_bytes = counter("uploaded_bytes", "Bytes of tiles uploaded to the store");
        let claims_refused =
            counter("claims_refused", "Messages whose conversion was already claimed or finished");
        let pull_errors = counter("pull_errors", "Failed calls to the queue");
        let foreign_messages = counter("foreign_messages", "Messages that were not jobs");
        for phase in Phase::ALL {
            for kind in Kind::KNOWN {
                drop(phases.get_or_create(&PhaseLabels { phase, kind })); // exported as zero from the start
            }
        }
        Self {
            registry,
            jobs,
            running,
            slots,
            queued,
            tilers,
            phases,
            renderer_deaths,
            queue_age,
            fetched_bytes,
            uploaded_tiles,
            uploaded_bytes,
            claims_refused,
            pull_errors,
            foreign_messages,
        }
    }

    /// Counts a finished job.
    pub(super) fn job_ended(&self, outcome: JobResult, code: Option<FailureCode>) {
        self.jobs.get_or_create(&JobLabels { outcome, code: code.map(Code) }).inc();
    }

    /// Records the duration of a phase.
    pub(super) fn phase_took(&self, phase: Phase, kind: Option<SourceKind>, time: Duration) {
        let labels = PhaseLabels { phase, kind: Kind(kind) };
        self.phases.get_or_create(&labels).observe(time.as_secs_f64());
    }

    /// Counts a renderer process that died.
    pub(super) fn renderer_died(&self, cause: &'static str) {
        self.renderer_deaths.get_or_create(&DeathLabels { cause }).inc();
    }

    /// Records the age of a message whose job was claimed.
    pub(super) fn claimed_after(&self, age: Duration) {
        self.queue_age.observe(age.as_secs_f64());
    }

    /// Formats all metrics.
    pub(super) fn text(&self, load: &Load) -> Result<String, fmt::Error> {
        for (gauge, value) in [
            (&self.running, load.running as u64),
            (&self.slots, load.slots as u64),
            (&self.queued, load.queued),
            (&self.tilers, load.tilers.into()),
        ] {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        let mut text = String::new();
        text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

impl Phase {
    /// All phases in order.
    pub(super) const ALL: [Self; 4] = [Self::Fetch, Self::Render, Self::Upload, Self::Report];
}

impl EncodeLabelValue for JobResult {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> fmt::Result {
        let name = match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::HandedBack => "handed-back",
            Self::Superseded => "superseded",
            Self::Unheard => "unheard",
        };
        name.encode(encoder)
    }
}

impl EncodeLabelValue for Phase {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> fmt::Result {
        let name = match self {
            Self::Fetch => "fetch",
            Self::Render => "render",
            Self::Upload => "upload",
            Self::Report => "report",
        };
        name.encode(encoder)
    }
}

impl Kind {
    const KNOWN: [Self; 3] =
        [Self(Some(SourceKind::Picture)), Self(Some(SourceKind::Document)), Self(Some(SourceKind::Page))];
}

impl EncodeLabelValue for Kind {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> fmt::Result {
        let name = match self.0 {
            Some(SourceKind::Picture) => "picture",
            Some(SourceKind::Document) => "document",
            Some(SourceKind::Page) => "page",
            None => "",
        };
        name.encode(encoder)
    }
}

impl EncodeLabelValue for Code {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> fmt::Result {
        let code = serde_json::to_value(self.0).map_err(|_| fmt::Error)?;
        code.as_str().unwrap_or_default().encode(encoder)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::edge_metrics::Totals;

    #[test]
    fn metrics_have_the_names_that_dashboards_use() {
        let metrics = Metrics::new();
        metrics.job_ended(JobResult::Finished, None);
        metrics.job_ended(JobResult::Failed, Some(FailureCode::SourceNotFound));
        metrics.phase_took(Phase::Fetch, Some(SourceKind::Document), Duration::from_millis(500));
        metrics.phase_took(Phase::Fetch, None, Duration::from_millis(500));
        metrics.renderer_died("crashed");
        metrics.claimed_after(Duration::from_millis(250));
        metrics.uploaded_tiles.inc_by(7);
        let text = metrics.text(&Load { running: 2, slots: 4, queued: 9, tilers: 3 }).unwrap();
        for line in [
            r#"edgezoom_jobs_total{outcome="finished",code=""} 1"#,
            r#"edgezoom_jobs_total{outcome="failed",code="source-not-found"} 1"#,
            r#"edgezoom_job_phase_seconds_sum{phase="fetch",kind="document"} 0.5"#,
            r#"edgezoom_job_phase_seconds_count{phase="fetch",kind="document"} 1"#,
            r#"edgezoom_job_phase_seconds_count{phase="fetch",kind=""} 1"#,
            r#"edgezoom_job_phase_seconds_count{phase="report",kind="page"} 0"#,
            r#"edgezoom_renderer_deaths_total{cause="crashed"} 1"#,
            "edgezoom_queue_age_seconds_sum 0.25",
            "edgezoom_uploaded_tiles_total 7",
            "edgezoom_jobs_running 2",
            "edgezoom_job_slots 4",
            "edgezoom_queue_messages 9",
            "edgezoom_tilers 3",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
    }

    #[test]
    fn dashboard_and_alerts_use_existing_metrics() {
        let metrics = Metrics::new();
        metrics.job_ended(JobResult::Finished, None);
        metrics.renderer_died("crashed");
        let load = Load { running: 0, slots: 0, queued: 0, tilers: 1 };
        let text = metrics.text(&load).unwrap() + &Totals::sample().text();
        let names = |text: &str| -> BTreeSet<String> {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            words.filter(|word| word.starts_with("edgezoom_")).map(str::to_owned).collect()
        };
        let known = names(&text);
        for file in ["dashboard.json", "alerts.yml", "alerts.test.yml"] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/monitoring").join(file);
            let asked = names(&std::fs::read_to_string(path).unwrap());
            assert!(!asked.is_empty(), "{file}");
            let unknown: Vec<_> = asked.difference(&known).collect();
            assert!(unknown.is_empty(), "{file} asks for {unknown:?}");
        }
    }
}
