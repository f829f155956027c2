//! Locks the process in, for good: from here on it can compute, read what it has open, write to its pipes, and exit.
//!
//! Limits bound its memory and its time, and it leaves no core dump. On Linux a filter of system calls
//! ([`system_calls`]) leaves no way to the network, to files, to other processes. What of this a system does not have, it
//! goes without.

#[cfg(target_os = "linux")]
mod system_calls;

use std::io;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};

/// Between the signal that says time is up and the one that cannot be survived, in seconds.
const CPU_GRACE: u64 = 5;

/// Locks the process in, all its threads included.
///
/// Memory is limited as `RLIMIT_DATA`, which counts what can be written to. `RLIMIT_AS` would count addresses too, of
/// which the allocator reserves 64 MiB for each thread without using them: with 8 threads, 600 MiB of addresses were
/// measured where 27 MiB could be written to.
///
/// # Errors
/// When the system refuses any of it. The process must not go on then.
pub fn enter(memory: u64, cpu: Duration) -> io::Result<()> {
    let cpu = cpu.as_secs().max(1);
    for (resource, most) in [
        (Resource::Core, 0),
        // No new files. What is open stays open; one is what waiting for an event needs.
        (Resource::Nofile, 1),
        (Resource::Fsize, 0),
        (Resource::Data, memory),
    ] {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    setrlimit(Resource::Cpu, Rlimit { current: Some(cpu), maximum: Some(cpu + CPU_GRACE) })?;
    #[cfg(target_os = "linux")]
    {
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
        system_calls::restrict()?;
    }
    Ok(())
}
