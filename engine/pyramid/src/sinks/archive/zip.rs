//! Writes ZIP files with uncompressed entries, without seeking. ZIP64 records are added for more than 65,534 entries or
//! more than 4 GiB.
//!
//! ```text
//! local file header (4.3.7), then the content      central directory header (4.3.12)
//!    4  "PK\3\4"                                       4  "PK\1\2"
//!                                                      2  version made by
//!    2  version needed                                 2  version needed
//!   22  common fields                                 22  common fields
//!    2  length of the extra field: 0                   2  length of the extra field
//!                                                      6  comment length, disk, internal attributes: 0
//!                                                      4  external attributes
//!                                                      4  offset of the local file header
//!    n  name                                           n  name
//!                                                      e  extra field: nothing, or the offset in ZIP64
//!
//! common fields (4.4.4 to 4.4.10)
//!    2  general purpose bit flag     2  compression method     2  time     2  date
//!    4  CRC-32     4  compressed size     4  uncompressed size     2  length of the name
//!
//! ZIP64 end of central directory (4.3.14)          end of central directory (4.3.16)
//!    4  "PK\6\6"                                       4  "PK\5\6"
//!    8  length of the rest: 44
//!    2  version made by
//!    2  version needed
//!    8  disks: 0                                       4  disks: 0
//!    8  entries on this disk                           2  entries on this disk
//!    8  entries                                        2  entries
//!    8  length of the central directory                4  length of the central directory
//!    8  offset of the central directory                4  offset of the central directory
//!                                                      2  comment length: 0
//! ZIP64 locator (4.3.15)
//!    4  "PK\6\7"
//!    4  disk: 0
//!    8  offset of the ZIP64 end of central directory
//!    4  disks: 1
//! ```
//!
//! The left numbers are bytes. All numbers are little-endian.
//!
//! Source: PKWARE, APPNOTE.TXT 6.3.10, <https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT>. Numbers in
//! brackets are its sections.

use std::io::{self, Write};

use crate::sinks::timestamp::Timestamp;

/// Version needed to extract (4.4.3): 1.0, the default.
const VERSION_1_0: u16 = 10;
/// Version needed to extract (4.4.3): 4.5, for ZIP64.
const VERSION_ZIP64: u16 = 45;
/// Version made by (4.4.2): 3 in the upper byte is Unix, whose permissions are in the external attributes.
const MADE_BY: u16 = 3 << 8 | VERSION_ZIP64;
/// External file attributes (4.4.15) of Unix: a regular file, `rw-r--r--`, in the upper 16 bits.
const ATTRIBUTES: u32 = 0o100_644 << 16;
/// General purpose bit flag (4.4.4): bit 11, names are UTF-8 (appendix D).
const FLAGS: u16 = 1 << 11;
/// Compression method (4.4.5): stored.
const STORED: u16 = 0;
/// The value of a 16-bit field whose real value is in a ZIP64 record (4.4.1.4).
const IN_ZIP64_16: u16 = u16::MAX;
/// The value of a 32-bit field whose real value is in a ZIP64 record (4.4.1.4).
const IN_ZIP64_32: u32 = u32::MAX;

/// Writes a ZIP file.
pub struct ZipWriter<W> {
    to: W,
    written: u64,
    date: Timestamp,
    /// Central directory so far.
    directory: Vec<u8>,
    entries: u64,
}

impl<W: Write> ZipWriter<W> {
    /// Begins a file. All entries get the date.
    pub fn new(to: W, date: Timestamp) -> Self {
        Self { to, written: 0, date, directory: Vec::new(), entries: 0 }
    }

