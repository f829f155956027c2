//! Writes ZIP files whose entries are stored as they are, one after the other to anything that takes bytes. Where there are
//! more than 65,534 entries, or more than 4 GiB, the records of ZIP64 are added.
//!
//! Source: PKWARE, APPNOTE.TXT 6.3.10, sections 4.3.7 to 4.3.16 and 4.5.3.

use std::io::{self, Write};

use super::date::Date;

/// What an entry needs of its reader: nothing special, and ZIP64.
const PLAIN: u16 = 10;
const ZIP64: u16 = 45;
/// Made by Unix: rights are to be found in the external attributes.
const MADE_BY: u16 = 3 << 8 | ZIP64;
/// A plain file that everybody may read.
const RIGHTS: u32 = 0o100_644 << 16;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// What stands in a field of 16 or 32 bits whose value is in a ZIP64 record.
const MANY: u16 = u16::MAX;
const FAR: u32 = u32::MAX;

/// A ZIP file that grows.
pub struct ZipWriter<W> {
    to: W,
    written: u64,
    date: Date,
    /// The central directory so far.
    directory: Vec<u8>,
    entries: u64,
}

impl<W: Write> ZipWriter<W> {
    /// A new file, whose entries all have this date.
    pub fn new(to: W, date: Date) -> Self {
        Self { to, written: 0, date, directory: Vec::new(), entries: 0 }
    }

    /// Adds an entry, of less than 4 GiB.
    pub fn add(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        let too_large = |_| io::Error::new(io::ErrorKind::InvalidInput, "the entry is too large for a ZIP");
        let size = u32::try_from(content.len()).ok().filter(|&size| size != FAR);
        let size = size.ok_or_else(|| too_large(()))?;
        let name_bytes = u16::try_from(name.len()).map_err(|_| too_large(()))?;
        let (time, date) = self.date.dos();
        let crc = crc32fast::hash(content);
        let offset = self.written;

        // What the local header and the one in the directory have in common.
        let mut common = Vec::with_capacity(26);
        for field in [FLAGS, 0, time, date] {
            common.extend(field.to_le_bytes());
        }
        for field in [crc, size, size] {
            common.extend(field.to_le_bytes());
        }
        common.extend(name_bytes.to_le_bytes());

        self.write(&[b"PK\x03\x04", &PLAIN.to_le_bytes(), &common, &[0; 2], name.as_bytes(), content])?;

        let near = u32::try_from(offset).ok().filter(|&offset| offset != FAR);
        let extra = if near.is_some() { Vec::new() } else { zip64_offset(offset) };
        let needed = if near.is_some() { PLAIN } else { ZIP64 };
        for part in [
            b"PK\x01\x02".as_slice(),
            &MADE_BY.to_le_bytes(),
            &needed.to_le_bytes(),
            &common,
            &(extra.len() as u16).to_le_bytes(),
            // No comment, on the first disk, no internal attributes.
            &[0; 6],
            &RIGHTS.to_le_bytes(),
            &near.unwrap_or(FAR).to_le_bytes(),
            name.as_bytes(),
            &extra,
        ] {
            self.directory.extend(part);
        }
        self.entries += 1;
        Ok(())
    }

    /// Writes the directory, and gives back what was written to.
    pub fn finish(mut self) -> io::Result<W> {
        let (begin, length, entries) = (self.written, self.directory.len() as u64, self.entries);
        let directory = std::mem::take(&mut self.directory);
        self.write(&[&directory])?;
        let few = u16::try_from(entries).ok().filter(|&entries| entries != MANY);
        let near = u32::try_from(begin).ok().filter(|&begin| begin != FAR);
        let short = u32::try_from(length).ok().filter(|&length| length != FAR);
        if few.is_none() || near.is_none() || short.is_none() {
            self.zip64_end(begin, length, entries)?;
        }
        let entries = few.unwrap_or(MANY).to_le_bytes();
        let (length, begin) = (short.unwrap_or(FAR).to_le_bytes(), near.unwrap_or(FAR).to_le_bytes());
        self.write(&[b"PK\x05\x06", &[0; 4], &entries, &entries, &length, &begin, &[0; 2]])?;
        self.to.flush()?;
        Ok(self.to)
    }

