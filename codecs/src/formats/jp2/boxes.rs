//! The colours of a picture, from the boxes before its codestream.
//!
//! ```text
//! jp2h  boxes
//! colr  method: u8, 1 a number, 2 a profile  precedence: u8  approximation: u8  [number: u32]
//! cdef  count: u16  count × (channel: u16  kind: u16, 0 a colour, 1 opacity  association: u16, the colour from 1 on)
//! ```
//! Source: ITU-T T.800, I.5.3.

/// The colour spaces whose samples are shown as they are: CMYK, sRGB, grey, e-sRGB, ROMM. Others are of luma and chroma, or
/// of T.801.
const PLAIN_SPACES: [u32; 5] = [12, 16, 17, 20, 21];

/// Returns true if the components are the picture's colours in order, without a palette, luma or chroma.
pub fn have_plain_colours(boxes: &[u8]) -> bool {
    children(boxes).all(|(kind, content)| match kind {
        b"jp2h" => children(content).all(|(kind, content)| match kind {
            b"pclr" | b"cmap" => false,
            b"colr" => is_plain_space(content),
            b"cdef" => is_in_order(content),
            _ => true,
        }),
        _ => true,
    })
}

fn is_plain_space(colr: &[u8]) -> bool {
    match colr {
        [1, _, _, n0, n1, n2, n3, ..] => PLAIN_SPACES.contains(&u32::from_be_bytes([*n0, *n1, *n2, *n3])),
        [2, ..] => true,
        _ => false,
    }
}

fn is_in_order(cdef: &[u8]) -> bool {
    let (numbers, _) = cdef.get(2..).unwrap_or_default().as_chunks::<2>();
    let (channels, _) = numbers.as_chunks::<3>();
    let last = channels.len().saturating_sub(1);
    channels.iter().zip(0u16..).all(|(channel, index)| {
        let [number, kind, association] = channel.map(u16::from_be_bytes);
        number == index
            && (if kind == 0 {
                association == index + 1
            } else {
                usize::from(index) == last && association == 0
            })
    })
}

/// Returns the kinds and contents of boxes.
fn children(mut bytes: &[u8]) -> impl Iterator<Item = (&[u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (kind, rest) = rest.split_first_chunk::<4>()?;
        let (head, length) = match u32::from_be_bytes(*length) {
            0 => (8, bytes.len()),
            1 => (16, usize::try_from(u64::from_be_bytes(*rest.first_chunk()?)).ok()?),
            length => (8, length as usize),
        };
        let content = bytes.get(head..length.min(bytes.len()))?;
        bytes = bytes.get(length..).unwrap_or_default();
        Some((kind, content))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_box(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
        [&(content.len() as u32 + 8).to_be_bytes()[..], kind, content].concat()
    }

    fn is_plain(children: &[Vec<u8>]) -> bool {
        have_plain_colours(&a_box(b"jp2h", &children.concat()))
    }

    #[test]
    fn colours_are_plain_without_palette_in_order_and_of_a_plain_space() {
        let colr = |space: u8| a_box(b"colr", &[1, 0, 0, 0, 0, 0, space]);
        let cdef = |channels: &[[u8; 6]]| {
            a_box(b"cdef", &[&[0, channels.len() as u8], channels.as_flattened()].concat())
        };
        assert!(have_plain_colours(&[]));
        assert!(is_plain(&[colr(16), cdef(&[[0, 0, 0, 0, 0, 1], [0, 1, 0, 1, 0, 0]])]));
        assert!(!is_plain(&[colr(18)]));
        assert!(!is_plain(&[colr(16), a_box(b"pclr", &[])]));
        assert!(!is_plain(&[cdef(&[[0, 0, 0, 0, 0, 3], [0, 1, 0, 0, 0, 2], [0, 2, 0, 0, 0, 1]])]));
        assert!(!is_plain(&[cdef(&[[0, 0, 0, 1, 0, 0], [0, 1, 0, 0, 0, 1]])]));
    }
}
