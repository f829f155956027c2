//! What the Durable Object of a content is told, and what it replies, as HTTP: a path and a body, a status and a body. What a
//! tiler reports, and what it gets, passes through the Worker unread.

use edgezoom_content::conversion::{Event, Reply};
use edgezoom_content::{ContentId, SourceUrl};
use http::StatusCode;

/// What is said to an object from outside.
#[derive(Clone, Copy, Debug)]
pub enum Said<'a> {
    /// Somebody asks for the content by its id: 200 with the content, or 404.
    Asked,
    /// Somebody asks for the content by its URL: 200 with the content; 409 when the id belongs to another URL.
    Created(&'a SourceUrl),
    /// A tiler wants the job: 200 with the claim, 404 or 409.
    Claim,
    /// A tiler reports, as JSON: 204, 400, 404 or 409.
    Report(&'a str),
    /// The operator wants it tried anew: 200 with the content, or 404.
    Reset,
}

impl<'a> Said<'a> {
    /// The path and the body that say so.
    #[must_use]
    pub fn write(self) -> (&'static str, &'a str) {
        match self {
            Self::Asked => ("/asked", ""),
            Self::Created(url) => ("/created", url.as_str()),
            Self::Claim => ("/claim", ""),
            Self::Report(report) => ("/report", report),
            Self::Reset => ("/reset", ""),
        }
    }
}

/// Reads what is said to the object of a content.
///
/// # Errors
/// It is not understood, and why; for who said it.
pub fn read(id: ContentId, path: &str, body: &str) -> Result<Event, String> {
    match path {
        "/asked" => Ok(Event::Asked),
        "/created" => match SourceUrl::parse(body) {
            Ok(url) => Ok(Event::Created { id, url }),
            Err(error) => Err(error.to_string()),
        },
        "/claim" => Ok(Event::Claim),
        "/report" => match serde_json::from_str(body) {
            Ok(report) => Ok(Event::Reported(report)),
            Err(error) => Err(format!("Not a report: {error}")),
        },
        "/reset" => Ok(Event::Reset),
        _ => Err("Nobody says that.".to_owned()),
    }
}

/// Writes a reply.
///
/// # Errors
/// None that can happen: all that is replied can be printed.
pub fn reply(reply: &Reply) -> Result<(StatusCode, String), serde_json::Error> {
    Ok(match reply {
        Reply::Shown(content) => (StatusCode::OK, serde_json::to_string(content)?),
        Reply::Granted(claim) => (StatusCode::OK, serde_json::to_string(claim)?),
        Reply::Accepted => (StatusCode::NO_CONTENT, String::new()),
        Reply::Unknown => (StatusCode::NOT_FOUND, "There is no such conversion.".to_owned()),
        Reply::Refused => (StatusCode::CONFLICT, "Somebody else has it, or it is finished.".to_owned()),
        Reply::Taken => (StatusCode::CONFLICT, "The id belongs to another URL.".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use edgezoom_content::Attempt;
    use edgezoom_content::protocol::{Outcome, Report};

    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let id: ContentId = "6qy4OXfXSid".parse().unwrap();
        let url = SourceUrl::parse("http://example.com/a b?c=\"d").unwrap();
        let report = Report { attempt: Attempt::FIRST, outcome: Outcome::HandedBack };
        let json = serde_json::to_string(&report).unwrap();
        for (said, event) in [
            (Said::Asked, Event::Asked),
            (Said::Created(&url), Event::Created { id, url: url.clone() }),
            (Said::Claim, Event::Claim),
            (Said::Report(&json), Event::Reported(report)),
            (Said::Reset, Event::Reset),
        ] {
            let (path, body) = said.write();
            assert_eq!(read(id, path, body), Ok(event));
        }
        for (path, body) in [("/report", "{}"), ("/report", ""), ("/created", "no url"), ("/", "")] {
            assert!(read(id, path, body).is_err(), "{path} {body}");
        }
    }
}
