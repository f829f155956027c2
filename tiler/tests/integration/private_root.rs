//! Tests what a browser sees of the machine, with a shell in its place.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use edgezoom_test_support::patience;
use edgezoom_tiler::browser::try_namespaces;

const TILER: &str = env!("CARGO_BIN_EXE_tiler");

/// Runs a script in place of a browser. Returns its output at descriptor 4, and its user outside the namespaces.
fn inside(folder: &Path, script: &str) -> (String, u32) {
    let (control, of_supervisor) = UnixStream::pair().unwrap();
    let (mut said, of_browser) = UnixStream::pair().unwrap();
    let mut command = Command::new(TILER);
    command
        .args(["browser-supervisor", "--namespaces", "--memory=100000000", "--cpu=60", "--nice=0"])
        .arg("--folder")
        .arg(folder);
    command.args(["--", "/bin/sh", "-c", &format!("{{ {script}; echo; echo end; sleep 60; }} >&4 2>&4")]);
    command.stdin(OwnedFd::from(of_supervisor)).stdout(OwnedFd::from(of_browser));
    let mut supervisor = command.spawn().unwrap();
    drop(command);
    said.set_read_timeout(Some(patience())).unwrap();
    let (mut text, mut piece) = (String::new(), [0; 4096]);
    while !text.ends_with("end\n") {
        let length = said.read(&mut piece).unwrap();
        assert!(length > 0, "the script ended: {text}");
        text += &String::from_utf8_lossy(&piece[..length]);
    }
    let user = fs::metadata(format!("/proc/{}", supervisor.id())).unwrap().uid();
    drop(control);
    assert!(supervisor.wait().unwrap().success());
    (text.trim_end_matches("\nend\n").to_owned(), user)
}

#[test]
fn a_browser_sees_programs_and_fonts_and_nothing_else() {
    if let Err(reason) = try_namespaces(Path::new(TILER)) {
        println!("not tested, because namespaces do not work here: {reason}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Readable for everyone, so that it is protected only by not being visible.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("secret"), "a secret").unwrap();
    let script = format!(
        "ls / | grep -vE '^(bin|sbin|usr|lib.*|nix|gnu|etc|var|dev|proc|tmp)$'; ls /etc | grep -vE \
         '^(alternatives|fonts|ld.so.*|localtime|nsswitch.conf)$'; cat '{}/secret'; cat /proc/1/environ | tr '\\0' '\\n' | \
         grep SECRET; touch /usr/written /etc/written /bin/written && echo written; ls -d /proc/[0-9]* | wc -l; id -u; grep \
         -E '^Cap(Inh|Prm|Eff|Amb)' /proc/self/status | grep -v 0000000000000000; ls /proc/self/fd /sys /old 2>&1 | grep -c \
         socket; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; : > /tmp/own && echo own",
        folder.path().display()
    );
    let (text, user) = inside(folder.path(), &script);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.retain(|line| {
        !line.contains("No such file or directory") && !line.contains("Read-only file system")
    });
    // The supervisor, the shell, and the commands of the pipeline.
    let processes: usize = lines.remove(0).parse().unwrap();
    assert!(processes < 8, "{text}");
    assert_eq!(lines, ["65534", "0", "lo", "own"], "{text}");
    let own = rustix::process::geteuid();
    assert_eq!(user, if own.is_root() { 65_534 } else { own.as_raw() }, "the user outside");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the profile was outside the private root");
}
