//! The directory that keeps the local service's state between runs: the Worker's KV, R2, Durable Objects and queued
//! jobs, and tokens. Only one run can use it at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// A locked state directory.
pub struct State {
    folder: PathBuf,
    token: String,
    admin_token: String,
    _lock: File,
}

impl State {
    /// Opens the directory, creating it if needed.
    pub fn open(folder: &Path) -> Result<Self> {
        let unusable = || format!("cannot keep state in {}", folder.display());
        std::fs::create_dir_all(folder).with_context(unusable)?;
        let folder = folder.canonicalize().with_context(unusable)?;
        let lock = File::create(folder.join("lock")).with_context(unusable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!(
                    "{} is in use by another `cargo xtask dev`; choose another directory with --state",
                    folder.display()
                )
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(unusable),
        }
        let admin_token = token(&folder.join("admin-token"))?;
        let token = token(&folder.join("token"))?;
        Ok(Self { folder, token, admin_token, _lock: lock })
    }

    /// The token of the tilers, which the Worker checks.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The operator's token, for `tiler admin`.
    pub fn admin_token(&self) -> &str {
        &self.admin_token
    }

    /// Wrangler's directory for KV, R2 and Durable Objects.
    pub fn bindings(&self) -> PathBuf {
        self.folder.join("wrangler")
    }

    /// Path of the Worker's generated configuration.
    pub fn configuration(&self) -> PathBuf {
        self.folder.join("wrangler.json")
    }

    /// Wrangler's registry of running Workers. Each state has its own, so that two systems do not find each other.
    pub fn registry(&self) -> PathBuf {
        self.folder.join("registry")
    }

    /// Path of the file with a tiler's process id and address.
    pub fn tiler_note(&self, number: usize) -> PathBuf {
        self.folder.join(format!("tiler-{number}.json"))
    }
}

/// Returns the token in `path`, creating it if needed. Only the owner can read it.
fn token(path: &Path) -> Result<String> {
    let unusable = || format!("cannot keep a token in {}", path.display());
    if let Ok(token) = std::fs::read_to_string(path) {
        return Ok(token.trim().to_owned());
    }
    let mut bytes = [0; 24];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .context("cannot read /dev/urandom")?;
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).with_context(unusable)?;
    writeln!(file, "{token}").with_context(unusable)?;
    Ok(token)
}
