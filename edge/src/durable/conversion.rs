//! The Durable Object of a content: the only writer of its conversion's state. For each event,
//! [`decide`](edgezoom_content::conversion::decide) returns the new state and the effects; the object stores the state
//! and performs the effects.
//!
//! Other events arrive while the object waits for the queue or KV. So the new state and the alarm are stored first,
//! with nothing in between, then the effects are performed. The result of an effect is another event, decided with the
//! state at that time.

use std::cell::Cell;
use std::collections::VecDeque;
use std::time::Duration;

use edgezoom_content::conversion::{Change, Decision, Effect, Event, Reply, decide};
use edgezoom_content::protocol::{Job, Outcome, Report};
use edgezoom_content::{Content, ContentId, Conversion, Status, Timestamp};
use futures::future::join;
use serde::{Deserialize, Serialize};
use worker::{
    Delay, DurableObject, Env, Method, Request, Response, Result, State, console_error, durable_object,
};

use crate::admission::client::Client;
use crate::admission::policy::AdmissionError;
use crate::admission::scheduler::{Asked, End, Turn};
use crate::admission::{self, admit_job};
use crate::config::{Addresses, Config};
use crate::durable::subscribers::Subscribers;
use crate::durable::{backlog, messages, record};
use crate::platform::isolate::{config, now};
use crate::platform::{bridge, r2};

const STATE: &str = "conversion";
const CLIENT: &str = "client";
/// Minimum time between two questions whether another client's line is shorter.
const SHARED_EVERY: Duration = Duration::from_secs(30);
/// Path at which the operator's calls read the stored state.
const STATE_PATH: &str = "/state";
/// Pauses between attempts to tell the queue's object that a job has ended. It is briefly unavailable during a
/// deployment.
const RETRY_PAUSES: [Duration; 3] = [Duration::from_millis(200), Duration::from_secs(2), Duration::ZERO];

/// The client whose share of the queue the content's job takes. Jobs of the operator have none and do not wait.
#[derive(Debug, Serialize, Deserialize)]
struct JobOwner {
    party: String,
    /// True if the job had to wait for its turn when it was last queued.
    waits: bool,
}

/// The result of the admission check of an event.
enum Admission {
    /// The event may be handled. If it makes a job, this is the job's turn.
    Admitted(Option<Turn>),
    Refused(AdmissionError),
    /// The event may not start the content again, so the reply is the content as it is.
    Unchanged(Content),
}

/// The Durable Object of a content. Its name is the content's id.
#[durable_object]
pub struct ConversionObject {
    state: State,
    env: Env,
    subscribers: Subscribers,
    /// True if the job waits for its turn, as far as this instance of the object knows.
    waits: Cell<bool>,
    /// Time at which the object with the queue was last asked whether another client's line is shorter.
    shared_at: Cell<Timestamp>,
    /// Number of tiles that the object with the queue knows of.
    known_tiles: Cell<Option<u64>>,
}

impl DurableObject for ConversionObject {
    fn new(state: State, env: Env) -> Self {
        Self {
            state,
            env,
            subscribers: Subscribers::default(),
            waits: Cell::new(false),
            shared_at: Cell::default(),
            known_tiles: Cell::default(),
        }
    }

    /// A `POST` is one of the [`messages`]; a `GET` subscribes to the content.
    async fn fetch(&self, mut request: Request) -> Result<Response> {
        if request.method() == Method::Get {
            return self.subscribe(&request).await;
        }
        if request.path() == STATE_PATH {
            let stored: Option<String> = self.state.storage().get(STATE).await?;
            return stored.map_or_else(|| Response::error("", 404), Response::ok);
        }
        let body = request.text().await?;
        let event = match messages::decode(self.id()?, &request.path(), &body) {
            Ok(event) => event,
            Err(why) => return Response::error(why, 400),
        };
        let url = request.url()?;
        let client = url.query().and_then(messages::client).map(Client::of_key);
        let (status, body) = match self.admit(&event, client.as_ref()).await? {
            Admission::Admitted(turn) => {
                let tiles = tiles_in(&event);
                let reply = self.handle(event, turn).await?;
                if reply == Reply::Accepted {
                    self.note_tiles(tiles).await;
                }
                messages::encode_reply(&reply)?
            }
            Admission::Refused(error) => messages::encode_admission_error(error),
            Admission::Unchanged(content) => messages::encode_reply(&Reply::Content(content))?,
        };
        let reply = Response::builder().with_status(status.as_u16());
        Ok(if body.is_empty() { reply.empty() } else { reply.fixed(body.into_bytes()) })
    }

