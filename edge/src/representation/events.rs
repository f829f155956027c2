//! `/v1/content/<id>/events`: a content's progress as server-sent events
//! (<https://html.spec.whatwg.org/multipage/server-sent-events.html>). Each event is the content object as JSON. The
//! last one, ready or failed, has the id `finished`. When the stream has ended, a browser reconnects with that id in
//! `Last-Event-ID`; 204 stops it. The stream of a content that waits ends after one event, whose `retry` says when to
//! reconnect.

use std::time::Duration;

use edgezoom_content::{Content, Stage, Status, Timestamp};
use http::StatusCode;

use crate::config::Addresses;
use crate::representation::content_json;
use crate::response::{CachePolicy, Response};

/// The media type of a stream of events.
pub const MEDIA_TYPE: &str = "text/event-stream; charset=utf-8";

/// A comment that keeps an idle connection open.
pub const HEARTBEAT: &str = ":\n\n";

/// The id of the last event.
const FINISHED: &str = "finished";

/// Least and most time after which the client of a waiting content reconnects.
const RECONNECT: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(60)];

/// Returns the event of a content.
pub fn event(content: &Content, addresses: &Addresses, now: Timestamp) -> String {
    let [least, most] = RECONNECT;
    let id = if content.is_finished() { format!("id: {FINISHED}\n") } else { String::new() };
    let retry = match &content.status {
        Status::Processing { stage: Stage::Queued | Stage::Waiting, next, .. } => {
            let due = next.as_ref().map_or(least, |next| (next.until - now).clamp(least, most));
            format!("retry: {}000\n", due.as_secs())
        }
        _ => String::new(),
    };
    format!("{id}data: {}\n{retry}\n", content_json(content, addresses, now)) // JSON has no line ends
}

/// Returns the whole stream of a finished content. `last` is the id of the client's last event.
pub fn finished(content: &Content, last: Option<&str>, addresses: &Addresses, now: Timestamp) -> Response {
    if last == Some(FINISHED) {
        return Response::empty(StatusCode::NO_CONTENT);
    }
    Response::new(StatusCode::OK, MEDIA_TYPE, CachePolicy::NoStore, event(content, addresses, now))
}

/// Returns status and headers of the stream of an unfinished content.
pub fn head() -> Response {
    Response::new(StatusCode::OK, MEDIA_TYPE, CachePolicy::NoStore, String::new())
}

#[cfg(test)]
mod tests {
    use edgezoom_content::{Failure, FailureCode, NextTry, Progress, SourceUrl, Stage, Status};

    use super::*;

    const NOW: Timestamp = Timestamp(0);

    fn failed(message: &str) -> Content {
        let failure = Failure::new(FailureCode::Internal, message);
        content(Status::Failed { failure, retry_at: Timestamp(1000) })
    }

    fn content(status: Status) -> Content {
        let url = SourceUrl::parse("http://example.com/a.jpg").unwrap();
        Content {
            id: "6qy4OXfXSid".parse().unwrap(),
            url,
            alternative: None,
            progress: Progress::NONE,
            status,
        }
    }

    fn addresses() -> Addresses {
        Addresses { base: String::new(), share: String::new(), cache: String::new() }
    }

    #[test]
    fn each_event_is_one_line_of_json() {
        let rendering = event(&content(Status::processing(Stage::Rendering)), &addresses(), NOW);
        assert!(rendering.starts_with("data: {\"id\":"), "{rendering}");
        let failed = event(&failed("a\r\n\r\ndata: b\n\n"), &addresses(), NOW);
        assert!(failed.starts_with("id: finished\ndata: {"), "{failed}");
        assert!(failed.ends_with("}\n\n"));
        assert_eq!(failed.matches('\n').count(), 3);
    }

    #[test]
    fn the_event_of_a_waiting_content_says_when_to_reconnect() {
        let retry = |status| {
            let event = event(&content(status), &addresses(), NOW);
            event.split('\n').nth(1).unwrap_or_default().to_owned()
        };
        let waiting = |until| {
            let reason = Failure::new(FailureCode::SourceUnreachable, "");
            let next = Some(NextTry { until: Timestamp(until), left: 1, reason });
            retry(Status::Processing { stage: Stage::Waiting, coarse: None, next })
        };
        assert_eq!(retry(Status::processing(Stage::Queued)), "retry: 5000");
        assert_eq!(waiting(1000), "retry: 5000");
        assert_eq!(waiting(30_000), "retry: 30000");
        assert_eq!(waiting(1_800_000), "retry: 60000");
    }

    #[test]
    fn a_client_with_the_last_event_gets_204() {
        let status = |last| finished(&failed(""), last, &addresses(), NOW).status;
        assert_eq!(status(None), StatusCode::OK);
        assert_eq!(status(Some("x")), StatusCode::OK);
        assert_eq!(status(Some("finished")), StatusCode::NO_CONTENT);
    }
}
