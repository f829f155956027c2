//! Finds the words that the picture shows, in the rows of a level.

use std::io;

use edgezoom_codecs::Layout;
use edgezoom_geometry::Size;
use edgezoom_text::{Ink, Text};

use crate::TileOutput;
use crate::geometry::Level;
use crate::strip::Strip;

/// Passes the words that a level shows to the output, after its last row.
pub struct WordFinder<'a> {
    level: &'a Level,
    layout: Layout,
    ink: Ink<'a>,
    output: &'a dyn TileOutput,
    /// Number of the level's rows so far.
    rows: u32,
}

impl<'a> WordFinder<'a> {
    /// Begins with a level. `of_pixels`: the full level is read as pixels; otherwise that below it is looked at, which
    /// always has some.
    pub fn new(
        text: &'a Text,
        levels: &'a [Level],
        of_pixels: bool,
        layout: Layout,
        output: &'a dyn TileOutput,
    ) -> Option<Self> {
        let full = levels.last()?;
        let below = levels.iter().rev().nth(1).filter(|_| !of_pixels);
        let level = below.unwrap_or(full);
        let size = |level: &Level| Size { width: level.columns.side, height: level.rows.side };
        let ink = Ink::new(text, size(full), size(level));
        Some(Self { level, layout, ink, output, rows: 0 })
    }

    /// Adds a strip of any level. A level's strips must be added in order.
    pub fn take(&mut self, strip: &Strip) -> io::Result<()> {
        let Strip::Rows(strip) = strip else { return Ok(()) };
        if strip.level != self.level.number {
            return Ok(());
        }
        strip.for_each_row(self.layout, self.level, |row| {
            self.ink.row(row, self.layout.channels());
            self.rows += 1;
            Ok(())
        })?;
        if self.rows < self.level.rows.side { Ok(()) } else { self.output.text(self.ink.shown()) }
    }
}
