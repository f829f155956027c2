//! The Chromium that our pictures are compared with.

use std::path::Path;

/// The first of its usual places.
pub fn executable() -> &'static Path {
    let browsers =
        ["/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium/chromium", "/usr/bin/chromium"];
    browsers.into_iter().map(Path::new).find(|browser| browser.exists()).unwrap()
}
