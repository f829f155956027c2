//! Downloads a picture that its server offers only as tiles, one after the other and slowly, into one file for the renderer.
//! Owners who offer no whole picture may object, so this happens only at hosts that the operator names.
//!
//! Tiles are not parsed here: their URLs come from the process that has read the description, and are checked as redirects
//! are.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use edgezoom_codecs::Mosaic;
use edgezoom_content::address::{HostPattern, RefusedAddress};
use edgezoom_content::{Failure, FailureCode, SourceUrl};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;

use super::{Pipeline, PipelineError, Progress};
use crate::fetch::{FetchError, Fetched, Fetcher, Pace};
use crate::renderer::{RenderError, Tiles};

/// Settings for pictures that exist only as tiles.
#[derive(Clone, Debug)]
pub struct StitchSettings {
    /// Hosts, with all names below them, whose tiles may be put together.
    pub hosts: Vec<HostPattern>,
    /// Shortest pause between the starts of two requests.
    pub pause: Duration,
}

impl Default for StitchSettings {
    fn default() -> Self {
        Self { hosts: Vec::new(), pause: Duration::from_secs(1) }
    }
}

impl StitchSettings {
    fn names_host_of(&self, url: &str) -> bool {
        let url = Url::parse(url).ok();
        let host = url.as_ref().and_then(Url::host);
        host.is_some_and(|host| self.hosts.iter().any(|known| known.matches(&host)))
    }
}

/// Maximum number of tiles. At one request a second, as many take half an hour.
const MAX_TILES: u64 = 2_000;
/// Maximum time of all requests.
const MAX_TIME: Duration = Duration::from_secs(60 * 60);
/// Longest pause for which a server may ask. The requests for the tiles so far would be lost otherwise.
const LONGEST_WISH: Duration = Duration::from_secs(5 * 60);
/// Maximum number of such pauses.
const MAX_WISHES: u32 = 10;
/// Maximum number of tiles that are missing before any was there.
const MAX_IN_VAIN: u64 = 4;

/// A download of tiles.
struct Stitching<'a> {
    fetcher: &'a Fetcher,
    redirects: u32,
    pace: Pace,
    deadline: Instant,
    wishes: u32,
}

impl Pipeline {
    /// Returns true if the operator has named the host of the tiles.
    pub(super) fn may_stitch(&self, tiles: &Tiles) -> bool {
        self.settings.stitching.names_host_of(&tiles.url(0, 0))
    }

    /// Downloads all tiles, to whose description `redirects` redirects have led, into a file for
    /// [`Mosaic::prepare`].
    pub(super) async fn stitched(
        &self,
        tiles: &Tiles,
        redirects: u32,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<File, PipelineError> {
        let most = self.settings.limits.source_bytes;
        let count = checked(&tiles.mosaic)?;
        let fetcher: &Fetcher = self.fetcher().await?;
        let pause = self.settings.stitching.pause.max(fetcher.crawl_delay(&url_of(tiles, 0, 0)?).await?);
        if pause.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX)) > MAX_TIME {
            return Err(too_many(count));
        }
        let (pace, deadline) = (Pace::new(pause), Instant::now() + MAX_TIME);
        let mut stitching = Stitching { fetcher, redirects, pace, deadline, wishes: 0 };
        let file = tempfile::tempfile_in(&self.settings.temporary)?;
        let mut lengths = Vec::with_capacity(count as usize);
        let mut bytes = 8 * count;
        let (columns, rows) = tiles.mosaic.grid();
        for (column, row) in (0..rows).flat_map(|row| (0..columns).map(move |column| (column, row))) {
            let url = url_of(tiles, column, row)?;
            // The process that read the description composed it, and is not trusted.
            if !self.settings.stitching.names_host_of(url.as_str()) {
                return Err(FetchError::Refused(RefusedAddress::Host).into());
            }
            let fetched = stitching.tile(&url).await?;
            let length = fetched.as_ref().map_or(0, |fetched| fetched.length);
            if bytes + length > most {
                return Err(FetchError::TooLarge(most).into());
            }
            if let Some(fetched) = fetched {
                append(&file, fetched.file, bytes).await?;
            }
            bytes += length;
            lengths.push(length);
            let done = lengths.len() as u64;
            if done >= MAX_IN_VAIN.min(count) && lengths.iter().all(|length| *length == 0) {
                let message = "The description names tiles that its server does not have.";
                return Err(failed(FailureCode::SourceNotFound, message));
            }
            on_progress(Progress::Downloading { bytes, announced: Some(bytes * count / done) });
        }
        file.write_all_at(&lengths.iter().flat_map(|length| length.to_le_bytes()).collect::<Vec<_>>(), 0)?;
        on_progress(Progress::Downloaded { bytes });
        Ok(file)
    }
}

