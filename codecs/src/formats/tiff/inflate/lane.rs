//! The fast loop: literals by fours, of one stream or of two side by side.

use super::bits::Bits;
use super::codes::{Entry, LITERAL_TABLE, OTHER};
use super::stream::Stream;

/// The literals that are decoded at once. A full word has bits for their codes, and for looking up the next one.
const AT_ONCE: usize = 4;
const _: () = assert!((AT_ONCE as u32 + 1) * LITERAL_TABLE.ilog2() < Bits::FULL);

/// A stream in the loop.
struct Lane<'a, 'b> {
    bits: Bits<'a>,
    table: &'b [Entry; LITERAL_TABLE],
    /// The entry of the next code: looked up before the word is filled, so that filling it is waited for by nothing.
    next: Entry,
}

impl<'a, 'b> Lane<'a, 'b> {
    fn new(mut bits: Bits<'a>, table: &'b [Entry; LITERAL_TABLE]) -> Self {
        bits.refill();
        let mut lane = Self { bits, table, next: 0 };
        lane.next = lane.look_up(lane.bits.word);
        lane
    }

    fn look_up(&self, word: u64) -> Entry {
        self.table[word as usize & (LITERAL_TABLE - 1)]
    }

    /// Decodes the next literals, and returns how many there are before another symbol: none near the input's end.
    #[inline(always)]
    fn decode(&mut self, to: &mut [u8; AT_ONCE]) -> usize {
        let Bits { input, word, have } = self.bits;
        let Some(filling) = input.first_chunk() else { return 0 };
        let word = word | u64::from_le_bytes(*filling) << have;
        // The lowest six bits of an entry are its length, which is all that shifting takes of it.
        let first = self.next;
        let after_first = word.wrapping_shr(first);
        let second = self.look_up(after_first);
        let after_second = after_first.wrapping_shr(second);
        let third = self.look_up(after_second);
        let after_third = after_second.wrapping_shr(third);
        let fourth = self.look_up(after_third);
        let after_all = after_third.wrapping_shr(fourth);
        let next = self.look_up(after_all);
        *to = [first, second, third, fourth].map(|entry| (entry >> 16) as u8);
        let all = first.wrapping_add(second).wrapping_add(third);
        let (literals, word, length) = if (first | second | third | fourth) & OTHER == 0 {
            (AT_ONCE, after_all, all + fourth)
        } else {
            // Without branches: which of them it is cannot be predicted.
            let others = first >> 31 | second >> 31 << 1 | third >> 31 << 2 | 1 << 3;
            let literals = others.trailing_zeros() as usize & 3;
            let length = [0, first, first.wrapping_add(second), all][literals] & 0xff;
            (literals, word.wrapping_shr(length), length)
        };
        let input = input.get(Bits::bytes_taken(have)..).unwrap_or_default();
        self.bits = Bits { input, word, have: (have | Bits::FULL) - (length & 0xff) };
        self.next = next;
        literals
    }
}

/// Decodes two streams beside each other, until one of them ends its block. `None` if one is broken, or if there are
/// more matches than pay.
pub fn beside<'a>(
    one: &mut Stream<'a>,
    other: &mut Stream<'a>,
    matches: &mut usize,
    pays: &impl Fn(usize, usize) -> bool,
) -> Option<()> {
    while one.is_in_codes() && other.is_in_codes() {
        let (has_stopped, has_other_stopped) = literals_beside(one, other);
        for (stream, has_stopped) in [(&mut *one, has_stopped), (&mut *other, has_other_stopped)] {
            if has_stopped {
                stream.decode_after_literals()?;
                *matches += 1;
            }
        }
        if !pays(*matches, one.written + other.written) {
            return None;
        }
    }
    Some(())
}

/// Decodes a stream until it ends its block.
pub fn alone(stream: &mut Stream<'_>) -> Option<()> {
    while stream.is_in_codes() {
        literals(stream);
        stream.decode_after_literals()?;
    }
    Some(())
}

/// Decodes literals of both while both have some. Returns which of them has come to something else.
fn literals_beside(one: &mut Stream<'_>, other: &mut Stream<'_>) -> (bool, bool) {
    let mut lane = Lane::new(one.bits.take_all(), &one.codes.literals.table);
    let mut other_lane = Lane::new(other.bits.take_all(), &other.codes.literals.table);
    let (out, other_out) = (room(one.out, one.written), room(other.out, other.written));
    let (mut written, mut other_written) = (0, 0);
    let mut has_stopped = (true, true);
    for (to, other_to) in out.iter_mut().zip(other_out) {
        let literals = (lane.decode(to), other_lane.decode(other_to));
        written += literals.0;
        other_written += literals.1;
        if literals != (AT_ONCE, AT_ONCE) {
            has_stopped = (literals.0 < AT_ONCE, literals.1 < AT_ONCE);
            break;
        }
    }
    one.written += written;
    other.written += other_written;
    (one.bits, other.bits) = (lane.bits, other_lane.bits);
    has_stopped
}

/// Decodes literals while there are some.
fn literals(stream: &mut Stream<'_>) {
    let mut written = 0;
    let mut lane = Lane::new(stream.bits.take_all(), &stream.codes.literals.table);
    for to in room(stream.out, stream.written) {
        let literals = lane.decode(to);
        written += literals;
        if literals < AT_ONCE {
            break;
        }
    }
    stream.written += written;
    stream.bits = lane.bits;
}

fn room(out: &mut [u8], written: usize) -> &mut [[u8; AT_ONCE]] {
    out.get_mut(written..).unwrap_or_default().as_chunks_mut().0
}
