//! Decodes the scans of a progressive picture: a first scan of some coefficients without their lowest bits, and scans
//! that add a bit to each.
//!
//! A coefficient that is not zero has a bit in a mask of its block. So a scan that refines finds the coefficients to
//! correct, and the zeros to skip, without looking at them.
//!
//! Source: ITU-T T.81, annex G; libjpeg's `jdphuff.c` for what it makes of irregular files.

use std::io::Read;
use std::ops::Range;

use super::chunk::{Chunk, Irregular, MCUS, Plan, Unstuffed};
use super::coefficients::{BLOCKS, Group};
use super::frame::Frame;
use super::frame::several::ProgressiveScan;
use super::huffman::{Bits, LOOKUP_BITS, Table, extend};
use super::input::Input;
use super::mcu_rows::Stop;

/// Bytes of a scan that are read at once.
const BYTES_AT_ONCE: usize = 16 << 10;
/// Most bits of a block, or of the ten blocks of an MCU's first coefficients: 64 codes of 16 bits with as many behind
/// them.
const MOST_BITS: usize = 64 * 32;
/// Most bits of a coefficient (T.81, F.1.2), and of the difference of a first one.
const AC_BITS: u32 = 10;
const DC_BITS: u32 = 11;
/// Largest sum of the differences, beyond that of any picture.
const MOST_DC: i32 = 1 << 15;

/// The coefficients of some rows of MCUs.
#[derive(Default)]
pub struct Slot {
    pub chunk: Chunk,
    /// The blocks' coefficients that are not zero: a mask for each block of each group of each set.
    masks: Vec<Vec<[u64; BLOCKS]>>,
    /// The rows of MCUs.
    pub rows: Range<u32>,
}

impl Slot {
    /// Begins other rows of MCUs, with zeros.
    pub fn begin(&mut self, frame: &Frame, plan: &Plan, rows: Range<u32>) {
        let mcus = rows.len() * frame.mcus().0 as usize;
        self.chunk.begin_zeros(plan, mcus);
        self.masks.resize_with(mcus.div_ceil(MCUS), Vec::new);
        for masks in &mut self.masks {
            masks.clear();
            masks.resize(plan.groups(), [0; BLOCKS]);
        }
        self.rows = rows;
    }

    #[inline(always)]
    fn group(&mut self, set: usize, group: usize) -> Option<(&mut Group, &mut [u64; BLOCKS])> {
        let group_of_set = self.chunk.group_mut(set, group)?;
        Some((group_of_set, self.masks.get_mut(set)?.get_mut(group)?))
    }
}

/// The next bits of a scan: a code, and the value behind it if that is near enough.
///
/// ```text
/// bits 0–7    length of the code, with the value's bits if there is one; 0: the code is longer than a look-up
/// bits 8–15   symbol: run of zeros, number of bits of the value
/// bits 16–31  value; 0: it is not here
/// ```
type Entries = [u32; 1 << LOOKUP_BITS];

/// A scan that is being decoded.
pub struct ScanDecoder<R> {
    scan: ProgressiveScan,
    entries: Vec<Box<Entries>>,
    /// The rest of the scan. `None`: it has been read to its end.
    input: Option<Input<R>>,
    source: Unstuffed,
    bits: Bits,
    /// Blocks that have no more codes.
    run: u32,
    predictions: [i32; 4],
}

impl<R: Read> ScanDecoder<R> {
    /// Begins to decode. The bytes are those of the scan, and an EOI.
    pub fn new(scan: ProgressiveScan, bytes: R) -> Self {
        let entries = scan.tables.iter().map(|table| entries(table)).collect();
        Self {
            scan,
            entries,
            input: Some(Input::new(bytes, false)),
            source: Unstuffed::default(),
            bits: Bits::at(&[], 0),
            run: 0,
            predictions: [0; 4],
        }
    }

