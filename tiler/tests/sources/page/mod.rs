//! Web pages in real Chromium: what is captured, what it may cost, and what it cannot reach. Each test serves its pages
//! itself, on a loopback address of its own.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

pub mod processes;
pub mod site;
pub mod view;

mod behaviour;
mod convert;
mod failures;
mod forbidden;
mod kinds;
mod likeness;
mod memory;
mod oddities;
mod picture;
mod pyramid;