    async fn alarm(&self) -> Result<Response> {
        self.handle(Event::AlarmFired, None).await?;
        Response::empty()
    }
}

impl ConversionObject {
    /// Streams the content's events until it is finished. 404: no content; 503: too many subscribers.
    async fn subscribe(&self, request: &Request) -> Result<Response> {
        let addresses = Addresses::from_query(request.url()?.query().unwrap_or_default());
        let Some(conversion) = self.stored().await? else {
            return Response::error("", 404);
        };
        let Some(content) = conversion.content() else { return Response::error("", 410) };
        match self.subscribers.add(&content, addresses, now()) {
            Some(events) => Response::from_stream(events),
            None => Response::error("", 503),
        }
    }

    /// Returns the content's id, which is the object's name.
    fn id(&self) -> Result<ContentId> {
        let name = self.state.id().name().unwrap_or_default();
        name.parse().map_err(|_| worker::Error::RustError(format!("`{name}` is not the id of a content")))
    }

    async fn stored(&self) -> Result<Option<Conversion>> {
        let stored: Option<String> = self.state.storage().get(STATE).await?;
        Ok(stored.map(|json| serde_json::from_str(&json)).transpose()?)
    }

    /// Checks whether a content may be created or started again, and returns the turn of its job. The Worker would have
    /// to ask this object twice to do the same.
    async fn admit(&self, event: &Event, client: Option<&Client>) -> Result<Admission> {
        let config = config(&self.env)?;
        let known = self.stored().await?;
        let (id, host) = match (event, &known) {
            (Event::Created { id, url } | Event::Uploaded { id, url, .. }, None) => (*id, url.host()),
            (event, Some(conversion)) if conversion.starts_again(event, now(), &config.rules) => {
                (self.id()?, conversion.url().host())
            }
            (Event::Created { .. }, Some(conversion)) => {
                self.share(conversion, client, &config).await?;
                return Ok(Admission::Admitted(None));
            }
            _ => return Ok(Admission::Admitted(None)),
        };
        let job = Job { id, alone: false, avoid: None };
        let asked = |party| Asked { job, party, host: host.to_owned() };
        let admitted = match event {
            // The Worker counted the client before it received the file.
            Event::Uploaded { .. } => admit_job(client, asked, &config, &self.env).await,
            _ => admission::admit(client, asked, &config, &self.env).await,
        };
        match (admitted, &known) {
            (Ok(turn), _) => {
                self.set_owner(client.map(Client::party), turn).await?;
                Ok(Admission::Admitted(Some(turn)))
            }
            (Err(error), known) => {
                let is_shown = !matches!(event, Event::RetryAsked | Event::Uploaded { .. });
                let content = known.as_ref().filter(|_| is_shown).and_then(Conversion::content);
                Ok(content.map_or(Admission::Refused(error), Admission::Unchanged))
            }
        }
    }

    /// Moves a waiting job to the line of a second client that asks for the content, if that line is shorter. It is looked
    /// at every 30 s, and as often as the client may create contents: otherwise two clients could keep the object with the
    /// queue busy.
    async fn share(&self, conversion: &Conversion, client: Option<&Client>, config: &Config) -> Result<()> {
        let (true, Some(owner)) = (conversion.is_queued(), self.owner().await?) else { return Ok(()) };
        let party = client.map(Client::party);
        if !owner.waits || party.as_ref() == Some(&owner.party) || now() - self.shared_at.get() < SHARED_EVERY
        {
            return Ok(());
        }
        self.shared_at.set(now());
        if client.is_some() && admission::admit_client(client, config, &self.env).await.is_err() {
            return Ok(());
        }
        // The operator has no line: the job keeps its owner and is sent now.
        let turn = match &party {
            Some(party) => self.turn_of(conversion, party.clone()).await,
            None => Turn::Now,
        };
        if turn == Turn::Now {
            self.set_owner(Some(party.unwrap_or(owner.party)), turn).await?;
        }
        if turn == Turn::Now && self.send_job(conversion.job()).await.is_err() {
            self.handle(Event::EnqueueFailed, None).await?;
        }
        Ok(())
    }

