//! Builds the tiles of a pyramid: one thread reads and halves, the others encode.
//!
//! The calling thread reads the picture and halves it level by level ([`Downsampler`]). Encoder threads cut the strips
//! of all levels into tiles ([`Cutter`]). All allowed threads encode, although the calling thread works too: an
//! uncompressed picture takes longer to encode than to read, so no core idles while the reader waits. A JPEG takes
//! longer to read, and the encoders wait. If only one thread is allowed, the calling thread does both.

use std::io;
use std::num::NonZeroUsize;
use std::ops::DerefMut;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, ScopedJoinHandle};

use edgezoom_codecs::{Damage, Jpeg, Layout, Orientation, RowReader, SourceError};
use edgezoom_geometry::{Dzi, PreviewKind, Size, TileFormat};
use edgezoom_jpeg::decoder::requantise::TileBlocks;
use edgezoom_jpeg::ycbcr420::ROWS;
use edgezoom_text::Text;

use crate::background::Background;
use crate::build_error::BuildError;
use crate::coarse::{self, Coarse, CoarseMaker};
use crate::cutter::{Cutter, Partition};
use crate::downsampler::Downsampler;
use crate::geometry::{self, Level};
use crate::preview::{PreviewMaker, previews};
use crate::strip::Strip;
use crate::tile_encoder::Encoding;
use crate::words::WordFinder;
use crate::{RegionShrink, TileOutput};

/// Builds the tiles of the pyramid that `dzi` describes. The picture must have the size of `dzi` after it is turned by
/// its [orientation](RowReader::orientation), and no opacity if the tiles are JPEG.
///
/// A picture that has to be turned is not buffered as a whole: its tiles are collected and turned one by one.
///
/// This is for programs that choose size and format themselves. [`TileSource`](crate::TileSource) chooses them by the
/// picture.
///
/// # Errors
/// Returns the first error. The output may have received tiles before.
pub fn build_tiles(
    reader: &mut dyn RowReader,
    dzi: &Dzi,
    quality: u8,
    threads: NonZeroUsize,
    output: &dyn TileOutput,
) -> Result<(), BuildError> {
    let (first_level, shrink, background) = (0, RegionShrink::Mean, Background::NONE);
    let wanted = Wanted {
        quality,
        threads,
        previews: false,
        coarse: None,
        text: None,
        first_level,
        shrink,
        background,
    };
    build(reader, dzi, wanted, output).map(|_| ())
}

/// Settings of a build.
pub struct Wanted<'a> {
    /// JPEG quality, 1 to 100.
    pub quality: u8,
    pub threads: NonZeroUsize,
    /// True to make previews too.
    pub previews: bool,
    /// Settings of coarse pictures, if they are made.
    pub coarse: Option<&'a Coarse>,
    /// Words that the picture may show, [bounded](Text::bounded).
    pub text: Option<&'a Text>,
    /// Number of the smallest level.
    pub first_level: u32,
    /// Choice of the pixels of smaller levels. Must be the mean for planes.
    pub shrink: RegionShrink,
    pub background: Background,
}

