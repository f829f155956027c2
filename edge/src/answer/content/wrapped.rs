//! The response object: the wrapped variant's body, for clients that cannot read statuses and headers.

use serde::Serialize;

use super::ContentAnswer;
use super::object::ContentObject;
use crate::config::Addresses;

/// The response object of `service-interface.md`. Exactly one of `content` and `error` is there.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResponseObject<'a> {
    status: u16,
    status_text: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    redirect_location: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<ContentObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl<'a> ResponseObject<'a> {
    pub(super) fn new(answer: &'a ContentAnswer, addresses: &Addresses) -> Self {
        let status = answer.status();
        let mut object = Self {
            status: status.as_u16(),
            status_text: status.canonical_reason().unwrap_or_default(),
            redirect_location: None,
            retry_after: None,
            content: None,
            error: None,
        };
        match answer {
            ContentAnswer::Moved(content) => {
                object.redirect_location = Some(addresses.content(content.id));
                object.content = Some(ContentObject::new(content, addresses));
            }
            ContentAnswer::Found(content) => object.content = Some(ContentObject::new(content, addresses)),
            ContentAnswer::Refused(refusal) => {
                object.retry_after = refusal.retry_after().map(|time| time.as_secs());
                object.error = Some(refusal.to_string());
            }
        }
        object
    }
}
