//! Cargo builds for the tasks. Cargo unifies a dependency's features over the packages that one call selects, and
//! compiles the dependency again for another set of features. So every call here selects the whole workspace, as `cargo
//! test` does, and names the programs that it wants: all tasks share one compiled copy of each dependency. The Worker's
//! WebAssembly is for another target and shares nothing.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::command;
use crate::project::{Profile, Project};
use crate::setup::{self, Purpose, WASM};
use crate::steps::{self, Step};

/// The program in `xtask/tools`.
pub const TOOLS: &str = "xtask-tools";
/// The program that users run.
pub const TILER: &str = "tiler";

/// The variable with the commit and its date when tiler and Worker are compiled.
const BUILD: &str = "EDGEZOOM_BUILD";

/// Makes Clippy's driver compile the workspace: it is the compiler, and lints what it compiles. `cargo clippy` would
/// check every dependency a second time, four minutes of CPU time.
pub fn linted<'a>(project: &Project, cargo: &'a mut Command) -> &'a mut Command {
    cargo.env("RUSTC_WORKSPACE_WRAPPER", project.root.join("xtask/rustc.sh"))
}

/// Returns the command that builds programs of the workspace. In the dev profile it compiles with the same driver as
/// the tests, if installed: Cargo rebuilds what another one compiled.
pub fn programs(project: &Project, names: &[&str], profile: Profile) -> Command {
    let mut cargo = project.cargo();
    if profile == Profile::Dev && command::succeeds(Command::new("clippy-driver").arg("--version")) {
        linted(project, &mut cargo);
    }
    if profile == Profile::Release {
        stamp(project, &mut cargo);
    }
    cargo.args(["build", "--workspace", "--profile", profile.name()]);
    for name in names {
        cargo.args(["--bin", name]);
    }
    cargo
}

/// Lets the tiler and the Worker say the commit and its date, unless the variable is set, as in the image's build,
/// which has no Git. Builds for tests do without it: each commit would make other programs, and tests that have passed
/// would run again.
pub fn stamp(project: &Project, cargo: &mut Command) {
    if std::env::var(BUILD).is_ok_and(|build| !build.is_empty()) {
        return;
    }
    let mut log = project.command("git");
    match command::output(log.args(["log", "-1", "--abbrev=12", "--format=%h %cs"])) {
        Ok(commit) => cargo.env(BUILD, commit.trim()),
        Err(_) => cargo.env_remove(BUILD), // Compose sets it to nothing
    };
}

/// Returns a command that calls the program in `xtask/tools`, which must have been built.
pub fn tool<S: AsRef<OsStr>>(project: &Project, arguments: impl IntoIterator<Item = S>) -> Command {
    let mut tool = Command::new(project.program(TOOLS, Profile::Dev));
    tool.current_dir(&project.root).args(arguments);
    tool
}

/// Builds a program and returns its path.
pub fn program(project: &Project, name: &str, profile: Profile) -> Result<PathBuf> {
    command::run(&mut programs(project, &[name], profile))?;
    Ok(project.program(name, profile))
}

/// Returns the triple of this machine.
pub fn host(project: &Project) -> Result<String> {
    let version = command::output(project.cargo().args(["-vV"]))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`cargo -vV` printed no host")?.to_owned())
}

/// Makes Cargo compile for a target, which may be another machine's. In the release profile the programs get no paths
/// of this machine.
pub fn cross(project: &Project, cargo: &mut Command, target: &str, profile: Profile) -> Result<()> {
    // The target is named even if it is this machine: otherwise Cargo would compile build scripts with the same flags.
    cargo.args(["--locked", "--target", target]);
    if target != host(project)? {
        cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc");
    }
    if profile == Profile::Release {
        // rustc takes the last one that fits.
        let mut paths = vec![(project.root.clone(), "/edgezoom"), (cargo_home()?, "/cargo")];
        if !project.target.starts_with(&project.root) {
            paths.insert(0, (project.target.clone(), "/edgezoom/target"));
        }
        let flags: Vec<_> = paths
            .iter()
            .map(|(path, name)| format!("--remap-path-prefix={}={name}", path.display()))
            .collect();
        cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    }
    Ok(())
}

