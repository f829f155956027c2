//! A real browser, driven by a script in `tests/browser` with Playwright. A script gets its arguments as one JSON value and
//! prints what it saw as another.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tokio::process::Command;

/// Where Debian puts its browsers.
const BROWSERS: [&str; 2] = ["/usr/bin/chromium", "/usr/lib/chromium/chromium-headless-shell"];

/// The browser.
///
/// # Errors
/// There is none.
pub fn program() -> Result<&'static str> {
    BROWSERS.into_iter().find(|browser| Path::new(browser).exists()).context("no Chromium")
}

/// Runs a script of `tests/browser`.
///
/// # Errors
/// Says what the script said.
pub async fn run(script: &str, mut arguments: Value) -> Result<Value> {
    arguments["browser"] = program()?.into();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let node: PathBuf = tests.join("../node_modules/.bin/node");
    let mut command = Command::new(&node);
    command.arg(tests.join("browser").join(script)).arg(arguments.to_string()).kill_on_drop(true);
    let output = command.output().await.with_context(|| node.display().to_string())?;
    let (seen, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        bail!("{script} failed:\n{seen}\n{errors}");
    }
    serde_json::from_str(&seen).with_context(|| format!("{script} printed {seen}"))
}
