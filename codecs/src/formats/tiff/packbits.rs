//! PackBits: runs of equal bytes.
//!
//! Source: TIFF 6.0, section 9.

/// Decodes a strip up to its end or to the end of `out`. Returns how many bytes have been decoded.
pub fn decode(mut stored: &[u8], out: &mut [u8]) -> usize {
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
    fn the_example_of_the_specification_is_decoded() {
        let stored =
            [0xfe, 0xaa, 0x02, 0x80, 0x00, 0x2a, 0xfd, 0xaa, 0x03, 0x80, 0x00, 0x2a, 0x22, 0xf7, 0xaa];
        let mut out = [0; 24];
        assert_eq!(decode(&stored, &mut out), 24);
        let mut expected = vec![0xaa; 3];
        expected.extend([0x80, 0x00, 0x2a, 0xaa, 0xaa, 0xaa, 0xaa, 0x80, 0x00, 0x2a, 0x22]);
        expected.extend([0xaa; 10]);
        assert_eq!(out.as_slice(), expected);
        // Cut off, and with less to fill.
        assert_eq!(decode(&stored[..4], &mut out), 4);
        assert_eq!(decode(&stored, &mut out[..5]), 5);
    }
}
