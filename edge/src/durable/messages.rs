//! The messages from the Worker to the Durable Object of a content, and the replies, as HTTP: a path and a body, a
//! status and a body. Reports of tilers and their replies pass through the Worker unread.
//!
//! Paths and bodies of existing messages must not change: during a deployment, a Worker of one version may meet an
//! object of the other.

use std::borrow::Cow;

use edgezoom_content::conversion::{Event, Reply};
use edgezoom_content::upload::UploadKeyError;
use edgezoom_content::{
    ContentId, DeletionKeyHash, DeletionKeyHashError, Removal, RemovalKind, SourceUrl, UploadKey,
};
use http::StatusCode;

use crate::admission::policy::AdmissionError;

const CLIENT: &str = "client=";
/// A file from a Worker that knows no deletion keys.
const UPLOADED: &str = "/uploaded/";
const OWNED: &str = "/owned/";
const DELETE: &str = "/delete/";

/// A message to the Durable Object of a content.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// Get the content, and start it again if its retry is due and admitted: 200 with the content, or 404.
    Get {
        /// [Key](crate::admission::client::Client::key) of the client to count.
        client: Option<&'a str>,
    },
    /// Get the content of a URL, and create it if needed and [admitted](crate::admission): 200 with the content; 409 if
    /// the id belongs to another URL; 503 with the name of the [`AdmissionError`].
    Create { url: &'a SourceUrl, client: Option<&'a str> },
    /// Get the content, and start it again if it failed or waits, at most once a minute and if admitted: replies as to
    /// `Create`, or 404.
    Retry { client: Option<&'a str> },
    /// Get the content of an uploaded file, and create it if needed: replies as to `Create`, or 201 if the content belongs
    /// to the client. The object deletes a file that it does not need, unless the job is not admitted.
    Upload {
        url: &'a SourceUrl,
        /// Key of the file in the store.
        upload: UploadKey,
        /// Hash of the client's new deletion key.
        owner: DeletionKeyHash,
        /// Client, which was counted before the upload.
        client: Option<&'a str>,
    },
    /// Delete the content of an uploaded file, with the hash of the deletion key: 204, 403, 404, 410 or 503.
    Delete(DeletionKeyHash),
    /// A tiler claims the job, with a [`ClaimRequest`] as JSON: 200 with the claim, 400, 404 or 409.
    Claim(&'a str),
    /// A tiler reports, as JSON: 204, 400, 404 or 409.
    Report(&'a str),
    /// The operator starts the conversion again: 200 with the content, or 404.
    Reset,
}

impl<'a> Message<'a> {
    pub fn encode(self) -> (Cow<'static, str>, &'a str) {
        match self {
            Self::Get { client } => (of_client("/asked", client), ""),
            Self::Create { url, client } => (of_client("/created", client), url.as_str()),
            Self::Retry { client } => (of_client("/retry", client), ""),
            Self::Upload { url, upload, owner, client } => {
                (of_client(format!("{OWNED}{owner}/{upload}"), client), url.as_str())
            }
            Self::Delete(key) => (format!("{DELETE}{key}").into(), ""),
            Self::Claim(request) => ("/claim".into(), request),
            Self::Report(report) => ("/report".into(), report),
            Self::Reset => ("/reset".into(), ""),
        }
    }
}

/// Adds the client's key to a path. It has no characters that a query has to escape.
fn of_client(path: impl Into<Cow<'static, str>>, client: Option<&str>) -> Cow<'static, str> {
    let path = path.into();
    match client {
        Some(client) => format!("{path}?{CLIENT}{client}").into(),
        None => path,
    }
}

/// Decodes a message to the object of a content.
///
/// # Errors
/// The message is malformed. The text is for its sender.
pub fn decode(id: ContentId, path: &str, body: &str) -> Result<Event, String> {
    match path {
        "/asked" => Ok(Event::Requested),
        "/created" => match SourceUrl::parse(body) {
            Ok(url) => Ok(Event::Created { id, url }),
            Err(error) => Err(error.to_string()),
        },
        "/retry" => Ok(Event::RetryAsked),
        "/claim" => match serde_json::from_str(body) {
            Ok(request) => Ok(Event::Claimed(request)),
            Err(error) => Err(format!("Not a claim: {error}")),
        },
        "/report" => match serde_json::from_str(body) {
            Ok(report) => Ok(Event::Reported(report)),
            Err(error) => Err(format!("Not a report: {error}")),
        },
        "/reset" => Ok(Event::Reset),
        "/removed" => decode_removal(id, body).ok_or_else(|| "Not a removal".to_owned()),
        _ => {
            let rest = |prefix| path.strip_prefix(prefix);
            if let Some(upload) = rest(UPLOADED) {
                decode_upload(id, upload, None, body)
            } else if let Some((owner, upload)) = rest(OWNED).and_then(|rest| rest.split_once('/')) {
                decode_upload(id, upload, Some(decode_hash(owner)?), body)
            } else if let Some(key) = rest(DELETE) {
                Ok(Event::DeletionAsked(decode_hash(key)?))
            } else {
                Err(format!("Unknown message: {path}"))
            }
        }
    }
}

fn decode_hash(text: &str) -> Result<DeletionKeyHash, String> {
    text.parse().map_err(|error: DeletionKeyHashError| error.to_string())
}

/// Decodes a removal from `edge/src/admin/`, with lines for the kind, the id of the action, its author, the URL of a
/// source that may be unknown (or nothing), and the reason. Replies: 204; 404; 409 during a conversion; 410 if the
/// content is taken down; 503: send the message again.
fn decode_removal(id: ContentId, body: &str) -> Option<Event> {
    let mut lines = body.splitn(5, '\n');
    let kind = RemovalKind::from_name(lines.next()?)?;
    let (action, by, url) = (lines.next()?.to_owned(), lines.next()?.to_owned(), lines.next()?);
    let url = match url {
        "" => None,
        url => Some(SourceUrl::try_from(url.to_owned()).ok()?),
    };
    Some(Event::Removed { id, url, removal: Removal::new(kind, lines.next()?, action, by) })
}

fn decode_upload(
    id: ContentId,
    upload: &str,
    owner: Option<DeletionKeyHash>,
    url: &str,
) -> Result<Event, String> {
    let upload = upload.parse().map_err(|error: UploadKeyError| error.to_string())?;
    let url = SourceUrl::try_from(url.to_owned()).map_err(|error| error.to_string())?;
    if url.is_file() {
        Ok(Event::Uploaded { id, url, upload, owner })
    } else {
        Err("Not the URL of an uploaded file.".to_owned())
    }
}

/// Returns the key of the client in the query of a message.
pub fn client(query: &str) -> Option<&str> {
    query.strip_prefix(CLIENT)
}

/// Returns the status and the body of the reply if a content is not admitted.
pub fn encode_admission_error(error: AdmissionError) -> (StatusCode, String) {
    (StatusCode::SERVICE_UNAVAILABLE, error.name().to_owned())
}

/// Returns the status and the body of a reply.
///
/// # Errors
/// Never fails: contents and claims can always be serialized.
pub fn encode_reply(reply: &Reply) -> Result<(StatusCode, String), serde_json::Error> {
    Ok(match reply {
        Reply::Content(content) => (StatusCode::OK, serde_json::to_string(content)?),
        Reply::Owned(content) => (StatusCode::CREATED, serde_json::to_string(content)?),
        Reply::Claim(claim) => (StatusCode::OK, serde_json::to_string(claim)?),
        Reply::Accepted => (StatusCode::NO_CONTENT, String::new()),
        Reply::NotFound => (StatusCode::NOT_FOUND, "There is no such conversion.".to_owned()),
        Reply::Conflict => {
            let why = "The conversion waits or is finished, another attempt has the lease, or the job has to be alone on its tiler.";
            (StatusCode::CONFLICT, why.to_owned())
        }
        Reply::TakenDown(reason) => (StatusCode::GONE, reason.clone()),
        // A takedown has a reason.
        Reply::Deleted => (StatusCode::GONE, String::new()),
        Reply::Forbidden => (StatusCode::FORBIDDEN, "The deletion key is wrong.".to_owned()),
        Reply::NotYet => (StatusCode::SERVICE_UNAVAILABLE, "The content is being removed.".to_owned()),
        Reply::IdTaken => (StatusCode::CONFLICT, "The id belongs to another URL.".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use edgezoom_content::protocol::{ClaimRequest, Outcome, Report, TilerId};
    use edgezoom_content::{Attempt, DeletionKey};

    use super::*;

    #[test]
    fn messages_round_trip_and_malformed_ones_are_refused() {
        let id: ContentId = "6qy4OXfXSid".parse().unwrap();
        let url = SourceUrl::parse("http://example.com/a b?c=\"d").unwrap();
        let file = SourceUrl::of_file("f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk", "a b.jpg").unwrap();
        let upload: UploadKey = "uploads/00112233445566778899aabbccddeeff".parse().unwrap();
        let owner = DeletionKey::new("secret").hash();
        let report = Report { attempt: Attempt::FIRST, outcome: Outcome::HandedBack };
        let json = serde_json::to_string(&report).unwrap();
        let request = ClaimRequest { tiler: TilerId(u32::MAX), alone: false };
        let claim = serde_json::to_string(&request).unwrap();
        for (message, event) in [
            (Message::Get { client: None }, Event::Requested),
            (Message::Get { client: Some("::1") }, Event::Requested),
            (Message::Create { url: &url, client: None }, Event::Created { id, url: url.clone() }),
            (Message::Create { url: &url, client: Some("::1") }, Event::Created { id, url: url.clone() }),
            (Message::Retry { client: None }, Event::RetryAsked),
            (Message::Retry { client: Some("::1") }, Event::RetryAsked),
            (
                Message::Upload { url: &file, upload, owner, client: None },
                Event::Uploaded { id, url: file.clone(), upload, owner: Some(owner) },
            ),
            (
                Message::Upload { url: &file, upload, owner, client: Some("::1") },
                Event::Uploaded { id, url: file.clone(), upload, owner: Some(owner) },
            ),
            (Message::Delete(owner), Event::DeletionAsked(owner)),
            (Message::Claim(&claim), Event::Claimed(request)),
            (Message::Report(&json), Event::Reported(report)),
            (Message::Reset, Event::Reset),
        ] {
            let (path, body) = message.encode();
            let (path, query) = path.split_once('?').unwrap_or((&path, ""));
            assert_eq!(decode(id, path, body), Ok(event));
            assert_eq!(client(query), (!query.is_empty()).then_some("::1"));
        }
        let older = format!("/uploaded/{upload}");
        let expected = Event::Uploaded { id, url: file.clone(), upload, owner: None };
        assert_eq!(decode(id, &older, file.as_str()), Ok(expected), "from an older Worker");
        let removal = "taken-down\n1\noperator\n\na\nb ";
        let expected = Removal::new(RemovalKind::TakenDown, "a b", "1".to_owned(), "operator".to_owned());
        assert_eq!(decode(id, "/removed", removal), Ok(Event::Removed { id, url: None, removal: expected }));
        for (path, body) in [
            ("/removed", "{}"),
            ("/removed", "lost\n1\noperator\n\nwhy"),
            ("/removed", "taken-down\n1\noperator\nno url\nwhy"),
            ("/removed", "taken-down\n1\noperator"),
            ("/uploaded/x", file.as_str()),
            ("/owned/x/uploads/00112233445566778899aabbccddeeff", file.as_str()),
            ("/owned/uploads/00112233445566778899aabbccddeeff", file.as_str()),
            ("/delete/", ""),
            ("/uploaded/uploads/00112233445566778899aabbccddeeff", url.as_str()),
            ("/report", "{}"),
            ("/report", ""),
            ("/claim", "{}"),
            ("/created", "no url"),
            ("/", ""),
        ] {
            assert!(decode(id, path, body).is_err(), "{path} {body}");
        }
    }
}
