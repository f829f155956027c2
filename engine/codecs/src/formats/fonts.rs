//! The fonts for documents that do not embed theirs: the system's fonts, and a built-in one, so that text is always
//! visible.
//!
//! No file can be opened inside the sandbox. So the system's fonts are found and opened before, and each is read when a
//! document uses it: a system may have hundreds of megabytes of fonts, and a picture needs few of them.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use fontdb::{Database, FaceInfo, ID, Language, Source};

use crate::positioned;

/// DejaVu Sans: Latin, Greek, Cyrillic, Arabic, Georgian, Armenian and thousands of symbols in 740 KB.
const FALLBACK: &[u8] = include_bytes!("../../fonts/DejaVuSans.ttf");

/// The family name of the built-in font.
const FALLBACK_FAMILY: &str = "DejaVu Sans";

/// Substitutes for families that documents name and free systems lack: first those of the same metrics, then similar
/// ones. The first five families are the defaults of `fontdb` for serif, sans-serif, monospace, cursive and fantasy.
/// Source of the metrics:
/// <https://gitlab.freedesktop.org/fontconfig/fontconfig/-/blob/main/conf.d/30-metric-aliases.conf>.
const SUBSTITUTES: [(&str, &[&str]); 12] = [
    ("Times New Roman", &["Liberation Serif", "Tinos", "Nimbus Roman", "Noto Serif", "DejaVu Serif"]),
    ("Arial", &["Liberation Sans", "Arimo", "Nimbus Sans", "Noto Sans"]),
    ("Courier New", &["Liberation Mono", "Cousine", "Nimbus Mono PS", "Noto Sans Mono", "DejaVu Sans Mono"]),
    ("Comic Sans MS", &["Comic Neue", "Comic Relief", "Z003"]),
    ("Impact", &["Anton", "League Gothic"]),
    ("Times", &["Nimbus Roman", "Liberation Serif", "Tinos", "Noto Serif", "DejaVu Serif"]),
    ("Helvetica", &["Nimbus Sans", "Liberation Sans", "Arimo", "Noto Sans"]),
    ("Courier", &["Nimbus Mono PS", "Liberation Mono", "Cousine", "Noto Sans Mono", "DejaVu Sans Mono"]),
    ("Verdana", &[FALLBACK_FAMILY]),
    ("Georgia", &["Gelasio", "DejaVu Serif"]),
    ("Calibri", &["Carlito", "Liberation Sans", "Noto Sans"]),
    ("Cambria", &["Caladea", "Liberation Serif", "Noto Serif", "DejaVu Serif"]),
];

/// Bytes of fonts that a document may use. Enough for a dozen of the largest, which are Chinese.
const READ_BYTES: u64 = 256 << 20;

/// The largest number of font files that are held open. A process may open 1,024 files by default.
const OPEN_FILES: usize = 768;

/// The system's fonts and the built-in one.
#[derive(Clone, Debug)]
pub struct Fonts {
    database: Arc<Database>,
}

/// A font file that is read when its bytes are first used.
struct Unread {
    file: File,
    length: u64,
    budget: Arc<AtomicU64>,
    bytes: OnceLock<Vec<u8>>,
}

impl Fonts {
    /// Finds and opens the system's fonts. The built-in font is always included.
    #[must_use]
    pub fn of_system() -> Self {
        let mut found = Database::new();
        found.load_system_fonts();
        Self::open(&found)
    }

    /// Returns only the built-in font.
    #[must_use]
    pub fn built_in() -> Self {
        Self::open(&Database::new())
    }

    /// Returns the fonts as a database that opens no files.
    pub(crate) fn database(&self) -> Arc<Database> {
        Arc::clone(&self.database)
    }

