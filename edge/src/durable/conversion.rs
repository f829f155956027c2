//! The Durable Object of a content: the only writer of its conversion's state. For each event,
//! [`decide`](edgezoom_content::conversion::decide) returns the new state and the effects; the object stores the state
//! and performs the effects.
//!
//! Other events arrive while the object waits for the queue or KV. So the new state and the alarm are stored first,
//! with nothing in between, then the effects are performed. The result of an effect is another event, decided with the
//! state at that time.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

use edgezoom_content::conversion::{Change, Decision, Effect, Event, Reply, decide};
use edgezoom_content::protocol::{Job, Outcome, Report};
use edgezoom_content::{Content, ContentId, Conversion, Status, Timestamp};
use futures::future::join;
use serde::{Deserialize, Serialize};
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::worker_sys::DurableObjectState;
use worker::{Delay, Env, Error, Response, Result, State, console_error, web_sys};

use crate::admission::client::Client;
use crate::admission::policy::AdmissionError;
use crate::admission::scheduler::{Asked, End, Turn};
use crate::config::{Addresses, Config};
use crate::durable::admit::{self, admit_job};
use crate::durable::subscribers::{Subscribers, Subscription};
use crate::durable::{backlog, collection, record};
use crate::platform::bridge::{self, AfterReset};
use crate::platform::isolate::{config, now};
use crate::platform::{kv, r2};

const BINDING: &str = "CONVERSIONS";
const STATE: &str = "conversion";
const CLIENT: &str = "client";
/// Minimum time between two questions whether another client's line is shorter.
const SHARED_EVERY: Duration = Duration::from_secs(30);
/// Time after which an alarm that has not come is set again: the platform gives up one that fails several times.
const GIVEN_UP: Duration = Duration::from_secs(300);
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

/// The end of a content's job, or of an attempt.
#[derive(Debug, PartialEq)]
struct JobEnd {
    end: End,
    /// True if another attempt follows, which takes the same client's share.
    another_follows: bool,
}

impl JobEnd {
    /// Returns what ended between two states.
    fn between(before: Option<&Conversion>, after: &Conversion) -> Option<Self> {
        let before = before.filter(|before| before.has_job())?;
        // A job that is queued, and queued again, has had no attempt.
        if after.has_job() && (before.is_queued() || before.step() == after.step()) {
            return None;
        }
        let status = after.content().map(|content| content.status);
        let end = match &status {
            Some(Status::Ready { finished, .. }) => End::Made(finished.counted_tiles()),
            _ if after.has_job() => End::Lost,
            _ => End::Failed,
        };
        Some(Self { end, another_follows: matches!(status, Some(Status::Processing { .. })) })
    }
}

/// A message to the object of a content. The operator's calls send it too (`edge/src/admin/`), and collections
/// (`edge/collections/`).
#[derive(Debug, Serialize, Deserialize)]
struct Message {
    event: Event,
    /// Client to count if the event makes a job; none for the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<Client>,
}

/// The answer to a [`Message`]; an error if the event would make a job that is not admitted.
pub type Answer = std::result::Result<Reply, AdmissionError>;

/// The result of the admission check of an event.
enum Admission {
    /// The event may be handled. If it makes a job, this is the job's turn.
    Admitted(Option<Turn>),
    Refused(AdmissionError),
    /// The event may not start the content again, so the reply is the content as it is.
    Unchanged(Box<Content>),
}

/// Sends an event to the object of a content.
pub async fn send(id: ContentId, event: Event, client: Option<Client>, env: &Env) -> Result<Answer> {
    let after_reset = if event.is_idempotent() { AfterReset::Repeat } else { AfterReset::Fail };
    let message = serde_json::to_string(&Message { event, client })?;
    let answer = bridge::call_object(env, BINDING, [&id.to_string(), "send"], &message, after_reset).await?;
    Ok(serde_json::from_str(&answer)?)
}

