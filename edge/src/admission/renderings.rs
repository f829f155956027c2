//! The rules of the day's renderings (UTC), as an isolate knows them. The operator's object counts for all isolates
//! (`edge/src/admin/operator.js`); an isolate takes blocks from it, each twice as large as the one before.

use std::collections::BTreeMap;
use std::time::Duration;

use edgezoom_content::Timestamp;
use serde::{Deserialize, Serialize};

use super::client::is_signed;

/// Sizes of the first and of the largest block: each is a message.
const FIRST: u64 = 8;
const MOST: u64 = 128;
/// One client has this part of the day's renderings.
const SHARE: u64 = 10;
/// Time after which a message to the operator's object counts as lost.
pub const ASKING: Duration = Duration::from_secs(5);

/// Numbers of renderings, by the party of their client.
type Counts = BTreeMap<String, u64>;

/// The renderings of a day, as one isolate knows them.
#[derive(Debug, Default)]
pub struct Renderings {
    day: u64,
    /// Number of renderings that the isolate may still make.
    left: u64,
    /// Size of the last block that was granted in full.
    block: Option<u64>,
    is_used_up: bool,
    asked_at: Option<Timestamp>,
    /// Renderings of clients in all isolates, as far as this one knows.
    made: Counts,
    /// Those that the operator's object does not know yet.
    untold: Counts,
}

/// A request for a block. It tells how many renderings the clients had.
#[derive(Debug, PartialEq, Serialize)]
pub struct Request {
    day: u64,
    wanted: u64,
    /// Maximum number of renderings in a day.
    most: u64,
    used: Counts,
}

/// The answer of the operator's object.
#[derive(Deserialize)]
pub struct Block {
    granted: u64,
    /// Renderings in all isolates of the clients in the request.
    made: Counts,
}

/// The result of [`Renderings::take`].
#[derive(Debug, PartialEq)]
pub enum Turn {
    Taken,
    /// The renderings of the day, or the client's share, are used up.
    UsedUp,
    /// Another request asks the operator's object.
    Wait,
    Ask(Request),
}

impl Renderings {
    /// Takes a rendering of a client's party, which is empty for the operator, of `most` for all in a day.
    pub fn take(&mut self, party: &str, most: u64, now: Timestamp) -> Turn {
        if self.day != now.day() {
            *self = Self { day: now.day(), ..Self::default() };
        }
        let is_limited = !party.is_empty() && !is_signed(party);
        if is_limited && self.made.get(party).copied().unwrap_or_default() * SHARE >= most {
            return Turn::UsedUp;
        }
        if self.left > 0 {
            self.left -= 1;
            if is_limited {
                for counts in [&mut self.made, &mut self.untold] {
                    *counts.entry(party.to_owned()).or_default() += 1;
                }
            }
            return Turn::Taken;
        }
        if self.is_used_up {
            return Turn::UsedUp;
        }
        if self.asked_at.is_some_and(|at| now - at < ASKING) {
            return Turn::Wait;
        }
        self.asked_at = Some(now);
        let used = std::mem::take(&mut self.untold);
        Turn::Ask(Request { day: self.day, wanted: self.wanted(), most, used })
    }

    /// Handles the answer to a request; `None` if there is none.
    pub fn answer(&mut self, request: Request, block: Option<Block>) {
        if request.day != self.day {
            return;
        }
        self.asked_at = None;
        let Some(Block { granted, made }) = block else {
            for (party, number) in request.used {
                *self.untold.entry(party).or_default() += number;
            }
            return;
        };
        self.left += granted;
        self.is_used_up = granted < request.wanted;
        self.block = Some(request.wanted);
        for (party, number) in made {
            let since = self.untold.get(&party).copied().unwrap_or_default();
            self.made.insert(party, number + since);
        }
    }

    fn wanted(&self) -> u64 {
        self.block.map_or(FIRST, |block| (2 * block).min(MOST))
    }
}

#[cfg(test)]
mod tests;
