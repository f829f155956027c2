//! Adds up the Worker's data points and formats them for Prometheus. Pure.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::dataset::Row;

/// Media type of the text: <https://prometheus.io/docs/instrumenting/exposition_formats/>.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Bounds of histogram buckets, as `bucket` in `edge/src/platform/bridge.js` names them.
const BOUNDS: [&str; 7] = ["0.25", "1", "2.5", "10", "60", "600", "+Inf"];

/// All totals.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    /// Requests by part of the API, status, and source of the response.
    requests: BTreeMap<[String; 3], f64>,
    /// Contents by the state that they entered, and failure code.
    contents: BTreeMap<[String; 2], f64>,
    /// Time that contents spent in a state.
    states: BTreeMap<String, Histogram>,
    /// Time from the request until contents were ready or had failed.
    answers: BTreeMap<String, Histogram>,
    /// Requests for regions that no cache had, by purpose and result.
    regions: BTreeMap<[String; 2], f64>,
    /// Errors that the Worker has logged.
    errors: f64,
}

#[derive(Debug, Default)]
struct Histogram {
    buckets: [f64; BOUNDS.len()],
    sum: f64,
}

impl Histogram {
    fn add(&mut self, bound: &str, row: &Row) {
        // An unknown bucket counts as the last one.
        let at = BOUNDS.iter().position(|known| *known == bound).unwrap_or(BOUNDS.len() - 1);
        if let Some(bucket) = self.buckets.get_mut(at) {
            *bucket += row.count;
        }
        self.sum += row.seconds;
    }
}

impl Totals {
    /// Adds data points. Ignores kinds that this version does not know.
    pub(crate) fn add(&mut self, row: &Row) {
        let Row { what, first, second, third, fourth, count, .. } = row;
        match what.as_str() {
            "request" => {
                *self.requests.entry([first, second, third].map(Clone::clone)).or_default() += count;
            }
            "content" => {
                *self.contents.entry([first, third].map(Clone::clone)).or_default() += count;
                if second != "none" {
                    self.states.entry(second.clone()).or_default().add(fourth, row);
                }
            }
            "answer" => self.answers.entry(first.clone()).or_default().add(fourth, row),
            "region" => *self.regions.entry([first, second].map(Clone::clone)).or_default() += count,
            "error" => self.errors += count,
            _ => {}
        }
    }

    /// Formats all totals for Prometheus.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let head = |text: &mut String, name: &str, kind: &str, help: &str| {
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n"); // writing to a String does not fail
        };
        let name = "edgezoom_edge_requests_total";
        head(&mut text, name, "counter", "Requests by part of the API, status, and source of the response");
        for ([part, status, source], count) in &self.requests {
            line(&mut text, name, &[("part", part), ("status", status), ("source", source)], *count);
        }
        let name = "edgezoom_edge_contents_total";
        head(&mut text, name, "counter", "Contents that entered a state by state and failure code");
        for ([state, code], count) in &self.contents {
            line(&mut text, name, &[("state", state), ("code", code)], *count);
        }
        let name = "edgezoom_edge_regions_total";
        head(&mut text, name, "counter", "Requests for regions that no cache had by purpose and result");
        for ([purpose, result], count) in &self.regions {
            line(&mut text, name, &[("purpose", purpose), ("result", result)], *count);
        }
        let name = "edgezoom_edge_errors_total";
        head(&mut text, name, "counter", "Errors logged by the Worker");
        line(&mut text, name, &[], self.errors);
        for (name, help, histograms) in [
            ("edgezoom_edge_state_seconds", "Time that contents spent in a state by state", &self.states),
            (
                "edgezoom_edge_answer_seconds",
                "Time from the request until contents were ready or had failed",
                &self.answers,
            ),
        ] {
            head(&mut text, name, "histogram", help);
            for (state, Histogram { buckets, sum }) in histograms {
                let mut count = 0.0;
                for (bound, in_it) in BOUNDS.iter().zip(buckets) {
                    count += in_it;
                    line(&mut text, &format!("{name}_bucket"), &[("state", state), ("le", bound)], count);
                }
                line(&mut text, &format!("{name}_sum"), &[("state", state)], *sum);
                line(&mut text, &format!("{name}_count"), &[("state", state)], count);
            }
        }
        text
    }
}

#[cfg(test)]
impl Totals {
    /// Totals with one data point of each kind.
    pub(crate) fn sample() -> Self {
        let mut totals = Self::default();
        for what in ["request", "content", "answer", "region"] {
            let label = String::new;
            let what = what.to_owned();
            let row = Row {
                what,
                first: label(),
                second: label(),
                third: label(),
                fourth: label(),
                count: 1.0,
                seconds: 1.0,
            };
            totals.add(&row);
        }
        totals
    }
}

fn line(text: &mut String, name: &str, labels: &[(&str, &str)], value: f64) {
    let escape = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let labels: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
    let _ = match labels.as_slice() {
        [] => writeln!(text, "{name} {value}"),
        labels => writeln!(text, "{name}{{{}}} {value}", labels.join(",")),
    };
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
        let mut totals = Totals::default();
        for _ in 0..2 {
            totals.add(&row(["request", "v1", "200", "kv", ""], 3.0, 0.0));
            totals.add(&row(["content", "claimed", "queued", "", "1"], 1.0, 0.75));
        }
        totals.add(&row(["content", "queued", "none", "", "0.25"], 1.0, 0.0));
        totals.add(&row(["content", "failed", "claimed", "source-not-found", "2.5"], 1.0, 2.0));
        totals.add(&row(["answer", "failed", "", "", "60"], 1.0, 12.0));
        totals.add(&row(["answer", "failed", "", "", "7"], 1.0, 1.0));
        totals.add(&row(["error", "", "", "", ""], 1.0, 0.0));
        totals.add(&row(["of a later version", "", "", "", ""], 1.0, 0.0));
        let text = totals.text();
        for expected in [
            r#"edgezoom_edge_requests_total{part="v1",status="200",source="kv"} 6"#,
            r#"edgezoom_edge_contents_total{state="claimed",code=""} 2"#,
            r#"edgezoom_edge_contents_total{state="failed",code="source-not-found"} 1"#,
            r#"edgezoom_edge_state_seconds_bucket{state="queued",le="0.25"} 0"#,
            r#"edgezoom_edge_state_seconds_bucket{state="queued",le="1"} 2"#,
            r#"edgezoom_edge_state_seconds_bucket{state="queued",le="+Inf"} 2"#,
            r#"edgezoom_edge_state_seconds_sum{state="queued"} 1.5"#,
            r#"edgezoom_edge_answer_seconds_bucket{state="failed",le="60"} 1"#,
            r#"edgezoom_edge_answer_seconds_count{state="failed"} 2"#,
            "edgezoom_edge_errors_total 1",
        ] {
            assert!(text.lines().any(|line| line == expected), "{expected}\n{text}");
        }
        assert!(!text.contains("none") && !text.contains("later"), "{text}");
    }

    #[test]
    fn labels_are_escaped() {
        let mut totals = Totals::default();
        totals.add(&row(["request", "a\"b\n", "\\", "", ""], 1.0, 0.0));
        assert!(totals.text().contains(r#"part="a\"b\n",status="\\""#), "{}", totals.text());
    }
}
