//! The Durable Object with the queue of the whole service: its length, as tilers report it, the [`Scheduler`], which
//! decides whose job is sent next, and the [`Fleet`] of containers, if these run the tilers. Each isolate keeps the
//! length for a few seconds.
//!
//! KV would not do: tilers report every few seconds, and KV accepts one write per second and key, and charges for each.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use edgezoom_content::ContentId;
use edgezoom_content::conversion::Timestamp;
use edgezoom_content::protocol::{Backlog, Job};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use worker::js_sys::{Array, try_iter};
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::worker_sys::DurableObjectState;
use worker::{Env, Error, ListOptions, Result, State, Storage, console_error};

use crate::admission::policy::{AdmissionError, BacklogReport};
use crate::admission::scheduler::{Asked, End, Scheduler, TILES_OF_A_JOB, Turn};
use crate::config::{Config, ContainerLimits};
use crate::containers::fleet::{Fleet, MAX_SLOTS, Order, Start};
use crate::platform::bridge::{self, AfterReset};
use crate::platform::isolate::{config, now};

const NAME: &str = "backlog";
/// Key of the fleet in the storage.
const FLEET: &str = "fleet";
/// Reply to a message that needs none: `()` as JSON.
const NOTED: &str = "null";
/// Time for which an isolate uses its copy of the last report.
const FRESH: Duration = Duration::from_secs(5);

thread_local! {
    /// Copy of the last report, with the time at which it was read.
    static COPY: Cell<Option<(Timestamp, Option<BacklogReport>)>> = const { Cell::new(None) };
}

/// A message to the object.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Message {
    /// Get the last report of a tiler, if there is one.
    LastReport,
    /// A tiler reports. The reply is the number of tilers.
    Reported(BacklogReport),
    /// A tiler in a container reports. The reply is the same.
    ReportedIn { container: Start, report: BacklogReport },
    /// A container has ended.
    ContainerEnded(Start),
    /// Get the fleet of containers for the operator, if there is one.
    Containers,
    /// A client asks for a new job. The reply is an [`Admitted`].
    Admit(Asked),
    /// Enqueue a job that needs no admission. The reply is an [`Admitted`].
    Enqueue(Asked),
    /// A tiler has reported the number of tiles of a job's pyramid.
    Sized { id: ContentId, tiles: u64 },
    Ended {
        id: ContentId,
        tiles: u64,
        #[serde(default)]
        failed: bool,
        #[serde(default)]
        lost: bool,
    },
}

impl Message {
    /// Returns [`AfterReset::Repeat`] for a message that the object may handle twice: jobs are told apart by their ids.
    fn after_reset(&self) -> AfterReset {
        match self {
            Self::LastReport
            | Self::Reported(_)
            | Self::ReportedIn { .. }
            | Self::Containers
            | Self::Admit(_)
            | Self::Enqueue(_)
            | Self::Sized { .. } => AfterReset::Repeat,
            // Its tiles would be counted twice.
            Self::Ended { .. } | Self::ContainerEnded(_) => AfterReset::Fail,
        }
    }
}

/// The turn of a job, or the reason to refuse it.
pub type Admitted = std::result::Result<Turn, AdmissionError>;

/// Returns the last report of a tiler, if there is one.
pub async fn last_report(env: &Env, now: Timestamp) -> Result<Option<BacklogReport>> {
    if let Some((since, report)) = COPY.get()
        && now - since < FRESH
    {
        return Ok(report);
    }
    let report = send(&Message::LastReport, env).await?;
    COPY.set(Some((now, report)));
    Ok(report)
}

/// Stores the report of a tiler, which may be in a container. Returns the number of tilers.
pub async fn report(backlog: Backlog, container: Option<Start>, env: &Env) -> Result<usize> {
    let now = now();
    let report = BacklogReport { backlog, at: now };
    let message = match container {
        Some(container) => Message::ReportedIn { container, report },
        None => Message::Reported(report),
    };
    let tilers = send(&message, env).await?;
    COPY.set(Some((now, Some(report))));
    Ok(tilers)
}

