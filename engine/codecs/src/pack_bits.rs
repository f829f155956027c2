//! PackBits, the runs of bytes in TIFF and Photoshop's files.
//!
//! ```text
//! 0 … 127 n: n + 1 bytes follow    129 … 255 n: the next byte, 257 - n times    128: nothing
//! ```
//! Source: TIFF 6.0, section 9; Apple Technical Note TN1023.

/// Decodes bytes up to their end or to the end of `out`. Returns the number of bytes decoded.
pub fn unpack_bits(mut stored: &[u8], out: &mut [u8]) -> usize {
    let mut written = 0;
    while let [count, rest @ ..] = stored {
        let left = out.len() - written;
        let bytes = match *count as i8 {
            // Does nothing.
            -128 => {
                stored = rest;
                continue;
            }
            count @ 0.. => {
                let length = count as usize + 1;
                let bytes = length.min(left).min(rest.len());
                out[written..written + bytes].copy_from_slice(&rest[..bytes]);
                stored = rest.get(length..).unwrap_or_default();
                bytes
            }
            count => {
                let [value, rest @ ..] = rest else { break };
                let bytes = (1 - isize::from(count)).unsigned_abs().min(left);
                out[written..written + bytes].fill(*value);
                stored = rest;
                bytes
            }
        };
        written += bytes;
        if written == out.len() {
            break;
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_packbits_in_the_specification_is_decoded() {
        let stored =
            [0xfe, 0xaa, 0x02, 0x80, 0x00, 0x2a, 0xfd, 0xaa, 0x03, 0x80, 0x00, 0x2a, 0x22, 0xf7, 0xaa];
        let mut out = [0; 24];
        assert_eq!(unpack_bits(&stored, &mut out), 24);
        let mut expected = vec![0xaa; 3];
        expected.extend([0x80, 0x00, 0x2a, 0xaa, 0xaa, 0xaa, 0xaa, 0x80, 0x00, 0x2a, 0x22]);
        expected.extend([0xaa; 10]);
        assert_eq!(out.as_slice(), expected);
        // Cut off, and with less to fill.
        assert_eq!(unpack_bits(&stored[..4], &mut out), 4);
        assert_eq!(unpack_bits(&stored, &mut out[..5]), 5);
    }
}
