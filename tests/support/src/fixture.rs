//! Files that take long to make are made once: the scripts of encoders and reference decoders run for minutes. They are kept
//! under a hash of their recipe, so that a changed recipe makes new ones.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::SystemTime;

/// Debian's list of installed packages. When it changes, so may the programs that the recipes call.
const INSTALLED: &str = "/var/lib/dpkg/status";

/// Puts files of these names into `folder`: copies of those in `cache` that were made by the same recipe, else those that
/// `make` makes there.
pub fn place(cache: &Path, folder: &Path, names: &[&str], recipe: &impl Hash, make: impl FnOnce()) {
    let mut hash = DefaultHasher::new();
    (names, recipe, installed()).hash(&mut hash);
    let key = format!("{:016x}", hash.finish());
    let kept = cache.join(&key);
    if kept.is_dir() {
        return copy(&kept, folder, names);
    }
    make();
    // Under its own name only once it is complete.
    let staged = cache.join(format!("{key}.{}", std::process::id()));
    fs::create_dir_all(&staged).unwrap();
    copy(folder, &staged, names);
    if fs::rename(&staged, &kept).is_err() {
        fs::remove_dir_all(&staged).unwrap(); // another program of tests was as quick
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
