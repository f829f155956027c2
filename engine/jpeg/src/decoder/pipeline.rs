//! Decodes a scan on several threads, a chunk each, and gives its samples in order.
//!
//! ```text
//! read a chunk ─▶ decode it, guessing its state ─▶ join it to the one before ─▶ transform ─▶ the caller
//!  one at a time        any thread                    one at a time, in order    same thread   in order
//! ```

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::RangeInclusive;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::chunk::{Chunk, Plan, Tail};
use super::frame::Frame;
use super::input::{Input, intervals};
use super::mcu_rows::{Source, Stop};
use super::planes::{Segment, transform};
use super::requantise::{Requantiser, Workspace, requantise};
use super::threads::{Threads, Work};

/// MCUs of a chunk: a quarter of a megapixel where chroma is halved both ways. What is decoded of a larger one does not
/// stay in the cache.
const CHUNK_MCUS: usize = 1024;
/// Bytes of the first chunk, of which it is not known how many MCUs they hold.
const FIRST_BYTES: usize = 8 << 10;
/// Bounds of the bytes of a chunk. The lower one, the most that an MCU can have, bounds the memory of flat pictures,
/// whose MCUs may take two bytes.
const CHUNK_BYTES: RangeInclusive<usize> = 4 << 10..=512 << 10;

/// The rest of a file.
type File = Box<dyn Read + Send>;

/// A scan that is being decoded.
pub struct Pipeline {
    shared: Threads<Shared>,
}

struct Shared {
    frame: Frame,
    plan: Plan,
    /// Makes tiles of the blocks; `None`: only samples are wanted.
    requantiser: Option<Requantiser>,
    state: Mutex<State>,
    changed: Condvar,
    /// Chunks that may be under way.
    most: usize,
}

struct State {
    /// The rest of the file. `None`: a thread is reading it, or the scan has been read.
    input: Option<Input<File>>,
    /// The bytes that a chunk should have.
    chunk_bytes: usize,
    /// Chunks from the first one that the caller has not had.
    slots: VecDeque<Slot>,
    /// The number of the first slot's chunk.
    first: usize,
    /// The end of what was joined. `None`: a thread joins.
    edge: Option<Edge>,
    /// Restart markers that were read.
    restarts: u64,
    /// Chunks whose memory can be used again.
    spare: Vec<Chunk>,
    /// The same of MCUs between chunks, which are few.
    bridges: Vec<Chunk>,
    /// True if the last chunk has been read.
    is_read: bool,
    stop: Option<Stop>,
    is_closed: bool,
}

/// A chunk's progress.
enum Slot {
    /// A thread works on it.
    Busy,
    /// It was decoded, and has no place in the picture yet.
    Decoded { chunk: Box<Chunk>, is_last: bool },
    /// Its MCUs, and before them those between it and the chunk before.
    Joined(Vec<Placed>),
    /// Its samples.
    Ready(Vec<Segment>),
}

/// Decoded MCUs, and the number of the first.
struct Placed {
    chunk: Box<Chunk>,
    mcu: u32,
}

/// The end of what has been joined.
struct Edge {
    /// The number of the next chunk.
    chunk: usize,
    /// The number of the next MCU.
    mcu: u32,
    tail: Tail,
}

/// A thread's next task.
enum Task {
    Join { slot: usize, chunk: Box<Chunk>, is_last: bool, edge: Edge },
    Transform { slot: usize, parts: Vec<Placed> },
    Decode { slot: usize, input: Input<File>, chunk: Box<Chunk>, bytes: usize, restarts: u64 },
}

impl Pipeline {
    /// Begins to decode. The file is at the first byte of the scan.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(frame: Frame, file: impl Read + Send + 'static, threads: usize) -> io::Result<Self> {
        Self::start_with(None, frame, file, threads)
    }

    /// Begins to decode as [`Self::start`] does. With a requantiser, segments have pieces of tiles and samples of half
    /// the size.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start_with(
        requantiser: Option<Requantiser>,
        frame: Frame,
        file: impl Read + Send + 'static,
        threads: usize,
    ) -> io::Result<Self> {
        let threads = threads.max(1);
        let state = State {
            input: Some(Input::new(Box::new(file) as File, frame.restart_interval > 0)),
            chunk_bytes: FIRST_BYTES,
            slots: VecDeque::new(),
            first: 0,
            edge: Some(Edge { chunk: 0, mcu: 0, tail: Tail::start() }),
            restarts: 0,
            spare: Vec::new(),
            bridges: Vec::new(),
            is_read: false,
            stop: None,
            is_closed: false,
        };
        let (plan, state, changed) = (Plan::new(&frame), Mutex::new(state), Condvar::new());
        let shared = Shared { frame, plan, requantiser, state, changed, most: 2 * threads + 2 };
        Ok(Self { shared: Threads::start(shared, threads)? })
    }
}

impl Source for Pipeline {
    fn frame(&self) -> &Frame {
        &self.shared.frame
    }

    fn plan(&self) -> &Plan {
        &self.shared.plan
    }

