//! Measures what other processes use, through `/proc` (proc(5)).

use std::fs;
use std::time::Duration;

use rustix::process::Pid;

/// Returns the processor time that a process and its threads have used, including threads that have ended; `None` if
/// there is no such process.
pub(crate) fn cpu_time(process: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = fields_after_name(&stat)?.skip(11); // `utime`, `stime`
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let ticks = ticks()?.checked_add(ticks()?)?;
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// Returns the private memory of the processes in `group`, in bytes: resident pages that are not shared with a file or
/// another process. Ignores processes that exit meanwhile.
pub(crate) fn memory_of_group(group: Pid) -> u64 {
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    let names = processes.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|pid| is_in_group(pid, group).unwrap_or(false))
        .filter_map(|pid| private_pages(&pid))
        .sum::<u64>()
        * rustix::param::page_size() as u64
}

fn is_in_group(pid: &str, group: Pid) -> Option<bool> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let found: i32 = fields_after_name(&stat)?.nth(2)?.parse().ok()?; // `pgrp`
    Some(found == group.as_raw_pid())
}

/// Returns the fields of `stat` from the third on. The second, the name in parentheses, may contain any character.
fn fields_after_name(stat: &str) -> Option<impl Iterator<Item = &str>> {
    Some(stat.rsplit_once(')')?.1.split_ascii_whitespace())
}

fn private_pages(pid: &str) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let mut fields = statm.split_ascii_whitespace().skip(1).map(str::parse::<u64>);
    let (resident, shared) = (fields.next()?.ok()?, fields.next()?.ok()?);
    Some(resident.saturating_sub(shared))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_processor_time_of_this_process_is_known_and_grows() {
        let before = cpu_time(std::process::id()).unwrap();
        let (begun, mut sum) = (Instant::now(), 0_u64);
        while cpu_time(std::process::id()).unwrap() == before {
            sum = std::hint::black_box(sum + 1);
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not grow");
        }
        assert_eq!(cpu_time(u32::MAX), None);
    }

    /// Uses a process group of its own, because other processes come and go in the group of the tests.
    #[test]
    fn memory_allocated_in_a_process_group_is_measured() {
        // Fills a buffer, then waits for a reader of its output.
        let mut command = Command::new("dd");
        command.args(["if=/dev/zero", "bs=100M", "count=1"]).process_group(0);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let group = Pid::from_child(&child);
        let deadline = Instant::now() + Duration::from_secs(60);
        while memory_of_group(group) < 100 << 20 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let measured = memory_of_group(group);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!((100 << 20..120 << 20).contains(&measured), "{measured}");
        assert_eq!(memory_of_group(group), 0);
    }
}
