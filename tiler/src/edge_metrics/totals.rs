//! Adds up the Worker's data points as metrics for Prometheus. Does no I/O.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use edgezoom_content::protocol::DURATION_BOUNDS as BOUNDS;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;

use super::dataset::Row;

type Labels<const N: usize> = [(&'static str, String); N];
type Count = Counter<f64, AtomicU64>;

/// All totals.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    registry: Registry,
    requests: Family<Labels<3>, Count>,
    contents: Family<Labels<2>, Count>,
    states: Family<Labels<1>, Histogram>,
    answers: Family<Labels<1>, Histogram>,
    regions: Family<Labels<2>, Count>,
    errors: Count,
    containers: Family<Labels<1>, Count>,
    container_starts: Family<Labels<0>, Histogram>,
    container_seconds: Count,
}

/// A histogram of durations that the Worker has sorted into buckets.
#[derive(Clone, Debug, Default)]
struct Histogram(Arc<Mutex<Durations>>);

#[derive(Debug, Default)]
struct Durations {
    /// Numbers of durations, by bucket.
    counts: [f64; BOUNDS.len()],
    /// Sum in seconds.
    sum: f64,
}

impl Histogram {
    fn add(&self, bound: &str, row: &Row) {
        // An unknown bucket counts as the last one.
        let at = BOUNDS.iter().position(|(known, _)| *known == bound).unwrap_or(BOUNDS.len() - 1);
        let mut durations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = durations.counts.get_mut(at) {
            *count += row.count;
        }
        durations.sum += row.seconds;
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let durations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let in_each = durations.counts.map(|count| count.round() as u64);
        let buckets: Vec<_> = BOUNDS.iter().zip(in_each).map(|((_, bound), count)| (*bound, count)).collect();
        encoder.encode_histogram::<NoLabelSet>(durations.sum, in_each.iter().sum(), &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl Totals {
    /// Creates totals without data points.
    pub(crate) fn new() -> Self {
        let mut totals = Self { registry: Registry::with_prefix("edgezoom_edge"), ..Self::default() };
        let Self { registry, requests, contents, states, answers, regions, errors, .. } = &mut totals;
        let help = "Requests by part of the API, status, and source of the response";
        registry.register("requests", help, requests.clone());
        let help = "Contents that entered a state by state and failure code";
        registry.register("contents", help, contents.clone());
        let help = "Requests for regions that no cache had by purpose and result";
        registry.register("regions", help, regions.clone());
        registry.register("errors", "Errors logged by the Worker", errors.clone());
        registry.register("state_seconds", "Time that contents spent in a state by state", states.clone());
        let help = "Time from the request until contents were ready or had failed";
        registry.register("answer_seconds", help, answers.clone());
        let Self { registry, containers, container_starts, container_seconds, .. } = &mut totals;
        let help =
            "Containers that were started, reported first, hung or ended, and days whose time was spent";
        registry.register("containers", help, containers.clone());
        let help = "Time from the start of a container to its tiler's first report";
        registry.register("container_start_seconds", help, container_starts.clone());
        registry.register("container_seconds", "Time that ended containers ran", container_seconds.clone());
        totals
    }

    /// Adds data points. Ignores unknown kinds, which a later Worker writes.
    pub(crate) fn add(&mut self, row: &Row) {
        let Row { what, first, second, third, fourth, count, .. } = row;
        let [first, second, third] = [first, second, third].map(Clone::clone);
        match what.as_str() {
            "request" => {
                let labels = [("part", first), ("status", second), ("source", third)];
                self.requests.get_or_create(&labels).inc_by(*count);
            }
            "content" => {
                self.contents.get_or_create(&[("state", first), ("code", third)]).inc_by(*count);
                if second != "none" {
                    self.states.get_or_create(&[("state", second)]).add(fourth, row);
                }
            }
            "answer" => self.answers.get_or_create(&[("state", first)]).add(fourth, row),
            "region" => {
                self.regions.get_or_create(&[("purpose", first), ("result", second)]).inc_by(*count);
            }
            "error" => drop(self.errors.inc_by(*count)),
            "container" => {
                match first.as_str() {
                    "reported" => self.container_starts.get_or_create(&[]).add(fourth, row),
                    "ended" => drop(self.container_seconds.inc_by(row.seconds)),
                    _ => {}
                }
                self.containers.get_or_create(&[("event", first)]).inc_by(*count);
            }
            _ => {}
        }
    }

    /// Formats all totals as OpenMetrics.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let _ = text::encode(&mut text, &self.registry); // writing to a String does not fail
        text
    }
}

#[cfg(test)]
impl Totals {
    /// Totals with one data point of each kind.
    pub(crate) fn sample() -> Self {
        let mut totals = Self::new();
        for what in ["request", "content", "answer", "region", "container"] {
            let first = if what == "container" { "reported" } else { "" }.to_owned();
            let [second, third, fourth] = [(); 3].map(|()| String::new());
            totals.add(&Row {
                what: what.to_owned(),
                first,
                second,
                third,
                fourth,
                count: 1.0,
                seconds: 1.0,
            });
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(labels: [&str; 5], count: f64, seconds: f64) -> Row {
        let [what, first, second, third, fourth] = labels.map(str::to_owned);
        Row { what, first, second, third, fourth, count, seconds }
    }

    #[test]
    fn data_points_are_added_up() {
        let mut totals = Totals::new();
        for _ in 0..2 {
            totals.add(&row(["request", "v1", "200", "kv", ""], 3.0, 0.0));
            totals.add(&row(["content", "claimed", "queued", "", "1"], 1.0, 0.75));
        }
        totals.add(&row(["content", "queued", "none", "", "0.25"], 1.0, 0.0));
        totals.add(&row(["content", "failed", "claimed", "source-not-found", "2.5"], 1.0, 2.0));
        totals.add(&row(["answer", "failed", "", "", "60"], 1.0, 12.0));
        totals.add(&row(["answer", "failed", "", "", "7"], 1.0, 1.0));
        totals.add(&row(["error", "", "", "", ""], 1.0, 0.0));
        totals.add(&row(["container", "reported", "", "", "10"], 1.0, 4.5));
        totals.add(&row(["container", "ended", "", "", "600"], 2.0, 130.0));
        totals.add(&row(["of a later version", "", "", "", ""], 1.0, 0.0));
        let text = totals.text();
        for expected in [
            r#"edgezoom_edge_requests_total{part="v1",status="200",source="kv"} 6.0"#,
            r#"edgezoom_edge_contents_total{state="claimed",code=""} 2.0"#,
            r#"edgezoom_edge_contents_total{state="failed",code="source-not-found"} 1.0"#,
            r#"edgezoom_edge_state_seconds_bucket{le="0.25",state="queued"} 0"#,
            r#"edgezoom_edge_state_seconds_bucket{le="1.0",state="queued"} 2"#,
            r#"edgezoom_edge_state_seconds_bucket{le="+Inf",state="queued"} 2"#,
            r#"edgezoom_edge_state_seconds_sum{state="queued"} 1.5"#,
            r#"edgezoom_edge_answer_seconds_bucket{le="60.0",state="failed"} 1"#,
            r#"edgezoom_edge_answer_seconds_count{state="failed"} 2"#,
            "edgezoom_edge_errors_total 1.0",
            r#"edgezoom_edge_containers_total{event="ended"} 2.0"#,
            r#"edgezoom_edge_container_start_seconds_bucket{le="10.0"} 1"#,
            "edgezoom_edge_container_seconds_total 130.0",
        ] {
            assert!(text.lines().any(|line| line == expected), "{expected}\n{text}");
        }
        assert!(!text.contains("none") && !text.contains("later"), "{text}");
    }
}
