//! Web pages in a real Chromium: screenshots, limits, and addresses that pages cannot reach. Each test serves its own
//! pages on a loopback address.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

pub mod processes;
pub mod screenshot;
pub mod site;

mod behaviour;
mod container;
mod convert;
mod corpus;
mod courtesy;
mod credentials;
mod failures;
mod forbidden;
mod html_sniffing;
mod layout;
mod likeness;
mod memory;
mod options;
mod picture;
mod pyramid;
mod words;
