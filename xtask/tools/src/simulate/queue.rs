//! The queue: messages in order, each invisible for a while once it is pulled; and the allowances that calls have.

use std::collections::{BTreeMap, VecDeque};

/// How many calls may be made: some at once, then as many as flow in.
#[derive(Clone, Debug)]
pub struct Allowance {
    most: f64,
    per_ms: f64,
    left: f64,
    at: u64,
}

impl Allowance {
    /// At most `most` calls in `ms` milliseconds.
    pub fn new(most: f64, ms: f64) -> Self {
        Self { most, per_ms: most / ms, left: most, at: 0 }
    }

    /// Takes one, if there is one.
    pub fn take(&mut self, now: u64) -> bool {
        self.left = (self.left + (now - self.at) as f64 * self.per_ms).min(self.most);
        self.at = now;
        let granted = self.left >= 1.0;
        if granted {
            self.left -= 1.0;
        }
        granted
    }
}

/// The messages. A message is the number of its content.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    ready: VecDeque<usize>,
    /// Those that come back, by when.
    later: BTreeMap<(u64, u64), usize>,
    count: u64,
}

impl Queue {
    /// A message can be pulled.
    pub fn add(&mut self, content: usize) {
        self.ready.push_back(content);
    }

    /// A message can be pulled again at `at`.
    pub fn add_later(&mut self, content: usize, at: u64) {
        self.count += 1;
        self.later.insert((at, self.count), content);
    }

    /// At most `most` messages.
    pub fn pull(&mut self, most: usize, now: u64) -> Vec<usize> {
        while let Some(entry) = self.later.first_entry().filter(|entry| entry.key().0 <= now) {
            self.ready.push_back(entry.remove());
        }
        self.ready.drain(..most.min(self.ready.len())).collect()
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.ready.len() + self.later.len()
    }
}
