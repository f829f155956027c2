//! Finds contents: finished ones in KV, all others at their Durable Object.

use edgezoom_content::{ContentId, SourceUrl};
use worker::{Env, ResponseBody, console_error};

use crate::admission::check::Gate;
use crate::config::Addresses;
use crate::content::cached_content::{NoRecord, Record};
use crate::content::kv_cache::{Finished, FinishedError};
use crate::content::lookup::Known;
use crate::durable::messages::Said;
use crate::platform::bridge;
use crate::response::Refusal;

/// Why there is no content to be had. [`ContentsError::refusal`] logs what the operator should know, and says what clients get.
#[derive(Debug, thiserror::Error)]
pub enum ContentsError {
    /// KV.
    #[error(transparent)]
    Finished(#[from] FinishedError),
    /// What KV has of a content says nothing to this version of the Worker.
    #[error(transparent)]
    Record(#[from] NoRecord),
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
    read: Read,
}

/// The content whose record was looked for in KV already, and what was found.
pub type Read = Option<(ContentId, Option<Record>)>;

impl<'a> Contents<'a> {
    /// Those that the Worker is bound to.
    pub fn of(env: &'a Env, read: Read) -> Self {
        Self { env, read }
    }

    /// The content of a source, created if there is none and the gate is open. When its id belongs to another source, the
    /// next one is tried.
    pub async fn of_source(&self, url: &SourceUrl, gate: &Gate<'_>) -> Result<Known, ContentsError> {
        for id in ContentId::candidates(url) {
            match self.by_id(id).await? {
                Some(known) if known.is_of(url) => return Ok(known),
                Some(_) => continue,
                None => gate.admit().await?,
            }
            match self.tell(id, Said::Created(url)).await? {
                (200, content) => return told(id, &content),
                (409, _) => {}
                _ => return Err(ContentsError::Reply(id)),
            }
        }
        Err(ContentsError::AllTaken(url.clone()))
    }

    /// The content with an id, if there is one.
    pub async fn by_id(&self, id: ContentId) -> Result<Option<Known>, ContentsError> {
        let record = match &self.read {
            Some((read, record)) if *read == id => record.clone(),
            _ => Finished::of(self.env)?.find(id).await?,
        };
        if let Some(record) = record {
            return Ok(Some(Known::Kept(record)));
        }
        match self.tell(id, Said::Asked).await? {
            (200, content) => told(id, &content).map(Some),
            (404, _) => Ok(None),
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

    /// Tells the object of a content something, and gives the status and the body of its reply.
    pub async fn tell(&self, id: ContentId, said: Said<'_>) -> Result<(u16, String), ContentsError> {
        self.ask_object(id, said).await.map_err(|error| ContentsError::Object(id, error))
    }

    async fn ask_object(&self, id: ContentId, said: Said<'_>) -> worker::Result<(u16, String)> {
        let (path, body) = said.write();
        bridge::tell_object(self.env, "CONVERSIONS", &id.to_string(), path, body).await
    }
}

fn told(id: ContentId, content: &str) -> Result<Known, ContentsError> {
    serde_json::from_str(content).map(Known::Told).map_err(|_| ContentsError::Reply(id))
}
