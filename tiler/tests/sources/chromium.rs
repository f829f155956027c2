//! Finds the Chromium that renders the reference pictures.

use std::path::Path;

/// Returns the first Chromium executable in the usual places.
pub fn executable() -> &'static Path {
    let browsers =
        ["/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium/chromium", "/usr/bin/chromium"];
    browsers.into_iter().map(Path::new).find(|browser| browser.exists()).unwrap()
}
