//! The step `licences`: the licences, bans and sources of `deny.toml`, checked by cargo-deny. The weekly workflow checks advisories: they
//! need a database from the network, and change while the code does not.

use anyhow::Result;

use crate::project::Project;
use crate::setup::pinned;
use crate::steps::{Tally, Transcript};

/// Installs cargo-deny if needed, and runs it.
pub fn check(project: &Project, out: &Transcript<'_>) -> Result<Tally> {
    let mut deny = project.command(&pinned::cargo_deny(project)?.to_string_lossy());
    out.check(deny.args(["--locked", "check", "bans", "licenses", "sources"]))
}
