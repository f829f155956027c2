//! Deflate of two strips or tiles by one thread. Decoding one is a chain: where a code begins is known when the one before
//! has been looked up, and until then a processor waits. Two chains do not wait for each other. Of what is hardly
//! compressed, and so is mostly literals, two are decoded in little more time than one. Matches gain nothing.
//!
//! Only what is in order is decoded. For all else, what decodes one at a time says what is wrong, and how far it goes.
//!
//! Source: RFC 1950; RFC 1951.

mod bits;
mod codes;
mod lane;
mod stream;
#[cfg(test)]
mod tests;

use codes::Codes;
use lane::{alone, beside};
use stream::Stream;

/// The bytes that are stored for so many decoded ones, at least, if there may be few matches.
const FEW_MATCHES: (usize, usize) = (3, 4);

/// The bytes that there must be for each match, beyond the first ones. Measured on grain of several strengths: at 22 bytes a
/// match, two are decoded in the time that libdeflate takes for one after the other, and at 500 in 0.57 of it.
const BYTES_A_MATCH: usize = 32;
const SOME_MATCHES: usize = 256;

/// Decodes two streams at once. It keeps their tables from one pair to the next.
#[derive(Default)]
pub struct TwoInflater {
    codes: [Codes; 2],
}

impl TwoInflater {
    /// Whether a chunk of so many bytes may be decoded faster beside another.
    pub fn may_gain(stored: usize, decoded: usize) -> bool {
        let (least, of) = FEW_MATCHES;
        stored.saturating_mul(of) >= decoded.saturating_mul(least)
    }

    /// Decodes two streams of zlib that fill their outputs to the end. `None` if one of them does not, or is not as it
    /// should be, or has so many matches that it is faster alone; what has been written by then is of no use.
    pub fn decode(&mut self, stored: [&[u8]; 2], out: [&mut [u8]; 2]) -> Option<()> {
        self.decode_while(stored, out, |matches, bytes| matches <= SOME_MATCHES + bytes / BYTES_A_MATCH)
    }

    /// The same while it pays, by how many matches and bytes there are so far.
    fn decode_while(
        &mut self,
        stored: [&[u8]; 2],
        out: [&mut [u8]; 2],
        pays: impl Fn(usize, usize) -> bool,
    ) -> Option<()> {
        let ([one_stored, other_stored], [one_out, other_out]) = (stored, out);
        let [one_codes, other_codes] = &mut self.codes;
        let mut one = Stream::new(one_stored, one_out, one_codes)?;
        let mut other = Stream::new(other_stored, other_out, other_codes)?;
        let mut matches = 0;
        while !one.is_done() && !other.is_done() {
            if one.is_in_codes() && other.is_in_codes() {
                beside(&mut one, &mut other, &mut matches, &pays)?;
                continue;
            }
            for stream in [&mut one, &mut other] {
                if !stream.is_in_codes() {
                    stream.begin_block()?;
                }
            }
        }
        for stream in [&mut one, &mut other] {
            while !stream.is_done() {
                match stream.is_in_codes() {
                    true => alone(stream)?,
                    false => stream.begin_block()?,
                }
            }
        }
        (one.is_as_announced() && other.is_as_announced()).then_some(())
    }
}
