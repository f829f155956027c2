//! The colours of a picture, from the boxes before its codestream.
//!
//! ```text
//! jp2h  boxes
//! colr  method: u8, 1 a number, 2 a profile  precedence: u8  approximation: u8  [number: u32]
//! pclr  colours: u16  columns: u8  …
//! cmap  channels × (component: u16  kind: u8  column: u8)
//! cdef  count: u16  count × (channel: u16  kind: u16  association: u16)
//!       kind 0: a colour, 1: opacity, 2: opacity that the colours are multiplied with, 65535: unspecified
//!       association of a colour: its number in the colour space, from 1 on
//! ```
//! Source: ITU-T T.800, I.5.3.

use std::ops::Range;

use crate::formats::iso_boxes;

/// The colour spaces whose samples are shown as they are: CMYK, sRGB, grey, e-sRGB, ROMM. Others are of luma and
/// chroma, or of T.801.
const PLAIN_SPACES: [u32; 5] = [12, 16, 17, 20, 21];

/// The meanings of a picture's channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channels {
    /// The channels in the order of their meanings: the colours, opacity, and those that are not shown.
    pub order: Vec<usize>,
    /// Number of channels that are colours.
    pub colours: usize,
    pub opacity: Option<Opacity>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opacity {
    Straight,
    /// The colours are multiplied with it.
    Multiplied,
}

