//! Finds the processes of one test in `/proc`, by the folder in their command lines.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use edgezoom_test_support::patience;

use rustix::process::{Pid, Signal, kill_process};

/// Returns the processes whose command line contains `folder`, and their descendants.
pub fn of(folder: &Path) -> Vec<i32> {
    let folder = folder.to_str().unwrap();
    let mut found: Vec<i32> = all().filter(|pid| command_line(*pid).contains(folder)).collect();
    loop {
        let children: Vec<i32> = all()
            .filter(|pid| !found.contains(pid) && parent(*pid).is_some_and(|parent| found.contains(&parent)))
            .collect();
        if children.is_empty() {
            return found;
        }
        found.extend(children);
    }
}

/// Kills the browser's renderer processes: the page's and the spare one.
pub fn kill_renderers(folder: &Path) {
    let renderers: Vec<i32> =
        of(folder).into_iter().filter(|pid| command_line(*pid).contains("--type=renderer")).collect();
    assert!(!renderers.is_empty());
    renderers.into_iter().for_each(kill);
}

/// Returns the browser's main process.
pub fn browser(folder: &Path) -> Option<i32> {
    let is_browser = |pid: &i32| {
        command_line(*pid).contains("--user-data-dir=") && !command_line(*pid).contains("--type=")
    };
    of(folder).into_iter().filter(is_browser).max()
}

pub fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

/// Returns true if all processes exit and are reaped in time.
pub fn have_exited(pids: &[i32]) -> bool {
    let end = Instant::now() + patience();
    while Instant::now() < end {
        if !pids.iter().any(|pid| Path::new(&format!("/proc/{pid}")).exists()) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

fn all() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn command_line(pid: i32) -> String {
    String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()).replace('\0', " ")
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}
