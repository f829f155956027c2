//! The headers of all scans of a picture that has several: each of other components, or of other bits if it is progressive.

use std::io::{self, BufRead};
use std::ops::Range;
use std::sync::Arc;

use super::{Colours, Component, Frame, Headers, Next};
use crate::decoder::huffman::{Table, Tables};
use crate::decoder::idct::Steps;
use crate::markers::FrameComponent;

/// Most scans of a progressive picture.
const MOST_SCANS: usize = 100;

/// A picture in several scans.
pub struct Scans {
    /// The headers of the whole. Its bytes are those before the first scan.
    pub frame: Frame,
    /// The scans, which together have each component once.
    pub scans: Vec<Scan>,
}

/// A scan of some components.
pub struct Scan {
    /// The headers of a picture of these components alone.
    pub frame: Frame,
    /// The numbers of its components in the whole.
    pub components: Vec<usize>,
    /// Its bytes in the file.
    pub bytes: Range<u64>,
}

/// A progressive picture.
pub struct Progressive {
    /// The headers of the whole. Its bytes are those before the first scan, and its tables mean nothing.
    pub frame: Frame,
    /// The scans in the order of the file, which together have all bits of all coefficients.
    pub scans: Vec<ProgressiveScan>,
}

/// A scan of a progressive picture: some bits of some coefficients of some components.
pub struct ProgressiveScan {
    /// The numbers of its components in the whole.
    pub components: Vec<usize>,
    /// The table of each component; none where single bits are stored.
    pub tables: Vec<Arc<Table>>,
    /// The first and the last of the coefficients, in the order of the file.
    pub spectrum: (u8, u8),
    /// True if the coefficients have bits already, and it adds the next one.
    pub refines: bool,
    /// The place of the lowest bit.
    pub low: u8,
    /// Its bytes in the file.
    pub bytes: Range<u64>,
}

/// A picture in several scans of either kind.
pub enum Several {
    /// Each scan has components of its own.
    Scans(Scans),
    /// The scans refine each other.
    Progressive(Progressive),
}

/// Reads the headers of a picture in several scans, up to its end. `None`: the file is not one that this decoder reads.
///
/// # Errors
/// The reader's, but for the end of the file, which makes it irregular.
pub fn read_scans(file: &mut impl BufRead) -> io::Result<Option<Several>> {
    match Headers::new(file, &mut Tables::default()).read_scans() {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        result => result,
    }
}

