//! The words of a picture between the renderer process and its parent: JSON with gzip.

use std::io::{self, Read, Write};

use edgezoom_content::Size;
use edgezoom_text::{MAX_JSON_BYTES, MAX_PACKED_BYTES, Text};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// Returns the words, which must be bounded; `None` if there are none, or too many.
pub fn pack(text: &Text) -> io::Result<Option<Vec<u8>>> {
    let Some(json) = Some(text).filter(|text| !text.is_empty()).and_then(Text::to_json) else {
        return Ok(None);
    };
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&json)?;
    Ok(Some(packed.finish()?).filter(|packed| packed.len() <= MAX_PACKED_BYTES))
}

/// Returns the words; `None` if an honest process would not have packed them so.
pub fn unpack(packed: &[u8], picture: Size) -> Option<Text> {
    let mut json = Vec::new();
    let mut unpacked = GzDecoder::new(packed).take(MAX_JSON_BYTES as u64 + 1);
    unpacked.read_to_end(&mut json).ok()?;
    let text = Text::from_json(&json)?;
    (text.clone().bounded(picture) == text).then_some(text)
}

#[cfg(test)]
mod tests {
    use edgezoom_text::{Block, Line, Link, Page, Rect, Role, Target};

    use super::*;

    const SIZE: Size = Size { width: 700, height: 300 };

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(text).unwrap();
        packed.finish().unwrap()
    }

    fn text() -> Text {
        let line = Line::new(Rect::new(10, 10, 100, 20), "two words", vec![0, 40, 10, 50]);
        let page =
            Page { blocks: vec![Block::lines(Role::P, vec![line])], ..Page::new(Rect::new(0, 0, 700, 300)) };
        Text { pages: vec![page], total: 1, ..Text::default() }
    }

    #[test]
    fn words_arrive_as_sent_and_nothing_is_sent_without_any() {
        let packed = pack(&text()).unwrap().unwrap();
        assert_eq!(unpack(&packed, SIZE), Some(text()));
        assert_eq!(pack(&Text::default()).unwrap(), None);
    }

    #[test]
    fn words_that_no_honest_process_sends_are_refused() {
        let mut script = text();
        let to = Target::Url("javascript:alert(1)".to_owned());
        script.pages[0].links.push(Link { at: Rect::new(0, 0, 9, 9), to });
        let mut turned = text();
        turned.pages[0].blocks[0].lines[0].text = "a\u{202e}b c".to_owned();
        let mut outside = text();
        outside.pages[0].at.width = 701;
        for hostile in [script, turned, outside] {
            assert_eq!(unpack(&gzip(&hostile.to_json().unwrap()), SIZE), None);
        }
        let bomb = gzip(&vec![b' '; 64 << 20]);
        for bytes in [&bomb, &b"no gzip"[..], &gzip(b"no text"), &[]] {
            assert_eq!(unpack(bytes, SIZE), None);
        }
    }
}
