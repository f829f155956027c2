//! Where things lie: the workspace, what Cargo builds of it, and the programs that Node packages bring along.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::command;

/// The beginnings of the names of the variables that describe a package.
const OF_A_PACKAGE: [&str; 2] = ["CARGO_PKG_", "CARGO_MANIFEST_"];

/// The workspace that this program was built from.
pub struct Project {
    /// Its top folder.
    pub root: PathBuf,
    /// Where Cargo puts what it builds.
    pub target: PathBuf,
}

/// The Cargo profile that native programs are built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// As for deployment, and for measuring.
    Release,
    /// As for tests: the code that touches pixels is optimised, overflow checks stay on.
    Dev,
}

impl Profile {
    /// What Cargo calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dev => "dev",
        }
    }

    /// The folder in the target folder that has what is built with it.
    fn folder(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dev => "debug",
        }
    }
}

impl Project {
    /// Asks Cargo where the workspace and its target folder are.
    pub fn locate() -> Result<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let mut cargo = Command::new(cargo());
        cargo.args(["metadata", "--no-deps", "--format-version=1", "--manifest-path"]).arg(manifest);
        let metadata: serde_json::Value = serde_json::from_str(&command::output(&mut cargo)?)?;
        let path =
            |key| metadata[key].as_str().map(PathBuf::from).context("`cargo metadata` names no folders");
        Ok(Self { root: path("workspace_root")?, target: path("target_directory")? })
    }

    /// Cargo, run in the workspace.
    pub fn cargo(&self) -> Command {
        self.without_variables_of_a_package(Command::new(cargo()))
    }

    /// Cargo with a lower priority, for compiling beside tests: some of them look at the clock.
    pub fn cargo_beside_tests(&self) -> Command {
        self.without_variables_of_a_package(beside_tests(cargo()))
    }

    /// Any other program, run in the workspace.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    fn without_variables_of_a_package(&self, mut command: Command) -> Command {
        command.current_dir(&self.root);
        // Cargo sets these for the program that it runs, which is this one. Build scripts that read them would run again.
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| OF_A_PACKAGE.iter().any(|prefix| name.starts_with(prefix))) {
                command.env_remove(name);
            }
        }
        command
    }

    /// A program of a Node package, run in the workspace by the Node that is one of the packages: that of the machine
    /// may be too old.
    pub fn node_tool(&self, name: &str) -> Result<Command> {
        let program = self.node_tool_path(name);
        if !program.exists() {
            bail!("node_modules has no {name}: `cargo xtask setup` installs it");
        }
        let mut command = Command::new(program);
        self.with_node(&mut command)?;
        Ok(command)
    }

    /// npm, run in the workspace. The programs it runs find the Node that is one of the packages.
    pub fn npm(&self) -> Result<Command> {
        let mut command = Command::new("npm");
        self.with_node(&mut command)?;
        Ok(command)
    }

    /// Where a program of a Node package lies, if it is installed.
    pub fn node_tool_path(&self, name: &str) -> PathBuf {
        self.root.join("node_modules/.bin").join(name)
    }

    /// Has a command run in the workspace, with the Node that is one of the packages, which keeps what it compiles: wrangler is
    /// one script of megabytes, and starts often.
    fn with_node(&self, command: &mut Command) -> Result<()> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders =
            std::iter::once(self.root.join("node_modules/.bin")).chain(std::env::split_paths(&path));
        command.current_dir(&self.root).env("PATH", std::env::join_paths(folders)?);
        command.env("NODE_COMPILE_CACHE", self.target.join("node-cache"));
        Ok(())
    }

    /// Where one of the workspace's programs lies once it is built.
    pub fn program(&self, name: &str, profile: Profile) -> PathBuf {
        self.target.join(profile.folder()).join(name)
    }

    /// Keeps other tasks of this workspace from installing and building at the same time, until it is dropped.
    pub fn lock(&self) -> Result<File> {
        std::fs::create_dir_all(&self.target)?;
        let path = self.target.join("xtask.lock");
        let lock = File::create(&path).with_context(|| format!("{} cannot be written", path.display()))?;
        if lock.try_lock().is_err() {
            eprintln!("xtask | waiting for another task to finish its set-up");
            lock.lock()?;
        }
        Ok(lock)
    }
}

/// A program with a lower priority than that of tests that look at the clock.
pub fn beside_tests(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("nice");
    command.arg("-n15").arg(program);
    command
}

/// The Cargo that runs this program, else the one on the path.
fn cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}