    fn open(found: &Database) -> Self {
        let budget = Arc::new(AtomicU64::new(READ_BYTES));
        let mut opened = HashMap::<PathBuf, Option<Arc<Unread>>>::new();
        let mut database = Database::new();
        // The built-in font comes first: for a missing letter, resvg uses the first font that has it.
        database.load_font_source(Source::Binary(Arc::new(FALLBACK)));
        for face in found.faces() {
            let Source::File(path) = &face.source else { continue };
            if opened.len() == OPEN_FILES && !opened.contains_key(path) {
                continue;
            }
            let file = opened.entry(path.clone()).or_insert_with(|| Unread::open(path, &budget));
            if let Some(file) = file.clone() {
                let source = Source::Binary(file);
                database.push_face_info(FaceInfo { id: ID::dummy(), source, ..face.clone() });
            }
        }
        add_substitutes(&mut database);
        Self { database: Arc::new(database) }
    }
}

/// Returns the number of the system's fonts.
#[must_use]
pub fn installed() -> usize {
    let mut found = Database::new();
    found.load_system_fonts();
    found.len()
}

/// For each well-known family that is missing, adds the faces of its first installed substitute under its name.
fn add_substitutes(database: &mut Database) {
    for (family, substitutes) in SUBSTITUTES {
        if is_installed(database, family) {
            continue;
        }
        let found = substitutes.iter().find(|name| is_installed(database, name)).unwrap_or(&FALLBACK_FAMILY);
        let faces: Vec<FaceInfo> = database.faces().filter(|face| is_of(face, found)).cloned().collect();
        for face in faces {
            let families = vec![(family.to_owned(), Language::English_UnitedStates)];
            database.push_face_info(FaceInfo { id: ID::dummy(), families, ..face });
        }
    }
}

fn is_installed(database: &Database, family: &str) -> bool {
    database.faces().any(|face| is_of(face, family))
}

fn is_of(face: &FaceInfo, family: &str) -> bool {
    face.families.iter().any(|(name, _)| name == family)
}

impl Unread {
    fn open(path: &Path, budget: &Arc<AtomicU64>) -> Option<Arc<Self>> {
        let file = File::open(path).ok()?;
        let length = file.metadata().ok()?.len();
        Some(Arc::new(Self { file, length, budget: Arc::clone(budget), bytes: OnceLock::new() }))
    }

    /// Reads the file. Returns `None` if the budget is spent or the file cannot be read.
    fn read(&self) -> Option<Vec<u8>> {
        let spend = |left: u64| left.checked_sub(self.length);
        self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).ok()?;
        let mut bytes = vec![0; usize::try_from(self.length).ok()?];
        positioned::read_exact_at(&self.file, &mut bytes, 0).ok()?;
        Some(bytes)
    }
}

impl AsRef<[u8]> for Unread {
    /// Returns the file's bytes, or no bytes if it cannot be read: `fontdb` skips fonts that cannot be parsed.
    fn as_ref(&self) -> &[u8] {
        self.bytes.get_or_init(|| self.read().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use fontdb::{Family, Query};

    use super::*;

    #[test]
    fn every_generic_family_has_a_face_even_without_system_fonts() {
        let fonts = Fonts::built_in().database();
        for family in [Family::Serif, Family::SansSerif, Family::Monospace, Family::Cursive, Family::Fantasy]
        {
            let id = fonts.query(&Query { families: &[family], ..Query::default() }).unwrap();
            assert_eq!(fonts.with_face_data(id, |bytes, _| bytes.len()), Some(FALLBACK.len()));
        }
    }

    #[test]
    fn a_font_file_is_read_when_it_is_used_and_only_within_the_budget() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ttf");
        std::fs::write(&path, b"twelve bytes").unwrap();
        let budget = Arc::new(AtomicU64::new(20));
        let [first, second] = [(); 2].map(|()| Unread::open(&path, &budget).unwrap());
        std::fs::remove_file(&path).unwrap();
        assert_eq!((*first).as_ref(), b"twelve bytes");
        assert_eq!((*first).as_ref(), b"twelve bytes");
        assert_eq!((*second).as_ref(), b"");
        assert_eq!(budget.load(Ordering::Relaxed), 8);
    }
}
