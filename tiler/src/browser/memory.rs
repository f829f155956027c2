//! Measures the memory of a process group through `/proc` (proc(5)). Chromium reserves terabytes of address space, so
//! no resource limit (setrlimit(2)) can bound its memory.

use rustix::process::Pid;

/// The private memory of the processes in `group`, in bytes: resident pages that are not shared with a file or another
/// process. A process that exits meanwhile does not count.
pub(super) fn of_process_group(group: Pid) -> u64 {
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    let names = processes.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|pid| is_in_group(pid, group).unwrap_or(false))
        .filter_map(|pid| private_pages(&pid))
        .sum::<u64>()
        * rustix::param::page_size() as u64
}

/// Compares field 5 of `/proc/<pid>/stat`, `pgrp`. Field 2, the name in parentheses, may contain any character.
fn is_in_group(pid: &str, group: Pid) -> Option<bool> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let of: i32 = after_name.split_ascii_whitespace().nth(2)?.parse().ok()?;
    Some(of == group.as_raw_pid())
}

/// Fields 2 and 3 of `/proc/<pid>/statm`: resident pages, less the shared ones.
fn private_pages(pid: &str) -> Option<u64> {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let mut fields = statm.split_ascii_whitespace().skip(1).map(str::parse::<u64>);
    let (resident, shared) = (fields.next()?.ok()?, fields.next()?.ok()?);
    Some(resident.saturating_sub(shared))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    /// In a group of its own: the group of the tests holds compilers and more, which come and go.
    #[test]
    fn memory_allocated_in_a_process_group_is_measured() {
        // Fills a buffer, then waits for a reader of its output.
        let mut command = Command::new("dd");
        command.args(["if=/dev/zero", "bs=100M", "count=1"]).process_group(0);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let group = Pid::from_child(&child);
        let deadline = Instant::now() + Duration::from_secs(60);
        while of_process_group(group) < 100 << 20 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let measured = of_process_group(group);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!((100 << 20..120 << 20).contains(&measured), "{measured}");
        assert_eq!(of_process_group(group), 0);
    }
}