impl<R: BufRead> Headers<'_, R> {
    fn read_scans(&mut self) -> io::Result<Option<Several>> {
        if !self.begins()? {
            return Ok(None);
        }
        self.allows_progressive = true;
        let Next::Scan(first) = self.next(None)? else { return Ok(None) };
        self.allows_progressive = false; // there is one frame
        Ok(if self.is_progressive {
            self.read_progressive(first)?.map(Several::Progressive)
        } else {
            self.read_sequential(first)?.map(Several::Scans)
        })
    }

    /// Reads the scans of which the first has this header.
    fn read_sequential(&mut self, mut segment: Vec<u8>) -> io::Result<Option<Scans>> {
        let mut scans = Vec::new();
        let mut all: Vec<Option<Component>> = Vec::new();
        loop {
            let Some((frame, components)) = self.part(&segment) else { return Ok(None) };
            all.resize(self.components.len(), None);
            for (&number, component) in components.iter().zip(&frame.components) {
                let FrameComponent { across, down, .. } = self.components[number];
                let component = Component { across, down, ..component.clone() };
                if all[number].replace(component).is_some() {
                    return Ok(None);
                }
            }
            let start = self.markers.position();
            let Some(code) = self.skip_scan()? else { return Ok(None) };
            scans.push(Scan { frame, components, bytes: start..self.markers.position() - 2 });
            segment = match self.next(Some(code))? {
                Next::Scan(segment) => segment,
                Next::End => break,
                Next::Irregular => return Ok(None),
            };
        }
        let (Some(components), Some(colours), Some(first)) =
            (all.into_iter().collect::<Option<Vec<_>>>(), self.colours(), scans.first())
        else {
            return Ok(None);
        };
        let frame = Frame {
            width: self.size.0,
            height: self.size.1,
            components,
            colours,
            restart_interval: 0,
            header_bytes: first.bytes.start,
        };
        Ok(Some(Scans { frame, scans }))
    }

    /// Reads the scans of which the first has this header.
    fn read_progressive(&mut self, mut segment: Vec<u8>) -> io::Result<Option<Progressive>> {
        let mut scans = Vec::new();
        let mut steps: Vec<Option<Arc<Steps>>> = vec![None; self.components.len()];
        // The lowest bit of each coefficient that is known. `None`: none is.
        let mut known = vec![[None; 64]; self.components.len()];
        loop {
            let start = self.markers.position();
            let scan = self.progressive_scan(&segment, &mut known);
            let (Some(mut scan), 0, ..MOST_SCANS) = (scan, self.restart_interval, scans.len()) else {
                return Ok(None);
            };
            for &number in &scan.components {
                // Those of a component's first scan count.
                let id = usize::from(self.components[number].steps);
                let own = || self.steps.get(id).and_then(Option::clone);
                steps[number] = steps[number].take().or_else(own);
            }
            let Some(code) = self.skip_scan()? else { return Ok(None) };
            scan.bytes = start..self.markers.position() - 2;
            scans.push(scan);
            segment = match self.next(Some(code))? {
                Next::Scan(segment) => segment,
                Next::End => break,
                Next::Irregular => return Ok(None),
            };
        }
        let is_complete = known.iter().flatten().all(|low| *low == Some(0));
        let table = scans.iter().find_map(|scan: &ProgressiveScan| scan.tables.first());
        let (true, Some(table), Some(colours), Some(first)) =
            (is_complete, table, self.colours(), scans.first())
        else {
            return Ok(None);
        };
        let is_alone = self.components.len() == 1;
        let component = |(described, steps): (&FrameComponent, Option<Arc<Steps>>)| {
            Some(Component {
                across: if is_alone { 1 } else { described.across },
                down: if is_alone { 1 } else { described.down },
                steps: steps?,
                dc: Arc::clone(table),
                ac: Arc::clone(table),
            })
        };
        let components = self.components.iter().zip(steps).map(component).collect::<Option<_>>();
        let frame = components.map(|components| Frame {
            width: self.size.0,
            height: self.size.1,
            components,
            colours,
            restart_interval: 0,
            header_bytes: first.bytes.start,
        });
        Ok(frame.map(|frame| Progressive { frame, scans }))
    }

    /// Reads the header of a progressive scan, and notes the bits that it has. `None`: libjpeg refuses it or warns of it, or
    /// it is odd.
    fn progressive_scan(&self, segment: &[u8], known: &mut [[Option<u8>; 64]]) -> Option<ProgressiveScan> {
        let (&[count], rest) = segment.split_first_chunk()?;
        if rest.len() != 2 * usize::from(count) + 3 {
            return None;
        }
        let (selected, &[first, last, bits]) = rest.split_last_chunk()?;
        let (high, low) = (bits >> 4, bits & 15);
        let (is_first, is_dc) = (high == 0, first == 0);
        let is_valid = (if is_dc { last == 0 } else { first <= last && last < 64 && count == 1 })
            && low <= 13
            && (is_first || high == low + 1);
        if !is_valid {
            return None;
        }
        let (mut components, mut tables) = (Vec::new(), Vec::new());
        for &[id, of_tables] in selected.as_chunks().0 {
            let number = self.components.iter().position(|described| described.id == id)?;
            let known = known.get_mut(number)?;
            if !is_dc && known[0].is_none() {
                return None;
            }
            for known in &mut known[usize::from(first)..=usize::from(last)] {
                if *known != if is_first { None } else { Some(high) } {
                    return None;
                }
                *known = Some(low);
            }
            let (dc, ac) = (usize::from(of_tables >> 4), usize::from(of_tables & 15));
            if dc > 3 || ac > 3 {
                return None;
            }
            components.push(number);
            match (is_dc, is_first) {
                (true, true) => tables.push(self.dc.get(dc)?.clone()?),
                (true, false) => {}
                (false, _) => tables.push(self.ac.get(ac)?.clone()?),
            }
        }
        (!components.is_empty() && components.is_sorted()).then_some(ProgressiveScan {
            components,
            tables,
            spectrum: (first, last),
            refines: !is_first,
            low,
            bytes: 0..0,
        })
    }

    /// Returns the headers of a picture of the components that a scan has, and their numbers.
    fn part(&self, segment: &[u8]) -> Option<(Frame, Vec<usize>)> {
        let (numbers, components): (Vec<usize>, Vec<Component>) = self.selected(segment)?.into_iter().unzip();
        let most = |of: fn(&FrameComponent) -> u8, among: &[usize]| {
            let described = among.iter().filter_map(|&number| self.components.get(number));
            described.map(of).max().map(u32::from)
        };
        let all: Vec<usize> = (0..self.components.len()).collect();
        let side = |side: u32, of: fn(&FrameComponent) -> u8| {
            Some((side * most(of, &numbers)?).div_ceil(most(of, &all)?))
        };
        let frame = Frame {
            width: side(self.size.0, |component| component.across)?,
            height: side(self.size.1, |component| component.down)?,
            components,
            colours: Colours::Grey, // of which nothing is converted
            restart_interval: self.restart_interval,
            header_bytes: self.markers.position(),
        };
        Some((frame, numbers))
    }

    /// Skips the bytes of a scan, and returns the code of the marker behind it. `None`: there is something irregular.
    fn skip_scan(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.markers.find_code()? {
                0xd0..=0xd7 if self.restart_interval > 0 => {}
                0xd0..=0xd7 => return Ok(None),
                code => return Ok(Some(code)),
            }
        }
    }
}
