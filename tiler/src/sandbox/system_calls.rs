//! The seccomp filter with the system calls that a renderer may make (seccomp(2), `SECCOMP_SET_MODE_FILTER`). All others
//! fail with `EPERM`.
//!
//! They do not kill the process, because libraries also make calls that they can do without: the allocator reads the
//! machine's configuration, and abort(3) raises a signal. Such a call should not fail the conversion. For an attacker, a call
//! that fails is as useless as one that kills the process.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::RawFd;

use libc::{c_int, c_long};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter_all_threads,
};

/// System calls that are allowed with any arguments.
const ALLOWED: &[c_long] = &[
    // Input and output.
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_ppoll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    // Memory.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    // Threads and their synchronisation. `allow_list` allows `clone` with some flags. `clone3` has a filter of its own,
    // and the strictest result of several filters counts (seccomp(2)).
    libc::SYS_clone3,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_getrandom,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Installs the filters for all threads, and for those that they will start. `file` may be written at any offset.
pub fn restrict(file: Option<RawFd>) -> io::Result<()> {
    for filter in [deny_clone3(), allow_list(file)] {
        apply_filter_all_threads(&filter.map_err(io::Error::other)?).map_err(io::Error::other)?;
    }
    Ok(())
}

/// Makes `clone3` fail with `ENOSYS`, so that the C library falls back to `clone`. `clone3` passes its flags in memory,
/// which a filter cannot read.
fn deny_clone3() -> Result<BpfProgram, BackendError> {
    let rules = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    compile(rules, SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32))
}

fn allow_list(file: Option<RawFd>) -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> =
        ALLOWED.iter().map(|&call| (call, Vec::new())).collect();
    // Threads, not processes.
    rules.insert(libc::SYS_clone, vec![rule(&[flags(0, libc::CLONE_THREAD, libc::CLONE_THREAD)?])?]);
    // Private memory that is not executable. Shared memory does not count towards `RLIMIT_DATA`, so only `file` may be
    // mapped as shared.
    let not_executable = || flags(2, libc::PROT_EXEC, 0);
    let private = flags(3, libc::MAP_SHARED | libc::MAP_PRIVATE, libc::MAP_PRIVATE)?;
    let mut mappings = vec![rule(&[not_executable()?, private])?];
    rules.insert(libc::SYS_mprotect, vec![rule(&[not_executable()?])?]);
    if let Some(file) = file {
        let is_file = |argument| {
            SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, file as u64)
        };
        rules.insert(libc::SYS_pwrite64, vec![rule(&[is_file(0)?])?]);
        // Neither way writes beyond the maximum size of the file. Anonymous memory must be excluded, because it ignores the
        // file that is passed.
        let kind = libc::MAP_SHARED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        mappings.push(rule(&[not_executable()?, flags(3, kind, libc::MAP_SHARED)?, is_file(4)?])?);
    }
    rules.insert(libc::SYS_mmap, mappings);
    // The only signal is that of abort(3): it tells the parent a lack of memory from a crash.
    let itself =
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, u64::from(std::process::id()))?;
    rules.insert(libc::SYS_tgkill, vec![rule(&[itself, flags(2, c_int::MAX, libc::SIGABRT)?])?]);
    // Naming a thread.
    rules.insert(libc::SYS_prctl, vec![rule(&[flags(0, c_int::MAX, libc::PR_SET_NAME)?])?]);
    compile(rules, SeccompAction::Errno(libc::EPERM as u32), SeccompAction::Allow)
}

/// Returns the condition that the bits `mask` of an argument equal `value`.
fn flags(argument: u8, mask: c_int, value: c_int) -> Result<SeccompCondition, BackendError> {
    let mask = SeccompCmpOp::MaskedEq(u64::from(mask as u32));
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, mask, u64::from(value as u32))
}

fn rule(conditions: &[SeccompCondition]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.to_vec())
}

fn compile(
    rules: BTreeMap<c_long, Vec<SeccompRule>>,
    default: SeccompAction,
    matching: SeccompAction,
) -> Result<BpfProgram, BackendError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, default, matching, architecture)?.try_into()
}
