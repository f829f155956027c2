//! The threads of a pipeline.

use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Work that several threads do together.
pub trait Work: Send + Sync + 'static {
    /// Does tasks until there are no more, or the work is closed.
    fn work(&self);

    /// Lets all threads end after the tasks that they do.
    fn close(&self);
}

/// Threads and their work. When dropped, the work is closed, and the threads end.
pub struct Threads<W: Work> {
    work: Arc<W>,
    threads: Vec<JoinHandle<()>>,
}

impl<W: Work> Threads<W> {
    /// Starts up to `count` threads.
    ///
    /// # Errors
    /// If none can be started.
    pub fn start(work: W, count: usize) -> io::Result<Self> {
        let mut threads = Self { work: Arc::new(work), threads: Vec::new() };
        for number in 0..count {
            let work = Arc::clone(&threads.work);
            let run = move || {
                let _closing = ClosedByPanic(&*work);
                work.work();
            };
            match thread::Builder::new().name("jpeg".to_owned()).spawn(run) {
                Ok(thread) => threads.threads.push(thread),
                Err(error) if number == 0 => return Err(error),
                Err(_) => break, // fewer threads do it, too
            }
        }
        Ok(threads)
    }
}

impl<W: Work> Deref for Threads<W> {
    type Target = W;

    fn deref(&self) -> &W {
        &self.work
    }
}

impl<W: Work> Drop for Threads<W> {
    fn drop(&mut self) {
        self.work.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join(); // a panic was reported when it occurred
        }
    }
}

/// Closes the work if its thread panics: no other thread would do what that one had begun.
struct ClosedByPanic<'a, W: Work>(&'a W);

impl<W: Work> Drop for ClosedByPanic<'_, W> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.close();
        }
    }
}
