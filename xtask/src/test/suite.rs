//! A test program: many tests in one process, native or in Node.js. It can run as a whole, or one of its tests alone.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::cache::Reads;
use super::events::{Ended, Event, Outcome};
use super::processes;
use crate::command;
use crate::project::{self, Project};

/// Time limit of a test, in seconds of a machine that is not overloaded ([`processes::fair_second`]).
const LIMIT: f64 = 300.0;

/// Tests that may take longer, with the reason.
const LONGER: [(&str, f64); 2] = [
    ("two clients who do their worst for half an hour", 900.0), // simulated half-hours with the whole Worker
    ("a client that leaves before every second response", 900.0),
];

/// The name of what fails without a test.
pub const PROGRAM: &str = "(the program)";

/// Number of a program's last lines that are kept for a test that fails.
const LAST_LINES: usize = 200;

/// A test program.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Name in the output: `codecs formats`, `edge/tests/r2.test.mjs`.
    pub name: String,
    /// The program, or the file for Node.js.
    pub path: PathBuf,
    /// Directory in which it runs.
    pub folder: PathBuf,
    pub runtime: Runtime,
    pub reads: Reads,
    /// Number of tests that it runs at once, if they mostly wait; `None` if its tests are CPU-bound. Those run with low
    /// priority, on all processors.
    pub waiting: Option<usize>,
    /// Selects a part of its tests, in the words of the runtime.
    pub part: Vec<String>,
    /// Variables besides those of this process.
    pub variables: Vec<(&'static str, String)>,
}

/// The runtime of a test program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    Native,
    Node,
}

impl Suite {
    /// Returns the name of one of its tests among all tests.
    pub fn test(&self, name: &str) -> String {
        format!("{} › {name}", self.name)
    }

    /// Runs all its tests, or `only` one, and passes each line of its own output to `show`.
    pub fn run(&self, project: &Project, only: Option<&str>, show: impl FnMut(&str)) -> Result<Vec<Ended>> {
        follow(&mut self.command(project, only)?, show)
    }

    fn command(&self, project: &Project, only: Option<&str>) -> Result<Command> {
        let mut command = match self.runtime {
            Runtime::Native => {
                let is_patient = self.waiting.is_none();
                let mut command =
                    if is_patient { project::beside_tests(&self.path) } else { Command::new(&self.path) };
                command.args(["--format=json", "-Zunstable-options", "--report-time"]);
                command.env("RUSTC_BOOTSTRAP", "1"); // allows the line above
                if let Some(threads) = self.waiting {
                    command.arg(format!("--test-threads={threads}"));
                }
                match only {
                    Some(name) => command.args(["--include-ignored", "--exact", name]),
                    None => command.args(&self.part),
                };
                command.env("CARGO_MANIFEST_DIR", &self.folder);
                // Decoders panic on some broken files and are caught. Backtraces took a sixth of the picture tests' time.
                command.env("RUST_BACKTRACE", "0");
                command
            }
            Runtime::Node => {
                let mut command = project.node_tool("node")?;
                command.arg("--test-force-exit").arg("--test-reporter");
                command.arg(project.root.join("xtask/src/test/reporter.mjs")).args(&self.part);
                if let Some(name) = only {
                    command.arg(format!("--test-name-pattern=^{}$", escaped(name)));
                }
                command.arg(&self.path);
                command
            }
        };
        // What CPU-bound programs leave would starve a browser with its usual priority.
        command.env("EDGEZOOM_WEB_NICE", "0");
        command.current_dir(&self.folder).envs(self.variables.iter().cloned());
        Ok(command)
    }
}

