//! PDFium, the library for PDF. It is loaded at run time, when a PDF is opened: without it all other formats work.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use pdfium_render::prelude::Pdfium;

use super::substitutes::Substitutes;
use crate::vector::fonts::Fonts;

/// The library's file.
const FILE_NAME: &str = "libpdfium.so";

/// PDFium, loaded and with fonts.
#[derive(Clone, Copy)]
pub struct Library(pub(super) &'static Pdfium);

impl Library {
    /// Loads the library from a file. `None` when it cannot be loaded: the reason is written to standard error, for the
    /// operator.
    pub fn load(path: &Path) -> Option<Self> {
        /// A process loads it once.
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
            eprintln!("the library for PDF cannot be loaded: {error}");
            None
        }
    }
}

/// Finds the library: the file that `EDGEZOOM_PDFIUM` names, else beside the executable, else in `pdfium/` beside it, as in a
/// release, or up to two folders above, where set-up puts it for what is built. `None` when it is not installed.
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_library_lies_where_releases_and_set_up_put_it() {
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
}
