//! Runs the engine on a thread of its own, because the threads of Python have small stacks, while the caller's thread waits
//! for its events without the interpreter's lock. Between events it lets Python handle signals, so Ctrl+C raises, and the
//! caller then closes the job.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use edgezoom_pyramid::codecs::Cancel;
use edgezoom_pyramid::{DzsaveError, Observer, Tile};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors::{Failure, of_system};

/// Stack of the engine's thread, as of a program's main thread.
const STACK_BYTES: usize = 8 << 20;
/// Longest wait between two looks at signals.
const SIGNALS: Duration = Duration::from_millis(50);
/// Shortest interval between reports of progress.
const REPORTS: Duration = Duration::from_millis(50);
/// Number of events that wait for the caller; then the engine waits.
const QUEUE: usize = 16;

/// A report of a job while it runs.
pub enum Event {
    /// The number of rows that have been read, and of all rows.
    Progress(u32, u32),
    /// A tile for the caller.
    Tile(Tile),
}

/// The job as the engine sees it.
pub struct Watch {
    pub cancel: Cancel,
    pub events: SyncSender<Event>,
    reported: Mutex<Option<Instant>>,
}

impl Observer for Watch {
    fn progress(&self, rows: u32, of: u32) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if rows < of && reported.is_some_and(|last| last.elapsed() < REPORTS) {
            return;
        }
        *reported = Some(Instant::now());
        let _ = self.events.send(Event::Progress(rows, of)); // the caller has closed the job, which cancels it
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

/// The engine's thread, with what it tells.
type Thread<T> = (Receiver<Event>, JoinHandle<Result<T, Failure>>);

/// A job with a result. Dropping it cancels it, without waiting for its end.
pub struct Running<T> {
    cancel: Cancel,
    /// `None` once it is finished or closed.
    thread: Mutex<Option<Thread<T>>>,
}

impl<T: Send + 'static> Running<T> {
    /// Starts work on a thread.
    pub fn start(work: impl FnOnce(&Watch) -> Result<T, Failure> + Send + 'static) -> PyResult<Self> {
        let (sender, events) = sync_channel(QUEUE);
        let cancel = Cancel::default();
        let watch = Watch { cancel: cancel.clone(), events: sender, reported: Mutex::default() };
        let thread = thread::Builder::new().name("edgezoom".to_owned()).stack_size(STACK_BYTES);
        let thread =
            thread.spawn(move || work(&watch)).map_err(|error: io::Error| of_system(&error, None))?;
        Ok(Self { cancel, thread: Mutex::new(Some((events, thread))) })
    }

    /// Waits for the next event; `None` after the last one. Raises what a handler of signals raises.
    pub fn next(&self, py: Python<'_>) -> PyResult<Option<Event>> {
        loop {
            let event = py.detach(|| {
                let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
                thread.as_ref().map(|(events, _)| events.recv_timeout(SIGNALS))
            });
            match event {
                Some(Ok(event)) => return Ok(Some(event)),
                Some(Err(RecvTimeoutError::Timeout)) => py.check_signals()?,
                Some(Err(RecvTimeoutError::Disconnected)) | None => return Ok(None),
            }
        }
    }

    /// Waits for the end of the thread and returns the result. Events that are left are lost.
    pub fn finish(&self, py: Python<'_>) -> PyResult<T> {
        let result = py.detach(|| self.join());
        let result = result.ok_or_else(|| PyRuntimeError::new_err("the job is closed"))?;
        Ok(result?)
    }

    /// Ends the job and waits for the end of its thread.
    pub fn close(&self, py: Python<'_>) {
        self.cancel.cancel();
        py.detach(|| self.join());
    }

    /// The thread may need the interpreter's lock to give back the source's memory, so the caller must not hold it.
    fn join(&self) -> Option<Result<T, Failure>> {
        let (events, thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        drop(events); // a thread that waits for their reader goes on
        Some(thread.join().unwrap_or(Err(Failure::Engine(DzsaveError::Panicked))))
    }

    /// Waits for the result of a job without events.
    pub fn result(&self, py: Python<'_>) -> PyResult<T> {
        let ended = loop {
            match self.next(py) {
                Ok(Some(_)) => {}
                Ok(None) => break Ok(()),
                Err(raised) => break Err(raised),
            }
        };
        match ended {
            Ok(()) => self.finish(py),
            Err(raised) => {
                self.close(py);
                Err(raised)
            }
        }
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
