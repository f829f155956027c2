//! The policy of a conversion: how long its parts may take, and how often they are repeated.

use std::time::Duration;

/// The times and counts of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How long a tiler's claim holds without a report; then the job is queued again. Tilers report every few seconds,
    /// so this is how long a network may be down, and how long a killed tiler delays its job.
    pub lease: Duration,
    /// How many leases may expire before the conversion fails: three killed tilers are enough for one source.
    pub leases: u32,
    /// How long a queued job waits before its message counts as lost and is sent again; four times longer each time, up
    /// to 64 times. A message too many costs one refused claim.
    pub resend: Duration,
    /// How long until a message that the queue did not take, or a value that KV did not take, is sent again.
    pub repeat: Duration,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(60),
            leases: 3,
            resend: Duration::from_secs(120),
            repeat: Duration::from_secs(10),
        }
    }
}
