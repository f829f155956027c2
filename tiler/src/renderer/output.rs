//! What comes out of a renderer process, once the parent has validated it.

use bytes::Bytes;
use edgezoom_codecs::Damage;
use edgezoom_content::{Dzi, PreviewKind};
use edgezoom_pyramid::Tile;

/// What a renderer process gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// The picture's header is read, and this will be the pyramid. Comes first.
    Started(Dzi),
    /// The share of the picture's rows that is read, from 0 to 1.
    Progress(f64),
    /// A tile. They come in no particular order, each once.
    Tile(Tile),
    /// A small picture of the whole, in the format of the tiles. Each comes once, if they were asked for.
    Preview(PreviewKind, Bytes),
    /// What is there of the picture, small, in JPEG, if that was asked for. It may come at any time before the end.
    Coarse(Bytes),
    /// All tiles have come, and the process has exited with success. Comes last.
    Finished {
        /// The pyramid.
        dzi: Dzi,
        /// What is missing of the picture, because its file is damaged.
        damage: Option<Damage>,
    },
}