    async fn owner(&self) -> Result<Option<JobOwner>> {
        let stored: Option<String> = self.state.storage().get(CLIENT).await?;
        Ok(stored.and_then(|json| serde_json::from_str(&json).ok()))
    }

    async fn set_owner(&self, party: Option<String>, turn: Turn) -> Result<()> {
        let storage = self.state.storage();
        match party {
            Some(party) => {
                let owner = JobOwner { party, waits: turn == Turn::Later };
                storage.put(CLIENT, serde_json::to_string(&owner)?).await
            }
            None => storage.delete(CLIENT).await.map(drop),
        }
    }

    /// Handles an event. `turn` is the job's turn, if the admission check returned one.
    async fn handle(&self, event: Event, mut turn: Option<Turn>) -> Result<Reply> {
        let config = config(&self.env)?;
        let (Decision { mut after, effects, reply }, ended) = self.decide(event, &config).await?;
        let perform = async {
            let mut effects = VecDeque::from(effects);
            while let (Some(conversion), Some(effect)) = (&after, effects.pop_front()) {
                if let Some(result) = self.perform(effect, conversion, &mut turn).await {
                    let (decision, _) = self.decide(result, &config).await?;
                    after = decision.after;
                    effects.extend(decision.effects);
                }
            }
            // Two requests were admitted concurrently, and the second one got the earlier turn.
            let queued = after.as_ref().filter(|conversion| conversion.is_queued());
            if let (Some(Turn::Now), Some(conversion)) = (turn, queued)
                && self.waits.take()
            {
                let _ = self.send_job(conversion.job()).await; // the alarm sends it again
            }
            Ok(reply)
        };
        let (reply, noted) = join(perform, self.note_end(ended)).await;
        noted?;
        reply
    }

    /// Tells the object with the queue how many tiles the job makes, once. Without that it counts as a photograph until it
    /// has ended.
    async fn note_tiles(&self, tiles: Option<u64>) {
        let Some(tiles) = tiles.filter(|tiles| self.known_tiles.get() != Some(*tiles)) else { return };
        self.known_tiles.set(Some(tiles));
        let noted = async { backlog::sized(self.id()?, tiles, &self.env).await }.await;
        if let Err(error) = noted {
            console_error!("cannot tell the queue how many tiles a job makes: {error}");
        }
    }

    /// Tells the object with the queue that the job has ended, so that the next one gets its turn.
    async fn note_end(&self, ended: Option<Option<Status>>) -> Result<()> {
        let (Some(status), Some(owner)) = (ended, self.owner().await?) else { return Ok(()) };
        let id = self.id()?;
        let (party, end) = match status {
            Some(Status::Ready { finished, .. }) => (None, End::Made(finished.dzi.tile_count())),
            Some(Status::Failed { .. }) => (None, End::Failed),
            None => (None, End::Made(0)),
            Some(Status::Processing { .. }) => (Some(owner.party), End::Made(0)), // another attempt follows
        };
        self.known_tiles.set(None);
        self.set_owner(party, Turn::Now).await?;
        for pause in RETRY_PAUSES {
            match backlog::ended(id, end, &self.env).await {
                Ok(()) => break,
                Err(error) => console_error!("{id}: cannot tell the queue that the job has ended: {error}"),
            }
            Delay::from(pause).await;
        }
        Ok(())
    }

