//! Maps the progress of all steps of a job to what is reported. Pure.

use edgezoom_content::Stage;
use edgezoom_content::protocol::AttemptProgress;

use crate::pipeline::Progress;

/// Progress at which rendering starts. Rendering has the largest share because it takes the longest. It includes most
/// of the upload: tiles are uploaded while others are rendered, and a slow store throttles the renderer.
const RENDERING_FROM: f64 = 0.2;
/// Progress at which rendering of a web page starts, which takes about as long to load as to render.
const WEB_PAGE_RENDERING_FROM: f64 = 0.5;
/// Progress at which the upload of the last tiles starts.
const PUBLISHING_FROM: f64 = 0.95;
/// Progress at which the pyramid is complete. The rest is for the report to the edge.
const PUBLISHED: f64 = 0.99;

/// Number of bytes after which a download of unknown length has reached half of its share.
const HALF_WAY_BYTES: f64 = 8.0 * 1024.0 * 1024.0;
/// Number of seconds after which a loading web page has reached half of its share.
const HALF_WAY_SECONDS: f64 = 6.0;

impl From<Progress> for AttemptProgress {
    fn from(progress: Progress) -> Self {
        let (stage, from, to, part) = match progress {
            Progress::Downloading { bytes, announced } => {
                let bytes = bytes as f64;
                let part = match announced {
                    Some(0) => 1.0,
                    Some(announced) => bytes / announced as f64,
                    None => bytes / (bytes + HALF_WAY_BYTES),
                };
                (Stage::Downloading, 0.0, RENDERING_FROM, part)
            }
            Progress::Downloaded { .. } => (Stage::Downloading, 0.0, RENDERING_FROM, 1.0),
            Progress::LoadingPage(waited) => {
                let seconds = waited.as_secs_f64();
                let part = seconds / (seconds + HALF_WAY_SECONDS);
                (Stage::Downloading, RENDERING_FROM, WEB_PAGE_RENDERING_FROM, part)
            }
            Progress::Rendering { rows, is_web_page } => {
                let from = if is_web_page { WEB_PAGE_RENDERING_FROM } else { RENDERING_FROM };
                (Stage::Rendering, from, PUBLISHING_FROM, rows)
            }
            Progress::Sized { tiles } => return Self { tiles: Some(tiles), ..Self::CLAIMED },
            // The reporter learns of coarse pictures once they are stored.
            Progress::Opened(_) | Progress::Coarse(_) => return Self::CLAIMED,
            Progress::Rendered => (Stage::Rendering, RENDERING_FROM, PUBLISHING_FROM, 1.0),
            Progress::Publishing { missing, of } => {
                let part = if of == 0 { 1.0 } else { 1.0 - missing as f64 / of as f64 };
                (Stage::Publishing, PUBLISHING_FROM, PUBLISHED, part)
            }
            Progress::Published => (Stage::Publishing, PUBLISHING_FROM, PUBLISHED, 1.0),
        };
        Self::of(stage, (from + part.clamp(0.0, 1.0) * (to - from)).into())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn downloading(bytes: u64, announced: Option<u64>) -> Progress {
        Progress::Downloading { bytes, announced }
    }

    fn loading(seconds: u64) -> Progress {
        Progress::LoadingPage(Duration::from_secs(seconds))
    }

    fn rendering(rows: f64, is_web_page: bool) -> Progress {
        Progress::Rendering { rows, is_web_page }
    }

    fn publishing(missing: usize, of: usize) -> Progress {
        Progress::Publishing { missing, of }
    }

    /// Returns the progress of steps in thousandths. The stages must be in order.
    fn figures<const N: usize>(steps: [Progress; N]) -> [u32; N] {
        let course = steps.map(AttemptProgress::from);
        assert!(course.is_sorted_by(|before, after| before.stage <= after.stage));
        course.map(|progress| (progress.progress.fraction() * 1000.0).round() as u32)
    }

    #[test]
    fn progress_rises_over_all_steps() {
        let steps = [
            downloading(5, Some(10)),
            downloading(10, Some(10)),
            Progress::Downloaded { bytes: 10 },
            rendering(0.0, false),
            rendering(0.5, false),
            rendering(1.0, false),
            Progress::Rendered,
            publishing(16, 16),
            publishing(4, 16),
            publishing(0, 16),
            Progress::Published,
        ];
        assert_eq!(figures(steps), [100, 200, 200, 200, 575, 950, 950, 950, 980, 990, 990]);
    }

    #[test]
    fn a_web_page_progresses_while_it_loads_and_renders_from_one_half_on() {
        let steps = [
            loading(0),
            loading(6),
            loading(600),
            rendering(0.0, true),
            rendering(0.5, true),
            rendering(1.0, true),
            publishing(16, 16),
        ];
        assert_eq!(figures(steps), [200, 350, 497, 500, 725, 950, 950]);
    }

    #[test]
    fn a_download_of_unknown_length_approaches_its_share() {
        let at = |mib: u64| AttemptProgress::from(downloading(mib << 20, None)).progress;
        assert_eq!(at(8), 0.1.into());
        assert!(at(1) < at(2) && at(1000) < at(2000) && at(1 << 20) <= 0.2.into());
    }

    proptest! {
        #[test]
        fn progress_never_falls(
            bytes: u64, announced: Option<u64>, is_web_page: bool, waited: u32, rows: f64, missing in 0_usize..99,
            of in 0_usize..99,
        ) {
            let mut progress = AttemptProgress::CLAIMED;
            for step in [
                downloading(bytes, announced),
                loading(if is_web_page { waited.into() } else { 0 }),
                rendering(rows, is_web_page),
                publishing(missing.min(of), of),
            ] {
                let after = progress.max(step.into());
                prop_assert!(after.progress >= progress.progress);
                progress = after;
            }
        }
    }
}
