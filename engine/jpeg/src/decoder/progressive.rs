//! Decodes all scans of a progressive picture side by side, on several threads. Each scan has its bytes from the
//! beginning, so that a row of MCUs is complete when the last scan has passed it, and memory is that of a few rows.
//!
//! ```text
//! slot 0   scan 1  scan 2  scan 3  transform      a slot: some rows of MCUs
//! slot 1           scan 1  scan 2  scan 3  …      at a time: two tasks, in different slots and of different scans
//! slot 2                   scan 1  scan 2  …
//! ```

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::chunk::Plan;
use super::frame::Frame;
use super::frame::several::ProgressiveScan;
use super::mcu_rows::{Source, Stop};
use super::planes::{Segment, transform};
use super::refine::{ScanDecoder, Slot};
use super::requantise::{Requantiser, Workspace, requantise};
use super::threads::{Threads, Work};

/// MCUs of a slot of narrow pictures. Those of wide ones have a row.
const SLOT_MCUS: u32 = 256;

/// The bytes of a scan, and an EOI.
type Bytes = Box<dyn Read + Send>;
type Decoder = Box<ScanDecoder<Bytes>>;

/// A progressive picture that is being decoded.
pub struct ProgressivePipeline {
    shared: Threads<Shared>,
}

struct Shared {
    frame: Frame,
    plan: Plan,
    /// Makes tiles of the blocks; `None`: only samples are wanted.
    requantiser: Option<Requantiser>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    scans: Vec<Scan>,
    /// Slots from the first one that the caller has not had.
    places: VecDeque<Place>,
    /// The number of the first slot.
    first: usize,
    /// Rows of MCUs that have no slot yet, and those of a slot.
    rows: Range<u32>,
    slot_rows: u32,
    /// Slots that may be under way.
    most: usize,
    /// Slots whose memory can be used again.
    spare: Vec<Slot>,
    stop: Option<Stop>,
    is_closed: bool,
}

struct Scan {
    /// `None`: a thread decodes.
    decoder: Option<Decoder>,
    /// The number of the next slot.
    next: usize,
}

/// A slot's progress.
enum Place {
    /// A thread works on it.
    Busy,
    /// Some scans have passed it.
    Waiting { slot: Box<Slot>, scans: usize },
    /// Its samples.
    Ready(Vec<Segment>),
}

/// A thread's next task, for the slot with this number.
enum Task {
    Begin(usize, Box<Slot>, Range<u32>),
    Decode(usize, Box<Slot>, usize, Decoder),
    Transform(usize, Box<Slot>),
}

impl ProgressivePipeline {
    /// Begins to decode. Each scan comes with its bytes and an EOI. With a requantiser, segments have pieces of tiles
    /// and samples of half the size.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start<R: Read + Send + 'static>(
        requantiser: Option<Requantiser>,
        frame: Frame,
        scans: Vec<(ProgressiveScan, R)>,
        threads: usize,
    ) -> io::Result<Self> {
        let threads = threads.max(1);
        let decoder = |(scan, bytes)| ScanDecoder::new(scan, Box::new(bytes) as Bytes);
        let scan = |scan| Scan { decoder: Some(Box::new(decoder(scan))), next: 0 };
        let (across, down) = frame.mcus();
        let state = State {
            scans: scans.into_iter().map(scan).collect(),
            places: VecDeque::new(),
            first: 0,
            rows: 0..down,
            slot_rows: (SLOT_MCUS / across).max(1),
            most: 2 * threads + 4,
            spare: Vec::new(),
            stop: None,
            is_closed: false,
        };
        let (plan, state, changed) = (Plan::new(&frame), Mutex::new(state), Condvar::new());
        let shared = Shared { frame, plan, requantiser, state, changed };
        Ok(Self { shared: Threads::start(shared, threads)? })
    }
}

impl Source for ProgressivePipeline {
    fn frame(&self) -> &Frame {
        &self.shared.frame
    }

    fn plan(&self) -> &Plan {
        &self.shared.plan
    }

