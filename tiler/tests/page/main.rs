//! Web pages in real Chromium: what is captured, what it may cost, and what it cannot reach. Each test serves its pages
//! itself, on a loopback address of its own.

mod site;
mod view;

mod behaviour;
mod failures;
mod forbidden;
mod picture;
