//! Shows the progress of `tiler convert` in a terminal: a bar for each step, which replaces the previous one.

use std::time::Duration;

use edgezoom_tiler::pipeline::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// The bar of the current step.
pub(super) struct ProgressBars {
    current: Option<(Step, ProgressBar)>,
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

/// Length of the bar for rendering.
const RENDER_STEPS: u64 = 1000;

impl ProgressBars {
    pub(super) fn new() -> anyhow::Result<Self> {
        Ok(Self {
            current: None,
            download: ProgressStyle::with_template("downloading {bytes} of {total_bytes} {eta}")?,
            page: ProgressStyle::with_template("{spinner} loading the page")?,
            render: ProgressStyle::with_template("{bar:40} {percent}% {eta}")?,
        })
    }

    pub(super) fn show(&mut self, progress: Progress) {
        match progress {
            // While a picture is rendered during its download, the bar shows its rows.
            Progress::Downloading { .. } | Progress::Downloaded { .. } if self.is_rendering() => {}
            Progress::Downloading { bytes, announced } => {
                let bar = self.bar(Step::Download);
                if let Some(announced) = announced {
                    bar.set_length(announced);
                }
                bar.set_position(bytes);
            }
            Progress::LoadingPage(_) => drop(self.bar(Step::Page)),
            Progress::Rendering { rows, .. } => {
                self.bar(Step::Render).set_position((rows * RENDER_STEPS as f64) as u64);
            }
            Progress::Downloaded { .. } | Progress::Rendered | Progress::Published => self.clear(),
            Progress::Opened(_)
            | Progress::Sized { .. }
            | Progress::Coarse(_)
            | Progress::Publishing { .. } => {}
        }
    }

    /// Removes the bar from the terminal.
    pub(super) fn clear(&mut self) {
        if let Some((_, bar)) = self.current.take() {
            bar.finish_and_clear();
        }
    }

    fn is_rendering(&self) -> bool {
        self.current.as_ref().is_some_and(|(step, _)| *step == Step::Render)
    }

    /// Returns the bar of a step. Removes that of another step.
    fn bar(&mut self, step: Step) -> ProgressBar {
        if let Some((current, bar)) = &self.current
            && *current == step
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
        self.current = Some((step, bar.clone()));
        bar
    }
}