    /// Decodes what the scan has of a slot. The slots must come in order.
    pub fn decode(&mut self, frame: &Frame, plan: &Plan, slot: &mut Slot) -> Result<(), Stop> {
        let is_dc = self.scan.spectrum.0 == 0;
        if let &[component] = &*self.scan.components {
            for row in slot.rows.clone() {
                let Some(plane) = plan.components.get(component) else { continue };
                for down in 0..plane.down {
                    self.decode_blocks(frame, plan, slot, (component, row, down), is_dc)?;
                }
            }
        } else {
            self.decode_mcus(plan, slot)?;
        }
        if self.input.is_none() && self.bits.position() > self.source.bits() {
            return Err(Stop::Irregular);
        }
        Ok(())
    }

    /// Reads more bytes, if some of the next bits may be missing.
    #[inline(always)]
    fn fill(&mut self) -> Result<(), Stop> {
        if self.bits.position() + MOST_BITS > self.source.bits() && self.input.is_some() {
            self.read()?;
        }
        Ok(())
    }

    #[cold]
    fn read(&mut self) -> Result<(), Stop> {
        while let Some(input) = &mut self.input
            && self.bits.position() + MOST_BITS > self.source.bits()
        {
            let raw = input.next(BYTES_AT_ONCE).map_err(Stop::Io)??;
            let position = self.bits.position();
            self.source.remove((position / 8).min(self.source.length()));
            self.source.append(&raw.bytes).ok_or(Irregular)?;
            self.bits = Bits::at(self.source.bytes(), position % 8);
            if raw.is_last {
                self.input = None;
            }
        }
        // The decoder reads zeros behind the end.
        if self.input.is_none() && self.bits.position() > self.source.bits() {
            return Err(Stop::Irregular);
        }
        Ok(())
    }

    /// Decodes first coefficients of several components.
    fn decode_mcus(&mut self, plan: &Plan, slot: &mut Slot) -> Result<(), Stop> {
        let blocks: Vec<_> = plan
            .blocks
            .iter()
            .filter_map(|block| {
                let part = self.scan.components.iter().position(|&number| number == block.component)?;
                Some((part, block))
            })
            .collect();
        for mcu in 0..slot.chunk.mcus {
            self.fill()?;
            for (part, block) in &blocks {
                let (group, index) = block.place(mcu % MCUS);
                let group = slot.chunk.group_mut(mcu / MCUS, group).ok_or(Irregular)?;
                self.first_coefficient(*part, group, index)?;
            }
        }
        Ok(())
    }

    /// Decodes a row of a component's blocks: `down` counts them in a row of MCUs.
    fn decode_blocks(
        &mut self,
        frame: &Frame,
        plan: &Plan,
        slot: &mut Slot,
        (component, row, down): (usize, u32, usize),
        is_dc: bool,
    ) -> Result<(), Stop> {
        let (Some(plane), Some(part)) = (plan.components.get(component), frame.components.get(component))
        else {
            return Ok(());
        };
        let (most_across, most_down) = frame.most_blocks();
        let side = |pixels: u32, own: u8, most: u32| (pixels * u32::from(own)).div_ceil(8 * most) as usize;
        let across = side(frame.width, part.across, most_across);
        // A component alone has no blocks beside or below the picture (A.2.2).
        if row as usize * plane.down + down >= side(frame.height, part.down, most_down) {
            return Ok(());
        }
        let mcu = (row - slot.rows.start) as usize * frame.mcus().0 as usize;
        let begin = mcu * plane.across;
        let (first, refines) = (plane.group + down * plane.across, self.scan.refines);
        let blocks_of_set = MCUS * plane.across;
        let mut block = begin;
        while block < begin + across {
            let (set, in_set) = (block / blocks_of_set, block % blocks_of_set);
            let (group, masks) = slot.group(set, first + in_set / BLOCKS).ok_or(Irregular)?;
            let count = (BLOCKS - in_set % BLOCKS).min(begin + across - block);
            let indices = in_set % BLOCKS..in_set % BLOCKS + count;
            block += count;
            if is_dc {
                for index in indices {
                    self.fill()?;
                    self.first_coefficient(0, group, index)?;
                }
            } else if refines {
                for index in indices {
                    self.fill()?;
                    self.refine(group, &mut masks[index % BLOCKS], index)?;
                }
            } else {
                let mut index = indices.start;
                while index < indices.end {
                    if self.run > 0 {
                        let skipped = (self.run as usize).min(indices.end - index);
                        self.run -= skipped as u32;
                        index += skipped;
                        continue;
                    }
                    self.fill()?;
                    self.coefficients(group, &mut masks[index % BLOCKS], index)?;
                    index += 1;
                }
            }
        }
        Ok(())
    }

