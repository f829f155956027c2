//! The Worker is WebAssembly: the compiler needs that target's standard library.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::command;

/// What the Worker is compiled for.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Installs the target's standard library when it is missing. Done by name, because some machines switch rustup's
/// automatic installs off.
pub fn require() -> Result<()> {
    let sysroot = command::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).is_dir() {
        return Ok(());
    }
    if !command::on_path("rustup") {
        bail!(
            "the Rust compiler has no standard library for {TARGET}: install it the way the compiler was installed"
        );
    }
    eprintln!("xtask | installing Rust's standard library for {TARGET}");
    command::run(Command::new("rustup").args(["target", "add", TARGET]))
}
