//! Decides when a window is at rest, by what each of its frames did, not by how long it took.

/// Counts of a page's actions since its document began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Activity {
    /// Number of paintings of the window that have been reported, each some frames after it.
    pub paintings: u64,
    /// Number of the last callback for a frame that a script of the page or of ours has asked for.
    pub callbacks: u64,
    /// Number of times that styles or the layout were computed.
    pub restyles: u64,
}

/// A page's actions in a frame although its window is at rest, such as a loop that waits for the mouse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usual {
    callbacks: u64,
    restyles: u64,
}

/// The frames since a painting was reported.
#[derive(Debug)]
pub(super) struct Stillness {
    paintings: u64,
    /// The page's actions by the last frame.
    last: Option<Activity>,
    usual: Usual,
    frames: u32,
    /// The most that the page did in one of them.
    most: Usual,
}

/// Number of frames without a painting after which a window is at rest.
const STILL_FRAMES: u32 = 4;

/// The same for a long page, of which most stops of scrolling change nothing. An observer that sees content come into
/// view draws it in the second frame.
const FEWEST_FRAMES: u32 = 3;

/// Number of frames without a painting after which a window is at rest whose page does more than usual: what it draws is
/// reported by then, on a busy machine, too.
const BUSY_FRAMES: u32 = 10;

impl Stillness {
    /// Begins before a frame. `paintings` is the number of them so far, and `usual` what the page did in a frame when its
    /// window was at rest before.
    pub(super) fn new(paintings: u64, usual: Usual) -> Self {
        Self { paintings, last: None, usual, frames: 0, most: Usual::default() }
    }

    /// Notes what the page had done by its next frame. Returns true if a painting was reported.
    pub(super) fn note(&mut self, activity: Activity) -> bool {
        let painted = activity.paintings != self.paintings;
        if painted {
            *self = Self { last: Some(activity), ..Self::new(activity.paintings, self.usual) };
        } else {
            self.frames += 1;
            let before = self.last.replace(activity).unwrap_or(activity);
            let callbacks = activity.callbacks.saturating_sub(before.callbacks);
            let restyles = activity.restyles.saturating_sub(before.restyles);
            self.most.callbacks = self.most.callbacks.max(callbacks);
            self.most.restyles = self.most.restyles.max(restyles);
        }
        painted
    }

    /// Returns what the page usually does if its window is at rest; `None` if it is not. `in_haste` takes fewer frames
    /// for rest.
    pub(super) fn rest(&self, in_haste: bool) -> Option<Usual> {
        let is_busy =
            self.most.callbacks > self.usual.callbacks.max(1) || self.most.restyles > self.usual.restyles;
        let enough = match (is_busy, in_haste) {
            (true, _) => BUSY_FRAMES,
            (false, true) => FEWEST_FRAMES,
            (false, false) => STILL_FRAMES,
        };
        (self.frames >= enough).then_some(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of the frame after which the window is at rest, and what is usual then. In each of `frames`,
    /// a painting is reported (`p`), the page asks for a callback (`c`), styles change (`s`), or nothing happens; in
    /// further ones, the last of `frames` happens unless it is a painting.
    fn rest(frames: &str, usual: Usual, in_haste: bool) -> (usize, Usual) {
        let mut activity = Activity { paintings: 7, callbacks: 5, restyles: 3 };
        let mut still = Stillness::new(activity.paintings, usual);
        let last = frames.chars().last().filter(|last| *last != 'p').unwrap_or('-');
        for (number, frame) in (1..).zip(frames.chars().chain(std::iter::repeat(last))) {
            activity.paintings += u64::from(frame == 'p');
            activity.callbacks += 1 + u64::from(frame == 'c'); // ours, too
            activity.restyles += u64::from(frame == 's');
            assert_eq!(still.note(activity), frame == 'p');
            if let Some(usual) = still.rest(in_haste) {
                return (number, usual);
            }
        }
        unreachable!("the frames do not end")
    }

    fn frames(frames: &str, in_haste: bool) -> usize {
        rest(frames, Usual::default(), in_haste).0
    }

    #[test]
    fn a_window_is_at_rest_after_some_frames_without_a_painting() {
        assert_eq!((frames("", false), frames("", true)), (4, 3));
        assert_eq!((frames("ppppp", false), frames("ppppp", true)), (9, 8));
    }

    #[test]
    fn each_painting_begins_anew() {
        assert_eq!(frames("---p--p-p", false), 13);
        assert_eq!(frames(&"--p".repeat(40), true), 123, "it draws every third frame");
    }

    #[test]
    fn late_reports_of_a_page_that_draws_frames_or_changes_styles_are_waited_for() {
        assert_eq!(frames("ccccccccc-", true), 10);
        assert_eq!(frames("cccccccccp", false), 14, "a painting of the first frame");
        // What happened before the first frame does not count.
        assert_eq!((frames("s-", false), frames("-s-", true)), (4, 10));
        assert_eq!(frames("cp", false), 6, "the report has come");
    }

    #[test]
    fn what_a_page_does_at_rest_is_usual_from_then_on() {
        let (first, usual) = rest("c", Usual::default(), false);
        assert_eq!((first, rest("c", usual, false).0, rest("c", usual, true).0), (10, 4, 3));
        assert_eq!(rest("s", usual, false).0, 10, "that is new");
    }
}