/// Builds tiles as [`build_tiles`] does, with previews and coarse pictures if they are wanted. Returns the picture's
/// damage.
///
/// Drops the reader while the last tiles are encoded, because freeing a picture that was held in memory takes time.
pub fn build<'a>(
    mut reader: impl DerefMut<Target = dyn RowReader + 'a>,
    dzi: &Dzi,
    wanted: Wanted<'_>,
    output: &dyn TileOutput,
) -> Result<Option<Damage>, BuildError> {
    let Wanted { quality, threads, previews: with_previews, coarse, text, first_level, shrink, background } =
        wanted;
    let (layout, orientation) = (reader.layout(), reader.orientation());
    let encoding = Encoding { format: dzi.tile_format, quality, layout, orientation };
    let levels = geometry::levels(dzi, first_level, layout, orientation);
    let has_common_blocks = has_common_blocks(dzi, reader.size(), orientation);
    let jpeg = reader.as_jpeg().filter(|jpeg| has_common_blocks && jpeg.steps[0].is_some());
    let (of_blocks, tiles) = match jpeg {
        None => (None, None),
        Some(Jpeg { steps, blocks }) => {
            let steps =
                if orientation.swapped { steps.map(|table| table.as_ref().map(transposed)) } else { steps };
            let quantisation = encoding.quantisation_for(&steps);
            let tiles = TileBlocks { quantisation: quantisation.clone(), side: dzi.tile_size, orientation };
            let keeps = can_keep_blocks(dzi, &levels, encoding, &wanted) && blocks.begin_blocks(&tiles);
            (Some(quantisation), keeps.then_some(tiles))
        }
    };
    let stored_rows = u64::from(reader.size().height.max(1));
    let progress = |rows| {
        let upright_rows = u64::from(rows) * u64::from(dzi.size.height) / stored_rows;
        Ok(output.progress(upright_rows as u32)?)
    };
    output.begin(dzi)?;
    let of_pixels = tiles.is_none() && layout != Layout::YCbCr420;
    let cutters = u32::try_from(threads.get()).unwrap_or(u32::MAX);
    let encoder = |index| {
        let partition = Partition { index, count: cutters };
        let cutter = Cutter::new(&levels, encoding, of_blocks.as_ref(), background, output, partition);
        // The last thread makes the previews: levels of one column are spread over the threads from the first on.
        let has_previews = with_previews && index + 1 == cutters;
        let previews = if has_previews { previews(dzi, &levels, encoding, output) } else { Vec::new() };
        let coarse = coarse.filter(|_| index == 0).map(|coarse| coarse.start(&levels, encoding, output));
        let words = text.filter(|_| index == 0);
        let words = words.and_then(|text| WordFinder::new(text, &levels, of_pixels, layout, output));
        Encoder { cutter, previews, coarse, words }
    };
    if cutters == 1 {
        let mut encoder = encoder(0);
        Downsampler::new(&levels, layout, shrink, tiles)
            .run(&mut *reader, progress, |strip| Ok(encoder.take(&strip)?))?;
        return Ok(reader.damage());
    }
    thread::scope(|scope| {
        let started = (0..cutters).map(|index| {
            let (sender, strips) = channel();
            let encoder = &encoder;
            // Made by the thread itself, because an encoder cannot be sent.
            let encode = move || take_all(encoder(index), strips);
            Ok((sender, thread::Builder::new().spawn_scoped(scope, encode)?))
        });
        let (senders, threads) = started.collect::<Result<(Vec<_>, Vec<_>), SourceError>>()?;
        let downsampler = Downsampler::new(&levels, layout, shrink, tiles);
        let read = downsampler.run(&mut *reader, progress, |strip| send(&senders, &strip));
        drop(senders);
        let damage = reader.damage();
        drop(reader);
        let cut = threads.into_iter().map(join).fold(Ok(()), Result::and);
        // When an encoder thread ends early, its error is the cause, and the failed send only the consequence.
        cut.and(read).map(|()| damage)
    })
}

/// Returns true if the MCUs of full-size tiles are MCUs of a JPEG of this stored size.
fn has_common_blocks(dzi: &Dzi, Size { width, height }: Size, orientation: Orientation) -> bool {
    let is_whole = |pixels: u32| pixels.is_multiple_of(ROWS);
    dzi.tile_overlap == 0
        && is_whole(dzi.tile_size)
        && (!orientation.from_right || is_whole(width))
        && (!orientation.from_bottom || is_whole(height))
}

/// Returns true if tiles of the full level can be made of the source's blocks without their pixels.
fn can_keep_blocks(dzi: &Dzi, levels: &[Level], encoding: Encoding, wanted: &Wanted<'_>) -> bool {
    let [.., below, _] = levels else { return false };
    let below = dzi.level_size(below.number);
    let is_enough = |size: Size| below.width >= size.width && below.height >= size.height;
    encoding.format == TileFormat::Jpg
        && wanted.shrink == RegionShrink::Mean
        && !wanted.background.is_used()
        && (!wanted.previews || PreviewKind::ALL.iter().all(|kind| is_enough(kind.size(dzi.size))))
        && (wanted.coarse.is_none() || dzi.size.width.max(dzi.size.height) > coarse::MAX_SIDE)
}

fn transposed(table: &[u16; 64]) -> [u16; 64] {
    std::array::from_fn(|place| table[place % 8 * 8 + place / 8])
}

/// State of one encoder thread.
struct Encoder<'a> {
    cutter: Cutter<'a>,
    previews: Vec<PreviewMaker<'a>>,
    coarse: Option<CoarseMaker<'a>>,
    words: Option<WordFinder<'a>>,
}

impl Encoder<'_> {
    fn take(&mut self, strip: &Strip) -> io::Result<()> {
        if let Some(coarse) = &mut self.coarse {
            coarse.take(strip)?;
        }
        if let Some(words) = &mut self.words {
            words.take(strip)?;
        }
        self.cutter.cut(strip)?;
        self.previews.iter_mut().try_for_each(|preview| preview.take(strip))
    }
}

/// Encodes strips until the channel is closed. Returns at the first error, which closes the channel.
fn take_all(mut encoder: Encoder<'_>, strips: Receiver<Strip>) -> io::Result<()> {
    strips.into_iter().try_for_each(|strip| encoder.take(&strip))
}

fn send(senders: &[Sender<Strip>], strip: &Strip) -> Result<(), BuildError> {
    senders.iter().try_for_each(|sender| sender.send(strip.clone()).map_err(|_| BuildError::Thread))
}

fn join(thread: ScopedJoinHandle<'_, io::Result<()>>) -> Result<(), BuildError> {
    Ok(thread.join().map_err(|_| BuildError::Thread)??)
}