    /// Decodes a block's first coefficient, or its next bit.
    #[inline(always)]
    fn first_coefficient(&mut self, part: usize, group: &mut Group, index: usize) -> Result<(), Irregular> {
        let low = u32::from(self.scan.low);
        self.bits.refill(self.source.bytes());
        if self.scan.refines {
            let bit = self.bits.take(1) as i16;
            group.set(index, 0, group.get(index, 0) | bit << low);
            return Ok(());
        }
        let (Some(table), Some(entries)) = (self.scan.tables.get(part), self.entries.get(part)) else {
            return Err(Irregular);
        };
        let size = u32::from(symbol(&mut self.bits, table, entries)?);
        if size > DC_BITS {
            return Err(Irregular);
        }
        let prediction = &mut self.predictions[part & 3];
        *prediction += extend(self.bits.take(size), size);
        if !(-MOST_DC..=MOST_DC).contains(prediction) {
            return Err(Irregular);
        }
        group.set(index, 0, (*prediction << low) as i16);
        group.reach(0);
        Ok(())
    }

    /// Decodes the first bits of a block's other coefficients.
    #[inline(always)]
    fn coefficients(&mut self, group: &mut Group, mask: &mut u64, index: usize) -> Result<(), Irregular> {
        let ([table], [entries]) = (&*self.scan.tables, &*self.entries) else { return Err(Irregular) };
        let (first, last) = (usize::from(self.scan.spectrum.0), usize::from(self.scan.spectrum.1));
        let (low, bytes) = (u32::from(self.scan.low), self.source.bytes());
        let mut bits = self.bits;
        let mut at = first - 1;
        let mut found = 0_u64;
        while at < last {
            bits.refill(bytes);
            let entry = entries[bits.look()];
            let value = (entry as i32) >> 16;
            let code = entry >> 8 & 255;
            let value = if value != 0 {
                bits.skip(entry & 255);
                value
            } else {
                let code = u32::from(symbol(&mut bits, table, entries)?);
                let (run, size) = (code >> 4, code & 15);
                if size == 0 && run < 15 {
                    self.run = (1 << run) - 1 + bits.take(run);
                    break;
                }
                if size == 0 {
                    at += 16;
                    continue;
                }
                if size + low > AC_BITS {
                    return Err(Irregular);
                }
                at += run as usize + 1;
                if at > last {
                    return Err(Irregular);
                }
                group.set(index, at, (extend(bits.take(size), size) << low) as i16);
                found |= 1 << at;
                continue;
            };
            at += (code >> 4) as usize + 1;
            if at > last || (code & 15) + low > AC_BITS {
                return Err(Irregular);
            }
            group.set(index, at, (value << low) as i16);
            found |= 1 << at;
        }
        if at > last {
            return Err(Irregular);
        }
        if found != 0 {
            group.reach(63 - found.leading_zeros() as usize);
        }
        *mask |= found;
        self.bits = bits;
        Ok(())
    }