/// Runs a program to its end, and returns its tests.
fn follow(command: &mut Command, mut show: impl FnMut(&str)) -> Result<Vec<Ended>> {
    let (mut run, lines) = Run::start(command)?;
    loop {
        match lines.recv_timeout(Duration::from_secs(1)) {
            Ok(line) => Event::of_line(&line).into_iter().for_each(|event| run.take(event, &mut show)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return run.finish(),
        }
        run.check_limits();
    }
}

/// A test program that runs.
struct Run {
    child: Child,
    watch: Watch,
    /// Its running tests, and the clock when each started. The program itself, which may hang when no test runs, is the
    /// test without a name, and starts anew whenever another one starts or ends.
    running: HashMap<String, f64>,
    /// True if it has reported its tests in a form that is known here.
    is_understood: bool,
    ended: Vec<Ended>,
    /// The last lines of its own output.
    last: VecDeque<String>,
}

impl Run {
    /// Starts a program. Also returns the lines of its output as they come.
    fn start(command: &mut Command) -> Result<(Self, Receiver<String>)> {
        let (child, lines) = start(command)?;
        let watch = Watch { clock: 0.0, ticked: Instant::now() };
        let running = HashMap::from([(String::new(), 0.0)]);
        Ok((
            Self { child, watch, running, is_understood: false, ended: vec![], last: VecDeque::new() },
            lines,
        ))
    }

    fn take(&mut self, event: Event, show: &mut impl FnMut(&str)) {
        match event {
            Event::Line(line) => {
                show(&line);
                if self.last.len() == LAST_LINES {
                    self.last.pop_front();
                }
                self.last.push_back(line);
                return;
            }
            Event::Suite => self.is_understood = true,
            Event::Started(name) => drop(self.running.insert(name, self.watch.clock)),
            Event::Ended(mut ended) => {
                self.running.remove(&ended.name);
                if ended.outcome == Outcome::Failed {
                    ended.output = format!("{}{}", self.printed(), ended.output);
                    show(&format!("test {} failed:\n{}", ended.name, ended.output));
                }
                self.ended.push(ended);
            }
        }
        self.running.insert(String::new(), self.watch.clock);
    }

    /// Returns the last lines of the program's own output.
    fn printed(&self) -> String {
        self.last.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Kills the program if a test exceeds its limit. What hangs and what runs below it are in the test's output.
    fn check_limits(&mut self) {
        if !self.watch.tick() {
            return;
        }
        let is_idle = self.running.len() == 1;
        let is_over = |(name, since): &(&String, &f64)| {
            self.watch.clock - **since > limit(name) && (is_idle || !name.is_empty())
        };
        let hung: Vec<String> = self.running.iter().filter(is_over).map(|(name, _)| name.clone()).collect();
        if hung.is_empty() {
            return;
        }
        let processes = processes::below(self.child.id());
        let processes: String =
            processes.iter().map(|one| format!("{:7} {}\n", one.id, one.command)).collect();
        for name in hung {
            let why = format!("it did not end within {} s; processes:\n{processes}", limit(&name));
            self.fail(name, &why);
        }
        processes::kill(self.child.id());
    }

    fn fail(&mut self, name: String, why: &str) {
        let seconds = self.watch.clock - self.running.remove(&name).unwrap_or(self.watch.clock);
        let name = if name.is_empty() { PROGRAM.to_owned() } else { name };
        let output = format!("{}{why}", self.printed());
        self.ended.push(Ended { name, outcome: Outcome::Failed, seconds, output });
    }

    /// Waits for the program's end. A program that fails without a failed test counts as one.
    fn finish(mut self) -> Result<Vec<Ended>> {
        let status = self.child.wait()?;
        self.running.remove("");
        let unfinished: Vec<String> = self.running.keys().cloned().collect();
        for name in unfinished {
            self.fail(name, &format!("it ran when its program ended: {status}"));
        }
        if !status.success() && self.ended.iter().all(|test| test.outcome != Outcome::Failed) {
            self.fail(String::new(), &status.to_string());
        } else if status.success() && !self.is_understood {
            self.fail(String::new(), "it reported no tests in the JSON that is known here");
        }
        Ok(self.ended)
    }
}

/// A clock that counts [fair seconds](processes::fair_second).
struct Watch {
    clock: f64,
    ticked: Instant,
}

impl Watch {
    /// Advances the clock, at most once a second. Returns true if it did.
    fn tick(&mut self) -> bool {
        let passed = self.ticked.elapsed().as_secs_f64();
        if passed < 1.0 {
            return false;
        }
        self.ticked = Instant::now();
        self.clock += passed * processes::fair_second();
        true
    }
}

fn limit(name: &str) -> f64 {
    LONGER.iter().find(|(test, _)| name.starts_with(test)).map_or(LIMIT, |(_, limit)| *limit)
}

/// Escapes a text for a regular expression of JavaScript.
fn escaped(text: &str) -> String {
    let escape = |letter: char| match letter {
        '.' | '*' | '+' | '?' | '^' | '$' | '{' | '}' | '(' | ')' | '|' | '[' | ']' | '\\' | '/' => {
            format!("\\{letter}")
        }
        _ => letter.to_string(),
    };
    text.chars().map(escape).collect()
}

/// Starts a program, and returns the lines of its standard output and standard error as they come.
fn start(command: &mut Command) -> Result<(Child, Receiver<String>)> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| command::text(command))?;
    let (sender, lines) = channel();
    let read = |source: Box<dyn Read + Send>| {
        let sender = sender.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(source).split(b'\n').map_while(Result::ok) {
                let _ = sender.send(String::from_utf8_lossy(&line).into_owned()); // nobody listens after an error
            }
        });
    };
    read(Box::new(child.stdout.take().context("no standard output")?));
    read(Box::new(child.stderr.take().context("no standard error")?));
    Ok((child, lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str) -> (Vec<Ended>, Vec<String>) {
        let mut shown = vec![];
        let mut shell = Command::new("sh");
        let ended = follow(shell.args(["-c", script]), |line| shown.push(line.to_owned())).unwrap();
        (ended, shown)
    }

    #[test]
    fn a_failed_test_has_its_output_and_a_crash_fails_the_tests_that_ran() {
        let event = |event: &str, name: &str| {
            format!(r#"echo '{{ "type": "test", "event": "{event}", "name": "{name}", "stdout": "why" }}';"#)
        };
        let script =
            ["echo noise;", &event("started", "a"), &event("failed", "a"), &event("started", "b"), "exit 3"]
                .concat();
        let (ended, shown) = run(&script);
        let failed: Vec<_> = ended.iter().map(|test| (test.name.as_str(), test.outcome)).collect();
        assert_eq!(failed, [("a", Outcome::Failed), ("b", Outcome::Failed)]);
        assert_eq!(ended[0].output, "noise\nwhy");
        assert!(ended[1].output.contains("exit status: 3"), "{}", ended[1].output);
        assert_eq!(shown[0], "noise");
        assert_eq!(run("exit 1").0[0].name, PROGRAM);
        assert!(run("exit 0").0[0].output.contains("no tests in the JSON"));
        assert_eq!(run(r#"echo '{ "type": "suite", "event": "ok" }'"#).0, []);
    }

    #[test]
    fn a_test_that_hangs_is_named_with_what_runs_below_it_and_ended() {
        let mut shell = Command::new("sh");
        shell.args(["-c", r#"echo '{"type":"test","event":"started","name":"stuck"}'; sleep 601"#]);
        let mut run = Run::start(&mut shell).unwrap();
        let running = |run: &Run| run.running.contains_key("stuck");
        while !running(&run.0) {
            let line = run.1.recv().unwrap();
            Event::of_line(&line).into_iter().for_each(|event| run.0.take(event, &mut |_| {}));
        }
        run.0.watch.clock = LIMIT + 1.0;
        run.0.watch.ticked -= Duration::from_secs(1);
        run.0.check_limits();
        let ended = run.0.finish().unwrap();
        assert_eq!(ended[0].name, "stuck");
        assert!(
            ended[0].output.contains("did not end within 300 s") && ended[0].output.contains("sleep 601")
        );
    }

    #[test]
    fn names_are_escaped_for_patterns() {
        assert_eq!(escaped("a (b) [c] 1.5 /x"), r"a \(b\) \[c\] 1\.5 \/x");
    }
}
