//! Downloads a source from a URL that a client chose into an unnamed temporary file.
//!
//! A client could choose a URL of the machines around us (server-side request forgery). So the
//! [`AddressPolicy`](edgezoom_content::AddressPolicy) applies to the addresses that are connected to: literal addresses
//! are checked before each request, names go through a resolver that returns only permitted addresses (see
//! [`resolver`]). Redirects are followed here, not by the HTTP client, and each target is parsed as a
//! [`SourceUrl`](edgezoom_content::SourceUrl). Sizes and times are limited. The format of a source is not determined
//! here.
//!
//! A download that breaks off goes on where it ended, in a further request under the same policy, if the server can tell
//! that the source is still the same ([`resumption`]); otherwise it begins anew. How often, [`tries`] decides.
//! A server is asked for one thing after the other ([`host_slots`]), and for its robots.txt before a web page is opened
//! ([`visit`]).
//! What reads the source while it arrives learns of each chunk, and of a new beginning
//! ([`Arrival`](crate::arrival::Arrival)).

mod download;
mod error;
mod fetcher;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod host_slots;
mod redirect;
pub mod resolver;
mod resumption;
mod robots;
mod tries;
mod visit;

pub use download::{Fetched, Received};
pub use error::{FetchError, is_transient_status};
pub use fetcher::Fetcher;