impl Stitching<'_> {
    /// Downloads a tile; `None` if there is none. Waits as long as the server asks.
    async fn tile(&mut self, url: &SourceUrl) -> Result<Option<Fetched>, FetchError> {
        loop {
            let fetched = self.fetcher.fetch_at(&mut self.pace, self.redirects, url, |_| {});
            let error = match timeout_at(self.deadline, fetched).await {
                Ok(Ok(fetched)) => return Ok(Some(fetched)),
                Ok(Err(FetchError::Answered { status, .. })) if [404, 410].contains(&status.as_u16()) => {
                    return Ok(None);
                }
                Ok(Err(error)) => error,
                Err(_) => return Err(FetchError::TookTooLong(MAX_TIME)),
            };
            let wish = wish(&error).filter(|wish| {
                *wish <= LONGEST_WISH && self.wishes < MAX_WISHES && Instant::now() + *wish < self.deadline
            });
            let Some(wish) = wish else { return Err(error) };
            self.wishes += 1;
            sleep(wish).await;
        }
    }
}

/// Returns the pause that a server asks for.
fn wish(error: &FetchError) -> Option<Duration> {
    match error {
        FetchError::HostPaused(rest) => Some(*rest),
        FetchError::Answered { status, retry_after } if [429, 503].contains(&status.as_u16()) => *retry_after,
        _ => None,
    }
}

/// Returns the number of tiles, if the process that read the description states a grid that may be requested.
fn checked(mosaic: &Mosaic) -> Result<u64, PipelineError> {
    let sides = [mosaic.size.width, mosaic.size.height, mosaic.tile.width, mosaic.tile.height];
    let count = mosaic.count();
    if sides.contains(&0) || count == 0 {
        return Err(failed(FailureCode::CorruptSource, "The description of the picture states no tiles."));
    }
    if count > MAX_TILES { Err(too_many(count)) } else { Ok(count) }
}

fn url_of(tiles: &Tiles, column: u32, row: u32) -> Result<SourceUrl, FetchError> {
    Ok(SourceUrl::parse(&tiles.url(column, row))?)
}

/// Appends a tile to the file, whose end is at `offset`.
async fn append(file: &File, mut tile: File, offset: u64) -> io::Result<()> {
    let mut file = file.try_clone()?;
    let copied = spawn_blocking(move || {
        tile.rewind()?;
        file.seek(SeekFrom::Start(offset))?;
        io::copy(&mut tile, &mut file)?;
        file.flush()
    });
    copied.await.map_err(io::Error::other)?
}

fn too_many(count: u64) -> PipelineError {
    let message = format!("The picture has {count} tiles, which would take its server too many requests.");
    failed(FailureCode::SourceTooLarge, &message)
}

/// Returns a failure of the source.
pub(super) fn failed(code: FailureCode, message: &str) -> PipelineError {
    RenderError::Reported(Failure::new(code, message)).into()
}

#[cfg(test)]
mod tests {
    use edgezoom_content::Size;
    use reqwest::StatusCode;

    use super::*;

    #[test]
    fn a_grid_is_within_bounds() {
        let square = |side: u32| Size { width: side, height: side };
        for (size, tile, expected) in [
            (square(10_000), square(254), Ok(1600)),
            (square(1), square(256), Ok(1)),
            (square(0), square(256), Err("The description of the picture states no tiles.")),
            (square(9), square(0), Err("The description of the picture states no tiles.")),
            (
                square(20_000),
                square(256),
                Err("The picture has 6241 tiles, which would take its server too many requests."),
            ),
            (
                square(u32::MAX),
                square(1),
                Err(
                    "The picture has 18446744065119617025 tiles, which would take its server too many requests.",
                ),
            ),
        ] {
            let count = checked(&Mosaic { size, tile, overlap: 0 }).map_err(|error| error.to_string());
            assert_eq!(count, expected.map_err(str::to_owned));
        }
    }

    #[test]
    fn only_what_a_server_asks_for_is_waited_for() {
        let seconds = Duration::from_secs;
        let answered = |status: u16, retry_after| FetchError::Answered {
            status: StatusCode::from_u16(status).unwrap(),
            retry_after,
        };
        assert_eq!(wish(&answered(429, Some(seconds(30)))), Some(seconds(30)));
        assert_eq!(wish(&answered(503, Some(seconds(7)))), Some(seconds(7)));
        assert_eq!(wish(&answered(429, None)), None);
        assert_eq!(wish(&answered(500, Some(seconds(7)))), None);
        assert_eq!(wish(&FetchError::HostPaused(seconds(20))), Some(seconds(20)));
        assert_eq!(wish(&FetchError::BrokenOff), None);
    }
}
