//! Finds contents: finished ones in KV, all others at their Durable Object.

use edgezoom_content::conversion::{Event, Reply};
use edgezoom_content::{Content, ContentId, SourceUrl};
use worker::wasm_bindgen::JsValue;
use worker::{Env, Method, Request, RequestInit};

use crate::finished::{Finished, FinishedError};

/// Why a content could not be looked for. For the operator: it is logged, clients get 503.
#[derive(Debug, thiserror::Error)]
pub enum ContentsError {
    /// KV.
    #[error(transparent)]
    Finished(#[from] FinishedError),
    /// The object is not reached, or fails.
    #[error("the Durable Object of {0}: {1}")]
    Object(ContentId, worker::Error),
    /// The object replies what does not answer the event.
    #[error("the Durable Object of {0} does not reply to what it was told")]
    Reply(ContentId),
    /// Every id that the URL may have belongs to another URL.
    #[error("all ids of {0} are taken")]
    AllTaken(SourceUrl),
}

/// All contents.
pub struct Contents<'a> {
    env: &'a Env,
}

impl<'a> Contents<'a> {
    /// Those that the Worker is bound to.
    pub fn of(env: &'a Env) -> Self {
        Self { env }
    }

    /// The content of a source, created if there is none. When its id belongs to another source, the next one is tried.
    pub async fn of_source(&self, url: &SourceUrl) -> Result<Content, ContentsError> {
        let finished = Finished::of(self.env)?;
        for id in ContentId::candidates(url) {
            match finished.read(id).await? {
                Some(content) if content.url == *url => return Ok(content),
                Some(_) => continue,
                None => {}
            }
            match self.tell(id, &Event::Created { id, url: url.clone() }).await? {
                Reply::Shown(content) => return Ok(content),
                Reply::Taken => {}
                _ => return Err(ContentsError::Reply(id)),
            }
        }
        Err(ContentsError::AllTaken(url.clone()))
    }

    /// The content with an id, if there is one.
    pub async fn by_id(&self, id: ContentId) -> Result<Option<Content>, ContentsError> {
        if let Some(content) = Finished::of(self.env)?.read(id).await? {
            return Ok(Some(content));
        }
        match self.tell(id, &Event::Asked).await? {
            Reply::Shown(content) => Ok(Some(content)),
            Reply::Unknown => Ok(None),
            _ => Err(ContentsError::Reply(id)),
        }
    }

    /// Tells the object of a content what happened.
    pub async fn tell(&self, id: ContentId, event: &Event) -> Result<Reply, ContentsError> {
        self.ask_object(id, event).await.map_err(|error| ContentsError::Object(id, error))
    }

    async fn ask_object(&self, id: ContentId, event: &Event) -> worker::Result<Reply> {
        let mut init = RequestInit::new();
        init.with_method(Method::Post).with_body(Some(JsValue::from_str(&serde_json::to_string(event)?)));
        let request = Request::new_with_init("http://conversion/", &init)?; // the address means nothing, but has to be one
        let stub = self.env.durable_object("CONVERSIONS")?.get_by_name(&id.to_string())?;
        stub.fetch_with_request(request).await?.json().await
    }
}
