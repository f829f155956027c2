//! The sandbox of the renderer process, which decodes hostile bytes. Inside, the process can compute, read its open
//! files, write to its pipes and one temporary file, and exit. It cannot leave the sandbox.
//!
//! In this order:
//!
//! 1. [`close_inherited`] closes files that the process inherited, before it opens its own.
//! 2. [`give_up`] drops capabilities, and denies files with Landlock (capabilities(7), landlock(7)). Call it before
//!    other threads are started. It also makes the system kill this process before any other when memory is short. The
//!    filter in step 3 already denies all of this; step 2 confines an attacker who gets past the filter.
//! 3. [`enter`] sets resource limits (setrlimit(2)) for memory, processor time and threads, disables core dumps, and
//!    installs a seccomp filter ([`system_calls`]) that denies the network, the file system and other processes.

pub mod probe;
mod system_calls;

use std::fs;
use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetError,
    RulesetStatus, Scope,
};
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, set_capabilities, set_no_new_privs,
};
use serde::{Deserialize, Serialize};

pub use crate::descriptors::close_inherited;

/// A high score: when memory is short, the system kills this process before others, except browsers
/// (proc_pid_oom_score_adj(5)).
const OOM_SCORE_ADJ: &str = "900";
/// Number of threads that may be started in the sandbox. A renderer starts a few for each processor.
const THREADS: u64 = 1024;
/// Seconds between `SIGXCPU` at the soft limit and `SIGKILL` at the hard limit (setrlimit(2), `RLIMIT_CPU`).
const CPU_GRACE: u64 = 5;

/// Resource limits of a process in the sandbox.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Memory in bytes.
    pub memory: u64,
    /// Processor time of all threads together.
    pub cpu: Duration,
    /// The only file that may be written at any offset, and its maximum size in bytes.
    pub file: Option<(RawFd, u64)>,
}

/// Landlock's part of the sandbox. The kernel may be too old for it, or not have it enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Landlock {
    /// Opening files, making connections, and signals to other processes.
    Full,
    /// Opening files, and whatever else this kernel supports.
    Partial,
    /// Nothing.
    Missing,
}

/// Gives up the user's privileges, for the calling thread and those that it will start. Returns how much Landlock
/// denies on this machine.
///
/// # Errors
/// The system refuses a step. The process must exit then.
pub fn give_up() -> io::Result<Landlock> {
    // Raising the score is always allowed. Systems without this file do not support it.
    let _ = fs::write("/proc/self/oom_score_adj", OOM_SCORE_ADJ);
    limit_threads()?;
    drop_capabilities()?;
    deny_files()
}

/// Limits the number of threads. `RLIMIT_NPROC` counts all tasks of the user, so the limit is [`THREADS`] above the
/// number of tasks in the system. It does not apply to root (setrlimit(2)).
fn limit_threads() -> io::Result<()> {
    let tasks = || fs::read_to_string("/proc/loadavg").ok()?.split(['/', ' ']).nth(4)?.parse::<u64>().ok();
    let most = tasks().map_or(u64::MAX, |tasks| tasks.saturating_add(THREADS));
    let before = getrlimit(Resource::Nproc).maximum.unwrap_or(u64::MAX);
    let limit = Some(most.min(before)).filter(|limit| *limit < u64::MAX);
    Ok(setrlimit(Resource::Nproc, Rlimit { current: limit, maximum: limit })?)
}

/// Drops all capabilities permanently: executing a program does not regain any either.
fn drop_capabilities() -> io::Result<()> {
    set_no_new_privs(true)?;
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}

/// Denies files that are not open yet, connections, and other processes, as far as the kernel supports it.
fn deny_files() -> io::Result<Landlock> {
    let abi = ABI::V6;
    let restrict = || {
        Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(abi))?
            .handle_access(AccessNet::from_all(abi))?
            .scope(Scope::from_all(abi))?
            .create()?
            .restrict_self()
    };
    match restrict().map_err(|error: RulesetError| io::Error::other(error))?.ruleset {
        RulesetStatus::FullyEnforced => Ok(Landlock::Full),
        RulesetStatus::PartiallyEnforced => Ok(Landlock::Partial),
        RulesetStatus::NotEnforced => Ok(Landlock::Missing),
    }
}

/// Puts the process with all its threads into the sandbox.
///
/// Memory is limited with `RLIMIT_DATA`, which counts writable private mappings. `RLIMIT_AS` counts reserved address
/// space too, and the allocator reserves 64 MiB of it for each thread: with 8 threads, 600 MiB of address space were
/// measured for 27 MiB of writable memory.
///
/// # Errors
/// The system refuses a limit or the filter. The process must exit then.
pub fn enter(limits: &Limits) -> io::Result<()> {
    let cpu = limits.cpu.as_secs().max(1);
    for (resource, limit) in [
        (Resource::Core, 0),
        // No new descriptors; open files stay open. poll(2) fails for more descriptors than this limit, and a renderer
        // polls one.
        (Resource::Nofile, 1),
        (Resource::Fsize, limits.file.map_or(0, |(_, bytes)| bytes)),
        (Resource::Data, limits.memory),
    ] {
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    setrlimit(Resource::Cpu, Rlimit { current: Some(cpu), maximum: Some(cpu + CPU_GRACE) })?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    system_calls::restrict(limits.file.map(|(file, _)| file))
}
