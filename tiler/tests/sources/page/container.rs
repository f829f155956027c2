//! A web page under the container's system call filter, `deploy/docker/seccomp.json`: the browser gets its namespaces,
//! and a process gets little else.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};
use serde_json::Value;

const PROFILE: &str = include_str!("../../../../deploy/docker/seccomp.json");
const TILER: &str = env!("CARGO_BIN_EXE_tiler");
/// Environment variable with the command of the confined process.
const COMMAND: &str = "EDGEZOOM_TEST_COMMAND";

/// Returns the numbers of system calls, as the C library's headers have them.
fn numbers() -> HashMap<String, i64> {
    let headers = Command::new("sh")
        .args(["-c", "echo '#include <sys/syscall.h>' | ${CC:-cc} -E -dM -"])
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let lines = String::from_utf8(headers.stdout).unwrap();
    let number = |line: &str| {
        let (name, number) = line.strip_prefix("#define __NR_")?.split_once(' ')?;
        Some((name.to_owned(), number.parse().ok()?))
    };
    lines.lines().filter_map(number).collect()
}

/// Compiles the profile as container runtimes do: each rule of a call is enough, other calls get the default error.
fn filters() -> Vec<BpfProgram> {
    let profile: Value = serde_json::from_str(PROFILE).unwrap();
    assert_eq!(profile["defaultAction"], "SCMP_ACT_ERRNO");
    let numbers = numbers();
    let (mut allowed, mut failing) = (BTreeMap::new(), BTreeMap::new());
    for rule in profile["syscalls"].as_array().unwrap() {
        let conditions: Vec<_> = rule["args"].as_array().into_iter().flatten().map(condition).collect();
        for name in rule["names"].as_array().unwrap() {
            let Some(&number) = numbers.get(name.as_str().unwrap()) else { continue }; // of another architecture
            match rule["action"].as_str().unwrap() {
                "SCMP_ACT_ALLOW" => {
                    let rules: &mut Vec<SeccompRule> = allowed.entry(number).or_default();
                    if !conditions.is_empty() {
                        rules.push(SeccompRule::new(conditions.clone()).unwrap());
                    }
                }
                "SCMP_ACT_ERRNO" => {
                    allowed.insert(number, Vec::new()); // the other filter decides
                    failing.insert(number, Vec::new());
                    assert_eq!(rule["errnoRet"], libc::ENOSYS);
                }
                other => panic!("{other}"),
            }
        }
    }
    let errno = |number: i32| SeccompAction::Errno(number as u32);
    let compile = |rules, default, matching| {
        let architecture = TargetArch::try_from(std::env::consts::ARCH).unwrap();
        SeccompFilter::new(rules, default, matching, architecture).unwrap().try_into().unwrap()
    };
    vec![
        compile(failing, SeccompAction::Allow, errno(libc::ENOSYS)),
        compile(allowed, errno(libc::EPERM), SeccompAction::Allow),
    ]
}

fn condition(argument: &Value) -> SeccompCondition {
    let number = |name: &str| argument[name].as_u64();
    let (operator, value) = match argument["op"].as_str().unwrap() {
        "SCMP_CMP_EQ" => (SeccompCmpOp::Eq, number("value")),
        "SCMP_CMP_MASKED_EQ" => (SeccompCmpOp::MaskedEq(number("value").unwrap()), number("valueTwo")),
        other => panic!("{other}"),
    };
    let index = number("index").unwrap() as u8;
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value.unwrap()).unwrap()
}

/// Runs a command under the profile, as a user without privileges. Words are separated by spaces.
fn confined(command: &str) -> Output {
    let itself = std::env::current_exe().unwrap();
    let mut child = if rustix::process::geteuid().is_root() {
        let mut nobody = Command::new("setpriv");
        nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(itself);
        nobody
    } else {
        Command::new(itself)
    };
    child.args(["--exact", "page::container::becomes_a_confined_process", "--ignored", "--nocapture"]);
    child.arg("--test-threads=1").env(COMMAND, command).output().unwrap()
}

/// The child process, not a test by itself.
#[test]
#[ignore = "replaces the process"]
fn becomes_a_confined_process() {
    let Ok(command) = std::env::var(COMMAND) else { return };
    let mut words = command.split(' ');
    let mut program = Command::new(words.next().unwrap());
    for filter in filters() {
        apply_filter(&filter).unwrap();
    }
    panic!("{}", program.args(words).exec());
}

#[test]
fn a_web_page_is_converted_in_namespaces_under_the_containers_filter() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let page = folder.path().join("page.html");
    fs::write(
        &page,
        "<!doctype html><title>a</title><h1>Text</h1><script>document.body.append(6 * 7)</script>",
    )
    .unwrap();
    let doctor = confined(&format!("{TILER} doctor --require user"));
    let text = String::from_utf8_lossy(&doctor.stdout);
    for working in ["renderer: sandbox: works", "web pages: namespaces: work"] {
        assert!(text.contains(&format!("ok       {working}")), "{text}");
    }
    let out = folder.path().join("out");
    let converted = confined(&format!("{TILER} convert {} --output={}", page.display(), out.display()));
    assert!(converted.status.success(), "{}", String::from_utf8_lossy(&converted.stderr));
    assert!(out.with_extension("dzi").exists());
}

#[test]
fn a_process_in_the_container_gets_user_namespaces_and_no_other_privileged_call() {
    let succeeds = |command: &str| confined(command).status.success();
    assert!(succeeds("true"));
    assert!(succeeds("unshare --user --map-root-user --mount --net --pid --ipc --uts true"));
    assert!(!succeeds("unshare --user --map-root-user --time true"));
    assert!(!succeeds("unshare --user --map-root-user --cgroup true"));
    // Perl makes any system call; its words have no spaces here.
    let clone =
        |flags| format!("perl -e exit(syscall({},{},0,0,0,0)<0)", numbers()["clone"], flags | libc::SIGCHLD);
    assert!(succeeds(&clone(libc::CLONE_NEWUSER)));
    assert!(!succeeds(&clone(libc::CLONE_NEWUSER | libc::CLONE_NEWCGROUP)));
    for family in [libc::AF_ALG, libc::AF_VSOCK] {
        let socket = confined(&format!("perl -e exit(socket(S,{family},{},0)?0:$!+0)", libc::SOCK_SEQPACKET));
        assert_eq!(socket.status.code(), Some(libc::EPERM), "socket of family {family}");
    }
    let profile: Value = serde_json::from_str(PROFILE).unwrap();
    let names: Vec<&str> = profile["syscalls"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|rule| rule["action"] == "SCMP_ACT_ALLOW")
        .flat_map(|rule| rule["names"].as_array().unwrap())
        .filter_map(Value::as_str)
        .collect();
    // Calls behind most escapes from containers, and those of an administrator.
    for dangerous in [
        "add_key",
        "bpf",
        "clone3",
        "delete_module",
        "finit_module",
        "fsconfig",
        "fsopen",
        "init_module",
        "io_uring_setup",
        "kexec_load",
        "keyctl",
        "move_mount",
        "name_to_handle_at",
        "open_by_handle_at",
        "open_tree",
        "perf_event_open",
        "process_vm_writev",
        "ptrace",
        "reboot",
        "request_key",
        "setns",
        "settimeofday",
        "swapon",
        "userfaultfd",
    ] {
        assert!(!names.contains(&dangerous), "{dangerous}");
    }
}