/// Admits a new job of a client and returns its turn, or refuses it.
pub async fn admit(asked: Asked, env: &Env) -> Result<Admitted> {
    send(&Message::Admit(asked), env).await
}

/// Enqueues a job and returns its turn.
pub async fn enqueue(asked: Asked, env: &Env) -> Result<Turn> {
    let turn: Admitted = send(&Message::Enqueue(asked), env).await?;
    turn.map_err(|error| Error::RustError(error.to_string()))
}

/// Records the number of tiles of a job's pyramid. Sends nothing if they are no more than every job counts as.
pub async fn sized(id: ContentId, tiles: u64, env: &Env) -> Result<()> {
    if tiles > TILES_OF_A_JOB { send(&Message::Sized { id, tiles }, env).await } else { Ok(()) }
}

/// Notes the end of a job or of an attempt.
pub async fn ended(id: ContentId, end: End, env: &Env) -> Result<()> {
    let tiles = if let End::Made(tiles) = end { tiles } else { 0 };
    send(&Message::Ended { id, tiles, failed: end == End::Failed, lost: end == End::Lost }, env).await
}

async fn send<Reply: DeserializeOwned>(message: &Message, env: &Env) -> Result<Reply> {
    let json = serde_json::to_string(message)?;
    let reply = bridge::call_object(env, "BACKLOG", [NAME, "send"], &json, message.after_reset()).await?;
    Ok(serde_json::from_str(&reply)?)
}

/// The Durable Object with the queue.
#[wasm_bindgen]
pub struct BacklogObject {
    state: State,
    env: Env,
    scheduler: RefCell<Option<Scheduler>>,
    fleet: RefCell<Fleet>,
    /// The fleet as it is stored.
    stored_fleet: RefCell<String>,
    /// Time of the alarm that was set last.
    alarm: Cell<Option<Timestamp>>,
}

#[wasm_bindgen(wasm_bindgen_futures = worker::wasm_bindgen_futures, js_sys = worker::js_sys)]
impl BacklogObject {
    #[wasm_bindgen(constructor)]
    pub fn new(state: DurableObjectState, env: Env) -> Self {
        Self {
            state: state.into(),
            env,
            scheduler: RefCell::default(),
            fleet: RefCell::default(),
            stored_fleet: RefCell::default(),
            alarm: Cell::default(),
        }
    }

    /// Handles the alarm: something is due for the containers, or a new day has begun.
    ///
    /// # Errors
    /// The storage fails. The runtime calls again.
    pub async fn alarm(&self) -> std::result::Result<(), JsValue> {
        self.alarm.set(None);
        self.restore().await?;
        let due = self.due()?;
        Ok(self.conclude(due).await?)
    }

    /// Handles a [`Message`] and returns the reply, both as JSON.
    ///
    /// # Errors
    /// The storage fails, or another version of the Worker sent the message.
    pub async fn send(&self, message: String) -> std::result::Result<String, JsValue> {
        Ok(self.reply(&message).await?)
    }
}

impl BacklogObject {
    async fn reply(&self, message: &str) -> Result<String> {
        let message = serde_json::from_str(message)?;
        self.restore().await?;
        let (reply, due) = self.handle(message)?;
        self.conclude(due).await?;
        Ok(reply)
    }

    /// Stores what has changed, and does what follows from it.
    async fn conclude(&self, due: Vec<Job>) -> Result<()> {
        if !due.is_empty() {
            self.fleet.borrow_mut().called();
        }
        self.store().await?;
        self.send_all(due).await?;
        match config(&self.env)?.containers {
            Some(limits) => self.command(&limits).await,
            None => Ok(()),
        }
    }

