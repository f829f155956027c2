//! Builds a pyramid: reads the source, halves it level by level, and has the strips of all levels cut into tiles.
//!
//! The calling thread reads and halves; as many others as there may be threads cut, so that no core idles while the reader
//! waits for them: what is read without decoding takes longer to cut than to read. With one thread in all, it does both.
//! Reading a JPEG and cutting it cost about the same; with more than two cores the cutters wait for the reader.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, ScopedJoinHandle};

use edgezoom_content::Dzi;

use crate::cutter::{Cutter, Share};
use crate::geometry::{self, Level};
use crate::shrink::{halve_pairs, halve_rows};
use crate::strip::{Pool, Strip};
use crate::{Encoding, Output};
use edgezoom_codecs::{Layout, RowReader, SourceError, ycbcr420};

/// The bytes of a strip. It should still be in a core's cache when its tiles are cut: measured at 18,000 pixels of width
/// on 2 MiB of cache for each core, strips of 3.4 MB cost 15 % more than those of 0.9 MB, and smaller ones save nothing.
const STRIP_BYTES: usize = 512 << 10;
/// The rows of a strip of a narrow picture.
const MOST_ROWS: u32 = 64;
/// The strips of a level that may exist at once: one being filled, one being cut, and slack for when a thread is held up.
const STRIPS_AT_ONCE: usize = 8;

/// Why a pyramid could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The source gave no more rows.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A tile was not taken, or could not be encoded.
    #[error("a tile could not be delivered: {0}")]
    Output(#[from] io::Error),
    /// A thread that cuts tiles panicked.
    #[error("a thread that encodes tiles stopped")]
    Cutter,
}

/// Builds the pyramid that `dzi` describes of `source`, whose size it must have, with so many threads.
///
/// # Errors
/// The first that came up; tiles may have gone out before.
pub fn build(
    source: &mut dyn RowReader,
    dzi: &Dzi,
    encoding: Encoding,
    threads: NonZeroUsize,
    output: &dyn Output,
) -> Result<(), BuildError> {
    let levels = geometry::levels(dzi, encoding.layout);
    let cutters = u32::try_from(threads.get()).unwrap_or(u32::MAX);
    if cutters == 1 {
        let mut cutter = Cutter::new(&levels, encoding, output, Share { index: 0, of: 1 });
        return Cascade::new(&levels, encoding.layout).run(source, output, |strip| Ok(cutter.cut(&strip)?));
    }
    thread::scope(|scope| {
        let (inboxes, threads): (Vec<_>, Vec<_>) = (0..cutters)
            .map(|index| {
                let (inbox, strips) = channel();
                let (levels, share) = (&levels, Share { index, of: cutters });
                (inbox, scope.spawn(move || work(Cutter::new(levels, encoding, output, share), strips)))
            })
            .unzip();
        let read = Cascade::new(&levels, encoding.layout).run(source, output, |strip| send(&inboxes, &strip));
        drop(inboxes);
        let cut = threads.into_iter().map(join).fold(Ok(()), Result::and);
        // A cutter that stopped is the cause, that strips were not taken only its consequence.
        cut.and(read)
    })
}

/// Cuts what comes in until there is no more. Ends at the first error, which closes the inbox.
fn work(mut cutter: Cutter<'_>, strips: Receiver<Arc<Strip>>) -> io::Result<()> {
    strips.into_iter().try_for_each(|strip| cutter.cut(&strip))
}

fn send(inboxes: &[Sender<Arc<Strip>>], strip: &Arc<Strip>) -> Result<(), BuildError> {
    inboxes.iter().try_for_each(|inbox| inbox.send(Arc::clone(strip)).map_err(|_| BuildError::Cutter))
}

fn join(thread: ScopedJoinHandle<'_, io::Result<()>>) -> Result<(), BuildError> {
    Ok(thread.join().map_err(|_| BuildError::Cutter)??)
}

/// The levels while they are being filled, from 0 to the full picture.
struct Cascade<'a> {
    layout: Layout,
    levels: Vec<Filling<'a>>,
}

