//! Aborts the test process if a parser hangs on an input, because it cannot be interrupted.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Watches the time that the current input takes, until dropped.
pub(crate) struct Deadline(Arc<Mutex<Option<Current>>>);

struct Current {
    since: Instant,
    input: Vec<u8>,
    kept: PathBuf,
}

impl Deadline {
    pub(crate) fn new(patience: Duration) -> Self {
        let current = Arc::default();
        let watched = Arc::downgrade(&current);
        thread::spawn(move || watch(&watched, patience));
        Self(current)
    }

    pub(crate) fn begin(&self, input: &[u8], kept: &Path) {
        self.set(Some(Current { since: Instant::now(), input: input.to_vec(), kept: kept.to_owned() }));
    }

    pub(crate) fn end(&self) {
        self.set(None);
    }

    fn set(&self, current: Option<Current>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = current;
    }
}

fn watch(watched: &Weak<Mutex<Option<Current>>>, patience: Duration) {
    while let Some(current) = watched.upgrade() {
        if let Some(current) = &*current.lock().unwrap_or_else(PoisonError::into_inner)
            && current.since.elapsed() > patience
        {
            let written = fs::write(&current.kept, &current.input);
            eprintln!("{}: takes longer than {patience:?} ({written:?})", current.kept.display());
            std::process::abort();
        }
        thread::sleep(Duration::from_millis(500));
    }
}
