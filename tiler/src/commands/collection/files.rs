//! Files of folders as entries. The service is asked for each by the file's hash, so what it has is not sent again.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use edgezoom_content::SourceUrl;
use reqwest::StatusCode;
use sha2::{Digest, Sha256};

use super::service::{Refused, Service, Taken};

/// Number of attempts to send a file that changes while it is read.
const ATTEMPTS: usize = 3;

/// A file of a folder.
#[derive(Clone, Debug)]
pub(super) struct FoundFile {
    pub(super) path: PathBuf,
    /// SHA-256 in base64url.
    digest: String,
}

/// The files below a folder in the order of their names, without hidden ones. Links to folders are not followed.
pub(super) struct Walk {
    /// The next one is the last.
    open: Vec<PathBuf>,
}

impl Walk {
    pub(super) fn new(folder: &str) -> Self {
        Self { open: vec![folder.into()] }
    }

    /// Returns the paths in a folder, the last one first.
    fn read(folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut paths =
            fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        paths.retain(|path| !(is_hidden(path) || path.is_symlink() && path.is_dir()));
        paths.sort_unstable_by(|a, b| b.cmp(a));
        Ok(paths)
    }
}

impl Iterator for Walk {
    /// A file, or a path that cannot be read and the reason.
    type Item = Result<FoundFile, (PathBuf, anyhow::Error)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let path = self.open.pop()?;
            if path.is_dir() {
                match Self::read(&path) {
                    Ok(paths) => self.open.extend(paths),
                    Err(error) => return Some(Err((path, error.into()))),
                }
            } else if path.is_file() || !path.exists() {
                return Some(FoundFile::read(path.clone()).map_err(|error| (path, error)));
            }
        }
    }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

impl FoundFile {
    fn read(path: PathBuf) -> anyhow::Result<Self> {
        let mut hash = Sha256::new();
        if io::copy(&mut File::open(&path)?, &mut Hashing(&mut hash))? == 0 {
            anyhow::bail!("The file is empty.");
        }
        Ok(Self { path, digest: BASE64_URL_SAFE_NO_PAD.encode(hash.finalize()) })
    }

    fn name(&self) -> String {
        self.path.file_name().map(OsStr::to_string_lossy).unwrap_or_default().into_owned()
    }

    /// Returns the URL by which the service knows the file.
    pub(super) fn url(&self) -> anyhow::Result<SourceUrl> {
        SourceUrl::of_file(&self.digest, &self.name()).context("the hash is malformed")
    }

    /// Sends the file. Returns the answer, or why the service refuses it.
    ///
    /// # Errors
    /// The service refuses all files.
    pub(super) async fn send(self, service: &Service) -> anyhow::Result<Result<Taken, String>> {
        let mut file = self;
        let mut attempts = 1;
        loop {
            let query = [("name", file.name()), ("digest", file.digest.clone())];
            let error = match service.send_file(&file.path, &query).await {
                Ok(taken) => return Ok(Ok(taken)),
                Err(error) => error,
            };
            let of_file = error.downcast_ref::<Refused>().filter(|refused| refused.is_of_file());
            let reason = match of_file {
                Some(refused) => refused.reason.clone(),
                None if error.is::<io::Error>() => error.to_string(),
                None => return Err(error),
            };
            let now = match Self::read(file.path) {
                Ok(now) if now.digest != file.digest => now,
                Ok(_) => return Ok(Err(reason)),
                Err(error) => return Ok(Err(error.to_string())),
            };
            if attempts == ATTEMPTS {
                return Ok(Err("The file changes while it is read.".to_owned()));
            }
            (file, attempts) = (now, attempts + 1);
        }
    }
}

impl Refused {
    /// Returns true if another file may be accepted.
    fn is_of_file(&self) -> bool {
        matches!(self.status, StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE)
    }
}

/// Writes to a hash.
struct Hashing<'a>(&'a mut Sha256);

impl io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
