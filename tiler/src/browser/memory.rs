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
    use super::*;

    #[test]
    fn memory_allocated_in_a_process_group_is_measured() {
        let group = rustix::process::getpgrp();
        let before = of_process_group(group);
        let block = vec![7_u8; 512 << 20];
        let after = of_process_group(group);
        assert!(after >= before + (400 << 20), "{before} {after} {}", block.len());
    }
}
