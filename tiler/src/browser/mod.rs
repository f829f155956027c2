//! Web pages as sources: a page is loaded in Chromium, and its screenshot is taken in strips from top to bottom.
//!
//! A page is a program by an unknown author that runs on our machine. So each page has a browser of its own:
//! - a [`supervisor`] process starts the browser with a fresh profile, and removes its processes and files at the end;
//! - all its traffic goes through a [`proxy`], which applies the address policy to the addresses that it connects to;
//! - where the system allows it, [`namespaces`] separate it from the network, other processes and the machine's files; for root
//!   without them pages are refused;
//! - [`PageLimits`] bounds its time, memory and traffic.
//!
//! The screenshot is decoded like all sources, in the renderer process.
//!
//! [`Pages::open`] returns a page that is loaded and frozen. [`OpenPage::stream`] captures it into a pipe, so that a
//! renderer works on the first strips while the last ones are captured.

mod cdp;
mod content_type;
mod document;
mod document_check;
mod document_responses;
mod error;
mod executable;
mod flags;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod html_sniffing;
mod interception;
mod launch;
mod limits;
mod memory;
mod namespaces;
mod network_idle;
mod page_loader;
mod page_state;
mod pages;
mod private_root;
mod proxy;
mod screenshot;
pub mod supervisor;
mod tab;
mod tab_setup;

pub use error::PageError;
pub use executable::find as find_browser;
pub use html_sniffing::Html;
pub use limits::PageLimits;
pub use namespaces::try_out as try_namespaces;
pub use pages::{PageSettings, Pages};
pub use screenshot::{Capturing, OpenPage};
