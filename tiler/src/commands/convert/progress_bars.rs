//! The progress of `tiler convert` as bars in a terminal: one for each step, each in the place of the one before.

use std::time::Duration;

use edgezoom_tiler::pipeline::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// The bar of the present step.
pub(super) struct ProgressBars {
    present: Option<(Step, ProgressBar)>,
    download: ProgressStyle,
    page: ProgressStyle,
    render: ProgressStyle,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Download,
    Page,
    Render,
}

/// The length of the bar for rendering.
const RENDER_STEPS: u64 = 1000;

impl ProgressBars {
    pub(super) fn new() -> anyhow::Result<Self> {
        Ok(Self {
            present: None,
            download: ProgressStyle::with_template("downloading {bytes} of {total_bytes} {eta}")?,
            page: ProgressStyle::with_template("{spinner} loading the page")?,
            render: ProgressStyle::with_template("{bar:40} {percent}% {eta}")?,
        })
    }

    pub(super) fn show(&mut self, progress: Progress) {
        match progress {
            // What arrives while it is rendered is shown by its rows.
            Progress::Downloading(_) | Progress::Downloaded { .. } if self.is_rendering() => {}
            Progress::Downloading(received) => {
                let bar = self.bar(Step::Download);
                if let Some(announced) = received.announced {
                    bar.set_length(announced);
                }
                bar.set_position(received.bytes);
            }
            Progress::LoadingPage(_) => drop(self.bar(Step::Page)),
            Progress::Rendering { rows, .. } => {
                self.bar(Step::Render).set_position((rows * RENDER_STEPS as f64) as u64);
            }
            Progress::Downloaded { .. } | Progress::Rendered | Progress::Published => self.clear(),
            Progress::Opened(_) | Progress::Coarse(_) | Progress::Publishing { .. } => {}
        }
    }

    /// Removes the bar from the terminal.
    pub(super) fn clear(&mut self) {
        if let Some((_, bar)) = self.present.take() {
            bar.finish_and_clear();
        }
    }

    fn is_rendering(&self) -> bool {
        self.present.as_ref().is_some_and(|(step, _)| *step == Step::Render)
    }

    /// The bar of a step, in the place of that of another one.
    fn bar(&mut self, step: Step) -> ProgressBar {
        if let Some((present, bar)) = &self.present
            && *present == step
        {
            return bar.clone();
        }
        self.clear();
        let bar = match step {
            Step::Download => ProgressBar::no_length().with_style(self.download.clone()),
            Step::Page => {
                let bar = ProgressBar::new_spinner().with_style(self.page.clone());
                bar.enable_steady_tick(Duration::from_millis(100));
                bar
            }
            Step::Render => ProgressBar::new(RENDER_STEPS).with_style(self.render.clone()),
        };
        self.present = Some((step, bar.clone()));
        bar
    }
}
