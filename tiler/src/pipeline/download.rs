//! A download that runs beside everything else, so that its source can be rendered while it arrives.

use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use edgezoom_codecs::{Format, HEAD_BYTES};
use edgezoom_content::SourceUrl;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::Progress;
use crate::arrival::{Arrival, Arrivals};
use crate::fetch::{FetchError, Fetched, Fetcher, Received};

/// A download under way. Dropped, it ends.
pub(super) struct Download {
    task: JoinHandle<Result<Fetched, FetchError>>,
    arrivals: Arrivals,
    /// The complete source.
    fetched: Option<Fetched>,
    /// The most bytes that were shown as progress.
    shown: u64,
}

/// What a download has come to.
pub(super) enum Event {
    /// More bytes.
    Arrived(Arrival),
    /// All.
    Complete,
}

impl Download {
    /// Begins to download what so many redirects led to.
    pub(super) fn start(fetcher: Arc<Fetcher>, redirects: u32, url: SourceUrl) -> Self {
        let (sender, arrivals) = watch::channel(None);
        let fetching = async move {
            let on_arrival = |arrival| drop(sender.send_replace(Some(arrival)));
            fetcher.fetch_after(redirects, &url, on_arrival).await
        };
        let task = tokio::spawn(fetching.in_current_span());
        Self { task, arrivals, fetched: None, shown: 0 }
    }

    /// Where to learn how far it has come.
    pub(super) fn arrivals(&self) -> Arrivals {
        self.arrivals.clone()
    }

    /// Whether it is complete, and of this beginning.
    pub(super) fn is_complete(&self, beginning: u32) -> bool {
        self.fetched.as_ref().is_some_and(|fetched| fetched.beginning == beginning)
    }

    /// Waits until it is complete or begins with a picture that can be rendered meanwhile: gives what of that has arrived,
    /// else nothing.
    pub(super) async fn head(
        &mut self,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<Option<Arrival>, FetchError> {
        let mut looked_at = 0;
        loop {
            match self.next(on_progress).await? {
                Event::Complete => return Ok(None),
                Event::Arrived(arrival) if looked_at < arrival.beginning && arrival.bytes >= HEAD_BYTES => {
                    looked_at = arrival.beginning;
                    if arrival.announced != Some(arrival.bytes) && is_in_order(&arrival)? {
                        return Ok(Some(arrival));
                    }
                }
                Event::Arrived(_) => {}
            }
        }
    }

    /// Waits until it is complete, and gives the source.
    pub(super) async fn whole(
        mut self,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<Fetched, FetchError> {
        loop {
            if let Some(fetched) = self.fetched.take() {
                return Ok(fetched);
            }
            self.next(on_progress).await?;
        }
    }

    /// Waits for what comes next, and shows it as progress. May be cancelled and called again; not called after the end.
    pub(super) async fn next(&mut self, on_progress: &mut impl FnMut(Progress)) -> Result<Event, FetchError> {
        let Self { task, arrivals, .. } = self;
        let changed = async {
            if arrivals.changed().await.is_err() {
                std::future::pending::<()>().await; // the task has ended
            }
        };
        tokio::select! {
            biased;
            ended = task => {
                let fetched = ended.map_err(io::Error::other)??;
                on_progress(Progress::Downloaded { bytes: fetched.length });
                self.fetched = Some(fetched);
                return Ok(Event::Complete);
            }
            () = changed => {}
        }
        let latest = self.arrivals.borrow_and_update().clone();
        let Some(arrival) = latest else { return Ok(Event::Complete) };
        let Arrival { bytes, announced, .. } = arrival;
        // Progress never falls when a download begins anew.
        if bytes > self.shown {
            self.shown = bytes;
            on_progress(Progress::Downloading(Received { bytes, announced }));
        }
        Ok(Event::Arrived(arrival))
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Whether the source is of a format whose rows come in their order. Bytes are compared, nothing is parsed. A web page is
/// of none.
fn is_in_order(arrival: &Arrival) -> io::Result<bool> {
    let mut head = vec![0; usize::try_from(HEAD_BYTES).unwrap_or_default()];
    arrival.file.read_exact_at(&mut head, 0)?;
    Ok(Format::of_head(&head).is_some_and(|format| format.in_order))
}
