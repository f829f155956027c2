//! How far a conversion has come, as one figure over all its stages, and when it is time to tell the edge. Pure: clock and
//! counts come in as arguments.

use std::time::{Duration, Instant};

use edgezoom_content::{Progress, Stage};

use crate::fetch::Received;

/// Where a conversion stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// What is being done.
    pub stage: Stage,
    /// How far the whole has come, from 0 to 1.
    pub done: f64,
}

/// A page takes as long to load as to be rendered, so here its rendering begins. Half of what lies before that is over after
/// so many seconds: nobody knows what a page will load.
const PAGE_FROM: f64 = 0.5;
const HALF_LOADED: f64 = 6.0;

/// Where the stages begin on the whole's scale. Rendering has the most, as it takes the longest; it includes uploading,
/// because tiles go up while others are rendered and a slow store holds the renderer back.
const RENDERING_FROM: f64 = 0.2;
const PUBLISHING_FROM: f64 = 0.95;
/// The rest belongs to the report that all is done.
const PUBLISHED: f64 = 0.99;

/// A download of unknown length has come half-way through its stage after so many bytes.
const HALF_WAY_BYTES: f64 = 8.0 * 1024.0 * 1024.0;

impl Standing {
    /// Claimed, and nothing done yet.
    pub const BEGUN: Self = Self { stage: Stage::Downloading, done: 0.0 };

    /// Part of the source is here.
    #[must_use]
    pub fn downloading(received: Received) -> Self {
        let bytes = received.bytes as f64;
        let part = match received.announced {
            Some(0) => 1.0,
            Some(announced) => (bytes / announced as f64).min(1.0),
            None => bytes / (bytes + HALF_WAY_BYTES),
        };
        Self { stage: Stage::Downloading, done: part * RENDERING_FROM }
    }

    /// The source is a web page, and its browser loads it for so long.
    #[must_use]
    pub fn loading_page(waited: Duration) -> Self {
        let seconds = waited.as_secs_f64();
        let part = seconds / (seconds + HALF_LOADED);
        Self { stage: Stage::Downloading, done: RENDERING_FROM + part * (PAGE_FROM - RENDERING_FROM) }
    }

    /// So much of the picture's rows is rendered, from 0 to 1.
    #[must_use]
    pub fn rendering(rows: f64) -> Self {
        Self::rendering_from(RENDERING_FROM, rows)
    }

    /// So much of a web page's rows is rendered, from 0 to 1.
    #[must_use]
    pub fn rendering_page(rows: f64) -> Self {
        Self::rendering_from(PAGE_FROM, rows)
    }

    fn rendering_from(begun: f64, rows: f64) -> Self {
        let done = begun + rows.clamp(0.0, 1.0) * (PUBLISHING_FROM - begun);
        Self { stage: Stage::Rendering, done }
    }

    /// Everything is rendered, and so many tiles of the last `of` are not in the store yet.
    #[must_use]
    pub fn publishing(missing: usize, of: usize) -> Self {
        let part = if of == 0 { 1.0 } else { 1.0 - missing as f64 / of as f64 };
        Self { stage: Stage::Publishing, done: PUBLISHING_FROM + part * (PUBLISHED - PUBLISHING_FROM) }
    }

    /// The further of the two in each respect. So nothing ever falls.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self { stage: self.stage.max(other.stage), done: self.done.max(other.done) }
    }

    /// The figure for the report.
    #[must_use]
    pub fn progress(self) -> Progress {
        Progress::from(self.done)
    }
}

/// When to report.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The least time between two reports.
    pub least: Duration,
    /// The most time between two reports, even when there is nothing new: the lease must not run out.
    pub most: Duration,
}

impl Pace {
    /// The pace that keeps a lease: at most a report a second, and three chances to miss one.
    #[must_use]
    pub fn for_lease(lease: Duration) -> Self {
        let most = lease / 4;
        Self { least: Duration::from_secs(1).min(most), most }
    }

    /// When the next report is due, the last one having gone out at `last`.
    #[must_use]
    pub fn due(&self, last: Instant, anything_new: bool) -> Instant {
        last + if anything_new { self.least } else { self.most }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_figure_rises_over_all_stages() {
        let course = [
            Standing::BEGUN,
            Standing::downloading(Received { bytes: 5, announced: Some(10) }),
            Standing::downloading(Received { bytes: 10, announced: Some(10) }),
            Standing::rendering(0.0),
            Standing::rendering(0.5),
            Standing::rendering(1.0),
            Standing::publishing(16, 16),
            Standing::publishing(4, 16),
            Standing::publishing(0, 16),
        ];
        let figures = course.map(|standing| (standing.done * 1000.0).round() as u32);
        assert_eq!(figures, [0, 100, 200, 200, 575, 950, 950, 980, 990]);
        assert!(course.is_sorted_by(|before, after| before.stage <= after.stage));
    }

    #[test]
    fn a_page_that_loads_moves_and_is_rendered_from_half_way_on() {
        let course = [
            Standing::loading_page(Duration::ZERO),
            Standing::loading_page(Duration::from_secs(6)),
            Standing::loading_page(Duration::from_secs(600)),
            Standing::rendering_page(0.0),
            Standing::rendering_page(0.5),
            Standing::rendering_page(1.0),
            Standing::publishing(16, 16),
        ];
        let figures = course.map(|standing| (standing.done * 1000.0).round() as u32);
        assert_eq!(figures, [200, 350, 497, 500, 725, 950, 950]);
        assert!(course.is_sorted_by(|before, after| before.stage <= after.stage));
    }

    #[test]
    fn a_download_of_unknown_length_moves_and_never_arrives() {
        let at = |mib: u64| Standing::downloading(Received { bytes: mib << 20, announced: None }).done;
        assert_eq!(at(8), 0.1);
        assert!(at(1) < at(2) && at(1000) < at(2000) && at(1 << 20) < 0.2);
    }

    #[test]
    fn a_lease_survives_three_lost_reports() {
        let now = Instant::now();
        let pace = Pace::for_lease(Duration::from_secs(60));
        assert_eq!(pace.due(now, true), now + Duration::from_secs(1));
        assert_eq!(pace.due(now, false), now + Duration::from_secs(15));
        let short = Pace::for_lease(Duration::from_secs(2));
        assert_eq!(short.due(now, true), now + Duration::from_millis(500));
    }

    proptest! {
        #[test]
        fn no_standing_leaves_the_scale_or_takes_anything_back(
            bytes: u64, announced: Option<u64>, page: bool, waited: u32, rows: f64, missing in 0_usize..99, of in 0_usize..99,
        ) {
            let mut standing = Standing::BEGUN;
            for next in [
                Standing::downloading(Received { bytes, announced }),
                if page { Standing::loading_page(Duration::from_millis(waited.into())) } else { Standing::BEGUN },
                if page { Standing::rendering_page(rows) } else { Standing::rendering(rows) },
                Standing::publishing(missing.min(of), of),
            ] {
                let after = standing.max(next);
                prop_assert!(after.done >= standing.done && (0.0..=1.0).contains(&after.done));
                standing = after;
            }
        }
    }
}
