//! Chunks of a scan: what one thread decodes at a time.
//!
//! Where a chunk begins in the middle of a scan, neither the bit at which an MCU begins nor the predictions are known. The
//! decoder guesses: Huffman codes fall into step by themselves after some hundred bits. When the chunk before is decoded, it
//! is decoded further into this one until an MCU begins at a bit where a guessed one began ([`Chunk::join`]). From there on both
//! would read the same, and only the predictions have to be corrected. Chunks between restart markers need no guess.
//!
//! Source: S. T. Klein and Y. Wiseman, "Parallel Huffman decoding with applications to JPEG files", 2003.

use super::coefficients::{BLOCKS, Group};
use super::frame::Frame;
use super::huffman::{Bits, Table, block};

/// MCUs whose blocks fill whole groups.
pub const MCUS: usize = BLOCKS;
/// Maximum number of bits of a block: 64 coefficients, each of 16 bits of code and 10 of value, or 11 of the first one.
const BLOCK_BITS: usize = 64 * 26 + 1;
/// Zeros behind the bytes, as bits are loaded eight bytes at a time.
const PADDING: usize = 16;

/// The blocks of an MCU: which tables they use and where they are stored.
pub struct Plan {
    /// Of each component.
    pub components: Vec<ComponentPlan>,
    pub blocks: Vec<BlockPlan>,
}

/// A component's blocks in a set of [`MCUS`] MCUs.
pub struct ComponentPlan {
    /// The first of its groups in a set. A row of its blocks has as many groups as the component has blocks across.
    pub group: usize,
    /// Blocks of an MCU across.
    pub across: usize,
    /// Blocks of an MCU down.
    pub down: usize,
}

/// A block of each MCU.
pub struct BlockPlan {
    pub component: usize,
    /// The first group of its row.
    group: usize,
    across: usize,
    column: usize,
}

impl BlockPlan {
    /// Returns the block's group in a set, and its place in the group, for an MCU of the set.
    #[inline(always)]
    pub fn place(&self, mcu: usize) -> (usize, usize) {
        let column = mcu * self.across + self.column;
        (self.group + column / BLOCKS, column % BLOCKS)
    }
}

impl Plan {
    /// Plans the MCUs of a picture.
    #[must_use]
    pub fn new(frame: &Frame) -> Self {
        Self::of_sampling(frame.components.iter().map(|component| (component.across, component.down)))
    }

    /// Plans MCUs whose components have these numbers of blocks across and down.
    pub fn of_sampling(sampling: impl IntoIterator<Item = (u8, u8)>) -> Self {
        let (mut components, mut blocks, mut group) = (Vec::new(), Vec::new(), 0);
        for (number, (across, down)) in sampling.into_iter().enumerate() {
            let (across, down) = (usize::from(across), usize::from(down));
            components.push(ComponentPlan { group, across, down });
            for row in 0..down {
                for column in 0..across {
                    blocks.push(BlockPlan { component: number, group: group + row * across, across, column });
                }
            }
            group += across * down;
        }
        Self { components, blocks }
    }

    /// Returns the maximum number of bits of an MCU.
    fn mcu_bits(&self) -> usize {
        self.blocks.len() * BLOCK_BITS
    }

    /// Returns the tables and the place of each block.
    fn steps<'a>(&'a self, frame: &'a Frame) -> Vec<Step<'a>> {
        let step = |block: &'a BlockPlan| {
            let component = &frame.components[block.component];
            Step { dc: &component.dc, ac: &component.ac, block }
        };
        self.blocks.iter().map(step).collect()
    }

    /// Returns the number of groups of a set, which is that of an MCU's blocks.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.blocks.len()
    }
}

/// The predictions of all components.
pub type Predictions = [i16; 4];

/// The bytes of a scan, or a part of it, without stuffing.
#[derive(Default)]
pub struct Unstuffed {
    bytes: Vec<u8>,
    length: usize,
}

impl Unstuffed {
    /// Replaces the bytes by others, of which it removes the zeros behind each `ff`. `None`: there is something else
    /// behind one.
    pub fn replace(&mut self, raw: &[u8]) -> Option<()> {
        self.length = 0;
        self.append(raw)
    }

    /// Adds bytes, of which it removes the zeros behind each `ff`. `None`: there is something else behind one.
    pub fn append(&mut self, raw: &[u8]) -> Option<()> {
        self.bytes.truncate(self.length);
        let mut from = 0;
        for at in memchr::memchr_iter(0xff, raw) {
            if raw.get(at + 1) != Some(&0) {
                return None;
            }
            self.bytes.extend_from_slice(raw.get(from..=at)?);
            from = at + 2;
        }
        self.bytes.extend_from_slice(raw.get(from..)?);
        self.length = self.bytes.len();
        self.bytes.resize(self.length + PADDING, 0);
        Some(())
    }