/// Returns true if the components are the picture's colours, without a palette, luma or chroma.
pub fn have_plain_colours(boxes: &[u8]) -> bool {
    in_header(boxes).all(|(kind, content)| match &kind {
        b"pclr" | b"cmap" => false,
        b"colr" => is_plain_space(&boxes[content]),
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

/// Reads the meanings of the channels, of which there is one for each component unless there is a palette. Rewrites the
/// definition for the library, which knows only colours in any order and opacity behind them. `None`: there is no
/// complete definition, and the library shall see none.
pub fn take_channels(boxes: &mut [u8], components: u16) -> Option<Channels> {
    let found: Vec<_> = in_header(boxes).collect();
    let content_of =
        |name: &[u8; 4]| found.iter().find(|(kind, _)| kind == name).map(|(_, range)| range.clone());
    let cdef = content_of(b"cdef")?;
    let count = match (content_of(b"cmap"), content_of(b"pclr")) {
        (Some(cmap), _) => cmap.len() / 4,
        (None, Some(pclr)) => boxes[pclr].get(2).copied().unwrap_or(0).into(),
        (None, None) => components.into(),
    };
    let channels = Channels::read(&boxes[cdef.clone()], count);
    match &channels {
        Some(channels) => channels.write(&mut boxes[cdef]),
        None => boxes[cdef.start - 4..cdef.start].copy_from_slice(b"free"),
    }
    channels
}

impl Channels {
    /// Reads a definition, which has to be complete (I.5.3.6).
    fn read(cdef: &[u8], count: usize) -> Option<Self> {
        let (numbers, _) = cdef.get(2..)?.as_chunks::<2>();
        let (entries, _) = numbers.as_chunks::<3>();
        let mut entries: Vec<_> = entries.iter().map(|entry| entry.map(u16::from_be_bytes)).collect();
        entries.sort_unstable();
        let is_complete = entries.iter().zip(0u16..).all(|(entry, number)| entry[0] == number);
        if entries.is_empty() || entries.len() != count || !is_complete {
            return None;
        }
        let of_kind = |wanted: u16| entries.iter().filter(move |[_, kind, _]| *kind == wanted);
        let mut colours: Vec<_> = of_kind(0).collect();
        colours.sort_by_key(|[_, _, association]| *association);
        // Colours without numbers, or with equal ones, are in the order in which they are stored.
        if colours.iter().zip(1u16..).any(|(colour, number)| colour[2] != number) {
            colours.sort_by_key(|[channel, _, _]| *channel);
        }
        let straight = of_kind(1).map(|entry| (entry, Opacity::Straight));
        let mut opacities = straight.chain(of_kind(2).map(|entry| (entry, Opacity::Multiplied)));
        let opacity = opacities.next();
        let shown: Vec<_> = colours.iter().copied().chain(opacity.map(|(entry, _)| entry)).collect();
        let rest = entries.iter().filter(|entry| !shown.contains(entry));
        let order = shown.iter().copied().chain(rest).map(|&[channel, _, _]| channel.into()).collect();
        Some(Self { order, colours: colours.len(), opacity: opacity.map(|(_, opacity)| opacity) })
    }

    /// Writes a definition with which the library puts the channels in this order.
    fn write(&self, cdef: &mut [u8]) {
        let (numbers, _) = cdef.get_mut(2..).unwrap_or_default().as_chunks_mut::<2>();
        let (entries, _) = numbers.as_chunks_mut::<3>();
        for ((entry, &channel), index) in entries.iter_mut().zip(&self.order).zip(1u16..) {
            let kind = u16::from(usize::from(index) > self.colours);
            *entry = [channel as u16, kind, index].map(u16::to_be_bytes);
        }
    }
}

/// Returns the kinds of the boxes in the header, and the places of their contents.
fn in_header(boxes: &[u8]) -> impl Iterator<Item = ([u8; 4], Range<usize>)> {
    let headers = children(boxes, 0..boxes.len()).filter(|(kind, _)| kind == b"jp2h");
    headers.flat_map(|(_, content)| children(boxes, content))
}

fn children(bytes: &[u8], within: Range<usize>) -> impl Iterator<Item = ([u8; 4], Range<usize>)> {
    let bytes = bytes.get(..within.end).unwrap_or_default();
    let found = iso_boxes::boxes(bytes, within.start as u64..within.end as u64);
    found.map_while(Result::ok).map(|found| (found.kind, found.content_in(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_box(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
        [&(content.len() as u32 + 8).to_be_bytes()[..], kind, content].concat()
    }

    fn header(children: &[Vec<u8>]) -> Vec<u8> {
        [a_box(b"jP  ", &[1; 4]), a_box(b"jp2h", &children.concat())].concat()
    }

    fn cdef(entries: &[[u16; 3]]) -> Vec<u8> {
        let entries = entries.as_flattened().iter().flat_map(|number| number.to_be_bytes());
        a_box(b"cdef", &[0, 4].into_iter().chain(entries).collect::<Vec<_>>())
    }

    #[test]
    fn colours_are_plain_without_palette_and_of_a_plain_space() {
        let colr = |space: u8| a_box(b"colr", &[1, 0, 0, 0, 0, 0, space]);
        assert!(have_plain_colours(&[]));
        assert!(have_plain_colours(&header(&[colr(16), cdef(&[[0, 0, 1], [1, 1, 0]])])));
        assert!(!have_plain_colours(&header(&[colr(18)])));
        assert!(!have_plain_colours(&header(&[colr(16), a_box(b"pclr", &[])])));
    }

    #[test]
    fn channels_are_sorted_by_their_meanings() {
        let channels =
            |entries: &[[u16; 3]]| take_channels(&mut header(&[cdef(entries)]), entries.len() as u16);
        let found =
            |order: &[usize], colours, opacity| Some(Channels { order: order.to_vec(), colours, opacity });
        let straight = Some(Opacity::Straight);
        // Blue, green, red; opacity before the colours; the third colour first.
        assert_eq!(channels(&[[0, 0, 3], [1, 0, 2], [2, 0, 1]]), found(&[2, 1, 0], 3, None));
        assert_eq!(
            channels(&[[0, 1, 0], [1, 0, 1], [2, 0, 2], [3, 0, 3]]),
            found(&[1, 2, 3, 0], 3, straight)
        );
        assert_eq!(channels(&[[0, 0, 3], [1, 0, 1], [2, 0, 2]]), found(&[1, 2, 0], 3, None));
        // In another order in the box, with opacity of one colour.
        assert_eq!(channels(&[[1, 1, 1], [0, 0, 1]]), found(&[0, 1], 1, straight));
        // Infrared is not opacity. Multiplied opacity is not straight.
        assert_eq!(
            channels(&[[0, 0, 1], [1, 0, 2], [2, 0, 3], [3, 65535, 65535]]),
            found(&[0, 1, 2, 3], 3, None)
        );
        let multiplied = Some(Opacity::Multiplied);
        assert_eq!(channels(&[[0, 65535, 0], [1, 2, 0], [2, 0, 1]]), found(&[2, 1, 0], 1, multiplied));
        // Colours with equal numbers.
        assert_eq!(channels(&[[0, 0, 2], [1, 0, 1], [2, 0, 1]]), found(&[0, 1, 2], 3, None));
        // A channel is missing, or is there twice.
        assert_eq!(channels(&[[0, 0, 1], [2, 0, 2]]), None);
        assert_eq!(channels(&[[0, 0, 1], [0, 0, 2]]), None);
    }

    #[test]
    fn the_library_sees_the_same_order_or_no_definition() {
        let mut boxes = header(&[cdef(&[[0, 65535, 0], [1, 2, 0], [2, 0, 1]])]);
        take_channels(&mut boxes, 3);
        assert_eq!(boxes, header(&[cdef(&[[2, 0, 1], [1, 1, 2], [0, 1, 3]])]));
        take_channels(&mut boxes, 4);
        assert!(!boxes.windows(4).any(|kind| kind == b"cdef"));
    }
}
