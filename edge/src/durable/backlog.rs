//! The Durable Object with the queue of the whole service: its length, as tilers report it, and the [`Scheduler`],
//! which decides whose job is sent next. Each isolate keeps the length for a few seconds.
//!
//! KV would not do: tilers report every few seconds, and KV accepts one write per second and key, and charges for each.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use edgezoom_content::ContentId;
use edgezoom_content::conversion::Timestamp;
use edgezoom_content::protocol::{Backlog, Job};
use serde::{Deserialize, Serialize};
use worker::js_sys::{Array, try_iter};
use worker::{
    DurableObject, Env, ListOptions, Request, Response, Result, State, Storage, console_error, durable_object,
};

use crate::admission::policy::{AdmissionError, BacklogReport};
use crate::admission::scheduler::{Asked, End, Scheduler, TILES_OF_A_JOB, Turn};
use crate::platform::bridge;
use crate::platform::isolate::{config, now};

const NAME: &str = "backlog";
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
    /// A tiler reports. The reply is the number of tilers.
    Reported(BacklogReport),
    /// A client asks for a new job. The reply is a [`Turn`], or the name of an [`AdmissionError`].
    Admit(Asked),
    /// Enqueue a job that needs no admission. The reply is a [`Turn`].
    Enqueue(Asked),
    /// A tiler has reported the number of tiles of a job's pyramid.
    Sized { id: ContentId, tiles: u64 },
    Ended {
        id: ContentId,
        tiles: u64,
        #[serde(default)]
        failed: bool,
    },
}

/// Returns the last report of a tiler, if there is one.
pub async fn last_report(env: &Env, now: Timestamp) -> Result<Option<BacklogReport>> {
    if let Some((since, report)) = COPY.get()
        && now - since < FRESH
    {
        return Ok(report);
    }
    let (_, stored) = bridge::call_object(env, "BACKLOG", NAME, "/", "").await?;
    let report = serde_json::from_str(&stored)?;
    COPY.set(Some((now, report)));
    Ok(report)
}

/// Stores a tiler's report. Returns the number of tilers.
pub async fn report(backlog: Backlog, env: &Env) -> Result<String> {
    let now = now();
    let report = BacklogReport { backlog, at: now };
    let (_, tilers) = send(&Message::Reported(report), env).await?;
    COPY.set(Some((now, Some(report))));
    Ok(tilers)
}

/// Admits a new job of a client and returns its turn, or refuses it.
pub async fn admit(asked: Asked, env: &Env) -> Result<std::result::Result<Turn, AdmissionError>> {
    let (status, reply) = send(&Message::Admit(asked), env).await?;
    match (status, AdmissionError::from_name(&reply)) {
        (503, Some(error)) => Ok(Err(error)),
        _ => Ok(Ok(serde_json::from_str(&reply)?)),
    }
}

/// Enqueues a job and returns its turn.
pub async fn enqueue(asked: Asked, env: &Env) -> Result<Turn> {
    let (_, reply) = send(&Message::Enqueue(asked), env).await?;
    Ok(serde_json::from_str(&reply)?)
}

/// Records the number of tiles of a job's pyramid. Sends nothing if they are no more than every job counts as.
pub async fn sized(id: ContentId, tiles: u64, env: &Env) -> Result<()> {
    if tiles > TILES_OF_A_JOB { send(&Message::Sized { id, tiles }, env).await.map(drop) } else { Ok(()) }
}

/// Notes the end of a conversion, or of an attempt that another one follows.
pub async fn ended(id: ContentId, end: End, env: &Env) -> Result<()> {
    let tiles = if let End::Made(tiles) = end { tiles } else { 0 };
    send(&Message::Ended { id, tiles, failed: end == End::Failed }, env).await.map(drop)
}

async fn send(message: &Message, env: &Env) -> Result<(u16, String)> {
    bridge::call_object(env, "BACKLOG", NAME, "/", &serde_json::to_string(message)?).await
}

