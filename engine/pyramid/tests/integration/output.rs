//! A tile output that keeps everything in memory.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Mutex;

use edgezoom_codecs::RowReader;
use edgezoom_geometry::Dzi;
use edgezoom_pyramid::{PreviewKind, TileCoord, TileOutput};

/// Records everything that the builder outputs.
#[derive(Default)]
pub struct MemoryOutput {
    pub begun: Mutex<Vec<Dzi>>,
    pub tiles: Mutex<BTreeMap<TileCoord, Vec<u8>>>,
    pub progress: Mutex<Vec<u32>>,
    pub previews: Mutex<Vec<(PreviewKind, Vec<u8>)>>,
    pub coarse: Mutex<Vec<Vec<u8>>>,
}

impl TileOutput for MemoryOutput {
    fn begin(&self, dzi: &Dzi) -> io::Result<()> {
        assert!(self.tiles.lock().unwrap().is_empty(), "`begin` was called after a tile");
        self.begun.lock().unwrap().push(*dzi);
        Ok(())
    }

    fn tile(&self, coord: TileCoord, bytes: &[u8]) -> io::Result<()> {
        let before = self.tiles.lock().unwrap().insert(coord, bytes.to_vec());
        assert!(before.is_none(), "{coord:?} was output twice");
        Ok(())
    }

    fn preview(&self, kind: PreviewKind, bytes: &[u8]) -> io::Result<()> {
        self.previews.lock().unwrap().push((kind, bytes.to_vec()));
        Ok(())
    }

    fn coarse(&self, bytes: &[u8]) -> io::Result<()> {
        self.coarse.lock().unwrap().push(bytes.to_vec());
        Ok(())
    }

    fn progress(&self, rows: u32) -> io::Result<()> {
        self.progress.lock().unwrap().push(rows);
        Ok(())
    }
}

/// Builds a picture's pyramid and returns its tiles. Also checks the descriptor and the progress.
pub fn build(
    reader: &mut dyn RowReader,
    dzi: &Dzi,
    quality: u8,
    threads: usize,
) -> BTreeMap<TileCoord, Vec<u8>> {
    let output = MemoryOutput::default();
    let threads = NonZeroUsize::new(threads).unwrap();
    edgezoom_pyramid::build_tiles(reader, dzi, quality, threads, &output).unwrap();
    assert_eq!(output.begun.into_inner().unwrap(), [*dzi]);
    let progress = output.progress.into_inner().unwrap();
    assert!(progress.is_sorted());
    assert_eq!(progress.last(), Some(&dzi.size.height));
    output.tiles.into_inner().unwrap()
}
