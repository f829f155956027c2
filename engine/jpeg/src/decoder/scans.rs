//! Joins the scans of a picture, each of some components: they are decoded beside each other, in a few rows of memory.

use super::chunk::Plan;
use super::frame::Frame;
use super::mcu_rows::{McuRows, Source, Stop};
use super::planes::Segment;

/// A picture whose components are in several scans.
pub struct JoinedScans<S> {
    frame: Frame,
    plan: Plan,
    scans: Vec<Scan<S>>,
    /// The next row of MCUs.
    row: u32,
}

struct Scan<S> {
    rows: McuRows<S>,
    /// The numbers of its components in the picture.
    components: Vec<usize>,
    /// Rows of the scan's MCUs in a row of the picture's.
    down: usize,
}

impl<S: Source> JoinedScans<S> {
    /// Joins the scans of a picture with these headers, each with the numbers of its components.
    #[must_use]
    pub fn new(frame: Frame, scans: Vec<(S, Vec<usize>)>) -> Self {
        let scan = |(source, components): (S, Vec<usize>)| {
            let down = match components.as_slice() {
                &[alone] => frame.components.get(alone).map_or(1, |component| component.down.into()),
                _ => 1,
            };
            Scan { rows: McuRows::new(source), components, down }
        };
        let scans = scans.into_iter().map(scan).collect();
        Self { plan: Plan::new(&frame), frame, scans, row: 0 }
    }
}

impl<S: Source> Source for JoinedScans<S> {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn next_segments(&mut self) -> Result<Option<Vec<Segment>>, Stop> {
        let (across, down) = self.frame.mcus();
        if self.row == down {
            return Ok(None);
        }
        let mut joined = Segment::empty(self.row, across, &self.plan);
        for Scan { rows, components, down } in &mut self.scans {
            for number in 0..*down {
                // A component alone has no blocks below its last row.
                if rows.row() == rows.frame().mcus().1 {
                    break;
                }
                rows.read(|plan, segment| {
                    for (part, &component) in components.iter().enumerate() {
                        segment.copy_to(plan, part, joined.rows_mut(&self.plan, component).skip(8 * number));
                    }
                })?;
            }
        }
        self.row += 1;
        Ok(Some(vec![joined]))
    }
}
