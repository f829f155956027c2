//! The events of a test program: one line of JSON for each test that starts or ends. Rust's test harness writes them
//! with `--format json`, which is unstable but the only way to its tests' times and to the names of those that run;
//! `reporter.mjs` writes the same for Node.js. Other lines are what the tests themselves print.

use serde_json::Value;

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed,
    Ignored,
}

/// A line of a test program's output.
#[derive(Debug, PartialEq)]
pub enum Event {
    /// A test starts.
    Started(String),
    /// A test has ended.
    Ended(Ended),
    /// All tests start or have ended.
    Suite,
    /// The program's own output.
    Line(String),
}

/// A test that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// Its name in its program.
    pub name: String,
    pub outcome: Outcome,
    /// Its wall time in seconds.
    pub seconds: f64,
    /// Its output and the reason, if it failed.
    pub output: String,
}

impl Event {
    /// Returns the events in a line. A test may print without a line feed before its event.
    pub fn of_line(line: &str) -> Vec<Self> {
        let starts = ["{ \"type\": \"", "{\"type\":\""].iter().filter_map(|start| line.find(start)).min();
        let (printed, event) = line.split_at(starts.unwrap_or(line.len()));
        let Ok(event) = serde_json::from_str::<Value>(event) else {
            return vec![Self::Line(line.to_owned())];
        };
        let printed = (!printed.is_empty()).then(|| Self::Line(printed.to_owned()));
        printed.into_iter().chain(Self::of_json(&event)).collect()
    }

    /// Returns the event in a JSON object, if it is about a test.
    fn of_json(event: &Value) -> Option<Self> {
        if event["type"] == "suite" {
            return Some(Self::Suite);
        }
        if event["type"] != "test" {
            return None;
        }
        let name = event["name"].as_str()?.to_owned();
        let outcome = match event["event"].as_str()? {
            "started" => return Some(Self::Started(name)),
            "ok" => Outcome::Passed,
            "failed" => Outcome::Failed,
            "ignored" => Outcome::Ignored,
            _ => return None, // that a test takes long
        };
        let seconds = event["exec_time"].as_f64().unwrap_or(0.0);
        let output = event["stdout"].as_str().unwrap_or_default().to_owned();
        Some(Self::Ended(Ended { name, outcome, seconds, output }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_both_runners_are_read_and_other_lines_kept() {
        let rust =
            r#"{ "type": "test", "name": "a::b", "event": "failed", "exec_time": 0.5, "stdout": "no\n" }"#;
        let failed =
            Ended { name: "a::b".into(), outcome: Outcome::Failed, seconds: 0.5, output: "no\n".into() };
        assert_eq!(Event::of_line(rust), [Event::Ended(failed)]);
        let node = r#"no line feed{"type":"test","event":"started","name":"a \"word\""}"#;
        assert_eq!(
            Event::of_line(node),
            [Event::Line("no line feed".into()), Event::Started("a \"word\"".into())]
        );
        assert_eq!(
            Event::of_line(r#"{ "type": "suite", "event": "started", "test_count": 4 }"#),
            [Event::Suite]
        );
        assert_eq!(Event::of_line("{ \"type\": \"cut"), [Event::Line("{ \"type\": \"cut".into())]);
    }
}
