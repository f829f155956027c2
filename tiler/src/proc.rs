//! Measures what other processes use, through `/proc` (proc(5)), and what is free.

use std::collections::HashMap;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;
use std::{fs, io};

use rustix::process::Pid;

/// Returns the processor time that a process and its threads have used, including threads that have ended; `None` if
/// there is no such process.
pub(crate) fn cpu_time(process: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = fields_after_name(&stat)?.skip(11); // `utime`, `stime`
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let ticks = ticks()?.checked_add(ticks()?)?;
    Some(of_ticks(ticks))
}

/// Returns the bytes that the file system of `folder` has free for this user.
///
/// # Errors
/// There is no such directory.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let system = rustix::fs::statvfs(folder)?;
    Ok(system.f_bavail.saturating_mul(system.f_frsize))
}

/// The use of a process group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupUse {
    /// Private memory in bytes: resident pages that are not shared with a file or another process.
    pub memory: u64,
    /// Processor time, including that of processes that have ended.
    pub cpu: Duration,
}

/// Returns the use of the processes in `group`. Ignores processes that exit meanwhile.
pub(crate) fn use_of_group(group: Pid) -> GroupUse {
    let Ok(processes) = fs::read_dir("/proc") else { return GroupUse::default() };
    let names = processes.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let (mut pages, mut ticks) = (0, 0);
    for pid in names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
        if let Some(used) = ticks_in_group(&pid, group) {
            ticks += used;
            pages += private_pages(&pid).unwrap_or(0);
        }
    }
    GroupUse { memory: pages * rustix::param::page_size() as u64, cpu: of_ticks(ticks) }
}

/// Returns the processor time of a process in `group` and of its children that it has waited for; `None` if it is in
/// another group.
fn ticks_in_group(pid: &str, group: Pid) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = fields_after_name(&stat)?;
    let found: i32 = fields.nth(2)?.parse().ok()?; // `pgrp`
    // `utime`, `stime`, `cutime`, `cstime`
    (found == group.as_raw_pid()).then(|| fields.skip(8).take(4).flat_map(str::parse::<u64>).sum())
}

/// The use of processors by a process and all its descendants.
#[derive(Debug)]
pub(crate) struct Scheduling {
    root: u32,
    /// By thread, at the last measurement.
    threads: HashMap<u32, Scheduled>,
}

/// Time that threads spent running, and waiting for a processor while they could have run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scheduled {
    pub ran: Duration,
    pub waited: Duration,
}

impl Scheduling {
    pub(crate) fn new(root: u32) -> Self {
        Self { root, threads: HashMap::new() }
    }

    /// Measures the threads of all processes, and returns their time since the last call. Ignores threads that have
    /// ended, and systems that do not measure.
    pub(crate) fn since_last(&mut self) -> Scheduled {
        let mut sum = Scheduled::default();
        let mut threads = HashMap::with_capacity(self.threads.len());
        let mut processes = vec![self.root];
        while let Some(process) = processes.pop() {
            for thread in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
                let read = |name| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
                processes.extend(numbers::<u32>(&read("children")));
                let Some(id) = thread.file_name().to_str().and_then(|id| id.parse().ok()) else { continue };
                let schedstat = read("schedstat");
                let mut nanoseconds = numbers(&schedstat).map(Duration::from_nanos);
                let (Some(ran), Some(waited)) = (nanoseconds.next(), nanoseconds.next()) else { continue };
                let before = self.threads.get(&id).copied().unwrap_or_default();
                sum.ran += ran.saturating_sub(before.ran);
                sum.waited += waited.saturating_sub(before.waited);
                threads.insert(id, Scheduled { ran, waited });
            }
        }
        self.threads = threads;
        sum
    }
}

/// Returns the numbers that a text consists of.
fn numbers<T: FromStr>(text: &str) -> impl Iterator<Item = T> {
    text.split_ascii_whitespace().flat_map(str::parse)
}

fn of_ticks(ticks: u64) -> Duration {
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
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
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    use std::time::Instant;

    use edgezoom_test_support::patience;
    use rustix::process::{Signal, kill_process_group};

    use super::*;

    #[test]
    fn the_processor_time_of_this_process_is_known_and_grows() {
        let before = cpu_time(std::process::id()).unwrap();
        let (begun, mut sum) = (Instant::now(), 0_u64);
        while cpu_time(std::process::id()).unwrap() == before {
            sum = std::hint::black_box(sum + 1);
            assert!(begun.elapsed() < patience(), "it does not grow");
        }
        assert_eq!(cpu_time(u32::MAX), None);
    }

    #[test]
    fn processor_time_of_a_group_includes_that_of_children_that_have_ended() {
        let mut command = Command::new("sh");
        let script = "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; echo done; read line";
        command.args(["-c", script]).process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let group = Pid::from_child(&child);
        let (own, all) = (cpu_time(child.id()).unwrap(), use_of_group(group).cpu);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(all > own, "{all:?} is no more than {own:?} of the shell alone");
    }

    #[test]
    fn the_time_of_descendants_that_run_and_wait_for_a_processor_is_measured() {
        // Twice as many loops as there are processors: some wait at any time.
        let loops = 2 * std::thread::available_parallelism().unwrap().get();
        let script = format!("for i in $(seq {loops}); do while :; do :; done & done; read line");
        let mut command = Command::new("sh");
        let mut child = command.args(["-c", &script]).process_group(0).stdin(Stdio::piped()).spawn().unwrap();
        let mut scheduling = Scheduling::new(child.id());
        let (begun, mut sum) = (Instant::now(), Scheduled::default());
        let enough = Duration::from_millis(200);
        while (sum.ran < enough || sum.waited < enough) && begun.elapsed() < patience() {
            let Scheduled { ran, waited } = scheduling.since_last();
            (sum.ran, sum.waited) = (sum.ran + ran, sum.waited + waited);
        }
        kill_process_group(Pid::from_child(&child), Signal::KILL).unwrap();
        child.wait().unwrap();
        assert!(sum.ran >= enough && sum.waited >= enough, "{sum:?}");
    }

    /// Uses a process group of its own, because other processes come and go in the group of the tests.
    #[test]
    fn memory_allocated_in_a_process_group_is_measured() {
        // Fills a buffer, then waits for a reader of its output.
        let mut command = Command::new("dd");
        command.args(["if=/dev/zero", "bs=100M", "count=1"]).process_group(0);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let group = Pid::from_child(&child);
        let deadline = Instant::now() + patience();
        while use_of_group(group).memory < 100 << 20 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let measured = use_of_group(group).memory;
        child.kill().unwrap();
        child.wait().unwrap();
        assert!((100 << 20..120 << 20).contains(&measured), "{measured}");
        assert_eq!(use_of_group(group), GroupUse::default());
    }
}
