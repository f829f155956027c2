//! `cargo xtask simulate`: the simulation is in `tools/src/simulate`. Beside this machine, it is measured first.

use anyhow::Result;

use crate::bench::{self, Subject};
use crate::build::{self, TOOLS};
use crate::command;
use crate::project::{Profile, Project};

const AGAINST_LOCAL: &str = "--against-local";

/// Runs it with words of its own.
pub fn run(project: &Project, mut words: Vec<String>) -> Result<()> {
    if words.iter().any(|word| word == AGAINST_LOCAL) {
        let file = project.target.join("bench/local.json").to_string_lossy().into_owned();
        bench::run(project, Subject::Load, &["--burst".to_owned(), file.clone()])?;
        words.retain(|word| word != AGAINST_LOCAL);
        words.extend(["--measured".to_owned(), file]);
    }
    build::program(project, TOOLS, Profile::Dev)?;
    command::run_shown(&mut build::tool(project, ["simulate".to_owned()].into_iter().chain(words)))
}
