//! PDFium, the library for PDF. It is loaded at run time, when a PDF is opened. All other formats work without it.

use std::mem::forget;
use std::path::{Path, PathBuf};
use std::process::abort;
use std::sync::OnceLock;
use std::thread::panicking;

use pdfium_render::prelude::Pdfium;

use super::substitutes::Substitutes;
use crate::formats::fonts::Fonts;

/// The file name of the library.
const FILE_NAME: &str = if cfg!(windows) {
    "pdfium.dll"
} else if cfg!(target_vendor = "apple") {
    "libpdfium.dylib"
} else {
    "libpdfium.so"
};

/// PDFium, loaded and provided with fonts.
#[derive(Clone, Copy)]
pub struct Library(pub(super) &'static Pdfium);

impl Library {
    /// Loads the library from a file. Returns `None` if it cannot be loaded, and writes the reason to standard error.
    pub fn load(path: &Path) -> Option<Self> {
        // A process can load it only once.
        static LOADED: OnceLock<Option<Pdfium>> = OnceLock::new();
        LOADED.get_or_init(|| bind(path)).as_ref().map(Self)
    }
}

fn bind(path: &Path) -> Option<Pdfium> {
    match Pdfium::bind_to_library(path) {
        Ok(bindings) => {
            let mut pdfium = Pdfium::new(bindings);
            pdfium.set_custom_font_provider(Box::new(Substitutes::new(Fonts::of_system())));
            Some(pdfium)
        }
        Err(error) => {
            eprintln!("PDFium cannot be loaded: {error}");
            None
        }
    }
}

/// Finds the library: the file named by `EDGEZOOM_PDFIUM`, or else the one beside the executable, in `pdfium/` beside
/// it (as in a release), or in `pdfium/` up to two folders above (where set-up puts it). Returns `None` if it is not
/// installed.
#[must_use]
pub fn locate() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("EDGEZOOM_PDFIUM").filter(|named| !named.is_empty()) {
        return std::path::absolute(named).ok();
    }
    let executable = std::env::current_exe().ok()?;
    locate_from(executable.parent()?)
}

fn locate_from(folder: &Path) -> Option<PathBuf> {
    let beside = folder.join(FILE_NAME);
    let in_folders = folder.ancestors().take(3).map(|above| above.join("pdfium").join(FILE_NAME));
    std::iter::once(beside).chain(in_folders).find(|path| path.is_file())
}

/// Runs code that calls PDFium, and aborts the process if it throws a C++ exception. PDFium's C++ library throws when
/// an allocation fails, and PDFium, which is built without exceptions, keeps its lock, so closing anything afterwards
/// would wait forever.
pub(super) fn calling_pdfium<T>(call: impl FnOnce() -> T) -> T {
    let guard = Guard;
    let result = call();
    forget(guard);
    result
}

/// Dropped only by an exception or a panic. A panic of Rust releases its locks, so there is no need to abort.
struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        if !panicking() {
            abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_library_is_found_where_releases_and_set_up_put_it() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("target/debug/deps")).unwrap();
        assert_eq!(locate_from(&at("target/debug/deps")), None);
        for (folder, library) in [
            ("target/debug/deps", "target/pdfium/libpdfium.so"),
            ("target/debug", "target/pdfium/libpdfium.so"),
            ("opt/edgezoom", "opt/edgezoom/pdfium/libpdfium.so"),
            ("bin", "bin/libpdfium.so"),
        ] {
            fs::create_dir_all(at(library).parent().unwrap()).unwrap();
            fs::write(at(library), "").unwrap();
            assert_eq!(locate_from(&at(folder)), Some(at(library)), "{folder}");
        }
    }

    #[test]
    fn a_panic_does_not_abort_the_process() {
        assert!(std::panic::catch_unwind(|| calling_pdfium(|| panic!("as a test wants"))).is_err());
    }
}
