//! Tests `tiler admin` with many contents: its progress bar and its pace. `tests/tests/e2e/operator.rs` tests the
//! commands with a real Worker.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::post;
use serde_json::{Value, json};

const TOKEN: &str = "of-an-operator-in-a-test";

/// A Worker with a number of old contents. It records the calls.
struct Worker {
    url: String,
    calls: Arc<Mutex<Vec<Value>>>,
}

#[derive(Clone)]
struct Answers {
    old: Arc<Mutex<u64>>,
    calls: Arc<Mutex<Vec<Value>>>,
}

impl Worker {
    async fn start(old: u64) -> Self {
        let calls = Arc::<Mutex<Vec<Value>>>::default();
        let answers = Answers { old: Arc::new(Mutex::new(old)), calls: calls.clone() };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().route("/internal/admin/{call}", post(answer)).with_state(answers);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, calls }
    }

    /// Runs a command, in a terminal or without one. Returns its output and its duration.
    async fn admin(&self, in_terminal: bool, arguments: &str) -> (Output, Duration) {
        let command = format!("{} admin {arguments}", env!("CARGO_BIN_EXE_tiler"));
        let mut process = if in_terminal {
            let mut script = Command::new("script"); // part of bsdutils, which is always installed on Debian
            script.args(["--quiet", "--return", "--flush", "--command"]);
            script.arg(format!("stty columns 100 rows 24 && exec {command}")).arg("/dev/null");
            script
        } else {
            let mut shell = Command::new("sh");
            shell.args(["-c", &command]);
            shell
        };
        process.env("EDGEZOOM_EDGE_URL", &self.url).env("EDGEZOOM_ADMIN_TOKEN", TOKEN).env("TERM", "xterm");
        process.stdin(Stdio::null());
        let begun = Instant::now();
        let output = tokio::task::spawn_blocking(move || process.output().unwrap()).await.unwrap();
        assert!(output.status.success(), "{output:?}");
        (output, begun.elapsed())
    }

    fn calls(&self) -> Vec<Value> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }
}

async fn answer(State(answers): State<Answers>, Path(call): Path<String>, body: String) -> String {
    let body: Value = serde_json::from_str(&body).unwrap();
    answers.calls.lock().unwrap().push(body.clone());
    let mut old = answers.old.lock().unwrap();
    match call.as_str() {
        "retry" => json!({ "id": body["target"], "result": "queued" }),
        "purge" if body["dry"] == true => json!({ "left": *old, "bytes": 1000 }),
        "purge" => {
            let removed = body["limit"].as_u64().unwrap().min(*old);
            *old -= removed;
            json!({ "left": *old, "removed": removed })
        }
        "takedown" => {
            let left = *old;
            *old = left.saturating_sub(1);
            let variants: Vec<String> = (0..left).take(1).map(|_| format!("variant {left}")).collect();
            json!({ "id": "a", "state": "taken-down", "recorded": left == 0, "deleted": true, "variants": variants })
        }
        _ => panic!("{call}"),
    }
    .to_string()
}

/// Returns the final lines of a terminal, and the text of each progress bar that it showed.
fn shown(output: &Output) -> (Vec<String>, Vec<String>) {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let bars = text.split(['\r', '\n']).filter_map(|line| line.split_once(['█', '░'])).map(|(_, bar)| {
        bar.trim_start_matches(['█', '▉', '▊', '▋', '▌', '▍', '▎', '▏', '░']).trim().to_owned()
    });
    // A carriage return and a control sequence remove a bar.
    let last = |line: &str| line.rsplit("\r\u{1b}[2K").next().unwrap_or_default().trim_end().to_owned();
    (text.lines().map(last).filter(|line| !line.is_empty()).collect(), bars.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_takedown_is_repeated_until_no_content_with_options_is_left() {
    let worker = Worker::start(22).await;
    let (output, _) = worker.admin(false, "takedown http://example.com/ --reason why").await;
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed, "a  taken-down, with 22 others of the same source\n");
    let calls = worker.calls();
    assert_eq!((calls.len(), &calls[0]), (23, &json!({ "target": "http://example.com/", "reason": "why" })));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_contents_are_handled_at_the_given_rate_with_a_progress_bar() {
    let worker = Worker::start(15).await;

    // Four more after the first, a quarter of a second apart.
    let (output, took) = worker.admin(true, "--rate 4 retry a b c d e").await;
    assert!(took >= Duration::from_secs(1), "{took:?}");
    let (screen, bars) = shown(&output);
    assert_eq!(screen, ["a  queued", "b  queued", "c  queued", "d  queued", "e  queued"]);
    assert_eq!(bars.first().map(String::as_str), Some("0 of 5, 1s left"), "{bars:#?}");
    for done in 1..=4 {
        assert!(bars.iter().any(|bar| bar.starts_with(&format!("{done} of 5, "))), "{bars:#?}");
    }
    let targets: Vec<_> = worker.calls().iter().map(|call| call["target"].clone()).collect();
    assert_eq!(targets, ["a", "b", "c", "d", "e"]);

    // One call for the contents of a second, then one for the rest.
    let (output, took) = worker.admin(true, "--rate 10 purge --older-than 1d --yes").await;
    assert!(took >= Duration::from_secs(1), "{took:?}");
    let (screen, bars) = shown(&output);
    assert_eq!(screen, ["15 contents deleted"]);
    assert_eq!(bars.first().map(String::as_str), Some("0 of 15, 2s left"), "{bars:#?}");
    assert!(bars.iter().any(|bar| bar.starts_with("10 of 15, ")), "{bars:#?}");
    let limits: Vec<_> = worker.calls().iter().map(|call| call["limit"].as_u64()).collect();
    assert_eq!(limits, [None, Some(10), Some(10)]);

    // Without a terminal there is no bar. The rate may be arbitrarily high.
    let (output, _) = worker.admin(false, "--rate 4294967295 retry a b").await;
    assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"a  queued\nb  queued\n"[..], &b""[..]));
}
