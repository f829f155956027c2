//! Building blocks of the end-to-end tests and benchmarks. They drive the built programs from outside, as users and
//! clients do: a [`System`] is a real `cargo xtask dev`, a [`SourceServer`] serves [`picture`]s in place of the web, a
//! [`Client`] makes requests, and a [`pyramid`] is judged by what is served. What a test must see is held until it has
//! seen it.
//!
//! Nothing here knows the service's internals. The expected pyramid is computed independently of the code under test.

pub mod chaos;
pub mod client;
mod gate;
pub mod held;
pub mod processes;
pub mod programs;
pub mod pyramid;
pub mod source_server;
pub mod system;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

pub use client::{Client, Course};
pub use edgezoom_test_pictures as picture;
pub use edgezoom_test_support::patience;
pub use gate::Gate;
pub use held::HoldingProxy;
pub use source_server::{Source, SourceServer};
pub use system::{Options, Shared, System};

/// Pause between two looks at what a test waits for.
const LOOK: Duration = Duration::from_millis(20);

/// Looks until there is something, and returns it.
///
/// # Errors
/// There is nothing after [`patience`], or a look fails.
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + patience();
    loop {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        ensure!(Instant::now() < deadline, "never came: {what}");
        tokio::time::sleep(LOOK).await;
    }
}