    /// Replaces the bytes by those of two parts.
    fn replace_joined(&mut self, one: &[u8], other: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(one);
        self.bytes.extend_from_slice(other);
        self.length = self.bytes.len();
        self.bytes.resize(self.length + PADDING, 0);
    }

    /// Removes the first bytes.
    pub fn remove(&mut self, count: usize) {
        self.bytes.drain(..count);
        self.length -= count;
    }

    /// Returns the number of bits.
    pub fn bits(&self) -> usize {
        8 * self.length
    }

    /// Returns the number of bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Returns the bytes, and zeros behind them.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A part of a scan and what has been decoded of it.
#[derive(Default)]
pub struct Chunk {
    /// Its bytes.
    pub source: Unstuffed,
    /// Sets of [`MCUS`] MCUs, each with the groups of its plan. None is moved when further ones are added.
    sets: Vec<Vec<Group>>,
    /// MCUs that were decoded, those before [`Self::first`] included.
    pub mcus: usize,
    /// The first MCU that counts.
    pub first: usize,
    /// First bit of each MCU of a whole chunk.
    starts: Vec<u32>,
    /// The bit at which decoding stopped.
    end: usize,
    predictions: Predictions,
}

/// The place in a chunk where decoding stopped.
pub struct Tail {
    /// The bytes from there on.
    bytes: Vec<u8>,
    /// The bit in the first of them.
    bit: usize,
    predictions: Predictions,
}

impl Tail {
    /// The beginning of a scan.
    #[must_use]
    pub fn start() -> Self {
        Self { bytes: Vec::new(), bit: 0, predictions: Predictions::default() }
    }
}

/// Something that a regular file does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Irregular;

/// The continuation of a scan behind a chunk's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// More bytes of the scan.
    GoesOn,
    /// Nothing.
    Ends,
}

/// The tables and the place of one block of each MCU.
struct Step<'a> {
    dc: &'a Table,
    ac: &'a Table,
    block: &'a BlockPlan,
}

/// Bytes of the next chunk in which decoding may fall into step with a guess.
const JOINED_BYTES: usize = 16 << 10;

impl Chunk {
    /// Returns the sets of groups that were decoded, from that of the first MCU that counts on, and their numbers.
    pub fn sets(&self) -> impl Iterator<Item = (usize, &[Group])> {
        let sets = self.sets.iter().map(Vec::as_slice).enumerate();
        sets.take(self.mcus.div_ceil(MCUS)).skip(self.first / MCUS)
    }

    /// Begins with this number of MCUs, all of whose coefficients are zero.
    pub fn begin_zeros(&mut self, plan: &Plan, mcus: usize) {
        self.begin(0, Predictions::default());
        self.mcus = mcus;
        let sets = mcus.div_ceil(MCUS);
        if self.sets.len() < sets {
            self.sets.resize_with(sets, Vec::new);
        }
        for groups in &mut self.sets[..sets] {
            groups.resize_with(plan.groups(), Group::default);
            groups.iter_mut().for_each(Group::clear);
        }
    }

    /// Returns a group of a set.
    #[inline(always)]
    pub fn group_mut(&mut self, set: usize, group: usize) -> Option<&mut Group> {
        self.sets.get_mut(set)?.get_mut(group)
    }

    /// Forgets what was decoded, and begins at a bit.
    fn begin(&mut self, at: usize, predictions: Predictions) {
        (self.mcus, self.first, self.end, self.predictions) = (0, 0, at, predictions);
        self.starts.clear();
    }

    /// Decodes from a known bit on, as far as the bytes go.
    fn decode_from(
        &mut self,
        frame: &Frame,
        plan: &Plan,
        start: usize,
        predictions: Predictions,
    ) -> Result<(), Irregular> {
        self.begin(start, predictions);
        self.run(&plan.steps(frame), self.source.bits(), usize::MAX, true)
    }

    /// Decodes the first chunk of a scan.
    pub fn decode(&mut self, frame: &Frame, plan: &Plan) -> Result<(), Irregular> {
        self.decode_from(frame, plan, 0, Predictions::default())
    }

    /// Forgets everything, before the first byte of a scan.
    pub fn begin_scan(&mut self) {
        self.source.remove(self.source.length);
        self.begin(0, Predictions::default());
    }

