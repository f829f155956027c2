//! Virtual time: lets seconds pass on a page's clock in milliseconds, so that what a page does by timers, transitions and
//! animations has happened before it is captured. Requests are waited for in real time. Between the budgets that
//! [`Tab::pass_time`] gives it, the clock stands still, so scripts of ours must not wait for timers. Frames are drawn in
//! real time, as long as the clock is not behind it: measured, Chromium waits with a frame until the clock has reached
//! the frame's time.
//!
//! Source: <https://chromedevtools.github.io/devtools-protocol/tot/Emulation/#method-setVirtualTimePolicy>.

use std::time::{Duration, Instant};

use serde_json::json;

use super::error::PageError;
use super::tab::Tab;

/// Step of the clock between two frames while nothing is painted. GSAP, which many pages animate with, takes a frame
/// that is more than half a second late for a pause, and counts 33 ms for it.
const STEP: Duration = Duration::from_millis(400);

/// Step of the clock between two frames while something is painted.
const FINE_STEP: Duration = Duration::from_millis(100);

/// Step of the clock between two frames once a page has had its time: about as long as the frame.
const FRAME: Duration = Duration::from_millis(20);

/// Lead of the clock over real time with each step.
const LEAD: Duration = Duration::from_millis(100);

/// Time after which a frame that has not come is taken to wait for the clock.
const LATE: Duration = Duration::from_secs(1);

/// Number of frames without a change after which a page is at rest. Its paintings are reported a frame or two late.
const STILL_FRAMES: u32 = 4;

/// Number of frames after which the painting of one is reported, on a busy machine, too.
const LATEST_REPORT: u32 = 10;

/// Time of a frame above which the machine is busy. It takes 17 ms otherwise.
const SLOW_FRAME: Duration = Duration::from_millis(30);

/// Maximum number of tasks without a delay that run before the clock moves on: a page may post messages to itself for
/// ever.
const MAX_TASKS: u32 = 1000;

/// Waits for the next frame.
const NEXT_FRAME: &str = "async () => { await new Promise(requestAnimationFrame) }";

/// Pauses animations that never end. Returns their number.
const PAUSE_ENDLESS: &str = "async () => {
    const endless = document.getAnimations().filter(({ effect, playState }) =>
        playState === 'running' && effect?.getComputedTiming().endTime === Infinity);
    endless.forEach((animation) => animation.pause());
    return endless.length;
}";

/// The frames since the last painting.
#[derive(Default)]
struct Still {
    frames: u32,
    /// Time that they took.
    drawing: Duration,
}

impl Still {
    /// Adds a frame, unless `changed` says that something was painted.
    fn note(&mut self, changed: bool, took: Duration) {
        *self = if changed {
            Self::default()
        } else {
            Self { frames: self.frames + 1, drawing: self.drawing + took }
        };
    }

    /// Returns true if these are enough frames. On a busy machine, whose frames are slow, reports are later.
    fn is_rest(&self, enough: u32) -> bool {
        let is_slow = self.drawing > SLOW_FRAME * self.frames;
        self.frames >= if is_slow { LATEST_REPORT } else { enough }
    }
}

impl Tab {
    /// Lets `time` pass on the page's clock, frame by frame, and waits until its window has come to rest: until frames
    /// leave it as it is. Returns after `patience` at the latest for a window that never rests, in any case at
    /// `deadline`, and as soon as the page shows another document.
    pub(super) async fn settle(
        &mut self,
        time: Duration,
        patience: Duration,
        deadline: Instant,
    ) -> Result<(), PageError> {
        let document = self.state.document_count;
        let (mut left, mut still, mut step) = (time, Still::default(), STEP);
        while !left.is_zero() {
            step = step.min(left);
            left -= step;
            let (painted, took) = self.frame_after(step, deadline).await?;
            if self.state.document_count != document || Instant::now() >= deadline {
                return Ok(());
            }
            still.note(painted, took);
            step = if painted { FINE_STEP } else { STEP };
        }
        self.call(PAUSE_ENDLESS, json!({})).await?;
        let (began, end) = (Instant::now(), deadline.min(Instant::now() + patience));
        while Instant::now() < end && self.state.document_count == document {
            // A worker's results and the messages of a WebSocket arrive in real time, without a request.
            if still.is_rest(STILL_FRAMES) && (!self.state.has_helpers || began.elapsed() >= patience / 2) {
                break;
            }
            let (painted, took) = self.frame_after(FRAME, deadline).await?;
            still.note(painted, took);
        }
        Ok(())
    }

    /// Waits until the window has come to rest, at most for `patience`, and returns how long that took. Does not wait
    /// for requests. `scrolled` is the number of paintings before the window was scrolled, `None` if it was not: what
    /// is painted later is reported after that. `in_haste` takes fewer frames for rest.
    pub(super) async fn rest(
        &mut self,
        scrolled: Option<u64>,
        patience: Duration,
        in_haste: bool,
    ) -> Result<Duration, PageError> {
        let enough = if in_haste { STILL_FRAMES / 2 } else { STILL_FRAMES };
        let began = Instant::now();
        let (mut still, mut frames) = (Still::default(), 0);
        loop {
            let (paintings, drawing) = (self.state.paintings, Instant::now());
            self.next_frame().await?;
            frames += 1;
            let is_late = scrolled == Some(self.state.paintings) && frames < LATEST_REPORT;
            still.note(self.state.paintings != paintings || is_late, drawing.elapsed());
            if still.is_rest(enough) || began.elapsed() >= patience {
                return Ok(began.elapsed());
            }
            self.pass_time_anyway(FRAME).await?;
        }
    }

