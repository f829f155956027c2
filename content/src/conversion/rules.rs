//! The policy of a conversion: how long its parts may take, and how often they are repeated.

use std::time::Duration;

use crate::FailureCode;

/// The times and counts of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How long a tiler's claim holds without a report; then the job is queued again. Tilers report every few seconds,
    /// so this is how long a network may be down, and how long a killed tiler delays its job.
    pub lease: Duration,
    /// How many leases may expire before the job is tried alone on its tiler, for the last time: it may have been the
    /// neighbour of the one that kills tilers.
    pub leases: u32,
    /// How long a queued job waits before its message counts as lost and is sent again; four times longer each time, up
    /// to 64 times. A message too many costs one refused claim.
    pub resend: Duration,
    /// How long until a message that the queue did not take, or a value that KV did not take, is sent again.
    pub repeat: Duration,
    /// The pauses after attempts that failed for a reason that may pass. In a minute a server has restarted; what
    /// is not back after half an hour more is not back soon. A server's own wish (`Retry-After`) counts up to the longest.
    pub retries: [Duration; 3],
    /// How often a job is queued again at once after something outside has killed its renderer. From then on the pauses
    /// of `retries` come between.
    pub kills: u32,
    /// How long after its end a conversion of several attempts is swept: tilers that died left objects, and one that was
    /// silent for a while needs a lease to learn that its attempt is over.
    pub sweep: Duration,
    /// How long a failure stands before a request starts the conversion anew.
    pub failed: Duration,
    /// The same for a source that exceeds a limit of the service, which costs as much each time.
    pub over_a_limit: Duration,
    /// The least time between two conversions of a content that clients start sooner than that.
    pub early: Duration,
}

impl Rules {
    /// The rules with another lease, and with the times that follow from it.
    #[must_use]
    pub fn with_lease(self, lease: Duration) -> Self {
        Self { lease, resend: lease * 2, sweep: lease * 5, ..self }
    }

    /// How long a failure stands before a request starts the conversion anew.
    pub(super) fn retry_after(&self, code: FailureCode) -> Duration {
        if code.is_over_a_limit() { self.over_a_limit } else { self.failed }
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(60),
            leases: 3,
            resend: Duration::from_secs(120),
            repeat: Duration::from_secs(10),
            retries: [60, 5 * 60, 30 * 60].map(Duration::from_secs),
            kills: 2,
            sweep: Duration::from_secs(5 * 60),
            failed: Duration::from_secs(10 * 60),
            over_a_limit: Duration::from_secs(24 * 60 * 60),
            early: Duration::from_secs(60),
        }
    }
}