    /// Forgets the MCUs that were decoded, but not the state behind them.
    pub fn forget_mcus(&mut self) {
        self.begin(self.end, self.predictions);
    }

    /// Adds bytes of the scan, and removes those that were decoded.
    pub fn append(&mut self, raw: &[u8]) -> Result<(), Irregular> {
        self.source.remove(self.end / 8);
        self.end %= 8;
        self.source.append(raw).ok_or(Irregular)
    }

    /// Decodes up to `most` MCUs, fewer if they may need bytes that follow.
    pub fn decode_on(
        &mut self,
        frame: &Frame,
        plan: &Plan,
        most: usize,
        scan: Scan,
    ) -> Result<(), Irregular> {
        let limit = match scan {
            Scan::GoesOn => self.source.bits(),
            Scan::Ends => usize::MAX,
        };
        self.run(&plan.steps(frame), limit, most, false)?;
        if self.end <= self.source.bits() { Ok(()) } else { Err(Irregular) }
    }

    /// Decodes from a guessed state on.
    pub fn decode_guessed(&mut self, frame: &Frame, plan: &Plan) {
        let (steps, limit) = (plan.steps(frame), self.source.bits());
        let mut start = 0;
        loop {
            self.begin(start, Predictions::default());
            if start >= limit || self.run(&steps, limit, usize::MAX, true).is_ok() {
                return;
            }
            // Nothing decodes like this. Guess again, behind the MCU that failed.
            start = (self.starts.last().map_or(start, |&bit| bit as usize) / 8 + 1) * 8;
        }
    }

    /// Decodes what is left of a scan's last chunk: this many MCUs from the first that counts on.
    pub fn finish(&mut self, frame: &Frame, plan: &Plan, mcus: usize) -> Result<(), Irregular> {
        let mcus = self.first + mcus;
        if self.mcus > mcus {
            // It went on behind the last one.
            return if self.starts_at(mcus).is_some_and(|end| end <= self.source.bits()) {
                self.mcus = mcus;
                Ok(())
            } else {
                Err(Irregular)
            };
        }
        self.run(&plan.steps(frame), usize::MAX, mcus, false)?;
        if self.mcus == mcus && self.end <= self.source.bits() { Ok(()) } else { Err(Irregular) }
    }

    fn starts_at(&self, mcu: usize) -> Option<usize> {
        self.starts.get(mcu).map(|&bit| bit as usize)
    }

    /// Decodes the bytes between restart markers: each part has this many MCUs, but for the last one of a scan.
    pub fn decode_intervals<'a>(
        &mut self,
        frame: &Frame,
        plan: &Plan,
        parts: impl Iterator<Item = (&'a [u8], usize)>,
    ) -> Result<(), Irregular> {
        self.begin(0, Predictions::default());
        let steps = plan.steps(frame);
        for (raw, mcus) in parts {
            self.source.replace(raw).ok_or(Irregular)?;
            self.end = 0;
            self.predictions = Predictions::default();
            let mcus = self.mcus + mcus;
            self.run(&steps, usize::MAX, mcus, false)?;
            // libjpeg warns of whole bytes that are left.
            if self.end > self.source.bits() || self.source.bits() - self.end >= 8 {
                return Err(Irregular);
            }
        }
        Ok(())
    }

    /// Returns the state behind what was decoded, and the bytes that are left.
    #[must_use]
    pub fn tail(&self) -> Tail {
        let skipped = self.end / 8;
        Tail {
            bytes: self.source.bytes.get(skipped..self.source.length).unwrap_or_default().to_vec(),
            bit: self.end % 8,
            predictions: self.predictions,
        }
    }