    fn due(&self) -> Result<Vec<Job>> {
        let shares = config(&self.env)?.shares;
        self.with(|scheduler| scheduler.due(now(), &shares))
    }

    /// Returns the reply, and the jobs that are due.
    fn handle(&self, message: Message) -> Result<(String, Vec<Job>)> {
        let now = now();
        let Config { shares, containers, .. } = *config(&self.env)?;
        let mut fleet = self.fleet.borrow_mut();
        self.with(|scheduler| {
            let (id, admitted) = match message {
                Message::LastReport => return Ok((serde_json::to_string(&scheduler.last_report())?, vec![])),
                Message::Containers => {
                    let overview = containers.map(|limits| fleet.overview(&limits, now));
                    return Ok((serde_json::to_string(&overview)?, vec![]));
                }
                Message::ContainerEnded(container) => {
                    fleet.end(container, now);
                    return Ok((NOTED.to_owned(), vec![]));
                }
                Message::ReportedIn { container, mut report } => {
                    let Backlog { messages, capacity, leaving } = &mut report.backlog;
                    capacity.slots = capacity.slots.min(MAX_SLOTS);
                    fleet.report(container, if *leaving { 0 } else { capacity.slots }, *messages, now);
                    scheduler.report(report);
                    return Ok((scheduler.tilers(now).to_string(), scheduler.due(now, &shares)));
                }
                Message::Reported(report) => {
                    scheduler.report(report);
                    return Ok((scheduler.tilers(now).to_string(), scheduler.due(now, &shares)));
                }
                Message::Sized { id, tiles } => {
                    scheduler.note_size(id, tiles);
                    return Ok((NOTED.to_owned(), vec![]));
                }
                Message::Ended { id, tiles, failed, lost } => {
                    let end = match (failed, lost) {
                        (_, true) => End::Lost,
                        (true, _) => End::Failed,
                        _ => End::Made(tiles),
                    };
                    scheduler.end(id, end, now);
                    return Ok((NOTED.to_owned(), scheduler.due(now, &shares)));
                }
                Message::Admit(asked) => {
                    let id = asked.job.id;
                    let is_spent = containers.is_some_and(|limits| fleet.is_spent(&limits, now));
                    let admitted = if is_spent {
                        Err(AdmissionError::SpentToday)
                    } else {
                        fleet.called();
                        scheduler.admit(asked, now, &shares)
                    };
                    (id, admitted)
                }
                Message::Enqueue(asked) => {
                    fleet.called();
                    let id = asked.job.id;
                    scheduler.enqueue(asked);
                    (id, Ok(()))
                }
            };
            let (admitted, due): (Admitted, _) = match admitted {
                Ok(()) => {
                    let (turn, due) = scheduler.turns(id, now, &shares);
                    (Ok(turn), due)
                }
                Err(error) => (Err(error), vec![]),
            };
            Ok((serde_json::to_string(&admitted)?, due))
        })?
    }

    fn with<T>(&self, call: impl FnOnce(&mut Scheduler) -> T) -> Result<T> {
        match &mut *self.scheduler.borrow_mut() {
            Some(scheduler) => Ok(call(scheduler)),
            None => Err(Error::RustError("the scheduler is not restored".to_owned())),
        }
    }

    /// Reads the stored rows. No other request is handled while the storage is awaited.
    async fn restore(&self) -> Result<()> {
        if self.scheduler.borrow().is_none() {
            let mut scheduler = Scheduler::default();
            let storage = self.state.storage();
            let mut start = String::new();
            while let Some(next) = read_rows(&storage, &start, &mut scheduler).await? {
                start = next;
            }
            if let Some(stored) = storage.get::<String>(FLEET).await? {
                *self.fleet.borrow_mut() = serde_json::from_str::<Fleet>(&stored)?.restored();
                self.stored_fleet.replace(stored);
            }
            self.scheduler.borrow_mut().get_or_insert(scheduler);
        }
        Ok(())
    }

