//! The engine as a Python module. The Python package beside it, `edgezoom/`, has the functions that people call; this
//! module starts the engine's work and passes on what it makes. It knows nothing of files' formats or of tiles.
//!
//! | file | what it does |
//! |---|---|
//! | `job.rs` | runs the engine on a thread of its own, while the caller's waits without the interpreter's lock |
//! | `source.rs` | opens paths, bytes and arrays as pictures |
//! | `buffer.rs` | the memory of Python's objects, the only `unsafe` code |
//! | `save.rs` | pyramids: to a folder, an archive, memory or the caller |
//! | `settings.rs` | options by libvips' names |
//! | `picture.rs` | size, regions and words of a picture |
//! | `errors.rs` | the engine's errors as exceptions |

// A program cannot be linked without Python's library, and Cargo links one to test each library of the workspace.
#[cfg(not(test))]
mod buffer;
#[cfg(not(test))]
mod errors;
#[cfg(not(test))]
mod job;
#[cfg(not(test))]
mod picture;
#[cfg(not(test))]
mod save;
#[cfg(not(test))]
mod settings;
#[cfg(not(test))]
mod source;

#[cfg(not(test))]
#[pyo3::pymodule]
mod _edgezoom {
    #[pymodule_export]
    use crate::errors::{CorruptPicture, EdgezoomError, PictureTooLarge, UnknownFormat, UnsupportedPicture};
    #[pymodule_export]
    use crate::picture::{describe, region, words};
    #[pymodule_export]
    use crate::save::{Job, save};
}
