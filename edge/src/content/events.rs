//! `/v1/content/<id>/events`: a content as it changes, as server-sent events
//! (<https://html.spec.whatwg.org/multipage/server-sent-events.html>). Each event is the content object as JSON. The last one,
//! ready or failed, has the id `finished`: a browser that lost the connection after it says so when it comes back, and gets the
//! status that lets it rest.

use edgezoom_content::Content;
use http::StatusCode;

use super::representation::content_json;
use crate::config::Addresses;
use crate::response::{Answer, Keep};

/// The media type of a stream of events.
pub const MEDIA_TYPE: &str = "text/event-stream; charset=utf-8";

/// What says that the connection lives: a comment.
pub const HEARTBEAT: &str = ":\n\n";

/// The id of the last event.
const FINISHED: &str = "finished";

/// The event that tells a content.
#[must_use]
pub fn event(content: &Content, addresses: &Addresses) -> String {
    let id = if content.is_finished() { format!("id: {FINISHED}\n") } else { String::new() };
    format!("{id}data: {}\n\n", content_json(content, addresses)) // JSON has no line ends
}

/// The whole stream of a content that is finished; `last` is the id of the last event that the client has seen.
#[must_use]
pub fn finished(content: &Content, last: Option<&str>, addresses: &Addresses) -> Answer {
    if last == Some(FINISHED) {
        return Answer::empty(StatusCode::NO_CONTENT);
    }
    Answer::new(StatusCode::OK, MEDIA_TYPE, Keep::Never, event(content, addresses))
}

/// The head of the stream of a content that is not finished.
#[must_use]
pub fn begun() -> Answer {
    Answer::new(StatusCode::OK, MEDIA_TYPE, Keep::Never, String::new())
}

#[cfg(test)]
mod tests {
    use edgezoom_content::{Failure, FailureCode, Progress, SourceUrl, Stage, Status};

    use super::*;

    fn content(status: Status) -> Content {
        let url = SourceUrl::parse("http://example.com/a.jpg").unwrap();
        Content { id: "6qy4OXfXSid".parse().unwrap(), url, progress: Progress::NONE, status }
    }

    fn addresses() -> Addresses {
        Addresses { base: String::new(), share: String::new(), cache: String::new() }
    }

    #[test]
    fn each_event_is_one_line_of_json() {
        let queued = event(&content(Status::Processing { stage: Stage::Queued }), &addresses());
        assert!(queued.starts_with("data: {\"id\":"), "{queued}");
        let failure = Failure::new(FailureCode::Internal, "a\r\n\r\ndata: b\n\n");
        let failed = event(&content(Status::Failed { failure }), &addresses());
        assert!(failed.starts_with("id: finished\ndata: {"), "{failed}");
        assert!(failed.ends_with("}\n\n"));
        assert_eq!(failed.matches('\n').count(), 3);
    }

    #[test]
    fn who_has_seen_the_end_is_told_to_rest() {
        let failed = content(Status::Failed { failure: Failure::new(FailureCode::Internal, "") });
        assert_eq!(finished(&failed, None, &addresses()).status, StatusCode::OK);
        assert_eq!(finished(&failed, Some("x"), &addresses()).status, StatusCode::OK);
        assert_eq!(finished(&failed, Some("finished"), &addresses()).status, StatusCode::NO_CONTENT);
    }
}
