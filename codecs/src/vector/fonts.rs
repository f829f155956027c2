//! The fonts that documents are set in when they bring none of their own: those of the system, and one that is part of
//! the program, so that text never vanishes.
//!
//! Once the sandbox is closed no file can be opened. So the system's fonts are found and opened before that, and read only
//! if a document asks for them: a system may have hundreds of megabytes of fonts, of which a picture needs two.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use fontdb::{Database, FaceInfo, ID, Language, Source};

/// DejaVu Sans: Latin, Greek, Cyrillic, Arabic, Georgian, Armenian and thousands of symbols in 740 KB.
const FALLBACK: &[u8] = include_bytes!("../../fonts/DejaVuSans.ttf");

/// Its family name.
const FALLBACK_FAMILY: &str = "DejaVu Sans";

/// Families that documents name and free systems lack, with those of the same widths first, then similar ones. The first
/// five are what `fontdb` has the generic families stand for: serif, sans-serif, monospace, cursive and fantasy. Widths:
/// <https://gitlab.freedesktop.org/fontconfig/fontconfig/-/blob/main/conf.d/30-metric-aliases.conf>.
const STAND_INS: [(&str, &[&str]); 12] = [
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

/// How many bytes of fonts a document may have read, all together. Enough for a dozen of the largest, those for Chinese.
const READ_BYTES: u64 = 256 << 20;

/// How many font files are held open. A process may have 1,024 files by default.
const OPEN_FILES: usize = 768;

/// The fonts of the system, and the one of the program.
#[derive(Clone, Debug)]
pub struct Fonts {
    database: Arc<Database>,
}

/// A font file that is read when somebody first asks for its bytes.
struct Unread {
    file: File,
    length: u64,
    budget: Arc<AtomicU64>,
    bytes: OnceLock<Vec<u8>>,
}

impl Fonts {
    /// Finds the system's fonts and opens them. Without any, the program's own is there.
    #[must_use]
    pub fn of_system() -> Self {
        let mut found = Database::new();
        found.load_system_fonts();
        Self::open(&found)
    }

    /// The program's own font alone.
    #[must_use]
    pub fn built_in() -> Self {
        Self::open(&Database::new())
    }

    /// The fonts as a database that opens no files.
    pub(crate) fn database(&self) -> Arc<Database> {
        Arc::clone(&self.database)
    }

    fn open(found: &Database) -> Self {
        let budget = Arc::new(AtomicU64::new(READ_BYTES));
        let mut opened = HashMap::<PathBuf, Option<Arc<Unread>>>::new();
        let mut database = Database::new();
        // First, because when letters are missing in a font the first one is asked that has them.
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
        add_stand_ins(&mut database);
        Self { database: Arc::new(database) }
    }
}

/// Enters, for each well-known family that is missing, the faces of the first stand-in that is there, under its name.
fn add_stand_ins(database: &mut Database) {
    for (family, stand_ins) in STAND_INS {
        if is_there(database, family) {
            continue;
        }
        let found = stand_ins.iter().find(|name| is_there(database, name)).unwrap_or(&FALLBACK_FAMILY);
        let faces: Vec<FaceInfo> = database.faces().filter(|face| is_of(face, found)).cloned().collect();
        for face in faces {
            let families = vec![(family.to_owned(), Language::English_UnitedStates)];
            database.push_face_info(FaceInfo { id: ID::dummy(), families, ..face });
        }
    }
}

fn is_there(database: &Database, family: &str) -> bool {
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

    /// The whole file, or `None` when it is too much.
    fn read(&self) -> Option<Vec<u8>> {
        let spend = |left: u64| left.checked_sub(self.length);
        self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).ok()?;
        let mut bytes = vec![0; usize::try_from(self.length).ok()?];
        self.file.read_exact_at(&mut bytes, 0).ok()?;
        Some(bytes)
    }
}

impl AsRef<[u8]> for Unread {
    /// The file's bytes. None, as if it were an empty file, when it cannot be read: fonts that do not parse are passed over.
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
    fn a_font_file_is_read_only_when_asked_for_and_within_the_budget() {
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
