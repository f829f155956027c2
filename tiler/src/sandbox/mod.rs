//! A sandbox for the renderer process, which decodes hostile bytes. Once inside, the process can compute, read its open
//! files, write to its pipes and one temporary file, and exit; it cannot leave again.
//!
//! In this order:
//!
//! 1. [`close_inherited`] closes files that the process was left with, before it opens its own.
//! 2. [`give_up`] gives up the user's privileges: capabilities, and with Landlock all files. When memory is short, the
//!    system ends this process before any other. To be called before other threads are started.
//! 3. [`enter`]: resource limits (setrlimit(2)) bound memory, processor time and threads, no core dump is left, and a
//!    seccomp filter ([`system_calls`]) denies the network, the file system and other processes.
//!
//! 2 and the filter need Linux. Other systems have only the limits.

mod descriptors;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
pub mod probe;
#[cfg(target_os = "linux")]
mod system_calls;

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};

pub use descriptors::close_inherited;
#[cfg(target_os = "linux")]
pub use privileges::Landlock;

/// How much earlier than others the process is ended when memory is short: as early as possible (proc_pid_oom_score_adj(5)).
const OOM_SCORE_ADJ: &str = "1000";
/// The threads that may be started once the process is in the sandbox: a renderer starts some for each processor.
const THREADS: u64 = 1024;

/// The seconds between `SIGXCPU` at the soft limit and `SIGKILL` at the hard limit (setrlimit(2), `RLIMIT_CPU`).
const CPU_GRACE: u64 = 5;

/// What a process in the sandbox may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The bytes of memory.
    pub memory: u64,
    /// The processor time of all threads together.
    pub cpu: Duration,
    /// The one file that it may write at any place, and the bytes which that may have.
    pub file: Option<(RawFd, u64)>,
}

/// Gives up what the user's privileges allow, for the calling thread and those that it will start. Returns how far
/// Landlock holds on this machine.
///
/// # Errors
/// The system refuses it. The process must exit then.
#[cfg(target_os = "linux")]
pub fn give_up() -> io::Result<Landlock> {
    // Raising it is always allowed. Where there is no such file, there is no such choice.
    let _ = std::fs::write("/proc/self/oom_score_adj", OOM_SCORE_ADJ);
    limit_threads()?;
    privileges::drop_capabilities()?;
    privileges::deny_files()
}

/// Limits the threads. `RLIMIT_NPROC` counts all tasks of the user, so it is set that much above all that the system has
/// now. It does not hold for root (setrlimit(2)).
#[cfg(target_os = "linux")]
fn limit_threads() -> io::Result<()> {
    let tasks =
        || std::fs::read_to_string("/proc/loadavg").ok()?.split(['/', ' ']).nth(4)?.parse::<u64>().ok();
    let most = tasks().map_or(u64::MAX, |tasks| tasks.saturating_add(THREADS));
    let before = rustix::process::getrlimit(Resource::Nproc).maximum.unwrap_or(u64::MAX);
    let limit = Some(most.min(before)).filter(|limit| *limit < u64::MAX);
    Ok(setrlimit(Resource::Nproc, Rlimit { current: limit, maximum: limit })?)
}

/// Puts the process into the sandbox, with all its threads.
///
/// Memory is limited as `RLIMIT_DATA`, which counts writable private mappings. `RLIMIT_AS` counts reserved address
/// space as well, and the allocator reserves 64 MiB of it for each thread: with 8 threads, 600 MiB of address space
/// were measured for 27 MiB of writable memory.
///
/// # Errors
/// The system refused a limit or the filter. The process must exit then.
pub fn enter(limits: &Limits) -> io::Result<()> {
    let cpu = limits.cpu.as_secs().max(1);
    for (resource, limit) in [
        (Resource::Core, 0),
        // No new descriptors; open files stay open. poll(2) fails for more descriptors than this limit, and it polls
        // one.
        (Resource::Nofile, 1),
        (Resource::Fsize, limits.file.map_or(0, |(_, bytes)| bytes)),
        (Resource::Data, limits.memory),
    ] {
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    setrlimit(Resource::Cpu, Rlimit { current: Some(cpu), maximum: Some(cpu + CPU_GRACE) })?;
    #[cfg(target_os = "linux")]
    {
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
        system_calls::restrict(limits.file.map(|(file, _)| file))?;
    }
    Ok(())
}
