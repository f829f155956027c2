//! The Durable Object of a content: the single writer of its conversion's state. It keeps the state, lets
//! [`decide`](edgezoom_content::conversion::decide) say what follows from an event, and does it.
//!
//! While something outside is waited for (queue, KV), other events come in. So the new state and the alarm are put first,
//! which nothing comes between; then the effects are performed; and how one ended is an event of its own, decided upon
//! with the state as it is then.

use edgezoom_content::conversion::{Decision, Effect, Event, Reply, decide};
use edgezoom_content::protocol::Job;
use edgezoom_content::{ContentId, Conversion};
use worker::{DurableObject, Env, Method, Request, Response, Result, State, console_error, durable_object};

use crate::config::{Addresses, Config};
use crate::content::kv_cache::Finished;
use crate::durable::messages;
use crate::durable::subscribers::Listeners;
use crate::platform::clock::now;
use crate::platform::environment::config;

const STATE: &str = "conversion";

/// The Durable Object of a content, by the content's id.
#[durable_object]
pub struct ConversionObject {
    state: State,
    env: Env,
    listeners: Listeners,
}

impl DurableObject for ConversionObject {
    fn new(state: State, env: Env) -> Self {
        Self { state, env, listeners: Listeners::default() }
    }

    /// Takes what [`messages`] says by `POST`, and replies as it says; by `GET`, streams the content as it changes.
    async fn fetch(&self, mut request: Request) -> Result<Response> {
        if request.method() == Method::Get {
            return self.stream(&request).await;
        }
        let body = request.text().await?;
        match messages::read(self.id()?, &request.path(), &body) {
            Ok(event) => {
                let (status, body) = messages::reply(&self.hear(event).await?)?;
                let reply = Response::builder().with_status(status.as_u16());
                Ok(if body.is_empty() { reply.empty() } else { reply.fixed(body.into_bytes()) })
            }
            Err(why) => Response::error(why, 400),
        }
    }

    async fn alarm(&self) -> Result<Response> {
        self.hear(Event::AlarmRang).await?;
        Response::empty()
    }
}

impl ConversionObject {
    /// The content to whom listens, until it is finished: 404 without one, 503 when too many listen.
    async fn stream(&self, request: &Request) -> Result<Response> {
        let addresses = Addresses::from_query(request.url()?.query().unwrap_or_default());
        let Some(conversion) = self.kept().await? else {
            return Response::error("", 404);
        };
        let now = now();
        let content = conversion.content();
        match self.listeners.add(&content, addresses, now) {
            Some(events) => Response::from_stream(events),
            None => Response::error("", 503),
        }
    }

    /// The content's id is the object's name.
    fn id(&self) -> Result<ContentId> {
        let name = self.state.id().name().unwrap_or_default();
        name.parse().map_err(|_| worker::Error::RustError(format!("`{name}` names no content")))
    }

    async fn kept(&self) -> Result<Option<Conversion>> {
        let kept: Option<String> = self.state.storage().get(STATE).await?;
        Ok(kept.map(|json| serde_json::from_str(&json)).transpose()?)
    }

    async fn hear(&self, event: Event) -> Result<Reply> {
        let config = config(&self.env)?;
        let Decision { after, effects, reply } = self.decide(event, &config).await?;
        if let Some(conversion) = after {
            let id = conversion.content().id;
            for effect in effects {
                if let Some(outcome) = self.perform(effect, id).await {
                    self.decide(outcome, &config).await?;
                }
            }
        }
        Ok(reply)
    }

    /// Decides, and keeps what is known then. Waits for the storage only, so that nothing comes between.
    async fn decide(&self, event: Event, config: &Config) -> Result<Decision> {
        let storage = self.state.storage();
        let before = self.kept().await?;
        let rang = event == Event::AlarmRang; // an alarm that rang is gone
        let alarm_before = before.as_ref().and_then(Conversion::alarm).filter(|_| !rang);
        let now = now();
        let decision = decide(before.clone(), event, now, &config.rules);
        if decision.after != before
            && let Some(conversion) = &decision.after
        {
            storage.put(STATE, serde_json::to_string(conversion)?).await?;
            self.listeners.tell(&conversion.content(), now);
        }
        match decision.after.as_ref().and_then(Conversion::alarm) {
            alarm if alarm == alarm_before => {}
            Some(due) => storage.set_alarm(due - now).await?,
            None => storage.delete_alarm().await?,
        }
        Ok(decision)
    }

    /// Does something outside. What fails is logged, and done again at the alarm that is set for it.
    async fn perform(&self, effect: Effect, id: ContentId) -> Option<Event> {
        match effect {
            Effect::Enqueue => match self.enqueue(id).await {
                Ok(()) => None,
                Err(error) => {
                    console_error!("{id}: the queue did not take the job: {error}");
                    Some(Event::NotQueued)
                }
            },
            Effect::Record { content, expires_in } => {
                let written = async { Finished::of(&self.env)?.write(&content, expires_in).await };
                match written.await {
                    Ok(()) => Some(Event::Recorded),
                    Err(error) => {
                        console_error!("{id}: the finished content is not recorded: {error}");
                        None
                    }
                }
            }
            Effect::ForgetRecord => {
                let forgotten = async { Finished::of(&self.env)?.forget(id).await };
                if let Err(error) = forgotten.await {
                    console_error!("{id}: the record is not forgotten, it will expire: {error}");
                }
                None
            }
        }
    }

    async fn enqueue(&self, id: ContentId) -> Result<()> {
        self.env.queue("JOBS")?.send(Job { id }).await
    }
}