    /// Decodes the next bit of a block's other coefficients.
    #[inline(always)]
    fn refine(&mut self, group: &mut Group, mask: &mut u64, index: usize) -> Result<(), Irregular> {
        let ([table], [entries]) = (&*self.scan.tables, &*self.entries) else { return Err(Irregular) };
        let (first, last) = (u32::from(self.scan.spectrum.0), u32::from(self.scan.spectrum.1));
        let (low, bytes) = (u32::from(self.scan.low), self.source.bytes());
        let mut bits = self.bits;
        // A bit for each of the coefficients from the next one on.
        let mut left = u64::MAX << first & u64::MAX >> (63 - last);
        let known = *mask;
        if self.run == 0 {
            while left != 0 {
                bits.refill(bytes);
                let code = u32::from(symbol(&mut bits, table, entries)?);
                let (run, size) = (code >> 4, code & 15);
                let value = match (size, run) {
                    (0, ..15) => {
                        self.run = (1 << run) + bits.take(run);
                        break;
                    }
                    (0, _) => 0,
                    (1, _) => (if bits.take(1) == 1 { 1 } else { -1 }) << low,
                    _ => return Err(Irregular),
                };
                // The zero behind this number of others.
                let mut zeros = left & !known;
                for _ in 0..run {
                    zeros &= zeros.wrapping_sub(1);
                }
                if zeros == 0 {
                    return Err(Irregular);
                }
                let at = zeros.trailing_zeros();
                correct(&mut bits, bytes, group, index, known & left & ((1 << at) - 1), low);
                if value != 0 {
                    group.set(index, at as usize, value);
                    group.reach(at as usize);
                    *mask |= 1 << at;
                }
                left &= (u64::MAX << 1) << at;
            }
        }
        if self.run > 0 {
            correct(&mut bits, bytes, group, index, known & left, low);
            self.run -= 1;
        }
        self.bits = bits;
        Ok(())
    }
}

/// Adds a bit to each of the coefficients in a mask.
#[inline(always)]
fn correct(bits: &mut Bits, bytes: &[u8], group: &mut Group, index: usize, mut mask: u64, low: u32) {
    while mask != 0 {
        bits.refill(bytes);
        for _ in 0..mask.count_ones().min(56) {
            let at = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            let (bit, value) = (bits.take(1) as i16, group.get(index, at));
            group.set(index, at, value + (((value >> 15 | 1) * bit) << low));
        }
    }
}

/// Decodes a symbol. At least 16 bits must be valid.
#[inline(always)]
fn symbol(bits: &mut Bits, table: &Table, entries: &Entries) -> Result<u8, Irregular> {
    let entry = entries[bits.look()];
    let (length, size) = (entry & 255, entry >> 8 & 15);
    if length == 0 {
        // Without the address of the bits, which stay in registers.
        let (length, symbol) = long_symbol(bits.next(), table)?;
        bits.skip(length);
        return Ok(symbol);
    }
    bits.skip(if entry >> 16 != 0 { length - size } else { length });
    Ok((entry >> 8) as u8)
}

#[cold]
#[inline(never)]
fn long_symbol(next: u64, table: &Table) -> Result<(u32, u8), Irregular> {
    table.symbol(next).map_err(|_| Irregular)
}

fn entries(table: &Table) -> Box<Entries> {
    let mut entries: Box<Entries> =
        vec![0; 1 << LOOKUP_BITS].try_into().unwrap_or_else(|_| Box::new([0; 1 << LOOKUP_BITS]));
    for (bits, entry) in entries.iter_mut().enumerate() {
        let next = (bits as u64) << (64 - LOOKUP_BITS);
        let Ok((length, symbol)) = table.symbol(next) else { continue };
        if length > LOOKUP_BITS {
            continue;
        }
        let size = u32::from(symbol & 15);
        let (mut all, mut value) = (length, 0);
        if size > 0 && length + size <= LOOKUP_BITS {
            value = extend((next << length >> (64 - size)) as u32, size);
            all += size;
        }
        *entry = all | u32::from(symbol) << 8 | (value as u32) << 16;
    }
    entries
}
