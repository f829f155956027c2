//! What lies behind the last box of a file: programs append bytes of their own, and browsers do not mind.
//!
//! ```text
//! length: u32  type: 4 bytes  [length: u64, if the first is 1]  content        a length of 0: up to the file's end
//! ```
//! Source: ISO/IEC 14496-12, 4.2.

/// The boxes that a file of HEIF has at its top.
const KNOWN: &[&[u8; 4]] =
    &[b"ftyp", b"meta", b"mdat", b"moov", b"free", b"skip", b"wide", b"uuid", b"moof", b"idat"];

/// The file up to its last box. A known box that is cut off stays: the decoder will say so.
pub fn without_tail(file: &[u8]) -> &[u8] {
    let mut at = 0_usize;
    while let Some(&[l0, l1, l2, l3, t0, t1, t2, t3]) = file.get(at..).and_then(<[u8]>::first_chunk) {
        let length = match u32::from_be_bytes([l0, l1, l2, l3]) {
            0 => return file,
            1 => file.get(at + 8..).and_then(<[u8]>::first_chunk).map_or(0, |&long| u64::from_be_bytes(long)),
            length => length.into(),
        };
        let end = usize::try_from(length).ok().and_then(|length| at.checked_add(length));
        match end.filter(|&end| length >= 8 && end <= file.len()) {
            Some(end) => at = end,
            None if length >= 8 && KNOWN.contains(&&[t0, t1, t2, t3]) => return file,
            None => break,
        }
    }
    file.get(..at).unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_box_is_cut_off() {
        let boxes = b"\0\0\0\x0cftypavif\0\0\0\x09mdatx";
        assert_eq!(without_tail(boxes), boxes);
        for tail in [b"more and more".as_slice(), b"\0\0\0", b"\0\0\0\x07free", &[0xff; 40]] {
            assert_eq!(without_tail(&[boxes, tail].concat()), boxes, "{tail:?}");
        }
        let whole = [boxes.as_slice(), b"\0\0\0\0mdat and so on"].concat();
        assert_eq!(without_tail(&whole), whole);
        assert_eq!(without_tail(&boxes[..20]), &boxes[..20], "a known box that is cut off");
    }
}
