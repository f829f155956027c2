//! The whole service, end to end: real systems, real clients, real pictures, a real browser. One program, so that what
//! can share a system does.

mod addresses;
mod browser;
mod conversion;
mod dev;
mod failures;
mod iiif;
mod overload;
mod queue;
mod record;
mod retries;
mod sources;
mod tiler_death;
mod viewer;
