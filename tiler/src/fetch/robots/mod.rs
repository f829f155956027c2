//! What a server's robots.txt says (RFC 9309): its rules for us, and the copies of them that are kept.

mod kept;
mod rules;

pub(super) use kept::{KeptRules, Known};
pub(super) use rules::{MOST_BYTES, Rules};