    /// Decodes from the end of the chunk before into this one, whose state was guessed, until both agree; if they never
    /// do, decodes this one again. Puts the MCUs between the two, of which the scan has `left`, into `bridge`.
    pub fn join(
        &mut self,
        frame: &Frame,
        plan: &Plan,
        before: &Tail,
        left: usize,
        bridge: &mut Self,
    ) -> Result<(), Irregular> {
        let other = &self.source.bytes[..self.source.length.min(JOINED_BYTES)];
        let boundary = 8 * before.bytes.len();
        let length = before.bytes.len() + other.len();
        bridge.source.replace_joined(&before.bytes, other);
        bridge.begin(before.bit, before.predictions);
        let steps = plan.steps(frame);
        let mut guess = 0;
        let found = loop {
            if bridge.mcus == left {
                // The scan's last MCU: the bits behind it mean nothing.
                self.begin(bridge.end.saturating_sub(boundary), bridge.predictions);
                return Ok(());
            }
            if let Some(at) = bridge.end.checked_sub(boundary) {
                while self.starts_at(guess).is_some_and(|start| start < at) {
                    guess += 1;
                }
                if self.starts_at(guess) == Some(at) && guess < self.mcus {
                    break true;
                }
                if guess >= self.mcus || bridge.end + plan.mcu_bits() > 8 * length {
                    break false;
                }
            }
            if bridge.end >= 8 * length {
                return Err(Irregular);
            }
            bridge.run(&steps, usize::MAX, bridge.mcus + 1, false)?;
        };
        if found {
            self.correct(plan, guess, bridge.predictions);
        } else {
            let start = bridge.end.saturating_sub(boundary);
            self.decode_from(frame, plan, start, bridge.predictions)?;
        }
        Ok(())
    }

    /// Makes predictions right: the first MCU that counts is `first`, and before it they are these.
    fn correct(&mut self, plan: &Plan, first: usize, predictions: Predictions) {
        self.first = first;
        for (number, component) in plan.components.iter().enumerate() {
            let guessed = first.checked_sub(1).map_or(0, |mcu| self.last_of(component, mcu));
            let difference = predictions[number].wrapping_sub(guessed);
            self.predictions[number] = self.predictions[number].wrapping_add(difference);
            let groups = component.group..component.group + component.across * component.down;
            for set in self.sets.iter_mut().take(self.mcus.div_ceil(MCUS)) {
                for group in &mut set[groups.clone()] {
                    group.first_mut().iter_mut().for_each(|value| *value = value.wrapping_add(difference));
                }
            }
        }
    }

    /// Returns the first coefficient of a component's last block in an MCU.
    fn last_of(&self, component: &ComponentPlan, mcu: usize) -> i16 {
        let column = mcu % MCUS * component.across + component.across - 1;
        let row = component.group + (component.down - 1) * component.across;
        self.sets[mcu / MCUS][row + column / BLOCKS].get(column % BLOCKS, 0)
    }

    /// Decodes MCUs up to the last one that ends before the bit `limit`, or until there are as many as `most`.
    fn run(
        &mut self,
        steps: &[Step<'_>],
        limit: usize,
        most: usize,
        notes_starts: bool,
    ) -> Result<(), Irregular> {
        let bytes = &*self.source.bytes;
        let mut bits = Bits::at(bytes, self.end);
        let mut predictions = self.predictions;
        let mut result = Ok(());
        while self.mcus < most {
            let before = (bits, predictions);
            let at = bits.position();
            if at >= limit {
                break;
            }
            if notes_starts {
                self.starts.push(at as u32);
            }
            let (set, mcu) = (self.mcus / MCUS, self.mcus % MCUS);
            if self.sets.len() <= set {
                self.sets.push(Vec::new());
            }
            let groups = &mut self.sets[set];
            if mcu == 0 {
                groups.resize_with(steps.len(), Group::default);
                groups.iter_mut().for_each(Group::clear);
            }
            let is_decoded = decode_mcu(steps, bytes, &mut bits, groups, mcu, &mut predictions).is_some();
            if !is_decoded || bits.position() > limit {
                for Step { block, .. } in steps {
                    let (group, index) = block.place(mcu);
                    groups[group].clear_block(index);
                }
                if is_decoded || at.saturating_add(steps.len() * BLOCK_BITS) > limit {
                    // The bytes that it needs are not here.
                    (bits, predictions) = before;
                    if notes_starts {
                        self.starts.pop();
                    }
                } else {
                    result = Err(Irregular);
                }
                break;
            }
            self.mcus += 1;
        }
        self.end = bits.position();
        self.predictions = predictions;
        result
    }
}

/// Decodes an MCU into a set of groups.
#[inline(always)]
fn decode_mcu(
    steps: &[Step<'_>],
    bytes: &[u8],
    bits: &mut Bits,
    groups: &mut [Group],
    mcu: usize,
    predictions: &mut Predictions,
) -> Option<()> {
    for Step { dc, ac, block: plan } in steps {
        let (group, index) = plan.place(mcu);
        let group = groups.get_mut(group)?;
        let difference = block(bits, bytes, dc, ac, group, index)?;
        let prediction = &mut predictions[plan.component & 3];
        *prediction = prediction.wrapping_add(difference);
        group.set(index, 0, *prediction);
    }
    Some(())
}
