//! Tests the sandbox on this machine: enters it as a renderer does, then tries operations that it must deny.
//! `tiler doctor` runs this in a separate process, because a process cannot leave the sandbox.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Landlock, Limits, close_inherited, enter, give_up};

/// The result of testing the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// Landlock's part of the sandbox.
    pub landlock: Landlock,
    /// Operations that the sandbox should have denied, as text.
    pub allowed: Vec<String>,
}

/// Memory limit of the probe, in bytes.
const MEMORY: u64 = 256 << 20;

/// Enters the sandbox and tries operations that it must deny.
///
/// # Errors
/// The process cannot enter the sandbox.
pub fn run() -> io::Result<Findings> {
    let mut allowed = Vec::new();
    let mut deny = |what: &str, is_denied: bool| {
        if !is_denied {
            allowed.push(what.to_owned());
        }
    };
    close_inherited(&[])?;
    // One of these is the descriptor of the directory itself.
    deny("inherited files stay open", fs::read_dir("/proc/self/fd")?.count() <= 4);
    let landlock = give_up()?;
    if landlock != Landlock::Missing {
        deny("Landlock lets a file be opened", is_denied(File::open("/")));
    }
    let capabilities = rustix::thread::capabilities(None)?;
    deny("the process still has capabilities", (capabilities.effective | capabilities.permitted).is_empty());
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
