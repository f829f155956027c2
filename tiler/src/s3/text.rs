//! The words of a picture in its archive: as JSON for viewers, as plain text and as HTML, each with gzip, and the table
//! of pages, by which the words of one page can be read alone.

use std::io::{self, Write};

use edgezoom_content::{Beginning, PageTable, StoredPage, StoredText};
use edgezoom_pyramid::sinks::ArchiveStream;
use edgezoom_text::Text;
use flate2::write::GzEncoder;
use flate2::{Compress, Compression, Crc, FlushCompress};

/// A header of gzip without a name and a time (RFC 1952, section 2.3).
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// A text as it is stored.
pub struct PackedText {
    json: Vec<u8>,
    plain: Vec<u8>,
    plain_bytes: u32,
    html: Vec<u8>,
    table: Vec<u8>,
    pages: u32,
    beginning: Option<Beginning>,
}

impl PackedText {
    /// Writes the forms of a text. That of a long document takes a second.
    ///
    /// # Errors
    /// Returns an error if it cannot be compressed.
    pub fn of(text: &Text) -> io::Result<Self> {
        let (json, table) = by_pages(text)?;
        let plain = text.plain();
        Ok(Self {
            json,
            plain: gzip(plain.as_bytes())?,
            plain_bytes: plain.len() as u32,
            html: gzip(text.html().as_bytes())?,
            table: serde_json::to_vec(&table)?,
            pages: table.pages.len() as u32,
            beginning: Beginning::of(&text.beginning()),
        })
    }

    /// Adds the forms to an archive.
    ///
    /// # Errors
    /// Returns an error if they cannot be written.
    pub fn add_to<W: Write>(self, to: &mut ArchiveStream<W>) -> io::Result<StoredText> {
        Ok(StoredText {
            json: to.add_file("text.json.gz", &self.json)?,
            plain: to.add_file("text.txt.gz", &self.plain)?,
            plain_bytes: self.plain_bytes,
            html: to.add_file("text.html.gz", &self.html)?,
            table: to.add_file("pages.json", &self.table)?,
            pages: self.pages,
            beginning: self.beginning,
        })
    }
}

/// Returns bytes with gzip.
pub(super) fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes)?;
    packed.finish()
}

/// Returns the JSON with gzip, and the table of the pages in that. A page is compressed without what is before it:
/// measured, that makes a manual's words a third larger.
fn by_pages(text: &Text) -> io::Result<(Vec<u8>, PageTable)> {
    const PAGES: &str = "\"pages\":[";
    let frame = serde_json::to_string(&Text { pages: Vec::new(), ..text.clone() })?;
    let (head, tail) = frame.split_at(frame.find(PAGES).map_or(0, |at| at + PAGES.len()));
    let mut packed = Packed {
        bytes: GZIP_HEADER.to_vec(),
        deflate: Compress::new(Compression::default(), false),
        checksum: Crc::new(),
    };
    packed.add(head.as_bytes(), FlushCompress::Full)?;
    let mut pages = Vec::with_capacity(text.pages.len());
    for (index, page) in text.pages.iter().enumerate() {
        let json = serde_json::to_string(page)?;
        let json = if index == 0 { json } else { format!(",{json}") };
        let start = packed.bytes.len();
        packed.add(json.as_bytes(), FlushCompress::Full)?;
        pages.push(StoredPage {
            at: page.at.into(),
            label: page.label.clone(),
            words: [start, packed.bytes.len() - start].map(|length| length as u32),
            bytes: json.len() as u32,
        });
    }
    packed.add(tail.as_bytes(), FlushCompress::Finish)?;
    let Packed { mut bytes, checksum, .. } = packed;
    bytes.extend(checksum.sum().to_le_bytes());
    bytes.extend(checksum.amount().to_le_bytes());
    Ok((bytes, PageTable { pages }))
}

/// A gzip file that is being written.
struct Packed {
    bytes: Vec<u8>,
    deflate: Compress,
    checksum: Crc,
}

impl Packed {
    fn add(&mut self, bytes: &[u8], flush: FlushCompress) -> io::Result<()> {
        let Self { bytes: packed, deflate, checksum } = self;
        checksum.update(bytes);
        let start = deflate.total_in();
        // It is done once it leaves room: otherwise it had more to write.
        while deflate.total_in() - start < bytes.len() as u64 || packed.len() == packed.capacity() {
            packed.reserve(bytes.len() / 2 + 1024);
            let rest = bytes.get((deflate.total_in() - start) as usize..).unwrap_or_default();
            deflate.compress_vec(rest, packed, flush).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::time::SystemTime;

    use edgezoom_content::{Dzi, Size, TileFormat, TileRange};
    use edgezoom_pyramid::sinks::ArchiveFormat;
    use edgezoom_text::{Block, Entry, Line, Page, Rect, Role};
    use flate2::read::{DeflateDecoder, GzDecoder};

    use super::*;

    /// Returns a document with as many words on each page as its number.
    fn document(pages: u32) -> Text {
        let page = |number: u32| {
            let words: Vec<String> = (0..number).map(|word| format!("word{}", word * 7919 % 1000)).collect();
            let line = Line::new(Rect::new(0, 0, 90, 10), words.join(" "), Vec::new());
            let blocks = if number == 0 { Vec::new() } else { vec![Block::lines(Role::P, vec![line])] };
            Page {
                blocks,
                label: Some(format!("p. {number}")),
                ..Page::new(Rect::new(100 * number, 0, 90, 120))
            }
        };
        let outline = vec![Entry { depth: 0, title: "\"pages\":[".to_owned(), page: 0, y: None }];
        Text { pages: (0..pages).map(page).collect(), total: pages, outline, ..Text::default() }
    }

    fn unpacked(bytes: &[u8]) -> String {
        let mut text = String::new();
        GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn each_form_is_where_the_record_says_and_a_page_can_be_read_alone() {
        let size = Size { width: 9000, height: 200 };
        let dzi = Dzi { size, tile_size: 512, tile_overlap: 0, tile_format: TileFormat::Jpg };
        let date = SystemTime::UNIX_EPOCH;
        for pages in [1, 2, 80] {
            let text = document(pages);
            let mut archive = ArchiveStream::new(Vec::new(), "a".to_owned(), &dzi, ArchiveFormat::Szi, date);
            let stored = PackedText::of(&text).unwrap().add_to(&mut archive).unwrap();
            let bytes = archive.get_mut();
            let part = |TileRange { offset, length }: TileRange| &bytes[offset as usize..][..length as usize];
            assert_eq!(Text::from_json(unpacked(part(stored.json)).as_bytes()).unwrap(), text);
            assert_eq!(unpacked(part(stored.plain)), text.plain());
            assert_eq!(stored.plain_bytes as usize, text.plain().len());
            assert_eq!(unpacked(part(stored.html)), text.html());
            let table = serde_json::from_slice::<PageTable>(part(stored.table)).unwrap();
            assert_eq!((stored.pages, table.pages.len()), (pages, pages as usize));
            for (page, StoredPage { at, label, words: [offset, length], bytes }) in
                text.pages.iter().zip(table.pages)
            {
                assert_eq!((page.at, &page.label), (Rect::from(at), &label));
                let mut alone = part(stored.json)[offset as usize..][..length as usize].to_vec();
                alone.extend([3, 0]); // an empty last block
                let mut json = String::new();
                DeflateDecoder::new(alone.as_slice()).read_to_string(&mut json).unwrap();
                assert_eq!(json.len(), bytes as usize);
                assert_eq!(serde_json::from_str::<Page>(json.trim_start_matches(',')).unwrap(), *page);
            }
        }
    }
}
