//! Files that packages install besides the program: man pages and completions.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::fs;
use std::process::Command;

fn tiler(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tiler")).args(args).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_command_that_users_run_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    tiler(&["man", folder.path().to_str().unwrap()]);
    let page = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(page("tiler.1").contains("tiler\\-convert(1)"));
    assert!(page("tiler-convert.1").contains("\\-\\-tile\\-size"));
    assert!(page("tiler-admin-takedown.1").contains("Reason"));
    assert!(page("tiler-collection-add.1").contains("\\-\\-watch"));
    assert!(!folder.path().join("tiler-render.1").exists());
}

#[test]
fn completions_offer_the_commands_flags() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(tiler(&["completions", shell]).contains("tile-size"), "{shell}");
    }
}

#[test]
fn the_version_begins_with_the_name_of_the_program() {
    assert!(tiler(&["--version"]).starts_with(concat!("tiler ", env!("CARGO_PKG_VERSION"))));
}
