//! Blocks of BC3 in the form that the crate decodes right.

use std::io::{self, Read};

/// Bytes of a block of BC3.
const BLOCK_BYTES: usize = 16;

/// A file of BC3 whose blocks are rewritten while they are read.
///
/// A block of BC1 has three colours and black unless its first colour is the greater one. A block of BC3 always has four
/// colours, but the crate decodes it as BC1. So the two colours are swapped into the order that means four.
///
/// ```text
/// a block   alpha: 8 bytes   colour 0: u16   colour 1: u16   16 numbers of 2 bits: u32
/// 0 and 1: the colours; 2 and 3: a third and two thirds between them
/// ```
pub struct Bc3<R> {
    file: R,
    block: [u8; BLOCK_BYTES],
    /// The range of the block's bytes that have not been read.
    start: usize,
    end: usize,
}

impl<R: Read> Bc3<R> {
    /// Wraps a file at its first block.
    pub fn new(file: R) -> Self {
        Self { file, block: [0; BLOCK_BYTES], start: 0, end: 0 }
    }
}

impl<R: Read> Read for Bc3<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < into.len() {
            if self.start == self.end {
                (self.start, self.end) = (0, 0);
                while self.end < BLOCK_BYTES {
                    match self.file.read(&mut self.block[self.end..])? {
                        0 => break,
                        read => self.end += read,
                    }
                }
                if self.end == 0 {
                    break;
                }
                order(&mut self.block);
            }
            let bytes = (self.end - self.start).min(into.len() - done);
            into[done..done + bytes].copy_from_slice(&self.block[self.start..self.start + bytes]);
            self.start += bytes;
            done += bytes;
        }
        Ok(done)
    }
}

/// Puts the greater colour first.
fn order(block: &mut [u8; BLOCK_BYTES]) {
    let [.., a0, a1, b0, b1, n0, n1, n2, n3] = *block;
    let (first, second) = (u16::from_le_bytes([a0, a1]), u16::from_le_bytes([b0, b1]));
    if first > second {
        return;
    }
    let numbers = u32::from_le_bytes([n0, n1, n2, n3]);
    // Between two equal colours, all colours are the same.
    let numbers = if first == second { 0 } else { numbers ^ 0x5555_5555 };
    let [n0, n1, n2, n3] = numbers.to_le_bytes();
    block[8..].copy_from_slice(&[b0, b1, a0, a1, n0, n1, n2, n3]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_ordered_whatever_the_size_of_reads() {
        let less = [1, 2, 3, 4, 5, 6, 7, 8, 0x10, 0x20, 0x30, 0x40, 0b11_10_01_00, 0xff, 0, 0xaa];
        let more = [1, 2, 3, 4, 5, 6, 7, 8, 0x30, 0x40, 0x10, 0x20, 0b10_11_00_01, 0xaa, 0x55, 0xff];
        let same = [0, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 0xff, 0xff, 0xff, 0xff];
        let flat = [0, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 0, 0, 0, 0];
        let file = [&less[..], &more, &same, &less[..3]].concat();
        let expected = [&more[..], &more, &flat, &less[..3]].concat();
        for step in [1, 3, 16, 1000] {
            let (mut reader, mut read) = (Bc3::new(&*file), Vec::new());
            loop {
                let mut part = vec![0; step];
                let bytes = reader.read(&mut part).unwrap();
                read.extend_from_slice(&part[..bytes]);
                if bytes == 0 {
                    break;
                }
            }
            assert_eq!(read, expected, "{step} bytes at a time");
        }
    }
}
