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
use super::fair_clock::FairInstant;
use super::stillness::{Activity, Stillness};
use super::tab::Tab;

/// Step of the clock between two frames while nothing is painted. GSAP, which many pages animate with, takes a frame
/// that is more than half a second late for a pause, and counts 33 ms for it.
const STEP: Duration = Duration::from_millis(400);

/// Step of the clock between two frames while something is painted.
const FINE_STEP: Duration = Duration::from_millis(100);

/// Step of the clock between two frames once a page has had its time: about as long as the frame.
const FRAME: Duration = Duration::from_millis(20);

/// Least lead of the clock over real time with each step.
const LEAD: Duration = Duration::from_millis(100);

/// Time after which a frame that has not come is taken to wait for the clock.
const LATE: Duration = Duration::from_secs(1);

/// Maximum number of tasks without a delay that run before the clock moves on: a page may post messages to itself for
/// ever.
const MAX_TASKS: u32 = 1000;

/// Waits for the next frame. Returns the number of our callback: those of the document are numbered, the page's and ours.
const NEXT_FRAME: &str = "async () => {
    let callback;
    await new Promise((drawn) => { callback = requestAnimationFrame(drawn); });
    return callback;
}";

/// Pauses animations that never end. Returns their number.
const PAUSE_ENDLESS: &str = "async () => {
    const endless = document.getAnimations().filter(({ effect, playState }) =>
        playState === 'running' && effect?.getComputedTiming().endTime === Infinity);
    endless.forEach((animation) => animation.pause());
    return endless.length;
}";

impl Tab {
    /// Lets `time` pass on the page's clock, frame by frame, and waits until its window has come to rest: until frames
    /// leave it as it is. Returns after `patience` at the latest for a window that never rests, in any case at
    /// `deadline`, and as soon as the page shows another document.
    pub(super) async fn settle(
        &mut self,
        time: Duration,
        patience: Duration,
        deadline: FairInstant,
    ) -> Result<(), PageError> {
        let document = self.state.document_count;
        let (mut left, mut step) = (time, STEP);
        let mut still = Stillness::new(self.state.paintings, self.state.usual);
        while !left.is_zero() {
            step = step.min(left);
            left -= step;
            self.pass_time(step, deadline).await?;
            let activity = self.draw().await?;
            if self.state.document_count != document || self.now() >= deadline {
                return Ok(());
            }
            step = if still.note(activity) { FINE_STEP } else { STEP };
        }
        self.call(PAUSE_ENDLESS, json!({})).await?;
        let began = self.now();
        let end = deadline.min(began + patience);
        while self.now() < end && self.state.document_count == document {
            // A worker's results and the messages of a WebSocket arrive in real time, without a request.
            let is_waiting = self.state.has_helpers && self.now().since(began) < patience / 2;
            if let Some(usual) = still.rest(false)
                && !is_waiting
            {
                self.state.usual = usual;
                break;
            }
            self.pass_time(FRAME, deadline).await?;
            still.note(self.draw().await?);
        }
        Ok(())
    }

    /// Waits until the window has come to rest, at most for `patience`, and returns how long that took. Does not wait
    /// for requests. `in_haste` takes fewer frames for rest.
    pub(super) async fn rest(&mut self, patience: Duration, in_haste: bool) -> Result<Duration, PageError> {
        let began = self.now();
        let mut still = Stillness::new(self.state.paintings, self.state.usual);
        loop {
            still.note(self.draw().await?);
            let took = self.now().since(began);
            if let Some(usual) = still.rest(in_haste) {
                self.state.usual = usual;
                return Ok(took);
            }
            if took >= patience {
                return Ok(took);
            }
            self.pass_time_anyway(FRAME).await?;
        }
    }

    /// Waits for a frame, and returns what the page had done by then.
    async fn draw(&mut self) -> Result<Activity, PageError> {
        let callbacks = self.next_frame().await?;
        let metrics = self.command("Performance.getMetrics", json!({})).await?;
        let metrics = metrics["metrics"].as_array().map(Vec::as_slice).unwrap_or_default();
        let counts = ["RecalcStyleCount", "LayoutCount"];
        let restyles = metrics.iter().filter(|metric| counts.iter().any(|name| metric["name"] == *name));
        let restyles = restyles.filter_map(|metric| metric["value"].as_f64()).sum::<f64>() as u64;
        Ok(Activity { paintings: self.state.paintings, callbacks, restyles })
    }

    /// Waits until the page has drawn a frame. Returns the number of our callback.
    pub(super) async fn next_frame(&mut self) -> Result<u64, PageError> {
        let end = self.now() + self.limits.command;
        if !self.state.clock.is_anew {
            self.draw_for(self.state.clock.frame.max(FRAME)).await?;
        }
        loop {
            let (began, late) = (Instant::now(), self.now() + LATE);
            if let Some(callback) = self.call_within(NEXT_FRAME, json!({}), late).await? {
                self.state.clock.frame = began.elapsed();
                return Ok(callback.as_u64().unwrap_or_default());
            }
            if self.now() >= end {
                return Err(PageError::NeverLoaded(self.limits.settle));
            }
            self.state.clock.passed = Duration::ZERO; // it may have been cut short by another document
            self.pass_time_anyway(FRAME).await?;
        }
    }

    /// Lets `time` pass on the page's clock. The clock stands still while requests are pending, until `deadline` and
    /// except for those that may never end.
    pub(super) async fn pass_time(&mut self, time: Duration, deadline: FairInstant) -> Result<(), PageError> {
        let (quiet, timeout) = (self.limits.quiet, self.limits.request);
        let began = self.now();
        if !self.state.clock.is_held {
            self.set_clock("pauseIfNetworkFetchesPending", time).await?;
            self.wait_until(deadline, |state, now| {
                let waited = now.since(began);
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
        let mut lead = time.max(LEAD);
        loop {
            self.set_clock("advance", lead).await?;
            self.wait_for_clock().await?;
            if self.state.clock.lag(Instant::now()).is_zero() {
                return Ok(());
            }
            lead *= 2; // the machine is busy
        }
    }

    /// Waits until the budget of the clock has passed.
    async fn wait_for_clock(&mut self) -> Result<(), PageError> {
        let patience = self.limits.command / 2;
        let mut idle = self.now();
        let end = idle + self.limits.settle;
        self.wait_until(end, |state, now| {
            if state.is_leaving() {
                idle = now;
            }
            state.clock.budget.is_none() || now.since(idle) >= patience
        })
        .await?;
        if self.state.clock.budget.is_some() {
            self.post("Runtime.terminateExecution", json!({})).await?;
            let end = self.now() + patience;
            self.wait_until(end, |state, _| state.clock.budget.is_none()).await?;
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
        let lead = time.max(LEAD).max(clock.frame);
        let budget = clock.budget.get_or_insert(lag + lead).as_millis() as u64;
        let policy =
            json!({ "policy": policy, "budget": budget, "maxVirtualTimeTaskStarvationCount": MAX_TASKS });
        self.post("Emulation.setVirtualTimePolicy", policy).await
    }
}
