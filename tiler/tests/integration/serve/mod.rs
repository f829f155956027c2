//! Tests `tiler serve` against a queue, an edge, a store and servers of sources that the test controls.

#![allow(clippy::unwrap_used)] // clippy.toml allows it in test functions, but not in their helpers

mod backlog;
mod claims;
mod early;
mod jobs;
mod leases;
mod monitoring;
mod pages;
mod retries;
mod shutdown;
mod store;
mod tiler;
mod turn;
mod uploads;
mod world;

use edgezoom_codecs::Layout;
use edgezoom_content::protocol::Outcome;
use edgezoom_content::{Dzi, FailureCode};
use edgezoom_test_support::Picture;
use turn::{Gate, Turn};
use world::{Source, World, WorldState};

const ID: &str = "6qy4OXfXSid";
const OTHER: &str = "ILiFH96DkXP";

/// Returns a picture of 1,600 × 1,100 pixels: 12 tiles in the last level, about 30 altogether. Behind the pixels it states
/// who made it.
fn picture() -> Source {
    picture_of(1600, 1100)
}

fn picture_of(width: u32, height: u32) -> Source {
    let picture =
        Picture::new(width, height, Layout::Rgb, |x, y| [x as u8, y as u8, ((y * width + x) % 251) as u8, 0]);
    let mut bytes = vec![];
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&picture.pixels).unwrap();
    writer.write_chunk(png::chunk::tEXt, b"Author\0Ann\n\x01Bee").unwrap();
    writer.finish().unwrap();
    Source::Bytes(bytes.into())
}

/// Returns the picture, of which a gate holds the second half.
fn held_picture(gate: &Gate) -> Source {
    let Source::Bytes(file) = picture() else { panic!("it is a file") };
    let (first, rest) = (file.slice(..file.len() / 2), file.slice(file.len() / 2..));
    Source::Turns(vec![Turn { length: file.len(), tag: None, from: None, first, rest, gate: gate.clone() }])
}

async fn world() -> World {
    let world = World::new().await;
    world.state().sources.insert("picture".into(), picture());
    world
}

fn finished(state: &WorldState) -> Option<Dzi> {
    state.reports().into_iter().find_map(|outcome| match outcome {
        Outcome::Finished { finished } => Some(finished.dzi),
        _ => None,
    })
}

fn failure(state: &WorldState) -> Option<(FailureCode, String)> {
    state.reports().into_iter().find_map(|outcome| match outcome {
        Outcome::GaveUp { failure, .. } => Some((failure.code, failure.message.clone())),
        _ => None,
    })
}

/// Returns the keys of all stored objects.
fn stored(state: &WorldState) -> Vec<&str> {
    state.objects.keys().map(String::as_str).collect()
}