/// The Durable Object with the queue.
#[durable_object]
pub struct BacklogObject {
    state: State,
    env: Env,
    scheduler: RefCell<Option<Scheduler>>,
}

impl DurableObject for BacklogObject {
    fn new(state: State, env: Env) -> Self {
        Self { state, env, scheduler: RefCell::new(None) }
    }

    /// Handles a message. A request without a body gets the last report, or `null`.
    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let body = request.text().await?;
        self.restore().await?;
        if body.is_empty() {
            return Response::ok(self.with(|scheduler| serde_json::to_string(&scheduler.last_report()))??);
        }
        let Ok(message) = serde_json::from_str(&body) else { return Response::error("Unknown message", 400) };
        let (status, reply, due) = self.handle(message)?;
        self.store().await?;
        self.send_all(due).await?;
        Ok(Response::builder().with_status(status).fixed(reply.into_bytes()))
    }
}

impl BacklogObject {
    /// Returns the status and the body of the reply, and the jobs that are due.
    fn handle(&self, message: Message) -> Result<(u16, String, Vec<Job>)> {
        let (now, shares) = (now(), config(&self.env)?.shares);
        self.with(|scheduler| {
            let (id, admitted) = match message {
                Message::Reported(report) => {
                    scheduler.report(report);
                    return Ok((200, scheduler.tilers(now).to_string(), scheduler.due(now, &shares)));
                }
                Message::Sized { id, tiles } => {
                    scheduler.note_size(id, tiles);
                    return Ok((200, String::new(), vec![]));
                }
                Message::Ended { id, tiles, failed } => {
                    scheduler.end(id, if failed { End::Failed } else { End::Made(tiles) }, now);
                    return Ok((200, String::new(), scheduler.due(now, &shares)));
                }
                Message::Admit(asked) => (asked.job.id, scheduler.admit(asked, now, &shares)),
                Message::Enqueue(asked) => {
                    let id = asked.job.id;
                    scheduler.enqueue(asked);
                    (id, Ok(()))
                }
            };
            match admitted {
                Ok(()) => {
                    let (turn, due) = scheduler.turns(id, now, &shares);
                    Ok((200, serde_json::to_string(&turn)?, due))
                }
                Err(error) => Ok((503, error.name().to_owned(), vec![])),
            }
        })?
    }

    fn with<T>(&self, call: impl FnOnce(&mut Scheduler) -> T) -> Result<T> {
        match &mut *self.scheduler.borrow_mut() {
            Some(scheduler) => Ok(call(scheduler)),
            None => Err(worker::Error::RustError("the scheduler is not restored".to_owned())),
        }
    }

    /// Reads the stored rows. No other request is handled while the storage is awaited.
    async fn restore(&self) -> Result<()> {
        if self.scheduler.borrow().is_none() {
            let mut scheduler = Scheduler::default();
            let (storage, mut start) = (self.state.storage(), String::new());
            while let Some(next) = read_rows(&storage, &start, &mut scheduler).await? {
                start = next;
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

    /// Sends jobs to the queue. Those that the queue refuses are due again at the next message.
    async fn send_all(&self, jobs: Vec<Job>) -> Result<()> {
        for job in jobs {
            if let Err(error) = async { self.env.queue("JOBS")?.send(job).await }.await {
                console_error!("{}: the queue refused the job: {error}", job.id);
                self.with(|scheduler| scheduler.not_sent(job.id))?;
                self.store().await?;
            }
        }
        Ok(())
    }
}

/// Maximum number of rows that are read at once: all of a long backlog would not fit into the object's memory as text.
const ROWS: usize = 10_000;

/// Restores rows of the storage, from behind the key `after` on. Returns the key behind which to go on, if there are more.
async fn read_rows(storage: &Storage, after: &str, scheduler: &mut Scheduler) -> Result<Option<String>> {
    let mut options = ListOptions::new().limit(ROWS);
    if !after.is_empty() {
        options = options.start(after);
    }
    let stored = storage.list_with_options(options).await?;
    let (mut rows, mut last) = (vec![], None);
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
