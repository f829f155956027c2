//! Caches test files that are slow to make: the encoders and reference decoders run for minutes. The cache key is a
//! hash of the recipe, so a changed recipe makes new files.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::SystemTime;

/// Debian's list of installed packages. Its modification time is part of the key, because an upgrade may change the
/// programs that the recipes run.
const INSTALLED: &str = "/var/lib/dpkg/status";

/// Places the files `names` in `folder`. Copies them from `cache` if the same recipe made them before, otherwise runs
/// `make`, which writes them to `folder`, and caches them.
pub fn place(cache: &Path, folder: &Path, names: &[&str], recipe: &impl Hash, make: impl FnOnce()) {
    let mut hash = DefaultHasher::new();
    (names, recipe, installed()).hash(&mut hash);
    let key = format!("{:016x}", hash.finish());
    let kept = cache.join(&key);
    if kept.is_dir() {
        return copy(&kept, folder, names);
    }
    make();
    // Renamed once all files are there, so that other test processes never see a partial entry.
    let staged = cache.join(format!("{key}.{}", std::process::id()));
    fs::create_dir_all(&staged).unwrap();
    copy(folder, &staged, names);
    if fs::rename(&staged, &kept).is_err() {
        fs::remove_dir_all(&staged).unwrap(); // another test process cached the same files first
    }
}

fn copy(from: &Path, to: &Path, names: &[&str]) {
    for name in names {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

fn installed() -> Option<SystemTime> {
    fs::metadata(INSTALLED).ok()?.modified().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_made_once_for_a_recipe() {
        let (cache, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut made = 0;
        for recipe in ["one", "one", "other", "one"] {
            place(cache.path(), folder.path(), &["a.txt"], &recipe, || {
                made += 1;
                fs::write(folder.path().join("a.txt"), recipe).unwrap();
            });
            assert_eq!(fs::read_to_string(folder.path().join("a.txt")).unwrap(), recipe);
        }
        assert_eq!(made, 2);
    }
}
