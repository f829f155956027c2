//! A hidden folder beside an output. Its entries become visible together, in place of older ones.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::{fs, io};

use tempfile::TempDir;

use super::SinkError;
use super::output_path::OutputPath;

/// Files and folders that are not visible yet. Dropping it deletes them.
pub struct Hidden {
    temporary: TempDir,
    /// The folder in which the entries become visible.
    folder: PathBuf,
    /// Names of the entries there, in the order in which they become visible.
    names: Vec<OsString>,
}

impl Hidden {
    pub fn beside(path: &OutputPath) -> Result<Self, SinkError> {
        let create = || {
            let prefix = path.temporary_prefix();
            let temporary = tempfile::Builder::new().prefix(&prefix).tempdir_in(&path.folder)?;
            [NEW, OLD].iter().try_for_each(|name| fs::create_dir(temporary.path().join(name)))?;
            Ok(temporary)
        };
        let temporary = create().map_err(|error| path.folder_error(error))?;
        Ok(Self { temporary, folder: path.folder.clone(), names: vec![] })
    }

    /// Adds an entry. Returns the path at which the caller creates it.
    pub fn add(&mut self, name: &OsStr) -> PathBuf {
        self.names.push(name.to_owned());
        self.temporary.path().join(NEW).join(name)
    }

    /// Adds a file.
    pub fn add_file(&mut self, name: &OsStr, content: &[u8]) -> Result<(), SinkError> {
        fs::write(self.add(name), content).map_err(|error| SinkError::io(&self.folder.join(name), error))
    }

    /// Makes the entries visible. Older ones with these names are deleted at the end; after an error they are where they
    /// were. If the process is killed meanwhile, those that have left are in the hidden folder's folder `old`.
    pub fn publish(self) -> Result<(), SinkError> {
        self.publish_by(|from, to| fs::rename(from, to))
    }

    /// The same with another function than rename(2).
    fn publish_by(self, mut rename: impl FnMut(&Path, &Path) -> io::Result<()>) -> Result<(), SinkError> {
        let (new, old) = (self.temporary.path().join(NEW), self.temporary.path().join(OLD));
        let mut leave = vec![];
        for name in &self.names {
            let path = self.folder.join(name);
            let Ok(present) = path.symlink_metadata() else { continue };
            let wrong = match (present.is_dir(), new.join(name).is_dir()) {
                (true, false) => io::ErrorKind::IsADirectory,
                (false, true) if !present.is_symlink() => io::ErrorKind::NotADirectory,
                // The system replaces a file in one step.
                (false, false) if self.names.len() == 1 => continue,
                _ => {
                    leave.push((name, &*self.folder, &*old));
                    continue;
                }
            };
            return Err(SinkError::io(&path, wrong.into()));
        }
        // The last entry, which needs the others, is the first to leave.
        let moves = leave.into_iter().rev().chain(self.names.iter().map(|name| (name, &*new, &*self.folder)));
        let mut done = vec![];
        for (name, from, to) in moves {
            if let Err(error) = rename(&from.join(name), &to.join(name)) {
                let error = SinkError::io(&self.folder.join(name), error);
                let undo =
                    |(name, from, to): (&OsString, &Path, &Path)| rename(&to.join(name), &from.join(name));
                // All that can be moved back is.
                let is_undone = done.into_iter().rev().map(undo).fold(true, |all, moved| all & moved.is_ok());
                return Err(if is_undone {
                    error
                } else {
                    SinkError::Scattered { folder: self.temporary.keep(), error: Box::new(error) }
                });
            }
            done.push((name, from, to));
        }
        Ok(())
    }
}

/// Name of the folder for the entries in the hidden one.
const NEW: &str = "new";
/// Name of the folder for those that they replace.
const OLD: &str = "old";

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const NAMES: [&str; 4] = ["out_files", "out.dzi", "viewer.js", "index.html"];

    /// Returns the content of all files below a folder, by their paths in it.
    fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = PathBuf::from(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                files.extend(
                    self::files(&entry.path()).into_iter().map(|(path, text)| (name.join(path), text)),
                );
            } else {
                files.insert(name, fs::read_to_string(entry.path()).unwrap());
            }
        }
        files
    }

    /// Creates an entry: a folder with a file, or a file.
    fn create(path: &Path, content: &str) {
        if path.ends_with("out_files") {
            fs::create_dir(path).unwrap();
            fs::write(path.join("0_0.jpg"), content).unwrap();
        } else {
            fs::write(path, content).unwrap();
        }
    }

    /// Returns a folder with older entries, and newer ones that are hidden in it.
    fn replacing(names: &[&str], present: &[&str]) -> (TempDir, Hidden) {
        let folder = tempfile::tempdir().unwrap();
        present.iter().for_each(|name| create(&folder.path().join(name), "old"));
        let mut hidden =
            Hidden::beside(&OutputPath::new(&folder.path().join("out"), "dzi").unwrap()).unwrap();
        names.iter().for_each(|name| create(&hidden.add(OsStr::new(name)), "new"));
        (folder, hidden)
    }

    #[test]
    fn older_entries_survive_a_failure_and_a_kill_at_each_call() {
        for (names, present) in [
            (&NAMES[..], &NAMES[..]),
            (&NAMES, &NAMES[..2]),
            (&NAMES[..2], &NAMES[..2]),
            (&NAMES[..1], &NAMES[..1]),
            (&NAMES[1..2], &NAMES[1..2]),
        ] {
            let calls =
                if names.len() == 1 && names[0] == "out.dzi" { 1 } else { names.len() + present.len() };
            for failing in 0..=calls {
                for is_killed in [false, true] {
                    let (folder, hidden) = replacing(names, present);
                    let (before, mut call) = (files(folder.path()), 0);
                    let is_old = |text: &&String| *text == "old";
                    let published = hidden.publish_by(|from, to| {
                        call += 1;
                        let fails = if is_killed { call > failing } else { call == failing + 1 };
                        if fails { Err(io::ErrorKind::StorageFull.into()) } else { fs::rename(from, to) }
                    });
                    let after = files(folder.path());
                    assert_eq!(published.is_ok(), failing == calls, "{names:?} {failing}");
                    let old = after.values().filter(is_old).count();
                    match published {
                        Ok(()) => assert_eq!((after.len(), old), (names.len(), 0)),
                        // Nothing is left of the hidden folder.
                        Err(SinkError::Io { .. }) => {
                            let visible: BTreeMap<_, _> =
                                before.into_iter().filter(|(_, text)| text == "old").collect();
                            assert_eq!(after, visible, "{names:?} {failing}");
                        }
                        Err(error) => {
                            assert!(is_killed && error.to_string().contains("out.growing-"), "{error}");
                            assert_eq!(old, present.len(), "{names:?} {failing}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_folder_is_not_replaced_by_a_file_nor_a_file_by_a_folder() {
        for (names, present) in
            [(["out_files", "out.dzi"], "out.dzi"), (["out.dzi", "out_files"], "out_files")]
        {
            let (folder, hidden) = replacing(&names, &[names[0]]);
            let other = folder.path().join(present);
            if present == "out.dzi" {
                fs::create_dir(&other).unwrap();
                fs::write(other.join("photo.jpg"), "old").unwrap();
            } else {
                fs::write(&other, "old").unwrap();
            }
            assert!(matches!(hidden.publish().unwrap_err(), SinkError::Io { path, .. } if path == other));
            assert_eq!(files(folder.path()).into_values().collect::<Vec<_>>(), ["old", "old"]);
        }
    }
}
