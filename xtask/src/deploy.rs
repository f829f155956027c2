//! `cargo xtask deploy` and `cargo xtask undeploy`: the service on Cloudflare. The work is done in `deploy/cloudflare/`, in
//! JavaScript, where the provider's official client and wrangler are.

use anyhow::Result;

use crate::project::Project;
use crate::setup::Purpose;
use crate::{build, command, setup};

/// Builds the Worker, and deploys it with all that it needs.
pub fn deploy(project: &Project, words: &[String]) -> Result<()> {
    if words.iter().any(|word| word == "--help") {
        setup::prepare(project, Purpose::Deploy)?;
    } else {
        build::worker_alone(project, Purpose::Deploy)?;
    }
    run(project, "deploy", words)
}

/// Removes what `deploy` has made.
pub fn undeploy(project: &Project, words: &[String]) -> Result<()> {
    setup::prepare(project, Purpose::Deploy)?;
    run(project, "undeploy", words)
}

fn run(project: &Project, task: &str, words: &[String]) -> Result<()> {
    let mut node = project.node_tool("node")?;
    command::run_shown(node.args(["deploy/cloudflare/main.mjs", task]).args(words))
}
