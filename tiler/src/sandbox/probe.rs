//! Tries the sandbox out on this machine: enters it as a renderer does, then tries what it must deny. Run by
//! `tiler doctor` as a process of its own, which cannot do anything else any more.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Landlock, Limits, close_inherited, enter, give_up};

/// What a process found that tried the sandbox out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// How far Landlock holds.
    pub landlock: Landlock,
    /// What could be done that must be denied, in words.
    pub allowed: Vec<String>,
}

/// The memory that the probe allows itself, in bytes.
const MEMORY: u64 = 256 << 20;

/// Enters the sandbox, for good, and tries what must be denied.
///
/// # Errors
/// The sandbox cannot be entered.
pub fn run() -> io::Result<Findings> {
    let mut allowed = Vec::new();
    let mut deny = |what: &str, is_denied: bool| {
        if !is_denied {
            allowed.push(what.to_owned());
        }
    };
    close_inherited(&[])?;
    // One of them is the list's own.
    deny("inherited files stay open", fs::read_dir("/proc/self/fd")?.count() <= 4);
    let landlock = give_up()?;
    if landlock != Landlock::Missing {
        deny("a file can be opened in spite of Landlock", is_denied(File::open("/")));
    }
    let capabilities = rustix::thread::capabilities(None)?;
    deny("capabilities are left", (capabilities.effective | capabilities.permitted).is_empty());
    enter(&Limits { memory: MEMORY, cpu: Duration::from_secs(10), file: None })?;
    deny("a file can be opened", is_denied(File::open("/")));
    deny("a connection can be made", is_denied(TcpStream::connect("127.0.0.1:9")));
    deny("a process can be started", is_denied(Command::new("/proc/self/exe").spawn()));
    deny("memory is not limited", Vec::<u8>::new().try_reserve_exact(MEMORY as usize).is_err());
    Ok(Findings { landlock, allowed })
}

fn is_denied<T>(result: io::Result<T>) -> bool {
    result.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}
