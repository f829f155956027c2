//! Paths of the workspace, and commands that run in it: Cargo, programs of npm packages.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::command;

/// Prefixes of the variables with which Cargo describes a package to the program that it runs.
const PACKAGE_VARIABLES: [&str; 2] = ["CARGO_PKG_", "CARGO_MANIFEST_"];

/// The workspace that this program was built from, or a released service (`release/service.rs`), which has the parts of
/// it that run.
pub struct Project {
    /// Its top-level directory.
    pub root: PathBuf,
    /// Cargo's target directory.
    pub target: PathBuf,
}

/// Cargo profile of native programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// For deployment and benchmarks.
    Release,
    /// For tests: optimises only the code that touches pixels, and checks for overflow.
    Dev,
}

impl Profile {
    /// Cargo's name of the profile.
    pub fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dev => "dev",
        }
    }

    /// Name of its directory in the target directory, or in a target's.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dev => "debug",
        }
    }
}

impl Project {
    /// Asks Cargo for the workspace and its target directory. A released service is where its program is.
    pub fn locate() -> Result<Self> {
        let program = std::env::current_exe().context("cannot locate this program")?;
        if let Some(folder) = program.parent().filter(|folder| folder.join("wrangler.toml").exists()) {
            return Ok(Self { root: folder.to_owned(), target: folder.join("target") });
        }
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let mut cargo = Command::new(cargo());
        cargo.args(["metadata", "--no-deps", "--format-version=1", "--manifest-path"]).arg(manifest);
        let metadata: serde_json::Value = serde_json::from_str(&command::output(&mut cargo)?)?;
        let path =
            |key| metadata[key].as_str().map(PathBuf::from).context("`cargo metadata` named no directories");
        Ok(Self { root: path("workspace_root")?, target: path("target_directory")? })
    }

    /// Returns a Cargo command that runs in the workspace.
    pub fn cargo(&self) -> Command {
        self.without_package_variables(Command::new(cargo()))
    }

    /// Like [`Self::cargo`], with the priority of [`beside_tests`].
    pub fn cargo_beside_tests(&self) -> Command {
        self.without_package_variables(beside_tests(cargo()))
    }

    /// Returns a command that runs another program in the workspace.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    fn without_package_variables(&self, mut command: Command) -> Command {
        command.current_dir(&self.root);
        // Cargo set these for this program. Build scripts that read them would run again.
        for (name, _) in std::env::vars_os() {
            if name
                .to_str()
                .is_some_and(|name| PACKAGE_VARIABLES.iter().any(|prefix| name.starts_with(prefix)))
            {
                command.env_remove(name);
            }
        }
        command
    }

    /// Returns a command that runs a program of an npm package with the Node.js from npm: the machine's may be too old.
    pub fn node_tool(&self, name: &str) -> Result<Command> {
        let program = self.node_tool_path(name);
        if !program.exists() {
            bail!("node_modules has no {name}; install it with `cargo xtask setup`");
        }
        let mut command = Command::new(program);
        self.with_node(&mut command)?;
        Ok(command)
    }

    /// Returns an npm command whose programs run with the Node.js from npm.
    pub fn npm(&self) -> Result<Command> {
        let mut command = Command::new("npm");
        self.with_node(&mut command)?;
        Ok(command)
    }

    /// Path of an npm package's program, installed or not.
    pub fn node_tool_path(&self, name: &str) -> PathBuf {
        self.root.join("node_modules/.bin").join(name)
    }

    /// Makes a command run in the workspace with the Node.js from npm and a compile cache: wrangler is one script of
    /// several megabytes, and starts often.
    fn with_node(&self, command: &mut Command) -> Result<()> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders =
            std::iter::once(self.root.join("node_modules/.bin")).chain(std::env::split_paths(&path));
        command.current_dir(&self.root).env("PATH", std::env::join_paths(folders)?);
        command.env("NODE_COMPILE_CACHE", self.target.join("node-cache"));
        Ok(())
    }

    /// Path of one of the workspace's programs, built or not.
    pub fn program(&self, name: &str, profile: Profile) -> PathBuf {
        self.target.join(profile.folder()).join(name)
    }

    /// Directory of the outputs of steps and failed tests.
    pub fn logs(&self) -> PathBuf {
        self.target.join("logs")
    }

    /// Locks out set-up and Worker builds of other tasks until the returned file is dropped.
    pub fn lock(&self) -> Result<File> {
        std::fs::create_dir_all(&self.target)?;
        let path = self.target.join("xtask.lock");
        let lock = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        if lock.try_lock().is_err() {
            eprintln!("xtask | waiting for another task's set-up");
            lock.lock()?;
        }
        Ok(lock)
    }
}

/// Returns a command with lower priority than tests that wait for browsers and processes. With a much lower one it would
/// take hours on a machine that is busy with other things.
pub fn beside_tests(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("nice");
    command.arg("-n5").arg(program);
    command
}

/// Returns a command at low priority.
pub fn in_background(command: &Command) -> Command {
    let mut background = Command::new("nice");
    background.arg("-n15").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => background.env(name, value),
            None => background.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        background.current_dir(folder);
    }
    background
}

/// Returns the Cargo that runs this program, or else the one in `PATH`.
fn cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}
