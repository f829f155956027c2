//! A download that runs in the background, so that its source can be rendered while it arrives.

use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use edgezoom_codecs::{Format, HEAD_BYTES};
use edgezoom_content::SourceUrl;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::Progress;
use crate::credentials::Credentials;
use crate::fetch::{FetchError, Fetched, Fetcher};
use crate::renderer::{Arrival, Arrivals};

/// A background download. Dropping it cancels the download.
pub(super) struct Download {
    task: JoinHandle<Result<Fetched, FetchError>>,
    arrivals: Arrivals,
    /// The source, once it is complete.
    fetched: Option<Fetched>,
    /// Largest number of bytes reported as progress.
    shown: u64,
}

/// An event of a download.
pub(super) enum Event {
    /// More bytes have arrived.
    Arrived(Arrival),
    /// The source is complete. Contains its [`Fetched::beginning`].
    Complete(u32),
}

impl Download {
    /// Starts to download a URL to which `redirects` redirects have led.
    pub(super) fn start(
        fetcher: Arc<Fetcher>,
        redirects: u32,
        url: SourceUrl,
        credentials: Option<Credentials>,
    ) -> Self {
        let (sender, arrivals) = watch::channel(None);
        let fetching = async move {
            let on_arrival = |arrival| drop(sender.send_replace(Some(arrival)));
            fetcher.fetch_after(redirects, &url, credentials, on_arrival).await
        };
        let task = tokio::spawn(fetching.in_current_span());
        Self { task, arrivals, fetched: None, shown: 0 }
    }

    /// Returns a receiver of the latest arrival.
    pub(super) fn arrivals(&self) -> Arrivals {
        self.arrivals.clone()
    }

    /// Returns true if the source is complete and was not restarted after `beginning`.
    pub(super) fn is_complete(&self, beginning: u32) -> bool {
        self.fetched.as_ref().is_some_and(|fetched| fetched.beginning == beginning)
    }

    /// Waits until the source is complete or can be rendered while it arrives. Returns what has arrived in the second
    /// case.
    pub(super) async fn head(
        &mut self,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<Option<Arrival>, FetchError> {
        let mut inspected = 0;
        loop {
            match self.next(on_progress).await? {
                Event::Complete(_) => return Ok(None),
                Event::Arrived(arrival) if inspected < arrival.beginning && arrival.bytes >= HEAD_BYTES => {
                    inspected = arrival.beginning;
                    // Only the renderer's process may remove a content coding.
                    let is_ready = arrival.announced == Some(arrival.bytes) || arrival.is_coded;
                    if !is_ready && is_in_order(&arrival)? {
                        return Ok(Some(arrival));
                    }
                }
                Event::Arrived(_) => {}
            }
        }
    }

    /// Waits for the complete source.
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

    /// Waits for the next event and reports it as progress. Cancel safe. Must not be called after the end.
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
                let beginning = fetched.beginning;
                self.fetched = Some(fetched);
                return Ok(Event::Complete(beginning));
            }
            () = changed => {}
        }
        let latest = self.arrivals.borrow_and_update().clone();
        let Some(arrival) = latest else { return Err(FetchError::BrokenOff) }; // does not happen: it has changed
        let Arrival { bytes, announced, .. } = arrival;
        // Progress never falls, even if the download starts over.
        if bytes > self.shown {
            self.shown = bytes;
            on_progress(Progress::Downloading { bytes, announced });
        }
        Ok(Event::Arrived(arrival))
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Returns true if the source has a format whose rows are stored in order. Compares bytes and parses nothing.
fn is_in_order(arrival: &Arrival) -> io::Result<bool> {
    let mut head = vec![0; usize::try_from(HEAD_BYTES).unwrap_or_default()];
    arrival.file.read_exact_at(&mut head, 0)?;
    Ok(Format::of_head(&head).is_some_and(|format| format.in_order))
}