    async fn store(&self) -> Result<()> {
        let storage = self.state.storage();
        for (key, value) in self.with(Scheduler::take_changes)? {
            match value {
                Some(value) => storage.put(&key, value).await?,
                None => storage.delete(&key).await.map(drop)?,
            }
        }
        Ok(())
    }

    /// Gives the orders that follow from what has happened, and sets the alarm for what follows without an event.
    async fn command(&self, limits: &ContainerLimits) -> Result<()> {
        let now = now();
        let (jobs, waiting) = self.with(|scheduler| scheduler.jobs())?;
        let (orders, events, stored, alarm) = {
            let mut fleet = self.fleet.borrow_mut();
            let orders = fleet.orders(jobs, limits, now);
            (orders, fleet.take_events(), serde_json::to_string(&*fleet)?, fleet.alarm(jobs, limits, now))
        };
        let storage = self.state.storage();
        if *self.stored_fleet.borrow() != stored {
            storage.put(FLEET, &stored).await?;
            self.stored_fleet.replace(stored);
        }
        // Jobs may wait for the next day's tiles.
        let alarm = if waiting > 0 { alarm.into_iter().chain([now.next_midnight()]).min() } else { alarm };
        if let Some(at) = alarm.filter(|at| self.alarm.get() != Some(*at)) {
            self.alarm.set(Some(at));
            storage.set_alarm(at - now).await?;
        }
        events.iter().for_each(bridge::note_container);
        for order in orders {
            // The client whose job starts a container does not wait for that.
            self.state.wait_until(give(order, self.env.clone()));
        }
        Ok(())
    }

    /// Sends jobs to the queue. Those that the queue refuses are due again at the next message.
    async fn send_all(&self, jobs: Vec<Job>) -> Result<()> {
        for job in jobs {
            if let Err(error) = bridge::send_job(job, &self.env).await {
                console_error!("{}: the queue refused the job: {error}", job.id);
                self.with(|scheduler| scheduler.not_sent(job.id))?;
                self.store().await?;
            }
        }
        Ok(())
    }
}

/// Gives an order to the object of a container. A container that cannot be started has ended.
async fn give(order: Order, env: Env) {
    let (method, start) = match order {
        Order::Start(start) => ("start", start),
        Order::Stop(start) => ("stop", start),
        Order::Destroy(start) => ("destroy", start),
    };
    let name = start.container.to_string();
    let given = async {
        let start = serde_json::to_string(&start)?;
        bridge::call_object(&env, "TILERS", [&name, method], &start, AfterReset::Fail).await
    };
    if let Err(error) = given.await {
        console_error!("cannot {method} container {name}: {error}");
        if matches!(order, Order::Start(_))
            && let Err(error) = send::<()>(&Message::ContainerEnded(start), &env).await
        {
            console_error!("cannot note the end of container {name}: {error}"); // it counts as hung later
        }
    }
}

/// Maximum number of rows that are read at once: all of a long backlog would not fit into the object's memory as text.
const ROWS: usize = 10_000;

/// Restores rows of the storage, from behind the key `after` on. Returns the key behind which to go on, if there are
/// more.
async fn read_rows(storage: &Storage, after: &str, scheduler: &mut Scheduler) -> Result<Option<String>> {
    let mut options = ListOptions::new().limit(ROWS);
    if !after.is_empty() {
        options = options.start(after);
    }
    let stored = storage.list_with_options(options).await?;
    let mut rows = vec![];
    let mut last = None;
    for row in try_iter(&stored)?.into_iter().flatten() {
        let row = Array::from(&row?);
        last = row.get(0).as_string();
        if let (Some(key), Some(value)) = (&last, row.get(1).as_string())
            && key != after
        {
            rows.push((key.clone(), value));
        }
    }
    scheduler.restore(rows);
    Ok(last.filter(|_| stored.size() as usize == ROWS))
}