/// Opens the stream of events of an unfinished content; `None` if there is no such content, or it has too many
/// subscribers.
pub async fn subscribe(
    id: ContentId,
    addresses: &Addresses,
    client: Option<&Client>,
    env: &Env,
) -> Result<Option<Response>> {
    let subscriber = Subscription { party: Client::party_of(client), addresses: addresses.clone() };
    let subscriber = serde_json::to_string(&subscriber)?;
    let response = bridge::subscribe(env, BINDING, &id.to_string(), &subscriber).await?;
    Ok((response.status() == 200).then(|| response.into()))
}

/// The Durable Object of a content. Its name is the content's id.
#[wasm_bindgen]
pub struct ConversionObject {
    state: State,
    env: Env,
    /// The stored state, once it is read. Only this object writes it.
    conversion: RefCell<Option<Conversion>>,
    is_read: Cell<bool>,
    subscribers: Subscribers,
    /// True if the job waits for its turn, as far as this instance of the object knows.
    waits: Cell<bool>,
    /// Time at which the object with the queue was last asked whether another client's line is shorter.
    shared_at: Cell<Timestamp>,
    /// Number of tiles that the object with the queue knows of.
    known_tiles: Cell<Option<u64>>,
}

#[wasm_bindgen(wasm_bindgen_futures = worker::wasm_bindgen_futures, js_sys = worker::js_sys)]
impl ConversionObject {
    #[wasm_bindgen(constructor)]
    pub fn new(state: DurableObjectState, env: Env) -> Self {
        Self {
            state: state.into(),
            env,
            conversion: RefCell::default(),
            is_read: Cell::default(),
            subscribers: Subscribers::default(),
            waits: Cell::default(),
            shared_at: Cell::default(),
            known_tiles: Cell::default(),
        }
    }

    /// Handles a [`Message`] and returns the [`Answer`], both as JSON.
    ///
    /// # Errors
    /// The storage fails, or another version of the Worker sent the message.
    pub async fn send(&self, message: String) -> std::result::Result<String, JsValue> {
        Ok(self.answer(&message).await?)
    }

    /// Streams the content's events while a tiler works on it. The subscriber is a
    /// [`Subscription`] as JSON. 503: no content, or too many subscribers.
    ///
    /// # Errors
    /// The storage fails.
    pub async fn subscribe(&self, subscriber: String) -> std::result::Result<web_sys::Response, JsValue> {
        Ok(self.events(&subscriber).await?.into())
    }

    /// Returns the stored state as JSON, for the operator.
    ///
    /// # Errors
    /// The storage fails.
    pub async fn stored(&self) -> std::result::Result<Option<String>, JsValue> {
        Ok(self.state.storage().get(STATE).await?)
    }

    /// Handles the alarm.
    ///
    /// # Errors
    /// The storage fails. The runtime calls again.
    pub async fn alarm(&self) -> std::result::Result<(), JsValue> {
        Ok(self.handle(Event::AlarmFired, None).await.map(drop)?)
    }
}

impl ConversionObject {
    async fn answer(&self, message: &str) -> Result<String> {
        let Message { event, client } = serde_json::from_str(message)?;
        self.read().await?;
        let answer: Answer = match self.admit(&event, client.as_ref()).await? {
            Admission::Admitted(turn) => {
                let tiles = tiles_in(&event);
                let reply = self.handle(event, turn).await?;
                if reply == Reply::Accepted {
                    self.note_tiles(tiles).await;
                }
                Ok(reply)
            }
            Admission::Refused(error) => Err(error),
            Admission::Unchanged(content) => Ok(Reply::Content(*content)),
        };
        Ok(serde_json::to_string(&answer)?)
    }

    async fn events(&self, subscriber: &str) -> Result<Response> {
        let subscription = serde_json::from_str(subscriber)?;
        self.read().await?;
        let conversion = self.conversion.borrow().clone();
        self.subscribers.allow_until(conversion.as_ref().and_then(Conversion::followed_until));
        let content = conversion.as_ref().and_then(Conversion::content);
        match content.and_then(|content| self.subscribers.add(&content, subscription, now())) {
            Some(events) => Response::from_stream(events),
            None => Response::error("", 503),
        }
    }