struct Filling<'a> {
    level: &'a Level,
    pool: Arc<Pool>,
    strip: Option<Strip>,
    /// The row that the next strip begins with.
    next: u32,
    /// The rows of a strip.
    rows: u32,
    /// The width of the level above.
    above_width: u32,
}

impl<'a> Cascade<'a> {
    fn new(levels: &'a [Level], layout: Layout) -> Self {
        let widest = levels.iter().map(|level| level.row_bytes).max().unwrap_or(1);
        // What is read at once, and halved without looking at another strip.
        let unit = layout.rows_read(2);
        let rows = u32::try_from(STRIP_BYTES / widest.max(1)).unwrap_or(MOST_ROWS);
        let rows = rows.clamp(unit, MOST_ROWS) / unit * unit;
        let above_widths = levels.iter().skip(1).map(|level| level.size.width).chain([0]);
        let levels = levels
            .iter()
            .zip(above_widths)
            .map(|(level, above_width)| {
                let pool = Pool::new(STRIPS_AT_ONCE, rows as usize * level.row_bytes);
                Filling { level, pool, strip: None, next: 0, rows, above_width }
            })
            .collect();
        Self { layout, levels }
    }

    /// Reads the source to its end and gives the strips of all levels to `cut`, those of a level in order.
    fn run(
        mut self,
        source: &mut dyn RowReader,
        output: &dyn Output,
        mut cut: impl FnMut(Arc<Strip>) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        let Some((full, below)) = self.levels.split_last_mut() else { return Ok(()) };
        while full.next < full.level.size.height {
            let mut strip = full.begin();
            let rows = full.rows.min(full.level.size.height - full.next);
            source.read_rows(strip.extend(rows, self.layout.rows_read(rows)))?;
            full.next += rows;
            descend(self.layout, below, strip, &mut cut)?;
            output.progress(full.next)?;
        }
        Ok(())
    }
}

/// Hands a full strip to the cutters and halves it into the level below, and so on as long as that fills a strip there.
fn descend(
    layout: Layout,
    mut levels: &mut [Filling<'_>],
    strip: Strip,
    cut: &mut impl FnMut(Arc<Strip>) -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    let mut strip = Arc::new(strip);
    loop {
        cut(Arc::clone(&strip))?;
        let Some((level, below)) = levels.split_last_mut() else { return Ok(()) };
        let Some(filled) = level.take_halved(layout, &strip) else { return Ok(()) };
        strip = Arc::new(filled);
        levels = below;
    }
}

impl Filling<'_> {
    /// A strip of this level, empty.
    fn begin(&self) -> Strip {
        self.pool.strip(self.level.number, self.next, self.rows, self.level.row_bytes)
    }

    /// Takes the strip of the level above, halved. Gives this level's own strip when it is full or the last.
    fn take_halved(&mut self, layout: Layout, above: &Strip) -> Option<Strip> {
        let mut strip = self.strip.take().unwrap_or_else(|| self.begin());
        let above_rows = above.rows();
        let rows = above_rows.len() as u32;
        let halved = rows.div_ceil(2);
        if layout == Layout::YCbCr420 {
            let out = strip.extend(halved, halved.next_multiple_of(2));
            let mut pairs = above.pairs(self.above_width);
            for (number, out) in (0..).zip(ycbcr420::pairs_mut(out, self.level.size.width)) {
                if let Some(upper) = pairs.next() {
                    halve_pairs(self.above_width, upper, pairs.next(), rows - 4 * number, out);
                }
            }
        } else {
            let above_bytes = layout.row_bytes(self.above_width);
            let out = strip.extend(halved, halved).chunks_mut(self.level.row_bytes);
            for (pair, out) in above.pixels_of(&above_rows).chunks(2 * above_bytes).zip(out) {
                let (upper, lower) = pair.split_at(above_bytes);
                halve_rows(layout, upper, if lower.is_empty() { upper } else { lower }, out);
            }
        }
        self.next = strip.rows().end;
        if strip.is_full() || self.next == self.level.size.height {
            return Some(strip);
        }
        self.strip = Some(strip);
        None
    }
}