/// Builds the tiler for a target, and returns its path.
pub fn for_target(project: &Project, target: &str, profile: Profile) -> Result<PathBuf> {
    if profile == Profile::Dev && target == host(project)? {
        return program(project, TILER, profile); // shares what the tests compiled
    }
    let mut cargo = programs(project, &[TILER], profile);
    cross(project, &mut cargo, target, profile)?;
    command::run(&mut cargo)?;
    Ok(project.target.join(target).join(profile.folder()).join(TILER))
}

/// Returns Cargo's directory of downloads.
pub fn cargo_home() -> Result<PathBuf> {
    let named = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    named.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).context("HOME is not set")
}

/// The step `set-up`.
pub fn set_up(purpose: Purpose) -> Step<'static> {
    Step::new("set-up", move |out| out.prepare(&mut setup::command(purpose)?))
}

/// The step `tools`.
pub fn tools(project: &Project) -> Step<'_> {
    Step::new("tools", |out| out.prepare(&mut programs(project, &[TOOLS], Profile::Dev)))
}

/// The step `wasm`: the Worker's modules, in one call, which compiles what all need once. Link-time optimisation
/// uses one core; native programs compile on the others meanwhile, with lower priority: what needs the Worker takes
/// longer than they do.
pub fn wasm(project: &Project, purpose: Purpose) -> Step<'_> {
    Step::new("wasm", move |out| {
        let mut cargo = project.cargo();
        if purpose == Purpose::Deploy {
            stamp(project, &mut cargo);
        }
        cargo.args(["build", "--target", WASM, "--profile=edge"]);
        cargo.args(["--package", "edgezoom-edge", "--package", "edgezoom-edge-regions"]);
        cargo.args(["--package", "edgezoom-edge-collections"]);
        // All runtimes have had vectors since 2021.
        cargo.args(["--config", "target.wasm32-unknown-unknown.rustflags=['-Ctarget-feature=+simd128']"]);
        out.prepare(&mut cargo)
    })
}

/// The step `edge`, which turns the WebAssembly into `edge/build`.
pub fn edge(project: &Project) -> Step<'_> {
    let edge = Step::new("edge", |out| out.check(&mut tool(project, ["build-edge"])));
    edge.needs(&["set-up", "wasm", "tools"])
}

/// Returns the steps that build the Worker into `edge/build`.
pub fn worker(project: &Project, purpose: Purpose) -> Vec<Step<'_>> {
    vec![set_up(purpose), tools(project), wasm(project, purpose), edge(project)]
}

/// Builds the Worker into `edge/build`.
pub fn worker_alone(project: &Project, purpose: Purpose) -> Result<()> {
    setup::prepare(project, Purpose::Compile)?;
    let results = steps::run(worker(project, purpose), &project.logs());
    results.print();
    results.result()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Returns every dependency with the features that Cargo gives it when it builds these kinds of dependencies.
    fn features(project: &Project, kinds: &str) -> BTreeSet<String> {
        let mut cargo = project.cargo();
        cargo.args(["tree", "--workspace", "--locked", "--prefix=none", "--format={p} [{f}]"]);
        cargo.args(["--edges", kinds]);
        let text = command::output(&mut cargo).unwrap();
        text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
    }

    #[test]
    fn tests_compile_dependencies_with_the_features_that_programs_have() {
        let project = Project::locate().unwrap();
        let (programs, tests) = (features(&project, "normal,build"), features(&project, "normal,build,dev"));
        let other: Vec<_> = programs.difference(&tests).collect();
        assert!(other.is_empty(), "ask for the features of the tests in tests/Cargo.toml too: {other:?}");
    }
}