    fn next_segments(&mut self) -> Result<Option<Vec<Segment>>, Stop> {
        let mut state = self.shared.lock();
        loop {
            match state.slots.pop_front() {
                Some(Slot::Ready(segments)) => {
                    state.first += 1;
                    self.shared.changed.notify_all();
                    return Ok(Some(segments));
                }
                Some(slot) => state.slots.push_front(slot),
                None if state.is_read => return Ok(None),
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
            let result = match task {
                Task::Join { slot, chunk, is_last, edge } => self.join(slot, chunk, is_last, edge),
                Task::Transform { slot, parts } => {
                    self.transform(slot, parts, &mut workspace);
                    Ok(())
                }
                Task::Decode { slot, input, chunk, bytes, restarts } => {
                    self.decode(slot, input, chunk, bytes, restarts)
                }
            };
            let Err(stop) = result else { continue };
            let mut state = self.lock();
            state.stop.get_or_insert(stop);
            state.is_closed = true;
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

    /// Waits for a task. The latest stages come first, so that what was decoded is still in the cache.
    fn next_task(&self) -> Option<Task> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(task) = state.task(self.most) {
                return Some(task);
            }
            if state.is_read && state.slots.iter().all(|slot| matches!(slot, Slot::Ready(_))) {
                return None;
            }
            state = self.wait(state);
        }
    }

    fn put(&self, number: usize, slot: Slot) {
        let mut state = self.lock();
        let first = state.first;
        if let Some(place) = state.slots.get_mut(number - first) {
            *place = slot;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Reads a chunk and decodes it.
    fn decode(
        &self,
        number: usize,
        mut input: Input<File>,
        mut chunk: Box<Chunk>,
        bytes: usize,
        restarts: u64,
    ) -> Result<(), Stop> {
        let raw = input.next(bytes).map_err(Stop::Io)??;
        let interval = self.frame.restart_interval;
        let parts = if interval > 0 { intervals(&self.frame, &raw, restarts)? } else { Vec::new() };
        {
            let mut state = self.lock();
            state.is_read = raw.is_last;
            state.restarts += parts.len() as u64;
            state.input = (!raw.is_last).then_some(input);
        }
        self.changed.notify_all();
        if interval > 0 {
            chunk.decode_intervals(&self.frame, &self.plan, parts.into_iter())?;
            let mcu = restarts * u64::from(interval);
            self.put(number, Slot::Joined(vec![Placed { chunk, mcu: mcu as u32 }]));
            return Ok(());
        }
        chunk.source.replace(&raw.bytes).ok_or(Stop::Irregular)?;
        if number == 0 {
            chunk.decode(&self.frame, &self.plan)?;
        } else {
            chunk.decode_guessed(&self.frame, &self.plan);
        }
        if let Some(bytes) = (raw.bytes.len() * CHUNK_MCUS).checked_div(chunk.mcus) {
            self.lock().chunk_bytes = bytes.clamp(*CHUNK_BYTES.start(), *CHUNK_BYTES.end());
        }
        self.put(number, Slot::Decoded { chunk, is_last: raw.is_last });
        Ok(())
    }

    fn mcus(&self) -> u64 {
        let (across, down) = self.frame.mcus();
        u64::from(across) * u64::from(down)
    }

    /// Gives a chunk its place behind the one before.
    fn join(&self, number: usize, mut chunk: Box<Chunk>, is_last: bool, edge: Edge) -> Result<(), Stop> {
        let Edge { mut mcu, tail, .. } = edge;
        let mut left = self.mcus().checked_sub(mcu.into()).ok_or(Stop::Irregular)? as usize;
        let mut parts = Vec::new();
        if number > 0 {
            let mut bridge = Box::new(self.lock().bridges.pop().unwrap_or_default());
            chunk.join(&self.frame, &self.plan, &tail, left, &mut bridge)?;
            let count = bridge.mcus;
            parts.push(Placed { chunk: bridge, mcu });
            mcu += count as u32;
            left -= count;
        }
        if is_last {
            chunk.finish(&self.frame, &self.plan, left)?;
        } else if chunk.mcus - chunk.first > left {
            return Err(Stop::Irregular);
        }
        let tail = chunk.tail();
        let next = mcu + (chunk.mcus - chunk.first) as u32;
        parts.push(Placed { chunk, mcu });
        self.lock().edge = Some(Edge { chunk: number + 1, mcu: next, tail });
        self.put(number, Slot::Joined(parts));
        Ok(())
    }

    fn transform(&self, number: usize, parts: Vec<Placed>, workspace: &mut Workspace) {
        let Self { frame, plan, requantiser, .. } = self;
        let mut segments_of = |Placed { chunk, mcu }: &Placed| match requantiser {
            Some(requantiser) => requantise(frame, plan, chunk, *mcu, requantiser, workspace),
            None => transform(frame, plan, chunk, *mcu),
        };
        let segments = parts.iter().flat_map(&mut segments_of).collect();
        {
            let mut state = self.lock();
            let mut chunks = parts.into_iter().map(|part| *part.chunk);
            state.spare.extend(chunks.next_back());
            state.bridges.extend(chunks);
        }
        self.put(number, Slot::Ready(segments));
    }
}

impl State {
    fn task(&mut self, most: usize) -> Option<Task> {
        let first = self.first;
        if let Some(edge) = self.edge.take_if(|edge| {
            let slot = edge.chunk.checked_sub(first).and_then(|index| self.slots.get(index));
            matches!(slot, Some(Slot::Decoded { .. }))
        }) && let Some(slot) = self.slots.get_mut(edge.chunk - first)
            && let Slot::Decoded { chunk, is_last } = std::mem::replace(slot, Slot::Busy)
        {
            return Some(Task::Join { slot: edge.chunk, chunk, is_last, edge });
        }
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if let Slot::Joined(parts) = slot {
                let parts = std::mem::take(parts);
                *slot = Slot::Busy;
                return Some(Task::Transform { slot: first + index, parts });
            }
        }
        if self.slots.len() >= most {
            return None;
        }
        let input = self.input.take()?;
        self.slots.push_back(Slot::Busy);
        Some(Task::Decode {
            slot: first + self.slots.len() - 1,
            input,
            chunk: Box::new(self.spare.pop().unwrap_or_default()),
            bytes: self.chunk_bytes,
            restarts: self.restarts,
        })
    }
}
