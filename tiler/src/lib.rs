//! The native side of Edgezoom: converts pictures, documents and web pages into Deep Zoom pyramids.
//!
//! | module | what it does |
//! |---|---|
//! | [`pipeline`] | converts one source into a pyramid in a sink; the path that the service and the command line share |
//! | [`bot`] | what the tiler calls itself, and what it lets publishers decide |
//! | [`fetch`] | downloads the source, under the address policy |
//! | [`arrival`] | how much of it has arrived, for what reads it meanwhile |
//! | [`browser`] | opens a web page in Chromium and streams its screenshots |
//! | [`renderer`], [`sandbox`] | decode the source and cut its tiles, in a process of its own |
//! | [`s3`] | stores the tiles |
//! | [`service`] | `tiler serve`: pulls jobs from the queue, claims them from the edge, and reports to it |
//! | [`edge_metrics`] | `tiler edge-metrics`: gives Prometheus what the Worker counts |
//! | [`failure`], [`retry`] | the failure code of each error, and whether it may pass |
//! | [`limits`] | what a conversion may cost |
//!
//! Pictures are decoded by `edgezoom-codecs`, and cut into tiles by `edgezoom-pyramid`. The subcommands are in the binary.

pub mod arrival;
mod backoff;
pub mod bot;
pub mod browser;
mod descriptors;
pub mod edge_metrics;
pub mod failure;
pub mod fetch;
pub mod http_client;
pub mod limits;
pub mod pipeline;
mod proc;
pub mod renderer;
pub mod retry;
pub mod s3;
pub mod sandbox;
pub mod secret;
pub mod service;

/// The path of the running program, even after its file was replaced. The processes of a conversion run it.
pub const OWN_PROGRAM: &str = "/proc/self/exe";
