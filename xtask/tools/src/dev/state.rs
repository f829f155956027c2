//! The folder that keeps what the local service knows from one run to the next: the Worker's KV, R2, Durable Objects and
//! queued jobs, and the token that Worker and tilers share. Only one run may have it at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// An opened state folder.
pub struct State {
    folder: PathBuf,
    token: String,
    admin_token: String,
    _lock: File,
}

impl State {
    /// Opens the folder, which is made when it is not there.
    pub fn open(folder: &Path) -> Result<Self> {
        let unusable = || format!("{} cannot be used to keep state in", folder.display());
        std::fs::create_dir_all(folder).with_context(unusable)?;
        let folder = folder.canonicalize().with_context(unusable)?;
        let lock = File::create(folder.join("lock")).with_context(unusable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!(
                    "{} is in use by another `cargo xtask dev`: take another with --state",
                    folder.display()
                )
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(unusable),
        }
        let admin_token = token(&folder.join("admin-token"))?;
        let token = token(&folder.join("token"))?;
        Ok(Self { folder, token, admin_token, _lock: lock })
    }

    /// What Worker and tilers of this state prove themselves to each other with.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// What the operator proves itself with, in `tiler admin`.
    pub fn admin_token(&self) -> &str {
        &self.admin_token
    }

    /// Where wrangler keeps KV, R2 and Durable Objects.
    pub fn bindings(&self) -> PathBuf {
        self.folder.join("wrangler")
    }

    /// Where the Worker's configuration is.
    pub fn configuration(&self) -> PathBuf {
        self.folder.join("wrangler.json")
    }

    /// Where wrangler notes which Workers run. Of its own for each state, so that two systems do not get to know each other.
    pub fn registry(&self) -> PathBuf {
        self.folder.join("registry")
    }

    /// Where it is noted as what process, and at what address, a tiler runs.
    pub fn tiler_note(&self, number: usize) -> PathBuf {
        self.folder.join(format!("tiler-{number}.json"))
    }
}

/// The token in `path`; a new one when there is none. Only the owner can read it.
fn token(path: &Path) -> Result<String> {
    let unusable = || format!("{} cannot be used to keep a token in", path.display());
    if let Ok(token) = std::fs::read_to_string(path) {
        return Ok(token.trim().to_owned());
    }
    let mut bytes = [0; 24];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .context("no randomness")?;
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).with_context(unusable)?;
    writeln!(file, "{token}").with_context(unusable)?;
    Ok(token)
}
