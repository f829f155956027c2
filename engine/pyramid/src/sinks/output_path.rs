//! The path of an output, from which the names of its files derive.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use super::SinkError;

/// A folder and the pyramid's name without an extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPath {
    pub folder: PathBuf,
    pub name: OsString,
}

impl OutputPath {
    /// Splits a path. The given extension is optional; any other belongs to the name.
    pub fn new(path: &Path, extension: &str) -> Result<Self, SinkError> {
        let has_extension = path.extension() == Some(OsStr::new(extension));
        let name = if has_extension { path.file_stem() } else { path.file_name() };
        let name = name.ok_or_else(|| SinkError::Nameless(path.to_owned()))?.to_owned();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(Self { folder: folder.to_owned(), name })
    }

    /// Returns the path of the name with a suffix.
    pub fn with_suffix(&self, suffix: &str) -> PathBuf {
        self.folder.join(self.name_with(suffix))
    }

    /// Returns the prefix of temporary files and folders beside the output.
    pub fn temporary_prefix(&self) -> OsString {
        self.name_with(".growing-")
    }

    /// Makes an error about the folder.
    pub fn folder_error(&self, error: io::Error) -> SinkError {
        SinkError::io(&self.folder, error)
    }

    /// Returns the name with a suffix.
    pub fn name_with(&self, suffix: &str) -> OsString {
        let mut name = self.name.clone();
        name.push(suffix);
        name
    }
}

/// Fails if any of these paths exists, even as a dangling symbolic link.
pub fn check_free(paths: &[PathBuf]) -> Result<(), SinkError> {
    let taken = paths.iter().find(|path| path.symlink_metadata().is_ok());
    taken.map_or(Ok(()), |path| Err(SinkError::Exists(path.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_split_into_folder_and_name() {
        for (path, folder, name) in [
            ("out", ".", "out"),
            ("out.dzi", ".", "out"),
            ("a/b/out.dzi", "a/b", "out"),
            ("a/photo.jpg", "a", "photo.jpg"),
            ("/out", "/", "out"),
        ] {
            let expected = OutputPath { folder: folder.into(), name: name.into() };
            assert_eq!(OutputPath::new(Path::new(path), "dzi").unwrap(), expected, "{path}");
        }
        for path in ["", "/", "a/.."] {
            assert!(matches!(OutputPath::new(Path::new(path), "dzi"), Err(SinkError::Nameless(_))), "{path}");
        }
    }
}
