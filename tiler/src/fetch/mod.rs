//! Downloads a source from a URL that a client chose into an unlinked temporary file.
//!
//! A client could choose a URL of the machines around us (server-side request forgery). So the
//! [`AddressPolicy`](edgezoom_content::AddressPolicy) applies to the addresses that are connected to: literal addresses
//! are checked before each request, and names go through a resolver that returns only permitted addresses
//! ([`resolver`]). Redirects are followed here, not by the HTTP client, and each target is parsed as a
//! [`SourceUrl`](edgezoom_content::SourceUrl). Sizes and times are limited. This module does not determine a source's
//! format.
//!
//! Headers are read as leniently as browsers read them. A redirect's [`cookies`] are sent back within the same download.
//! [`codings`] are only named here.
//!
//! A download that breaks off is resumed with a further request under the same policy, if the server can prove that the
//! source is unchanged ([`resumption`]); otherwise it starts over. [`tries`] limits the number of requests.
//! [`host_slots`] spaces out the requests to a host, [`pace`] those for the tiles of a picture, and [`visit`] asks its
//! robots.txt before a web page is opened.

mod codings;
mod cookies;
mod download;
mod error;
mod fetcher;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod host_slots;
mod pace;
mod redirect;
pub mod resolver;
mod resumption;
mod robots;
mod rules_cache;
mod tries;
mod visit;

pub use download::Fetched;
pub use error::FetchError;
pub use fetcher::Fetcher;
pub use pace::Pace;
pub use tries::is_transient_status;