    fn next_segments(&mut self) -> Result<Option<Vec<Segment>>, Stop> {
        let mut state = self.shared.lock();
        loop {
            match state.places.pop_front() {
                Some(Place::Ready(segments)) => {
                    state.first += 1;
                    self.shared.changed.notify_all();
                    return Ok(Some(segments));
                }
                Some(place) => state.places.push_front(place),
                None if state.rows.is_empty() => return Ok(None),
                None => {}
            }
            if state.is_closed {
                return Err(state.stop.take().unwrap_or(Stop::Irregular));
            }
            state = self.shared.wait(state);
        }
    }
}

impl Work for Shared {
    fn work(&self) {
        let mut workspace = Workspace::default();
        while let Some(task) = self.next_task() {
            let (number, place, scan) = match task {
                Task::Begin(number, mut slot, rows) => {
                    slot.begin(&self.frame, &self.plan, rows);
                    (number, Place::Waiting { slot, scans: 0 }, None)
                }
                Task::Decode(number, mut slot, scan, mut decoder) => {
                    if let Err(stop) = decoder.decode(&self.frame, &self.plan, &mut slot) {
                        let mut state = self.lock();
                        state.stop.get_or_insert(stop);
                        state.is_closed = true;
                        drop(state);
                        self.changed.notify_all();
                        return;
                    }
                    (number, Place::Waiting { slot, scans: scan + 1 }, Some((scan, decoder)))
                }
                Task::Transform(number, slot) => {
                    let segments = self.transform(&slot, &mut workspace);
                    self.lock().spare.push(*slot);
                    (number, Place::Ready(segments), None)
                }
            };
            let mut state = self.lock();
            if let Some((scan, decoder)) = scan {
                state.scans[scan] = Scan { decoder: Some(decoder), next: number + 1 };
            }
            let first = state.first;
            state.places[number - first] = place;
            drop(state);
            self.changed.notify_all();
        }
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a task.
    fn next_task(&self) -> Option<Task> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(task) = state.task() {
                return Some(task);
            }
            let is_ready = |place: &Place| matches!(place, Place::Ready(_));
            if state.rows.is_empty() && state.places.iter().all(is_ready) {
                return None;
            }
            state = self.wait(state);
        }
    }

    fn transform(&self, slot: &Slot, workspace: &mut Workspace) -> Vec<Segment> {
        let Self { frame, plan, requantiser, .. } = self;
        let mcu = slot.rows.start * frame.mcus().0;
        match requantiser {
            Some(requantiser) => requantise(frame, plan, &slot.chunk, mcu, requantiser, workspace),
            None => transform(frame, plan, &slot.chunk, mcu),
        }
    }
}

impl State {
    /// Returns the first task that can be done, of the earliest slot.
    fn task(&mut self) -> Option<Task> {
        let Self { scans, places, first, .. } = self;
        for (number, place) in (*first..).zip(places) {
            let Place::Waiting { scans: scan, .. } = place else { continue };
            let number_of_scan = *scan;
            let decoder = match scans.get_mut(number_of_scan) {
                Some(scan) if scan.next != number => continue,
                Some(scan) if scan.decoder.is_none() => continue,
                Some(scan) => scan.decoder.take(),
                None => None,
            };
            let Place::Waiting { slot, .. } = std::mem::replace(place, Place::Busy) else { continue };
            return Some(match decoder {
                Some(decoder) => Task::Decode(number, slot, number_of_scan, decoder),
                None => Task::Transform(number, slot),
            });
        }
        if self.rows.is_empty() || self.places.len() >= self.most {
            return None;
        }
        let end = self.rows.end.min(self.rows.start + self.slot_rows);
        let rows = self.rows.start..end;
        self.rows.start = end;
        self.places.push_back(Place::Busy);
        let slot = Box::new(self.spare.pop().unwrap_or_default());
        Some(Task::Begin(self.first + self.places.len() - 1, slot, rows))
    }
}
