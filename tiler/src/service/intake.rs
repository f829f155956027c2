//! What to do with a job that was pulled, before it is claimed. Pure.

use edgezoom_content::protocol::{Job, TilerId};

/// What to do with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intake {
    /// Claim it and begin, beside other jobs.
    Begin,
    /// Begin it when all other jobs have ended, and take no other one until it has ended too.
    BeginAlone,
    /// Give it back, for another tiler.
    LeaveToOthers,
}

impl Intake {
    /// What `tiler` does with a job that was delivered so many times. A job that it should leave to others, and that comes
    /// back to it, no other tiler wants.
    pub(super) fn of(job: &Job, deliveries: u32, tiler: TilerId) -> Self {
        if job.avoid == Some(tiler) && deliveries <= 1 {
            Self::LeaveToOthers
        } else if job.alone {
            Self::BeginAlone
        } else {
            Self::Begin
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_left_to_others_once() {
        let (me, other) = (TilerId(1), TilerId(2));
        let job = |alone, avoid| Job { id: "6qy4OXfXSid".parse().unwrap(), alone, avoid };
        for (job, deliveries, intake) in [
            (job(false, None), 1, Intake::Begin),
            (job(false, None), 9, Intake::Begin),
            (job(true, None), 1, Intake::BeginAlone),
            (job(false, Some(me)), 1, Intake::LeaveToOthers),
            (job(false, Some(me)), 2, Intake::Begin),
            (job(true, Some(me)), 1, Intake::LeaveToOthers),
            (job(true, Some(me)), 2, Intake::BeginAlone),
            (job(false, Some(other)), 1, Intake::Begin),
        ] {
            assert_eq!(Intake::of(&job, deliveries, me), intake, "{job:?} {deliveries}");
        }
    }
}