    /// Lets `time` pass on the page's clock, then waits for a frame. Returns true if something was painted, and the time
    /// of the frame.
    async fn frame_after(
        &mut self,
        time: Duration,
        deadline: Instant,
    ) -> Result<(bool, Duration), PageError> {
        let paintings = self.state.paintings;
        self.pass_time(time, deadline).await?;
        let drawing = Instant::now();
        self.next_frame().await?;
        Ok((self.state.paintings != paintings, drawing.elapsed()))
    }

    /// Waits until the page has drawn a frame.
    pub(super) async fn next_frame(&mut self) -> Result<(), PageError> {
        let end = Instant::now() + self.limits.command;
        loop {
            let late = end.min(Instant::now() + LATE);
            match self.call_function(NEXT_FRAME, json!({}), late).await {
                Err(PageError::NeverLoaded(_)) if late < end => {
                    self.state.clock.passed = Duration::ZERO; // it may have been cut short by another document
                    self.pass_time_anyway(FRAME).await?;
                }
                drawn => return drawn.map(drop),
            }
        }
    }

    /// Lets `time` pass on the page's clock. The clock stands still while requests are pending, until `deadline` and
    /// except for those that may never end.
    pub(super) async fn pass_time(&mut self, time: Duration, deadline: Instant) -> Result<(), PageError> {
        let (quiet, timeout) = (self.limits.quiet, self.limits.request);
        let began = Instant::now();
        if !self.state.clock.is_held {
            self.set_clock("pauseIfNetworkFetchesPending", time).await?;
            self.wait_until(deadline, |state, now| {
                let waited = now.saturating_duration_since(began);
                let is_idle = waited >= quiet && state.network.is_idle(quiet, timeout, now);
                state.clock.budget.is_none() || (!state.is_leaving() && (is_idle || waited >= timeout))
            })
            .await?;
            if self.state.clock.budget.is_none() {
                return Ok(());
            }
            // Something that counts as no request holds the clock, such as an event stream, or requests without end.
            self.state.clock.is_held = true;
        }
        let end = deadline.min(began + quiet);
        self.wait_until(end, |state, now| !state.network.is_pending(timeout, now)).await?;
        self.pass_time_anyway(time).await
    }

    /// Lets `time` pass on the page's clock, whatever requests are pending. Stops a script that keeps the page busy for
    /// half of the limit for commands: it may wait for the clock, which stands still while a script runs.
    pub(super) async fn pass_time_anyway(&mut self, time: Duration) -> Result<(), PageError> {
        loop {
            self.set_clock("advance", time).await?;
            self.wait_for_clock().await?;
            if self.state.clock.lag(Instant::now()).is_zero() {
                return Ok(());
            }
        }
    }

    /// Waits until the budget of the clock has passed.
    async fn wait_for_clock(&mut self) -> Result<(), PageError> {
        let patience = self.limits.command / 2;
        let (end, mut idle) = (Instant::now() + self.limits.settle, Instant::now());
        self.wait_until(end, |state, now| {
            if state.is_leaving() {
                idle = now;
            }
            state.clock.budget.is_none() || now.saturating_duration_since(idle) >= patience
        })
        .await?;
        if self.state.clock.budget.is_some() {
            self.post("Runtime.terminateExecution", json!({})).await?;
            self.wait_until(Instant::now() + patience, |state, _| state.clock.budget.is_none()).await?;
        }
        match self.state.clock.budget {
            None => Ok(()),
            Some(_) => Err(PageError::NeverLoaded(self.limits.settle)),
        }
    }

    /// Makes sure that frames are drawn for at least `time`, however long the page has been open.
    pub(super) async fn draw_for(&mut self, time: Duration) -> Result<(), PageError> {
        if self.state.clock.lead(Instant::now()) < time { self.pass_time_anyway(time).await } else { Ok(()) }
    }

    /// Lets the clock go on to real time.
    pub(super) async fn catch_up(&mut self) -> Result<(), PageError> {
        self.set_clock("pauseIfNetworkFetchesPending", Duration::ZERO).await
    }

    /// Lets the clock go on by `time`, and by what it is behind real time. A budget that has not passed yet stays.
    async fn set_clock(&mut self, policy: &str, time: Duration) -> Result<(), PageError> {
        // Otherwise, measured, the timers of one in a hundred documents that begin while the clock stands still never
        // fire.
        if std::mem::take(&mut self.state.clock.is_anew) {
            self.post("Emulation.setVirtualTimePolicy", json!({ "policy": "pause" })).await?;
        }
        let now = Instant::now();
        let clock = &mut self.state.clock;
        clock.began.get_or_insert(now);
        let lag = clock.lag(now);
        let budget = clock.budget.get_or_insert(lag + time.max(LEAD)).as_millis() as u64;
        let policy =
            json!({ "policy": policy, "budget": budget, "maxVirtualTimeTaskStarvationCount": MAX_TASKS });
        self.post("Emulation.setVirtualTimePolicy", policy).await
    }
}
