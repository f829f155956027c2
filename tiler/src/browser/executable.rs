//! Finds Chromium's executable.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The places to look in, in this order. Debian's headless shell comes first because it starts in a quarter of the
/// time. Debian's `chromium` is a wrapper that adds extensions and flags, so the executable that it wraps comes before
/// it.
const BROWSERS: [&str; 7] = [
    "/usr/lib/chromium/chromium-headless-shell",
    "chromium-headless-shell",
    "chrome-headless-shell",
    "/usr/lib/chromium/chromium",
    "chromium",
    "google-chrome",
    "google-chrome-stable",
];

/// The executable of the browser: `chosen` if that exists, or else the first of [`BROWSERS`].
pub fn find(chosen: Option<&Path>) -> Option<PathBuf> {
    match chosen {
        Some(chosen) => on_path(chosen),
        None => BROWSERS.iter().find_map(|browser| on_path(Path::new(browser))),
    }
}

/// The file that a shell would execute: a path as it is, a bare name searched in `PATH`.
fn on_path(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_owned());
    }
    env::split_paths(&search_path()).map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

/// The value of `PATH`.
pub(super) fn search_path() -> OsString {
    env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())
}
