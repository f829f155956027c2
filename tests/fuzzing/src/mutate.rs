//! Mutates inputs: changes bytes and numbers, and removes, repeats or splices in pieces.

use fastrand::Rng;

/// Edge cases for sizes and offsets.
const EDGES: [u32; 9] = [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_fffe, 0xffff_ffff];

/// Characters with a meaning in URLs, headers, JSON and tags, and some non-ASCII ones.
const PIECES: [&str; 20] = [
    "%",
    "%00",
    "%ff",
    "/",
    "..",
    "//",
    "&",
    "=",
    "?url=",
    "\u{202e}",
    "é",
    "\0",
    "9999999999999999999",
    "-",
    ",",
    ";",
    "\"",
    "{",
    "\r\n",
    "<",
];

/// Mutates an input one to four times. Half of the mutations hit its first 100 bytes, where formats store sizes.
pub fn mutate(random: &mut Rng, bytes: &mut Vec<u8>, others: &[impl AsRef<[u8]>]) {
    for _ in 0..random.u32(1..=4) {
        if bytes.is_empty() {
            return;
        }
        let head = bytes.len().min(100);
        let at = if random.bool() { random.usize(0..head) } else { random.usize(0..bytes.len()) };
        let to = (at + random.usize(1..64)).min(bytes.len());
        match random.u32(0..10) {
            0 => bytes[at] = random.u8(..),
            1 => bytes[at] ^= 1 << random.u32(0..8),
            2 | 3 => {
                let number = *random.choice(&EDGES).unwrap_or(&0);
                let number = if random.bool() { number.to_be_bytes() } else { number.to_le_bytes() };
                let length = [1, 2, 4][random.usize(0..3)];
                bytes.iter_mut().skip(at).zip(&number[..length]).for_each(|(byte, new)| *byte = *new);
            }
            4 => bytes[at] = bytes[at].wrapping_add(random.u8(0..3).wrapping_sub(1)),
            5 => drop(bytes.drain(at..to)),
            6 => {
                let piece = bytes[at..to].repeat(random.usize(1..9));
                bytes.splice(at..at, piece);
            }
            7 => bytes.truncate(at),
            8 => {
                let piece = random.choice(&PIECES).copied().unwrap_or_default();
                bytes.splice(at..at, piece.bytes());
            }
            _ => {
                let other = others[random.usize(0..others.len())].as_ref();
                let from = random.usize(0..other.len().max(1));
                bytes.splice(at..to, other.iter().skip(from).copied().take(64));
            }
        }
    }
}