    /// Decides and stores the new state. It awaits only the storage, so no other event comes in between. If the event
    /// ended the job, it also returns the content's status; `None` if the content was removed.
    async fn decide(&self, event: Event, config: &Config) -> Result<(Decision, Option<Option<Status>>)> {
        let storage = self.state.storage();
        let before = self.stored().await?;
        let fired = event == Event::AlarmFired; // an alarm that fired is no longer set
        let alarm_before = before.as_ref().and_then(Conversion::alarm).filter(|_| !fired);
        let now = now();
        let decision = decide(before.clone(), event, now, &config.rules);
        if decision.after != before
            && let Some(conversion) = &decision.after
        {
            storage.put(STATE, serde_json::to_string(conversion)?).await?;
            self.subscribers.publish(conversion.content().as_ref(), now);
            if let Some(change) = Change::between(before.as_ref(), conversion, now) {
                bridge::note_change(&change);
            }
        }
        match decision.after.as_ref().and_then(Conversion::alarm) {
            alarm if alarm == alarm_before => {}
            Some(due) => storage.set_alarm(due - now).await?,
            None => storage.delete_alarm().await?,
        }
        let had_job = before.is_some_and(|before| before.has_job());
        let ended = decision.after.as_ref().filter(|after| had_job && !after.has_job());
        let ended = ended.map(|after| after.content().map(|content| content.status));
        Ok((decision, ended))
    }

    async fn turn_of(&self, conversion: &Conversion, party: String) -> Turn {
        let (job, host) = (conversion.job(), conversion.url().host().to_owned());
        backlog::enqueue(Asked { job, party, host }, &self.env).await.unwrap_or_else(|error| {
            console_error!("{}: the job is sent without waiting for its turn: {error}", job.id);
            Turn::Now
        })
    }

    async fn send_job(&self, job: Job) -> Result<()> {
        let sent = async { self.env.queue("JOBS")?.send(job).await }.await;
        sent.inspect_err(|error| console_error!("{}: the queue refused the job: {error}", job.id))
    }

    /// Sends the job to the queue, or has it sent at its turn.
    async fn enqueue(&self, conversion: &Conversion, turn: Option<Turn>) -> Result<()> {
        self.waits.set(turn == Some(Turn::Later)); // before the first await
        let turn = match (turn, self.owner().await?) {
            (Some(turn), _) => turn,
            (None, Some(owner)) => {
                let turn = self.turn_of(conversion, owner.party.clone()).await;
                self.set_owner(Some(owner.party), turn).await?;
                turn
            }
            (None, None) => Turn::Now,
        };
        self.waits.set(turn == Turn::Later);
        if turn == Turn::Now { self.send_job(conversion.job()).await } else { Ok(()) }
    }

    /// Performs an effect and returns the event that follows. Failures are logged; the alarm repeats the effect.
    async fn perform(
        &self,
        effect: Effect,
        conversion: &Conversion,
        turn: &mut Option<Turn>,
    ) -> Option<Event> {
        let (id, env) = (conversion.job().id, &self.env);
        let (what, done, next) = match effect {
            Effect::Enqueue => {
                let queued = self.enqueue(conversion, turn.take()).await;
                return queued.err().map(|_| Event::EnqueueFailed);
            }
            Effect::WriteCache { content, expires_in } => {
                let recorded = record::finished(&content, expires_in, now(), env).await;
                ("record the finished content", recorded, Some(Event::CacheWritten))
            }
            Effect::RecordRemoval(removal) => {
                let recorded = record::removed(id, conversion.url(), &removal, now(), env).await;
                ("record the removal", recorded, Some(Event::RemovalRecorded(removal.kind)))
            }
            Effect::Sweep { before, keep, upload } => {
                let swept = r2::sweep(id, before, keep, upload, env).await;
                ("delete the objects of all attempts", swept, Some(Event::Swept { before }))
            }
            Effect::DeleteUpload(key) => ("delete the uploaded file", r2::delete(key, env).await, None),
            Effect::DeleteFromCache => {
                ("delete the record, which will expire", record::forget(id, env).await, None)
            }
        };
        match done {
            Ok(()) => next,
            Err(error) => {
                console_error!("{id}: cannot {what}: {error}");
                None
            }
        }
    }
}

/// Returns the number of tiles that a tiler reports.
fn tiles_in(event: &Event) -> Option<u64> {
    match event {
        Event::Reported(Report { outcome: Outcome::Progress(progress), .. }) => progress.tiles,
        _ => None,
    }
}