    /// Adds an entry of less than 4 GiB and returns the offset of its content.
    pub fn add(&mut self, name: &str, content: &[u8]) -> io::Result<u64> {
        let too_large = |_| io::Error::new(io::ErrorKind::InvalidInput, "the entry is too large for a ZIP");
        let size = u32::try_from(content.len()).ok().filter(|&size| size != IN_ZIP64_32);
        let size = size.ok_or_else(|| too_large(()))?;
        let name_bytes = u16::try_from(name.len()).map_err(|_| too_large(()))?;
        let (time, date) = self.date.dos();
        let crc = crc32fast::hash(content);
        let offset = self.written;

        // Fields of both headers of an entry.
        let mut common = Vec::with_capacity(22);
        for field in [FLAGS, STORED, time, date] {
            common.extend(field.to_le_bytes());
        }
        for field in [crc, size, size] {
            common.extend(field.to_le_bytes());
        }
        common.extend(name_bytes.to_le_bytes());

        let local = [
            b"PK\x03\x04".as_slice(),
            &VERSION_1_0.to_le_bytes(),
            &common,
            &[0; 2],
            name.as_bytes(),
            content,
        ];
        self.write(&local)?;
        let content_offset = self.written - u64::from(size);

        let offset_32 = as_u32(offset);
        let extra = if offset_32.is_some() { Vec::new() } else { zip64_extra_field(offset) };
        let needed = if offset_32.is_some() { VERSION_1_0 } else { VERSION_ZIP64 };
        for part in [
            b"PK\x01\x02".as_slice(),
            &MADE_BY.to_le_bytes(),
            &needed.to_le_bytes(),
            &common,
            &(extra.len() as u16).to_le_bytes(),
            // Comment length, disk number, internal attributes.
            &[0; 6],
            &ATTRIBUTES.to_le_bytes(),
            &offset_32.unwrap_or(IN_ZIP64_32).to_le_bytes(),
            name.as_bytes(),
            &extra,
        ] {
            self.directory.extend(part);
        }
        self.entries += 1;
        Ok(content_offset)
    }

    /// Returns the underlying writer.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.to
    }

    /// Writes the central directory and returns the writer.
    pub fn finish(mut self) -> io::Result<W> {
        let (offset, length, entries) = (self.written, self.directory.len() as u64, self.entries);
        let directory = std::mem::take(&mut self.directory);
        self.write(&[&directory])?;
        let entries_16 = u16::try_from(entries).ok().filter(|&entries| entries != IN_ZIP64_16);
        let (length_32, offset_32) = (as_u32(length), as_u32(offset));
        if entries_16.is_none() || length_32.is_none() || offset_32.is_none() {
            self.zip64_end(offset, length, entries)?;
        }
        let entries = entries_16.unwrap_or(IN_ZIP64_16).to_le_bytes();
        let length = length_32.unwrap_or(IN_ZIP64_32).to_le_bytes();
        let offset = offset_32.unwrap_or(IN_ZIP64_32).to_le_bytes();
        self.write(&[b"PK\x05\x06", &[0; 4], &entries, &entries, &length, &offset, &[0; 2]])?;
        self.to.flush()?;
        Ok(self.to)
    }

    /// Writes the ZIP64 end of central directory record (4.3.14) and its locator (4.3.15).
    fn zip64_end(&mut self, offset: u64, length: u64, entries: u64) -> io::Result<()> {
        let here = self.written.to_le_bytes();
        // The length excludes the signature and the length itself.
        let (rest, entries) = (44_u64.to_le_bytes(), entries.to_le_bytes());
        let (length, offset) = (length.to_le_bytes(), offset.to_le_bytes());
        let (made, needed) = (MADE_BY.to_le_bytes(), VERSION_ZIP64.to_le_bytes());
        self.write(&[b"PK\x06\x06", &rest, &made, &needed, &[0; 8], &entries, &entries, &length, &offset])?;
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

/// Returns a number for a 32-bit field, or `None` if it belongs in a ZIP64 record.
fn as_u32(number: u64) -> Option<u32> {
    u32::try_from(number).ok().filter(|&number| number != IN_ZIP64_32)
}

/// Returns the ZIP64 extended information extra field (4.5.3) with an offset: tag 1, length, offset.
fn zip64_extra_field(offset: u64) -> Vec<u8> {
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

    /// A file in which zeros take no space on disk.
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
        ZipWriter::new(to, Timestamp::from(UNIX_EPOCH))
    }

    /// An entry's content, read by the `zip` crate.
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
