//! A sandbox for the renderer process, which decodes hostile bytes. Once inside, the process can compute, read its open
//! files, write to its pipes and one temporary file, and exit; it cannot leave again.
//!
//! Resource limits (setrlimit(2)) bound its memory and CPU time, and it leaves no core dump. On Linux a seccomp filter
//! ([`system_calls`]) denies the network, the file system and other processes. Other systems have only the limits.

#[cfg(target_os = "linux")]
mod system_calls;

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};

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
