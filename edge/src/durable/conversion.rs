//! The Durable Object of a content: the single writer of its conversion's state. It stores the state, lets
//! [`decide`](edgezoom_content::conversion::decide) say what follows from an event, and performs the effects.
//!
//! While the object waits for the queue or KV, other events come in. So the new state and the alarm are stored first,
//! with nothing in between; then the effects are performed; and the result of an effect is an event of its own, decided
//! upon with the state as it is then.

use std::cell::Cell;
use std::collections::VecDeque;
use std::time::Duration;

use edgezoom_content::conversion::{Change, Decision, Effect, Event, Reply, decide};
use edgezoom_content::protocol::Job;
use edgezoom_content::{Content, ContentId, Conversion, Status};
use futures::future::join;
use serde::{Deserialize, Serialize};
use worker::{
    Delay, DurableObject, Env, Method, Request, Response, Result, State, console_error, durable_object,
};

use crate::admission;
use crate::admission::client::Client;
use crate::admission::policy::AdmissionError;
use crate::admission::scheduler::{Asked, Turn};
use crate::config::{Addresses, Config};
use crate::content::kv_cache::KvCache;
use crate::durable::subscribers::Subscribers;
use crate::durable::{backlog, messages, record};
use crate::platform::clock::now;
use crate::platform::environment::config;
use crate::platform::{bridge, sweep, upload};

const STATE: &str = "conversion";
const CLIENT: &str = "client";
/// Where the operator's calls read the state as it is stored.
const STATE_PATH: &str = "/state";
/// The pauses after the end of a job could not be told. The object that is told is away for a moment when a new version of
/// the Worker is deployed.
const TELL_AGAIN: [Duration; 3] = [Duration::from_millis(200), Duration::from_secs(2), Duration::ZERO];

/// The client whose share of the queue the content's job takes. There is none for the operator's own, whose jobs do not
/// wait for their turn.
#[derive(Debug, Serialize, Deserialize)]
struct JobOwner {
    /// Its name among those that share the queue.
    party: String,
    /// Whether the job had to wait for its turn when it was queued last.
    waits: bool,
}

/// What becomes of an event before it is decided upon.
enum Admission {
    /// It may happen. The turn of its job, if it makes one that was admitted.
    Admitted(Option<Turn>),
    /// It is refused.
    Refused(AdmissionError),
    /// It would start a failed content anew, and that is refused: the content is shown as it is.
    Unchanged(Content),
}

/// The Durable Object of a content. Its name is the content's id.
#[durable_object]
pub struct ConversionObject {
    state: State,
    env: Env,
    subscribers: Subscribers,
    /// Whether the job waits for its turn, as far as this instance of the object has seen.
    waits: Cell<bool>,
}

