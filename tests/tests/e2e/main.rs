//! End-to-end tests of the whole service: real systems, clients, pictures, browsers. They are one program, so that
//! tests can share a system.

mod backlog;
mod chaos;
mod collections;
mod containers;
mod conversion;
mod failures;
mod fairness;
mod hostile_page;
mod iiif;
mod kv_record;
mod link_cards;
mod local_service;
mod monitoring;
mod operator;
mod private_networks;
mod recovery;
mod sources;
mod static_files;
mod takedown;
mod uploads;
mod vectors;
mod visitor;
