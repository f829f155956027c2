//! The faults of a run. A seed determines the faults and their order; which request or process one hits depends on the
//! machine.

use std::time::Duration;

use fastrand::Rng;

/// The purpose of a tiler's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// A source.
    Download,
    /// The store.
    Store,
    /// The queue.
    Queue,
    /// A claim, or a report on an attempt.
    Report,
}

/// The fault of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The connection breaks before the request arrives.
    NotSent,
    /// The request takes effect, but the connection breaks before the end of the response.
    AnswerLost,
    /// The response is 503.
    Unavailable,
    /// The response is delayed.
    Slow(Duration),
}

/// A process to kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// A tiler with its renderers and browsers.
    Tiler,
    /// A renderer.
    Renderer,
    /// A browser.
    Browser,
    /// The Workers runtime with queue, KV, store and Durable Objects.
    Edge,
}

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Kills a process.
    Kill(Victim),
    /// Suspends a tiler, then resumes it.
    Stop(Duration),
    /// Fills the tilers' disk.
    Fill(Duration),
    /// Makes KV answer each key as it was when it was first read in this time.
    Stale(Duration),
    /// Disturbs the next request on a channel.
    Request(Channel, Trouble),
}

/// Kinds of faults and their weights.
const KINDS: [(u32, Kind); 11] = [
    (10, Kind::Kill(Victim::Tiler)),
    (14, Kind::Kill(Victim::Renderer)),
    (6, Kind::Kill(Victim::Browser)),
    (2, Kind::Kill(Victim::Edge)),
    (3, Kind::Stop),
    (4, Kind::Fill),
    (4, Kind::Stale),
    (18, Kind::Request(Channel::Download)),
    (20, Kind::Request(Channel::Store)),
    (12, Kind::Request(Channel::Queue)),
    (15, Kind::Request(Channel::Report)),
];

#[derive(Clone, Copy)]
enum Kind {
    Kill(Victim),
    Stop,
    Fill,
    Stale,
    Request(Channel),
}

/// Maximum time for which the disk is full: less than the pauses between a content's attempts.
const FULL: Duration = Duration::from_millis(1500);

/// Draws `count` faults. Some tilers are suspended for longer than `lease`, and some responses delayed for nearly as
/// long.
#[must_use]
pub fn plan(random: &mut Rng, count: usize, lease: Duration) -> Vec<Fault> {
    (0..count).map(|_| fault(random, lease)).collect()
}

fn fault(random: &mut Rng, lease: Duration) -> Fault {
    let all: u32 = KINDS.iter().map(|(weight, _)| weight).sum();
    let mut drawn = random.u32(0..all);
    let kind = KINDS.into_iter().find_map(|(weight, kind)| match drawn.checked_sub(weight) {
        Some(rest) => {
            drawn = rest;
            None
        }
        None => Some(kind),
    });
    match kind {
        Some(Kind::Kill(victim)) => Fault::Kill(victim),
        Some(Kind::Stop) | None => Fault::Stop(lease.mul_f64(random.f64() * 2.0)),
        Some(Kind::Fill) => Fault::Fill(FULL.mul_f64(random.f64())),
        Some(Kind::Stale) => Fault::Stale(lease.mul_f64(1.0 + random.f64() * 3.0)),
        Some(Kind::Request(channel)) => Fault::Request(channel, trouble(random, lease)),
    }
}

fn trouble(random: &mut Rng, lease: Duration) -> Trouble {
    match random.u32(0..4) {
        0 => Trouble::NotSent,
        1 => Trouble::AnswerLost,
        2 => Trouble::Unavailable,
        _ => Trouble::Slow(lease.mul_f64(random.f64())),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_seed_determines_the_faults_and_gives_every_kind() {
        let lease = Duration::from_secs(3);
        let of = |seed| plan(&mut Rng::with_seed(seed), 200, lease);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let kinds: HashSet<_> = of(1)
            .into_iter()
            .map(|fault| match fault {
                Fault::Kill(victim) => format!("{victim:?}"),
                Fault::Stop(_) => "stop".to_owned(),
                Fault::Fill(_) => "fill".to_owned(),
                Fault::Stale(_) => "stale".to_owned(),
                Fault::Request(channel, Trouble::Slow(_)) => format!("{channel:?} slow"),
                Fault::Request(channel, trouble) => format!("{channel:?} {trouble:?}"),
            })
            .collect();
        assert_eq!(kinds.len(), 4 + 3 + 4 * 4, "{kinds:?}");
    }
}
