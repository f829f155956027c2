//! The system calls that a renderer may make. All others answer that they are not permitted.
//!
//! They do not kill the process: libraries try things that they can do without (the allocator looks up the machine's
//! configuration, an abort signals itself), and a picture should not be lost to that. For an attacker a call that fails
//! is as useless as one that kills.

use std::collections::BTreeMap;
use std::io;

use libc::{c_int, c_long};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter_all_threads,
};

/// What is allowed whatever the arguments.
const ALLOWED: &[c_long] = &[
    // Input, output.
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
    // Threads, and their waiting for each other. What `clone` may do is said below; `clone3` has a filter of its own, whose
    // answer goes before this one.
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

/// Filters the calls of all threads, and those of threads to come.
pub fn restrict() -> io::Result<()> {
    for filter in [without_clone3(), allowed()] {
        apply_filter_all_threads(&filter.map_err(io::Error::other)?).map_err(io::Error::other)?;
    }
    Ok(())
}

/// `clone3` has its flags in memory, where no filter sees them. When it seems not to exist, the C library takes `clone`.
fn without_clone3() -> Result<BpfProgram, BackendError> {
    let rules = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    compile(rules, SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32))
}

fn allowed() -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> =
        ALLOWED.iter().map(|&call| (call, Vec::new())).collect();
    // New threads, not new processes.
    rules.insert(libc::SYS_clone, vec![rule(&[flags(0, libc::CLONE_THREAD, libc::CLONE_THREAD)?])?]);
    // Memory of its own that is not code. Shared memory would not count against the limit.
    let not_code = || flags(2, libc::PROT_EXEC, 0);
    let private = flags(3, libc::MAP_SHARED | libc::MAP_PRIVATE, libc::MAP_PRIVATE)?;
    rules.insert(libc::SYS_mmap, vec![rule(&[not_code()?, private])?]);
    rules.insert(libc::SYS_mprotect, vec![rule(&[not_code()?])?]);
    // A name for a thread.
    rules.insert(libc::SYS_prctl, vec![rule(&[flags(0, c_int::MAX, libc::PR_SET_NAME)?])?]);
    compile(rules, SeccompAction::Errno(libc::EPERM as u32), SeccompAction::Allow)
}

/// That of the bits in `mask` an argument has just `value`.
fn flags(argument: u8, mask: c_int, value: c_int) -> Result<SeccompCondition, BackendError> {
    let mask = SeccompCmpOp::MaskedEq(u64::from(mask as u32));
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, mask, u64::from(value as u32))
}

fn rule(conditions: &[SeccompCondition]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.to_vec())
}

fn compile(
    rules: BTreeMap<c_long, Vec<SeccompRule>>,
    otherwise: SeccompAction,
    matching: SeccompAction,
) -> Result<BpfProgram, BackendError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, otherwise, matching, architecture)?.try_into()
}
