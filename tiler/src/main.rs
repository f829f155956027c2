//! The `tiler` command.

use std::process::ExitCode;

use clap::Parser;
use edgezoom_tiler::page::cell::{self, CellOptions};

#[derive(Parser)]
enum Command {
    /// Keeps one browser, for the tiler.
    #[command(hide = true)]
    PageCell(CellOptions),
}

fn main() -> std::io::Result<ExitCode> {
    match Command::parse() {
        Command::PageCell(options) => cell::run(&options),
    }
}