    /// Returns the content's id, which is the object's name.
    fn id(&self) -> Result<ContentId> {
        let name = self.state.id().name().unwrap_or_default();
        name.parse().map_err(|_| Error::RustError(format!("`{name}` is not the id of a content")))
    }

    /// Reads the stored state, unless it is known. No other message is handled while the storage is awaited.
    async fn read(&self) -> Result<()> {
        if !self.is_read.get() {
            let stored: Option<String> = self.state.storage().get(STATE).await?;
            let stored = stored.map(|json| serde_json::from_str(&json)).transpose()?;
            if !self.is_read.replace(true) {
                *self.conversion.borrow_mut() = stored;
            }
        }
        Ok(())
    }

    /// Stores a new state.
    async fn store(&self, conversion: &Conversion) -> Result<()> {
        let json = serde_json::to_string(conversion)?;
        *self.conversion.borrow_mut() = Some(conversion.clone());
        // On failure it is unknown what is stored.
        self.state.storage().put(STATE, json).await.inspect_err(|_| self.is_read.set(false))
    }

    /// Checks whether a content may be created or started again, and returns the turn of its job. The Worker would have
    /// to ask this object twice to do the same.
    async fn admit(&self, event: &Event, client: Option<&Client>) -> Result<Admission> {
        let config = config(&self.env)?;
        let known = self.conversion.borrow().clone();
        let (id, host) = match (event, &known) {
            (
                Event::Created { id, url, .. }
                | Event::Entered { id, url, .. }
                | Event::Uploaded { id, url, .. },
                None,
            ) => (*id, url.host()),
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
            _ => admit::admit(client, asked, &config, &self.env).await,
        };
        match (admitted, &known) {
            (Ok(turn), _) => {
                self.set_owner(client.map(Client::party), turn).await?;
                Ok(Admission::Admitted(Some(turn)))
            }
            (Err(error), known) => {
                let is_shown =
                    !matches!(event, Event::RetryAsked | Event::Uploaded { .. } | Event::Entered { .. });
                let content = known.as_ref().filter(|_| is_shown).and_then(Conversion::content);
                Ok(content
                    .map_or(Admission::Refused(error), |content| Admission::Unchanged(Box::new(content))))
            }
        }
    }

