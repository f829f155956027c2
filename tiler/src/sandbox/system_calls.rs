//! The seccomp filter with the system calls that a renderer may make (seccomp(2), `SECCOMP_SET_MODE_FILTER`). All
//! others fail with `EPERM`.
//!
//! They do not kill the process, because libraries also make calls that they can do without: the allocator reads the
//! machine's configuration, and abort(3) raises a signal. Such a call should not fail the conversion. For an attacker,
//! a call that fails is as useless as one that kills the process.

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
    // Private memory that is not executable. Shared memory does not count towards `RLIMIT_DATA`.
    let not_executable = || flags(2, libc::PROT_EXEC, 0);
    let private = flags(3, libc::MAP_SHARED | libc::MAP_PRIVATE, libc::MAP_PRIVATE)?;
    rules.insert(libc::SYS_mmap, vec![rule(&[not_executable()?, private])?]);
    rules.insert(libc::SYS_mprotect, vec![rule(&[not_executable()?])?]);
    if let Some(file) = file {
        let is_file = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, file as u64)?;
        rules.insert(libc::SYS_pwrite64, vec![rule(&[is_file])?]);
    }
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

/// Runs the filters as the kernel does, on the numbers of the architecture that the tests are compiled for.
/// `cargo xtask test-arm64` checks ARM64's in this way: its emulator of processes has no seccomp.
#[cfg(test)]
mod tests {
    use seccompiler::sock_filter;

    use super::*;

    const FILE: RawFd = 7;
    const DENIED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    /// `AUDIT_ARCH_X86_64`, `AUDIT_ARCH_AARCH64`, and what their kernels run too: `AUDIT_ARCH_I386`, `AUDIT_ARCH_ARM`
    /// (linux/audit.h).
    const ARCHITECTURES: [(&str, u32); 4] =
        [("x86_64", 0xc000_003e), ("aarch64", 0xc000_00b7), ("x86", 0x4000_0003), ("arm", 0x4000_0028)];

    /// The data that the kernel passes to a filter (`struct seccomp_data`, seccomp(2)).
    struct Call {
        number: c_long,
        architecture: u32,
        arguments: [u64; 6],
    }

    impl Call {
        fn word(&self, offset: u32) -> u32 {
            match offset {
                0 => self.number as u32,
                4 => self.architecture,
                _ => (self.arguments[(offset as usize - 16) / 8] >> (offset % 8 * 8)) as u32,
            }
        }
    }