impl DurableObject for ConversionObject {
    fn new(state: State, env: Env) -> Self {
        Self { state, env, subscribers: Subscribers::default(), waits: Cell::new(false) }
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
            Admission::Admitted(turn) => messages::encode_reply(&self.handle(event, turn).await?)?,
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
    /// Streams the content's events until it is finished: 404 without a content, 503 when it has too many subscribers.
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

    /// The content's id is the object's name.
    fn id(&self) -> Result<ContentId> {
        let name = self.state.id().name().unwrap_or_default();
        name.parse().map_err(|_| worker::Error::RustError(format!("`{name}` is not the id of a content")))
    }

    async fn stored(&self) -> Result<Option<Conversion>> {
        let stored: Option<String> = self.state.storage().get(STATE).await?;
        Ok(stored.map(|json| serde_json::from_str(&json)).transpose()?)
    }

    /// Checks a content before it is created or started anew, and gives its job's turn. Here rather than in the Worker,
    /// which would have to ask this object for the content first, and then once more.
    async fn admit(&self, event: &Event, client: Option<&Client>) -> Result<Admission> {
        let config = config(&self.env)?;
        let known = self.stored().await?;
        let (id, host) = match (event, &known) {
            (Event::Created { id, url } | Event::Uploaded { id, url, .. }, None) => (*id, url.host()),
            (event, Some(conversion)) if conversion.starts_anew(event, now(), &config.rules) => {
                (self.id()?, conversion.url().host())
            }
            (Event::Created { .. }, Some(conversion)) => {
                self.share(conversion, client).await?;
                return Ok(Admission::Admitted(None));
            }
            _ => return Ok(Admission::Admitted(None)),
        };
        let job = Job { id, alone: false, avoid: None };
        let asked = |party| Asked { job, party, host: host.to_owned() };
        let admitted = match event {
            // The Worker has counted the client before it received the file.
            Event::Uploaded { .. } => admission::check::admit_job(client, asked, &config, &self.env).await,
            _ => admission::check::admit(client, asked, &config, &self.env).await,
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

    /// A second client asks for a content whose job waits for its turn: it may have a shorter line.
    async fn share(&self, conversion: &Conversion, client: Option<&Client>) -> Result<()> {
        let (true, Some(owner)) = (conversion.is_queued(), self.owner().await?) else { return Ok(()) };
        let party = client.map(Client::party);
        if !owner.waits || party.as_ref() == Some(&owner.party) {
            return Ok(());
        }
        // The operator's own client has no line: the job keeps its owner, who is told of the end, and is sent now.
        let turn = match &party {
            Some(party) => self.turn_of(conversion, party.clone()).await,
            None => Turn::Now,
        };
        self.set_owner(Some(party.unwrap_or(owner.party)), turn).await?;
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

    /// Handles an event. `turn` is that of the job if its admission has just told it.
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
            // Two clients' requests were admitted side by side, and the second one's turn is earlier than the first one's.
            let queued = after.as_ref().filter(|conversion| conversion.is_queued());
            if let (Some(Turn::Now), Some(conversion)) = (turn, queued)
                && self.waits.take()
            {
                let _ = self.send_job(conversion.job()).await; // the alarm repeats it
            }
            Ok(reply)
        };
        let (reply, told) = join(perform, self.tell_end(ended)).await;
        told?;
        reply
    }

    /// Tells that the job has ended, so that the next one has its turn.
    async fn tell_end(&self, ended: Option<Option<Status>>) -> Result<()> {
        let (Some(status), Some(owner)) = (ended, self.owner().await?) else { return Ok(()) };
        let id = self.id()?;
        let (party, tiles) = match status {
            Some(Status::Ready { finished, .. }) => (None, finished.dzi.tile_count()),
            Some(Status::Failed { .. }) | None => (None, 0),
            Some(Status::Processing { .. }) => (Some(owner.party), 0), // the next attempt has its date
        };
        self.set_owner(party, Turn::Now).await?;
        for pause in TELL_AGAIN {
            match backlog::ended(id, tiles, &self.env).await {
                Ok(()) => break,
                Err(error) => console_error!("{id}: the end of the job is not told: {error}"),
            }
            Delay::from(pause).await;
        }
        Ok(())
    }

    /// Decides, and stores the new state. Waits for the storage only, so that no other event comes between. Gives what
    /// became of the content if its job has ended with this: nothing when it was removed.
    async fn decide(&self, event: Event, config: &Config) -> Result<(Decision, Option<Option<Status>>)> {
        let storage = self.state.storage();
        let before = self.stored().await?;
        let fired = event == Event::AlarmFired; // an alarm that fired is not set any more
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
            console_error!("{}: the job does not wait for its turn: {error}", job.id);
            Turn::Now
        })
    }

    async fn send_job(&self, job: Job) -> Result<()> {
        let sent = async { self.env.queue("JOBS")?.send(job).await }.await;
        sent.inspect_err(|error| console_error!("{}: the queue did not take the job: {error}", job.id))
    }

    /// Sends the job to the queue, or has it sent when its turn is.
    async fn enqueue(&self, conversion: &Conversion, turn: Option<Turn>) -> Result<()> {
        self.waits.set(turn == Some(Turn::Later)); // before anything is waited for
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

    /// Performs an effect. A failure is logged; the alarm that is set for it repeats the effect.
    async fn perform(
        &self,
        effect: Effect,
        conversion: &Conversion,
        turn: &mut Option<Turn>,
    ) -> Option<Event> {
        let id = conversion.job().id;
        match effect {
            Effect::Enqueue => {
                self.enqueue(conversion, turn.take()).await.err().map(|_| Event::EnqueueFailed)
            }
            Effect::WriteCache { content, expires_in } => {
                match record::finished(&content, expires_in, now(), &self.env).await {
                    Ok(()) => Some(Event::CacheWritten),
                    Err(error) => {
                        console_error!("{id}: the finished content is not recorded: {error}");
                        None
                    }
                }
            }
            Effect::RecordRemoval(removal) => {
                match record::removed(id, conversion.url(), &removal, now(), &self.env).await {
                    Ok(()) => Some(Event::RemovalRecorded(removal.kind)),
                    Err(error) => {
                        console_error!("{id}: the removal is not recorded: {error}");
                        None
                    }
                }
            }
            Effect::DeleteUpload(key) => {
                if let Err(error) = upload::delete(key, &self.env).await {
                    console_error!("{id}: {key} is left in the store: {error}");
                }
                None
            }
            Effect::Sweep { before, keep, upload } => {
                match sweep::delete_attempts(id, before, keep, upload, &self.env).await {
                    Ok(()) => Some(Event::Swept { before }),
                    Err(error) => {
                        console_error!("{id}: the objects of attempts are not deleted yet: {error}");
                        None
                    }
                }
            }
            Effect::DeleteFromCache => {
                if let Err(error) = KvCache::of(&self.env).delete(id).await {
                    console_error!("{id}: the content is not deleted from KV, it will expire: {error}");
                }
                None
            }
        }
    }
}