    /// The end of the directory in large numbers, and where that is to be found.
    fn zip64_end(&mut self, begin: u64, length: u64, entries: u64) -> io::Result<()> {
        let here = self.written.to_le_bytes();
        // The record's length is counted from after itself.
        let (rest, entries) = (44_u64.to_le_bytes(), entries.to_le_bytes());
        let (length, begin) = (length.to_le_bytes(), begin.to_le_bytes());
        let (made, needed) = (MADE_BY.to_le_bytes(), ZIP64.to_le_bytes());
        self.write(&[b"PK\x06\x06", &rest, &made, &needed, &[0; 8], &entries, &entries, &length, &begin])?;
        self.write(&[b"PK\x06\x07", &[0; 4], &here, &1_u32.to_le_bytes()])
    }

    fn write(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        for part in parts {
            self.to.write_all(part)?;
            self.written += part.len() as u64;
        }
        Ok(())
    }
}

/// The extra field that holds an offset of more than 4 GiB.
fn zip64_offset(offset: u64) -> Vec<u8> {
    let mut field = vec![1, 0, 8, 0];
    field.extend(offset.to_le_bytes());
    field
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Seek, SeekFrom};
    use std::time::UNIX_EPOCH;

    use super::*;

    /// A file in which zeros take no room.
    struct Sparse(File);

    impl Write for Sparse {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if bytes.len() > 4096 && bytes.iter().all(|&byte| byte == 0) {
                self.0.seek(SeekFrom::Current(bytes.len() as i64))?;
                return Ok(bytes.len());
            }
            self.0.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn writer<W: Write>(to: W) -> ZipWriter<W> {
        ZipWriter::new(to, Date::from(UNIX_EPOCH))
    }

    /// An entry's content, as somebody else's reader finds it.
    fn read(archive: &mut ::zip::ZipArchive<impl Read + Seek>, name: &str) -> Vec<u8> {
        let mut content = Vec::new();
        archive.by_name(name).unwrap().read_to_end(&mut content).unwrap();
        content
    }

    #[test]
    fn entries_are_found_again() {
        let mut zip = writer(io::Cursor::new(Vec::new()));
        zip.add("a/b.txt", b"some text").unwrap();
        zip.add("ä/ö.bin", &[0; 1000]).unwrap();
        zip.add("nothing", b"").unwrap();
        let mut archive = ::zip::ZipArchive::new(zip.finish().unwrap()).unwrap();
        assert_eq!(archive.len(), 3);
        assert_eq!(read(&mut archive, "a/b.txt"), b"some text");
        assert_eq!(read(&mut archive, "ä/ö.bin"), [0; 1000]);
        assert_eq!(read(&mut archive, "nothing"), b"");
    }

    #[test]
    fn more_entries_than_16_bits_count_are_found_again() {
        let mut zip = writer(io::Cursor::new(Vec::new()));
        for number in 0..70_000 {
            zip.add(&number.to_string(), number.to_string().as_bytes()).unwrap();
        }
        let mut archive = ::zip::ZipArchive::new(zip.finish().unwrap()).unwrap();
        assert_eq!(archive.len(), 70_000);
        assert_eq!(read(&mut archive, "69999"), b"69999");
    }

    #[test]
    fn entries_past_4_gib_are_found_again() {
        let mut zip = writer(Sparse(tempfile::tempfile().unwrap()));
        let block = vec![0; 1 << 28];
        for number in 0..17 {
            zip.add(&format!("zeros {number}"), &block).unwrap();
            zip.add(&format!("text {number}"), number.to_string().as_bytes()).unwrap();
        }
        let mut archive = ::zip::ZipArchive::new(zip.finish().unwrap().0).unwrap();
        assert_eq!(archive.len(), 34);
        assert_eq!(read(&mut archive, "text 0"), b"0");
        assert_eq!(read(&mut archive, "text 16"), b"16");
    }
}
