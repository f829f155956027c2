//! `cargo xtask chaos`: converts contents while tilers, renderers, browsers and the edge are killed and requests are cut and
//! delayed, and checks that each becomes ready, once, with every tile. The work is in `tests/src/chaos`.

use anyhow::Result;

use crate::build::{self, TILER, TOOLS};
use crate::command;
use crate::project::{Profile, Project};
use crate::setup::{self, Purpose};

/// How much chaos.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Options {
    /// Decides about sources and faults; odd: pyramids are archives, even: single tiles
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many contents are converted
    #[arg(long, default_value_t = 100)]
    contents: usize,
    /// How much goes wrong meanwhile
    #[arg(long, default_value_t = 200)]
    faults: usize,
}

/// Builds what is needed, and runs it.
pub fn run(project: &Project, options: &Options) -> Result<()> {
    setup::prepare(project, Purpose::Test)?;
    build::worker_alone(project, Purpose::Test)?;
    command::run(&mut build::programs(project, &["xtask", TOOLS, TILER], Profile::Dev))?;
    let mut chaos = project.cargo();
    chaos.args([
        "test",
        "--workspace",
        "--test=e2e",
        "--",
        "--ignored",
        "--exact",
        "chaos::by_plan",
        "--nocapture",
    ]);
    let Options { seed, contents, faults } = options;
    chaos.env("EDGEZOOM_CHAOS", format!("{seed},{contents},{faults}"));
    command::run_shown(&mut chaos)
}
