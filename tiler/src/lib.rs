//! The native side of Edgezoom: converts pictures, documents and web pages into Deep Zoom pyramids.
//!
//! | module | purpose |
//! |---|---|
//! | [`pipeline`] | converts one source into a pyramid in a sink, for the service and the command line alike |
//! | [`bot`] | the tiler's `User-Agent` |
//! | [`fetch`] | downloads the source under the address policy |
//! | [`browser`] | opens a web page in Chromium and streams its screenshots |
//! | [`renderer`], [`sandbox`] | decode the source and cut its tiles in a separate process |
//! | [`s3`] | stores the tiles |
//! | [`service`] | `tiler serve`: pulls jobs from the queue, claims them from the edge, and reports to it |
//! | [`edge_metrics`] | `tiler edge-metrics`: exports the Worker's counters to Prometheus |
//! | [`failure`] | the failure code of each error, and whether it is retried |
//! | [`limits`] | the limits of a conversion |
//! | [`local_networks`] | the networks that this machine is in |
//!
//! `edgezoom-codecs` decodes pictures, and `edgezoom-pyramid` cuts them into tiles. The binary contains the
//! subcommands.

pub mod bot;
pub mod browser;
pub mod credentials;
mod descriptors;
pub mod edge_metrics;
pub mod failure;
pub mod fetch;
pub mod http_client;
pub mod limits;
pub mod local_networks;
pub mod nat64;
pub mod pipeline;
pub mod proc;
pub mod renderer;
pub mod s3;
pub mod sandbox;
pub mod secret;
pub mod service;

/// Path of the running program, valid even after its file was replaced. The processes of a conversion run it.
pub const OWN_PROGRAM: &str = "/proc/self/exe";
