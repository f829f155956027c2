//! Finds contents: finished ones in KV, all others at their Durable Object.

use edgezoom_content::conversion::{Event, Reply};
use edgezoom_content::{Content, ContentId, SourceUrl};
use worker::wasm_bindgen::JsValue;
use worker::{Env, Method, Request, RequestInit, ResponseBody, console_error};

use crate::answer::Refusal;
use crate::config::Addresses;
use crate::finished::{Finished, FinishedError};
use crate::gate::Gate;

/// Why there is no content to be had. [`ContentsError::refusal`] logs what the operator should know, and says what clients get.
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
    /// There is none, and none is created now.
    #[error(transparent)]
    NotAdmitted(#[from] Refusal),
    /// Every id that the URL may have belongs to another URL.
    #[error("all ids of {0} are taken")]
    AllTaken(SourceUrl),
}

impl ContentsError {
    /// What clients are told.
    pub fn refusal(self) -> Refusal {
        match self {
            Self::NotAdmitted(refusal) => refusal,
            fault => {
                console_error!("{fault}");
                Refusal::Unavailable
            }
        }
    }
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

    /// The content of a source, created if there is none and the gate is open. When its id belongs to another source, the
    /// next one is tried.
    pub async fn of_source(&self, url: &SourceUrl, gate: &Gate<'_>) -> Result<Content, ContentsError> {
        for id in ContentId::candidates(url) {
            match self.by_id(id).await? {
                Some(content) if content.url == *url => return Ok(content),
                Some(_) => continue,
                None => gate.admit().await?,
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

    /// The stream of what becomes of a content that is under way; `None` when too many listen already.
    pub async fn stream(
        &self,
        id: ContentId,
        addresses: &Addresses,
    ) -> Result<Option<ResponseBody>, ContentsError> {
        let response = async {
            let stub = self.env.durable_object("CONVERSIONS")?.get_by_name(&id.to_string())?;
            stub.fetch_with_str(&format!("http://conversion/?{}", addresses.to_query())).await
        };
        let response = response.await.map_err(|error| ContentsError::Object(id, error))?;
        Ok((response.status_code() == 200).then(|| response.body().clone()))
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
