//! How much memory a group of processes holds, by what `/proc` says. Chromium reserves terabytes of address space, so no
//! resource limit can bound it; measuring can.

use rustix::process::Pid;

/// The memory that the processes of `group` hold for themselves, in bytes: what is resident and not shared with a file or
/// another process. A process that is gone meanwhile counts nothing.
pub(super) fn of_group(group: Pid) -> u64 {
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    let names = processes.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|pid| belongs(pid, group).unwrap_or(false))
        .filter_map(|pid| own_pages(&pid))
        .sum::<u64>()
        * rustix::param::page_size() as u64
}

/// Field 5 of `/proc/<pid>/stat`, proc(5). The second field, the name in parentheses, may hold anything.
fn belongs(pid: &str, group: Pid) -> Option<bool> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let of: i32 = after_name.split_ascii_whitespace().nth(2)?.parse().ok()?;
    Some(of == group.as_raw_pid())
}

/// Fields 2 and 3 of `/proc/<pid>/statm`: resident pages, and those of them that are shared.
fn own_pages(pid: &str) -> Option<u64> {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let mut fields = statm.split_ascii_whitespace().skip(1).map(str::parse::<u64>);
    let (resident, shared) = (fields.next()?.ok()?, fields.next()?.ok()?);
    Some(resident.saturating_sub(shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_group_holds_what_we_allocate() {
        let group = rustix::process::getpgrp();
        let before = of_group(group);
        let block = vec![7_u8; 512 << 20];
        let after = of_group(group);
        assert!(after >= before + (400 << 20), "{before} {after} {}", block.len());
    }
}
