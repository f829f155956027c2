//! The Durable Object of a content: the single writer of its conversion's state. It stores the state, lets
//! [`decide`](edgezoom_content::conversion::decide) say what follows from an event, and performs the effects.
//!
//! While the object waits for the queue or KV, other events come in. So the new state and the alarm are stored first,
//! with nothing in between; then the effects are performed; and the result of an effect is an event of its own, decided
//! upon with the state as it is then.

use std::collections::VecDeque;

use edgezoom_content::conversion::{Decision, Effect, Event, Reply, decide};
use edgezoom_content::{ContentId, Conversion};
use worker::{DurableObject, Env, Method, Request, Response, Result, State, console_error, durable_object};

use crate::admission;
use crate::admission::policy::AdmissionError;
use crate::config::{Addresses, Config};
use crate::content::kv_cache::KvCache;
use crate::durable::messages;
use crate::durable::subscribers::Subscribers;
use crate::platform::clock::now;
use crate::platform::environment::config;
use crate::platform::r2;

const STATE: &str = "conversion";

/// The Durable Object of a content. Its name is the content's id.
#[durable_object]
pub struct ConversionObject {
    state: State,
    env: Env,
    subscribers: Subscribers,
}

impl DurableObject for ConversionObject {
    fn new(state: State, env: Env) -> Self {
        Self { state, env, subscribers: Subscribers::default() }
    }

    /// A `POST` is one of the [`messages`]; a `GET` subscribes to the content.
    async fn fetch(&self, mut request: Request) -> Result<Response> {
        if request.method() == Method::Get {
            return self.subscribe(&request).await;
        }
        let body = request.text().await?;
        let event = match messages::decode(self.id()?, &request.path(), &body) {
            Ok(event) => event,
            Err(why) => return Response::error(why, 400),
        };
        let url = request.url()?;
        let client = url.query().and_then(messages::client);
        let (status, body) = match self.admit(&event, client).await? {
            Ok(()) => messages::encode_reply(&self.handle(event).await?)?,
            Err(error) => messages::encode_admission_error(error),
        };
        let reply = Response::builder().with_status(status.as_u16());
        Ok(if body.is_empty() { reply.empty() } else { reply.fixed(body.into_bytes()) })
    }

    async fn alarm(&self) -> Result<Response> {
        self.handle(Event::AlarmFired).await?;
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
        match self.subscribers.add(&conversion.content(), addresses, now()) {
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

    /// Checks a content before it is created, or started before its date. Here rather than in the Worker, which would have
    /// to ask this object for the content first, and then once more.
    async fn admit(
        &self,
        event: &Event,
        client: Option<&str>,
    ) -> Result<std::result::Result<(), AdmissionError>> {
        let config = config(&self.env)?;
        let starts = match event {
            Event::Created { .. } => self.stored().await?.is_none(),
            Event::RetryAsked => {
                self.stored().await?.is_some_and(|conversion| conversion.starts_early(now(), &config.rules))
            }
            _ => false,
        };
        if starts { Ok(admission::check::admit(client, &config, &self.env).await) } else { Ok(Ok(())) }
    }

    async fn handle(&self, event: Event) -> Result<Reply> {
        let config = config(&self.env)?;
        let Decision { mut after, effects, reply } = self.decide(event, &config).await?;
        let mut effects = VecDeque::from(effects);
        while let (Some(conversion), Some(effect)) = (&after, effects.pop_front()) {
            if let Some(result) = self.perform(effect, conversion).await {
                let decision = self.decide(result, &config).await?;
                after = decision.after;
                effects.extend(decision.effects);
            }
        }
        Ok(reply)
    }

    /// Decides, and stores the new state. Waits for the storage only, so that no other event comes between.
    async fn decide(&self, event: Event, config: &Config) -> Result<Decision> {
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
            self.subscribers.publish(&conversion.content(), now);
        }
        match decision.after.as_ref().and_then(Conversion::alarm) {
            alarm if alarm == alarm_before => {}
            Some(due) => storage.set_alarm(due - now).await?,
            None => storage.delete_alarm().await?,
        }
        Ok(decision)
    }

    /// Performs an effect. A failure is logged; the alarm that is set for it repeats the effect.
    async fn perform(&self, effect: Effect, conversion: &Conversion) -> Option<Event> {
        let job = conversion.job();
        let id = job.id;
        match effect {
            Effect::Enqueue => match async { self.env.queue("JOBS")?.send(job).await }.await {
                Ok(()) => None,
                Err(error) => {
                    console_error!("{id}: the queue did not take the job: {error}");
                    Some(Event::EnqueueFailed)
                }
            },
            Effect::WriteCache { content, expires_in } => {
                let written = async { KvCache::of(&self.env)?.put(&content, expires_in).await };
                match written.await {
                    Ok(()) => Some(Event::CacheWritten),
                    Err(error) => {
                        console_error!("{id}: the finished content is not in KV: {error}");
                        None
                    }
                }
            }
            Effect::Sweep { before, keep } => match r2::delete_attempts(id, before, keep, &self.env).await {
                Ok(()) => Some(Event::Swept { before }),
                Err(error) => {
                    console_error!("{id}: the objects of earlier attempts are not deleted yet: {error}");
                    None
                }
            },
            Effect::DeleteFromCache => {
                let deleted = async { KvCache::of(&self.env)?.delete(id).await };
                if let Err(error) = deleted.await {
                    console_error!("{id}: the content is not deleted from KV, it will expire: {error}");
                }
                None
            }
        }
    }
}
