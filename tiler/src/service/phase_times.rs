//! Measures the phases of a job. Pure: the clock comes in as an argument.

use std::time::{Duration, Instant};

use super::metrics::Phase;
use crate::pipeline::{Progress, SourceKind};

/// Durations of finished phases, and start times of the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct PhaseTimes {
    started: Instant,
    /// If rendering started during the download, the end of the download: the time before counts as fetching.
    rendering_since: Option<Instant>,
    uploading_since: Option<Instant>,
    reporting_since: Option<Instant>,
    fetch: Option<Duration>,
    render: Option<Duration>,
    upload: Option<Duration>,
    report: Option<Duration>,
    kind: Option<SourceKind>,
}

impl PhaseTimes {
    /// Starts to measure a job.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            started: now,
            rendering_since: None,
            uploading_since: None,
            reporting_since: None,
            fetch: None,
            render: None,
            upload: None,
            report: None,
            kind: None,
        }
    }

    /// Records progress of the pipeline.
    pub(super) fn note(&mut self, progress: &Progress, now: Instant) {
        match progress {
            Progress::Downloading { .. }
            | Progress::LoadingPage(_)
            | Progress::Sized { .. }
            | Progress::Coarse(_)
            | Progress::Publishing { .. } => {}
            Progress::Downloaded { .. } => {
                self.fetch = Some(now - self.started);
                self.rendering_since = self.rendering_since.map(|_| now);
            }
            Progress::Opened(kind) => {
                self.kind = Some(*kind);
                if *kind == SourceKind::Page {
                    self.fetch = Some(now - self.started); // loading a page fetches its resources
                }
            }
            Progress::Rendering { .. } => {
                self.rendering_since.get_or_insert(now);
            }
            Progress::Rendered => {
                self.render = self.rendering_since.map(|since| now - since);
                self.uploading_since = Some(now);
            }
            Progress::Published => {
                self.upload = self.uploading_since.map(|since| now - since);
                self.reporting_since = Some(now);
            }
        }
    }

    /// Records that the edge has accepted the final report.
    pub(super) fn reported(&mut self, now: Instant) {
        self.report = self.reporting_since.map(|since| now - since);
    }

    /// Returns the kind of source, once known.
    pub(super) fn kind(&self) -> Option<SourceKind> {
        self.kind
    }

    /// Returns the duration of a finished phase.
    pub(super) fn of(&self, phase: Phase) -> Option<Duration> {
        match phase {
            Phase::Fetch => self.fetch,
            Phase::Render => self.render,
            Phase::Upload => self.upload,
            Phase::Report => self.report,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_has_a_duration_once_it_is_over() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut times = PhaseTimes::new(start);
        times.note(&Progress::Downloaded { bytes: 1 }, at(1));
        assert_eq!(times.kind(), None);
        times.note(&Progress::Opened(SourceKind::Picture), at(2));
        for second in [3, 4] {
            times.note(&Progress::Rendering { rows: 0.5, is_web_page: false }, at(second));
        }
        assert_eq!(times.of(Phase::Render), None);
        times.note(&Progress::Rendered, at(7));
        times.note(&Progress::Published, at(12));
        assert_eq!(times.of(Phase::Report), None);
        times.reported(at(20));
        let seconds = Phase::ALL.map(|phase| times.of(phase).map(|time| time.as_secs()));
        assert_eq!(seconds, [Some(1), Some(4), Some(5), Some(8)]);
    }

    #[test]
    fn loading_a_page_counts_as_fetching() {
        let start = Instant::now();
        let mut times = PhaseTimes::new(start);
        times.note(&Progress::Downloaded { bytes: 1 }, start + Duration::from_secs(1));
        times.note(&Progress::Opened(SourceKind::Page), start + Duration::from_secs(9));
        assert_eq!(times.of(Phase::Fetch), Some(Duration::from_secs(9)));
    }
}