    /// Moves a waiting job to the line of a second client that asks for the content, if that line is shorter. It is
    /// looked at every 30 s, and as often as the client may create contents: otherwise two clients could keep the
    /// object with the queue busy.
    async fn share(&self, conversion: &Conversion, client: Option<&Client>, config: &Config) -> Result<()> {
        if !conversion.is_queued() {
            return Ok(());
        }
        let Some(owner) = self.owner().await? else { return Ok(()) };
        let party = client.map(Client::party);
        if !owner.waits || party.as_ref() == Some(&owner.party) || now() - self.shared_at.get() < SHARED_EVERY
        {
            return Ok(());
        }
        self.shared_at.set(now());
        if client.is_some() && admit::admit_client(client, config, &self.env).await.is_err() {
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
        let (Decision { mut after, effects, reply }, mut ended) = self.decide(event, &config).await?;
        // The object with the queue hears of the lost attempt before it gets the job again.
        let lost = ended.take_if(|ended| ended.end == End::Lost);
        self.note_end(lost).await?;
        let perform = async {
            let mut effects = VecDeque::from(effects);
            while let (Some(conversion), Some(effect)) = (&after, effects.pop_front()) {
                if let Some(result) = self.perform(effect, conversion, &mut turn).await {
                    let (decision, ended) = self.decide(result, &config).await?;
                    if ended.is_some() {
                        self.note_end(ended).await?;
                    }
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

    /// Tells the object with the queue how many tiles the job makes, once. Without that it counts as a photograph until
    /// it has ended.
    async fn note_tiles(&self, tiles: Option<u64>) {
        let Some(tiles) = tiles.filter(|tiles| self.known_tiles.get() != Some(*tiles)) else { return };
        self.known_tiles.set(Some(tiles));
        let noted = async { backlog::sized(self.id()?, tiles, &self.env).await }.await;
        if let Err(error) = noted {
            console_error!("cannot tell the queue how many tiles a job makes: {error}");
        }
    }

    /// Tells the object with the queue that the job or an attempt has ended, so that it counts and the next job gets its
    /// turn.
    async fn note_end(&self, ended: Option<JobEnd>) -> Result<()> {
        let (Some(JobEnd { end, another_follows }), Some(owner)) = (ended, self.owner().await?) else {
            return Ok(());
        };
        let collection = self.conversion.borrow().as_ref().and_then(|known| known.collection().cloned());
        if let (Some(name), true, End::Failed) = (collection, another_follows, end) {
            // Lost, it only keeps the next entry waiting for a while.
            let _ = collection::note(&name, self.id()?, collection::End::Paused, &self.env).await;
        }
        let (id, party) = (self.id()?, another_follows.then_some(owner.party));
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

    /// Decides and stores the new state. It awaits only the storage, so no other event comes in between. Also returns the
    /// end of the job or of an attempt, if the event ended one.
    async fn decide(&self, event: Event, config: &Config) -> Result<(Decision, Option<JobEnd>)> {
        let storage = self.state.storage();
        self.read().await?;
        let before = self.conversion.borrow().clone();
        let fired = event == Event::AlarmFired; // an alarm that fired is no longer set
        let alarm_before = before.as_ref().and_then(Conversion::alarm).filter(|_| !fired);
        let now = now();
        let decision = decide(before.clone(), event, now, &config.rules);
        if decision.after != before
            && let Some(conversion) = &decision.after
        {
            self.store(conversion).await?;
            self.subscribers.allow_until(conversion.followed_until());
            self.subscribers.publish(conversion.content().as_ref(), now);
            if let Some(change) = Change::between(before.as_ref(), conversion, now) {
                bridge::note_change(&change);
            }
        }
        match decision.after.as_ref().and_then(Conversion::alarm) {
            alarm if alarm == alarm_before && alarm.is_none_or(|due| now < due + GIVEN_UP) => {}
            Some(due) => storage.set_alarm(due - now).await?,
            None => storage.delete_alarm().await?,
        }
        let ended = decision.after.as_ref().and_then(|after| JobEnd::between(before.as_ref(), after));
        Ok((decision, ended))
    }

    async fn turn_of(&self, conversion: &Conversion, party: String) -> Turn {
        let job = conversion.job();
        let host = conversion.url().host().to_owned();
        backlog::enqueue(Asked { job, party, host }, &self.env).await.unwrap_or_else(|error| {
            console_error!("{}: the job is sent without waiting for its turn: {error}", job.id);
            Turn::Now
        })
    }

    async fn send_job(&self, job: Job) -> Result<()> {
        let sent = bridge::send_job(job, &self.env).await;
        sent.inspect_err(|error| console_error!("{}: the queue refused the job: {error}", job.id))
    }

    /// Sends the job to the queue, or has it sent at its turn. Returns the takedown of its source instead, if there is one.
    async fn enqueue(&self, conversion: &Conversion, turn: Option<Turn>) -> Result<Option<Event>> {
        self.waits.set(turn == Some(Turn::Later)); // before the first await
        // If this call fails, the end of the conversion asks again.
        if let Ok(Some(takedown)) = record::takedown_of(conversion, &self.env).await {
            return Ok(Some(takedown));
        }
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
        if turn == Turn::Now {
            self.send_job(conversion.job()).await?;
        }
        Ok(None)
    }

    /// Performs an effect and returns the event that follows. Failures are logged; the alarm repeats the effect.
    async fn perform(
        &self,
        effect: Effect,
        conversion: &Conversion,
        turn: &mut Option<Turn>,
    ) -> Option<Event> {
        let id = conversion.job().id;
        let env = &self.env;
        let (what, done) = match effect {
            Effect::Enqueue => {
                let queued = self.enqueue(conversion, turn.take()).await;
                return queued.unwrap_or(Some(Event::EnqueueFailed));
            }
            Effect::WriteCache { content, expires_in } => {
                let recorded = record::finished(conversion, &content, expires_in, now(), env).await;
                ("record the finished content", recorded.map(Some))
            }
            Effect::RecordRemoval(removal) => {
                let recorded = record::removed(conversion, &removal, now(), env).await;
                ("record the removal", recorded.map(|()| Some(Event::RemovalRecorded(removal.kind))))
            }
            Effect::Sweep { before, keep, upload } => {
                let swept = r2::sweep(id, before, keep, upload, env).await;
                ("delete the objects of all attempts", swept.map(|()| Some(Event::Swept { before })))
            }
            Effect::DeleteUpload(key) => {
                ("delete the uploaded file", r2::delete(key, env).await.map(|()| None))
            }
            Effect::DeleteFromCache => {
                ("delete the record, which will expire", kv::delete(id, env).await.map(|()| None))
            }
        };
        done.unwrap_or_else(|error| {
            console_error!("{id}: cannot {what}: {error}");
            None
        })
    }
}

/// Returns the number of tiles that a tiler reports.
fn tiles_in(event: &Event) -> Option<u64> {
    match event {
        Event::Reported(Report { outcome: Outcome::Progress(progress), .. }) => progress.tiles,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use edgezoom_content::SourceUrl;
    use edgezoom_content::conversion::Rules;
    use edgezoom_content::protocol::{AttemptProgress, ClaimRequest, Retry, TilerId};
    use edgezoom_content::{Attempt, Failure, FailureCode, Progress, Stage};

    use super::*;

    /// Returns what ends with each event, a minute apart.
    fn ends(events: impl IntoIterator<Item = Event>) -> Vec<Option<(End, bool)>> {
        let (mut state, mut now) = (None, Timestamp(0));
        let mut ends = vec![];
        for event in events {
            let after = decide(state.clone(), event, now, &Rules::DEFAULT).after;
            let end = after.as_ref().and_then(|after| JobEnd::between(state.as_ref(), after));
            ends.push(end.map(|JobEnd { end, another_follows }| (end, another_follows)));
            (state, now) = (after, now + Duration::from_secs(60));
        }
        ends
    }

    fn created() -> Event {
        let url = SourceUrl::parse("http://example.com/a.jpg").unwrap();
        Event::Created { id: ContentId::of(&url), url, alternative: None }
    }

    fn claimed() -> Event {
        Event::Claimed(ClaimRequest { tiler: TilerId(1), alone: false })
    }

    fn reported(outcome: Outcome) -> Event {
        Event::Reported(Report { attempt: Attempt::FIRST, outcome })
    }

    fn gave_up(retry: Retry) -> Event {
        let failure = Failure::new(FailureCode::Internal, "It failed.".to_owned());
        reported(Outcome::GaveUp { failure, retry })
    }

    #[test]
    fn an_attempt_ends_when_its_lease_is_lost_and_the_job_goes_on() {
        let rendering = reported(Outcome::Progress(AttemptProgress::of(Stage::Rendering, Progress::NONE)));
        let lost = Some((End::Lost, true));
        for (end, expected) in [
            (Event::AlarmFired, lost),
            (claimed(), lost), // before a late alarm
            (reported(Outcome::HandedBack), lost),
            (gave_up(Retry::Elsewhere), lost),
            (Event::Reset, lost),
            (gave_up(Retry::Later { after_seconds: None }), Some((End::Failed, true))),
            (gave_up(Retry::Never), Some((End::Failed, false))),
            (rendering, None),
        ] {
            assert_eq!(ends([created(), claimed(), end.clone()]), [None, None, expected], "{end:?}");
        }
        let resent = [created(), Event::AlarmFired, Event::AlarmFired, Event::EnqueueFailed, Event::Reset];
        assert_eq!(ends(resent), [None; 5], "no tiler has claimed it");
    }
}
