//! Runs the tiler under test: the real binary in a process of its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use edgezoom_test_support::patience;
use serde_json::Value;

use super::world::World;

/// A running `tiler serve`. Dropping it kills it.
pub struct Tiler {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Tiler {
    /// Starts a tiler in `world` with additional settings.
    pub fn start(world: &World, more: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tiler"))
            .arg("serve")
            .env_clear()
            .env("EDGEZOOM_EDGE_URL", world.url("edge"))
            .env("EDGEZOOM_TILER_TOKEN", "tiler-token")
            .env("EDGEZOOM_QUEUE_URL", world.url("queue"))
            .env("EDGEZOOM_QUEUE_TOKEN", "queue-token")
            .env("EDGEZOOM_S3_ENDPOINT", world.url("s3"))
            .env("EDGEZOOM_S3_BUCKET", "pyramids")
            .env("EDGEZOOM_S3_ACCESS_KEY_ID", "key")
            .env("EDGEZOOM_S3_SECRET_ACCESS_KEY", "store-secret")
            .env("EDGEZOOM_ALLOW_NETWORKS", "127.0.0.0/8")
            .env("EDGEZOOM_LISTEN", "127.0.0.1:0")
            .env("EDGEZOOM_POLL_MS", "20")
            .env("EDGEZOOM_API_CALLS", "0")
            .env("EDGEZOOM_DRAIN_SECONDS", "0")
            .env("EDGEZOOM_LOG", "json")
            .envs(more.iter().copied())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = Arc::new(Mutex::new(vec![]));
        let (stderr, kept) = (child.stderr.take().unwrap(), Arc::clone(&lines));
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                kept.lock().unwrap().push(line);
            }
        });
        Self { child, lines }
    }

    /// Returns its log.
    pub fn log(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }

    /// Waits for the first line of the log with this message, and returns it.
    pub async fn logged(&self, message: &str) -> Value {
        let deadline = Instant::now() + patience();
        loop {
            for line in self.lines.lock().unwrap().iter() {
                let line: Value = serde_json::from_str(line).unwrap_or_default();
                if line["message"] == message {
                    return line;
                }
            }
            assert!(Instant::now() < deadline, "never logged: {message}; {}", self.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Sends a `GET` to the tiler. Returns status and body.
    pub async fn ask(&self, path: &str) -> (u16, String) {
        let listen = self.logged("tiler serves").await["listen"].as_str().unwrap().to_owned();
        let answer = edgezoom_tiler::http_client::builder()
            .build()
            .unwrap()
            .get(format!("http://{listen}{path}"))
            .send()
            .await
            .unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    /// Sends a `GET` until the response is as wanted.
    pub async fn until(&self, path: &str, is_wanted: impl Fn(u16, &str) -> bool) {
        let deadline = Instant::now() + patience();
        loop {
            let (status, body) = self.ask(path).await;
            if is_wanted(status, &body) {
                return;
            }
            assert!(Instant::now() < deadline, "{path} is answered with {status}: {body}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns its current renderer processes.
    pub fn renderers(&self) -> Vec<rustix::process::Pid> {
        let parent = format!("PPid:\t{}\n", self.child.id());
        let is_renderer = |folder: &std::path::Path| {
            let status = std::fs::read_to_string(folder.join("status")).unwrap_or_default();
            let command = std::fs::read(folder.join("cmdline")).unwrap_or_default();
            status.contains(&parent) && command.split(|byte| *byte == 0).nth(1) == Some(b"render")
        };
        let folders = std::fs::read_dir("/proc").unwrap().map_while(Result::ok).map(|entry| entry.path());
        let ids = folders.filter(|folder| is_renderer(folder));
        ids.filter_map(|folder| rustix::process::Pid::from_raw(folder.file_name()?.to_str()?.parse().ok()?))
            .collect()
    }

    /// Kills the tiler.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// Waits until the tiler has exited.
    pub async fn ended(&mut self) -> ExitStatus {
        let deadline = Instant::now() + patience();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "it does not end: {}", self.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Tiler {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the tiler's log:\n{}", self.log());
        }
        let renderers = self.renderers();
        // It may already have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let deadline = Instant::now() + patience();
        while renderers.iter().any(|process| rustix::process::test_kill_process(*process).is_ok()) {
            assert!(Instant::now() < deadline || std::thread::panicking(), "it has left {renderers:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
