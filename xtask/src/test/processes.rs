//! The processes below a test program, to show what hangs and to end it. Browsers and runtimes start sessions of their
//! own, so a process group does not hold them.

use std::fs;
use std::process::{Command, Stdio};

/// A process.
#[derive(Clone, Debug)]
pub struct Process {
    pub id: u32,
    parent: u32,
    /// Its command line, or else its name.
    pub command: String,
}

/// Returns a process and all below it, parents first.
pub fn below(id: u32) -> Vec<Process> {
    let all = all();
    let mut found: Vec<Process> = all.iter().filter(|process| process.id == id).cloned().collect();
    let mut next = 0;
    while let Some(parent) = found.get(next).map(|process| process.id) {
        found.extend(all.iter().filter(|process| process.parent == parent).cloned());
        next += 1;
    }
    found
}

/// Kills a process and all below it.
pub fn kill(id: u32) {
    let ids = below(id).into_iter().map(|process| process.id.to_string());
    // Some may have ended meanwhile.
    let _ = Command::new("kill").arg("-9").args(ids).stderr(Stdio::null()).status();
}

fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| process(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// Reads a process from `/proc` (proc_pid_stat(5)). Returns `None` if it has ended.
fn process(id: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (name, fields) = stat.rsplit_once(')')?;
    let parent = fields.split_whitespace().nth(1)?.parse().ok()?;
    let words = fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let words = words.replace('\0', " ");
    let command = if words.trim().is_empty() { format!("{name})") } else { words.trim().to_owned() };
    Some(Process { id, parent, command })
}

/// Returns the part of a second that counts against time limits: all of it while each runnable thread has a processor,
/// half of it while there are twice as many. A test that waits for a processor does not hang.
pub fn fair_second() -> f64 {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let running = load.split(' ').nth(3).and_then(|threads| threads.split('/').next()?.parse().ok());
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors as f64 / running.unwrap_or(1.0)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_below_one_are_found_and_killed_in_other_sessions_too() {
        let mut child =
            Command::new("sh").args(["-c", "setsid sh -c 'sleep 602; :' & wait"]).spawn().unwrap();
        let id = child.id();
        let sleep = loop {
            let found = below(id).into_iter().find(|process| process.command == "sleep 602");
            if let Some(process) = found {
                break process.id;
            }
            std::thread::yield_now();
        };
        kill(id);
        child.wait().unwrap();
        let lives = || process(sleep).is_some_and(|process| process.command == "sleep 602");
        while lives() {
            std::thread::yield_now(); // the kernel ends it soon, or this test does not end
        }
    }
}