    /// Interprets a program of classic BPF (linux/bpf_common.h).
    fn interpret(program: &[sock_filter], call: &Call) -> u32 {
        let (mut next, mut accumulator) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[next];
            let branch = |is_true: bool| usize::from(if is_true { jt } else { jf });
            next += 1;
            match code {
                0x20 => accumulator = call.word(k),       // BPF_LD | BPF_W | BPF_ABS
                0x54 => accumulator &= k,                 // BPF_ALU | BPF_AND | BPF_K
                0x05 => next += k as usize,               // BPF_JMP | BPF_JA
                0x15 => next += branch(accumulator == k), // BPF_JMP | BPF_JEQ | BPF_K
                0x25 => next += branch(accumulator > k),  // BPF_JMP | BPF_JGT | BPF_K
                0x35 => next += branch(accumulator >= k), // BPF_JMP | BPF_JGE | BPF_K
                0x06 => return k,                         // BPF_RET | BPF_K
                _ => panic!("the instruction {code:#x}"),
            }
        }
    }

    /// Returns the strictest result of the filters, which is the smallest signed number (seccomp(2)).
    fn verdict(call: &Call) -> u32 {
        let filters = [deny_clone3(), allow_list(Some(FILE))];
        let results = filters.map(|filter| interpret(&filter.unwrap(), call) as i32);
        results.into_iter().min().unwrap() as u32
    }

    fn call(number: c_long, arguments: [u64; 6]) -> u32 {
        let architecture = ARCHITECTURES.iter().find(|(name, _)| *name == std::env::consts::ARCH).unwrap().1;
        verdict(&Call { number, architecture, arguments })
    }

    #[test]
    fn calls_that_are_not_listed_are_denied() {
        let conditional = [
            libc::SYS_clone,
            libc::SYS_mmap,
            libc::SYS_mprotect,
            libc::SYS_pwrite64,
            libc::SYS_tgkill,
            libc::SYS_prctl,
        ];
        // With bit 30, x86-64's kernels take it as a call of the x32 ABI.
        for number in (0..1024).flat_map(|number| [number, number | 1 << 30]) {
            let expected = match number {
                libc::SYS_clone3 => libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32,
                number if ALLOWED.contains(&number) => libc::SECCOMP_RET_ALLOW,
                _ => DENIED,
            };
            if !conditional.contains(&number) {
                assert_eq!(call(number, [0; 6]), expected, "{number}");
            }
        }
    }

    #[test]
    fn calls_of_other_architectures_kill_the_process() {
        for (name, architecture) in ARCHITECTURES {
            let call = Call { number: libc::SYS_read, architecture, arguments: [0; 6] };
            let is_own = name == std::env::consts::ARCH;
            let expected = if is_own { libc::SECCOMP_RET_ALLOW } else { libc::SECCOMP_RET_KILL_PROCESS };
            assert_eq!(verdict(&call), expected, "{name}");
        }
    }

    #[test]
    fn some_calls_are_allowed_only_with_harmless_arguments() {
        let (read, execute) = (libc::PROT_READ as u64, libc::PROT_EXEC as u64);
        let [private, shared, anonymous] =
            [libc::MAP_PRIVATE, libc::MAP_SHARED, libc::MAP_ANONYMOUS].map(|flag| flag as u64);
        let (file, itself, none) = (FILE as u64, u64::from(std::process::id()), u64::from(u32::MAX));
        let name = libc::PR_SET_NAME as u64;
        let abort = libc::SIGABRT as u64;
        for (is_allowed, number, arguments) in [
            (true, libc::SYS_mmap, [0, 4096, read, private | anonymous, none, 0]),
            (false, libc::SYS_mmap, [0, 4096, read | execute, private | anonymous, none, 0]),
            (false, libc::SYS_mmap, [0, 4096, read, shared, file, 0]),
            (false, libc::SYS_mmap, [0, 4096, read, shared | anonymous, none, 0]),
            (true, libc::SYS_mprotect, [0, 4096, read, 0, 0, 0]),
            (false, libc::SYS_mprotect, [0, 4096, execute, 0, 0, 0]),
            (true, libc::SYS_pwrite64, [file, 0, 1, 0, 0, 0]),
            (false, libc::SYS_pwrite64, [1, 0, 1, 0, 0, 0]),
            (true, libc::SYS_clone, [libc::CLONE_THREAD as u64 | libc::CLONE_VM as u64, 0, 0, 0, 0, 0]),
            (false, libc::SYS_clone, [libc::SIGCHLD as u64, 0, 0, 0, 0, 0]),
            (true, libc::SYS_tgkill, [itself, 1, abort, 0, 0, 0]),
            (false, libc::SYS_tgkill, [itself, 1, libc::SIGKILL as u64, 0, 0, 0]),
            (false, libc::SYS_tgkill, [1, 1, abort, 0, 0, 0]),
            (true, libc::SYS_prctl, [name, 0, 0, 0, 0, 0]),
            (false, libc::SYS_prctl, [libc::PR_SET_DUMPABLE as u64, 1, 0, 0, 0, 0]),
        ] {
            let expected = if is_allowed { libc::SECCOMP_RET_ALLOW } else { DENIED };
            assert_eq!(call(number, arguments), expected, "{number} {arguments:x?}");
        }
    }
}
