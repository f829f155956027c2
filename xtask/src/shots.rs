//! `cargo xtask shots`: pictures of every page in every state, at four widths, in light and dark, in `target/shots/`;
//! axe-core looks at each of them too. The states are in `edge/viewer/tests/shots.mjs`.

use anyhow::Result;

use crate::command;
use crate::project::Project;
use crate::setup::{self, Purpose};

/// Takes the pictures; of the states whose names contain one of `words`, if there are any.
pub fn run(project: &Project, words: &[String]) -> Result<()> {
    setup::prepare(project, Purpose::Test)?;
    command::run(project.npm()?.args(["run", "--silent", "build:viewer"]))?;
    let folder = project.target.join("shots");
    let mut shots = project.node_tool("node")?;
    command::run_shown(shots.arg("edge/viewer/tests/shots.mjs").arg(&folder).args(words))?;
    println!("the pictures are in {}", folder.display());
    Ok(())
}
