//! Ending from another thread what a decoder does.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that ends the work with a picture, from any thread. Clones are the same flag.
///
/// Reads of a [file](crate::SourceFile::cancelled_by) with it fail, so opening and reading end at the next read of bytes.
/// Decoders that first read all bytes and then decode all pixels, such as AVIF's, end after that.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Sets the flag, for good.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true if the flag is set.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn check(&self) -> io::Result<()> {
        if self.is_cancelled() { Err(io::Error::other("cancelled")) } else { Ok(()) }
    }
}
