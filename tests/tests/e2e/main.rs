//! The whole service, end to end: real systems, real clients, real pictures, a real browser. One program, so that what
//! can share a system does.

mod addresses;
mod browser;
mod chaos;
mod conversion;
mod dev;
mod failures;
mod fairness;
mod hostile;
mod iiif;
mod monitoring;
mod operator;
mod overload;
mod queue;
mod record;
mod retries;
mod sources;
mod takedown;
mod tiler_death;
mod uploads;
