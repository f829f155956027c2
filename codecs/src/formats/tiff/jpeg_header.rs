//! What a JPEG says before its first scan, for JPEGs that are taken apart or put together.
//!
//! ```text
//! SOI ffd8  segments: ff, code, length: u16, content  SOS ffda, length, content  the scan's data
//! SOF0 ffc0  length  precision: u8  height: u16  width: u16  components: u8  (id, sampling, table: u8) …
//! DRI  ffdd  length  MCUs between restart markers: u16
//! ```
//! Source: ITU-T T.81, annex B.

/// The header of a JPEG.
pub struct JpegHeader {
    /// The offset of the height and, behind it, the width.
    pub size_at: usize,
    /// The pixels across and down of an MCU.
    pub mcu: (u32, u32),
    /// The MCUs between restart markers, 0 if there are none.
    pub restart_interval: u32,
    /// Where the scan's data begins. `None`: there is no scan.
    pub scan_at: Option<usize>,
}

/// Reads the header of a JPEG that begins here.
pub fn read(bytes: &[u8]) -> Option<JpegHeader> {
    let mut at = 2;
    if !bytes.starts_with(&[0xff, 0xd8]) {
        return None;
    }
    let mut header = JpegHeader { size_at: 0, mcu: (8, 8), restart_interval: 0, scan_at: None };
    while let Some(&[0xff, code, high, low]) = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        let length = usize::from(u16::from_be_bytes([high, low]));
        let content = bytes.get(at + 4..at + 2 + length)?;
        match (code, content) {
            (0xc4 | 0xc8 | 0xcc, _) => {}
            (0xc0..=0xcf, [_, _, _, _, _, _, components @ ..]) => {
                header.size_at = at + 5;
                let factors = || components.chunks_exact(3).map(|component| component[1]);
                let most = |factor: fn(u8) -> u8| factors().map(factor).max().unwrap_or(1).max(1);
                let (across, down) = (most(|factor| factor >> 4), most(|factor| factor & 15));
                // A scan of one component has blocks, whatever its sampling.
                let is_grey = components.len() == 3;
                let side = |factor: u8| if is_grey { 8 } else { 8 * u32::from(factor) };
                header.mcu = (side(across), side(down));
            }
            (0xdd, &[high, low, ..]) => header.restart_interval = u16::from_be_bytes([high, low]).into(),
            (0xda, _) => {
                header.scan_at = Some(at + 2 + length);
                break;
            }
            _ => {}
        }
        at += 2 + length;
    }
    Some(header)
}
