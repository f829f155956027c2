//! What is known of a page from the browser's events, as plain state: which document it shows, whether that has loaded,
//! what is on its way, and whether it still lives. Also says what some events call for. Reads no clock and sends nothing.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use edgezoom_content::SourceUrl;
use serde_json::{Value, json};

use super::cdp::Event;
use super::html_sniffing::Html;
use super::interception::Paused;
use super::proxy;

/// What is known of a page.
#[derive(Debug)]
pub(super) struct Watch {
    main_frame: String,
    /// What the proxy asks for.
    password: String,
    /// What the next answer to the main frame is.
    coming: Coming,
    /// Where the picture or document is that the page goes on to.
    pub lead: Option<SourceUrl>,
    /// How many documents the main frame has shown.
    pub documents: u32,
    /// The document that the main frame shows.
    pub document: Document,
    /// Whether the tab has crashed.
    pub crashed: bool,
    /// What is on its way, since when, by request.
    pending: HashMap<String, Instant>,
    /// When the network was last busy.
    busy: Instant,
    answers: Answers,
}

/// What an answer to the main frame is.
#[derive(Debug)]
enum Coming {
    /// The proxy's door.
    Door,
    /// The source, which is HTML if something was downloaded.
    Source(Option<Html>),
    /// What the page goes on to by itself.
    Another,
}

/// A document in the main frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    /// Its URL; for an error page of the browser's, the URL that could not be had.
    pub url: String,
    /// Its HTML is here.
    pub parsed: bool,
    /// It and what it names is here.
    pub loaded: bool,
    /// It was cut off in the middle, and nothing more of it comes.
    pub broken: bool,
    /// The name of its request.
    pub loader: String,
    /// The browser shows an error page instead, for this reason.
    pub error: Option<String>,
    /// The status and media type that the server answered with.
    pub answer: Option<(u16, String)>,
}

/// What became of requests for documents, by request, until the main frame shows one.
#[derive(Debug, Default)]
struct Answers(HashMap<String, Answer>);

#[derive(Debug, Default)]
struct Answer {
    /// Status and media type.
    response: Option<(u16, String)>,
    error: Option<String>,
}

/// A command that an event calls for.
#[derive(Debug, PartialEq)]
pub(super) struct Reaction {
    /// For the page's session rather than the browser itself.
    pub to_page: bool,
    pub method: &'static str,
    pub params: Value,
}

/// Requests and documents that are kept track of. A page that makes more at once is not at rest anyway.
const TRACKED: usize = 10_000;

impl Watch {
    pub(super) fn new(main_frame: String, password: String, now: Instant) -> Self {
        Self {
            main_frame,
            password,
            coming: Coming::Door,
            lead: None,
            documents: 0,
            document: Document::default(),
            crashed: false,
            pending: HashMap::new(),
            busy: now,
            answers: Answers::default(),
        }
    }

    /// Expects the source from now on, and what was downloaded of it, if that is known to be a page.
    pub(super) fn expect(&mut self, html: Option<Html>) {
        self.coming = Coming::Source(html);
    }

    /// Takes an event in.
    pub(super) fn observe(&mut self, event: &Event, now: Instant) -> Option<Reaction> {
        let params = &event.params;
        let text = |key: &str| params[key].as_str().unwrap_or_default();
        match event.method.as_str() {
            "Page.frameNavigated" => self.navigated(&params["frame"]),
            "Page.domContentEventFired" => self.document.parsed = true,
            "Page.loadEventFired" => self.document.loaded = true,
            "Network.requestWillBeSent" => self.requested(text("requestId"), text("type"), now),
            "Network.responseReceived" if text("type") == "Document" => {
                self.answers.answered(text("requestId"), &params["response"]);
            }
            "Network.loadingFinished" => self.ended(text("requestId"), now),
            "Network.loadingFailed" => {
                if text("type") == "Document" {
                    self.document_failed(text("requestId"), text("errorText"), params["canceled"] == true);
                }
                self.ended(text("requestId"), now);
            }
            "Inspector.targetCrashed" => self.crashed = true,
            "Page.javascriptDialogOpening" => {
                return Some(Reaction::to_page("Page.handleJavaScriptDialog", json!({ "accept": false })));
            }
            "Fetch.requestPaused" => return self.answered(params),
            "Fetch.authRequired" => return Some(self.log_in(params)),
            "Target.targetCreated" => return self.uninvited(&params["targetInfo"]),
            _ => {}
        }
        None
    }

    /// Whether nothing has been on its way for as long as `quiet`. What takes longer than `patience` does not count.
    pub(super) fn is_quiet(&mut self, quiet: Duration, patience: Duration, now: Instant) -> bool {
        self.pending.retain(|_, since| now.saturating_duration_since(*since) < patience);
        if !self.pending.is_empty() {
            self.busy = now;
        }
        now.saturating_duration_since(self.busy) >= quiet
    }

    fn navigated(&mut self, frame: &Value) {
        if frame["id"] != self.main_frame {
            return;
        }
        let unreachable = frame["unreachableUrl"].as_str();
        let loader = frame["loaderId"].as_str().unwrap_or_default();
        let came = self.answers.take(loader);
        self.documents += 1;
        if matches!(self.coming, Coming::Source(_)) {
            self.coming = Coming::Another;
        }
        self.document = Document {
            url: unreachable.or(frame["url"].as_str()).unwrap_or_default().to_owned(),
            error: unreachable.map(|_| came.error.unwrap_or_default()),
            answer: came.response,
            loader: loader.to_owned(),
            ..Document::default()
        };
    }

    /// An answer that waits for our leave, or a request. One that leads to no page waits for ever.
    fn answered(&mut self, params: &Value) -> Option<Reaction> {
        let answer = Paused::of(params).filter(|answer| answer.is_document_of(&self.main_frame));
        match (answer, &self.coming) {
            (Some(answer), Coming::Source(Some(html)))
                if !answer.is_called_page() && !html.bytes.is_empty() =>
            {
                return Some(Reaction::to_page("Fetch.fulfillRequest", answer.replaced(html)));
            }
            (Some(answer), Coming::Another) => self.lead = answer.lead(),
            _ => {}
        }
        let leave = json!({ "requestId": params["requestId"] });
        self.lead.is_none().then(|| Reaction::to_page("Fetch.continueRequest", leave))
    }

    /// A request for a document failed: one that the main frame shows already is cut off, unless something else comes in
    /// its place.
    fn document_failed(&mut self, request: &str, error: &str, canceled: bool) {
        if request == self.document.loader {
            self.document.broken |= !canceled;
        } else {
            self.answers.failed(request, error);
        }
    }

    /// A request. Streams that stay open and pictures in the URL itself are not waited for.
    fn requested(&mut self, request: &str, kind: &str, now: Instant) {
        let endless = matches!(kind, "EventSource" | "WebSocket" | "Media" | "Ping" | "Preflight");
        if !endless && self.pending.len() < TRACKED {
            self.pending.insert(request.to_owned(), now);
            self.busy = now;
        }
    }

    fn ended(&mut self, request: &str, now: Instant) {
        if self.pending.remove(request).is_some() {
            self.busy = now;
        }
    }

    /// Gives the password to the proxy, and to nobody else.
    fn log_in(&self, params: &Value) -> Reaction {
        let response = if params["authChallenge"]["source"] == "Proxy" {
            json!({ "response": "ProvideCredentials", "username": proxy::USER, "password": self.password })
        } else {
            json!({ "response": "CancelAuth" })
        };
        let answer = json!({ "requestId": params["requestId"], "authChallengeResponse": response });
        Reaction::to_page("Fetch.continueWithAuth", answer)
    }

    /// Any page but ours was opened by ours, and is closed.
    fn uninvited(&self, target: &Value) -> Option<Reaction> {
        let opened = target["type"] == "page" && target["openerId"].is_string();
        let target = &target["targetId"];
        (opened && *target != self.main_frame).then(|| Reaction {
            to_page: false,
            method: "Target.closeTarget",
            params: json!({ "targetId": target }),
        })
    }
}

impl Reaction {
    fn to_page(method: &'static str, params: Value) -> Self {
        Self { to_page: true, method, params }
    }
}

impl Answers {
    fn answered(&mut self, request: &str, response: &Value) {
        let status = response["status"].as_u64().and_then(|status| status.try_into().ok()).unwrap_or(0);
        let kind = response["mimeType"].as_str().unwrap_or_default().to_ascii_lowercase();
        self.entry(request).response = Some((status, kind));
    }

    fn failed(&mut self, request: &str, error: &str) {
        self.entry(request).error = Some(error.to_owned());
    }

    fn entry(&mut self, request: &str) -> &mut Answer {
        if self.0.len() >= TRACKED {
            self.0.clear();
        }
        self.0.entry(request.to_owned()).or_default()
    }

    /// A document's request has the number of its loader.
    fn take(&mut self, loader: &str) -> Answer {
        self.0.remove(loader).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Duration = Duration::from_millis(500);
    const PATIENCE: Duration = Duration::from_secs(8);

    fn event(method: &str, params: Value) -> Event {
        Event { method: method.to_owned(), params }
    }

    fn watch(now: Instant) -> Watch {
        Watch::new("main".to_owned(), "secret".to_owned(), now)
    }

    #[test]
    fn what_is_on_its_way_keeps_a_page_from_rest_until_patience_ends() {
        let begun = Instant::now();
        let at = |ms| begun + Duration::from_millis(ms);
        let mut watch = watch(begun);
        assert!(!watch.is_quiet(QUIET, PATIENCE, at(499)) && watch.is_quiet(QUIET, PATIENCE, at(500)));
        for request in ["a", "b"] {
            let sent = json!({ "requestId": request, "type": "Image" });
            watch.observe(&event("Network.requestWillBeSent", sent), at(500));
        }
        watch.observe(&event("Network.loadingFinished", json!({ "requestId": "a" })), at(600));
        assert!(!watch.is_quiet(QUIET, PATIENCE, at(5000)));
        assert!(!watch.is_quiet(QUIET, PATIENCE, at(8400)));
        assert!(!watch.is_quiet(QUIET, PATIENCE, at(8600)), "forgotten, but a moment ago it was on its way");
        assert!(watch.is_quiet(QUIET, PATIENCE, at(8900)), "a request that never ends is forgotten");
    }

    #[test]
    fn streams_that_stay_open_are_not_waited_for() {
        let begun = Instant::now();
        let mut watch = watch(begun);
        let sent = json!({ "requestId": "a", "type": "EventSource" });
        watch.observe(&event("Network.requestWillBeSent", sent), begun);
        assert!(watch.is_quiet(QUIET, PATIENCE, begun + QUIET));
    }

    #[test]
    fn only_the_main_frames_document_counts() {
        let now = Instant::now();
        let mut watch = watch(now);
        let frame =
            |id: &str, loader: &str| json!({ "frame": { "id": id, "loaderId": loader, "url": "http://a/" } });
        watch.observe(&event("Page.frameNavigated", frame("child", "1")), now);
        assert_eq!(watch.documents, 0);
        watch.observe(&event("Page.frameNavigated", frame("main", "2")), now);
        assert_eq!((watch.documents, watch.document.url.as_str()), (1, "http://a/"));
        let failed =
            |loader: &str, canceled| json!({ "requestId": loader, "type": "Document", "canceled": canceled });
        for (loader, canceled, broken) in [("1", false, false), ("2", true, false), ("2", false, true)] {
            watch.observe(&event("Network.loadingFailed", failed(loader, canceled)), now);
            assert_eq!(watch.document.broken, broken, "{loader} {canceled}");
        }
    }

    #[test]
    fn only_what_the_page_goes_on_to_by_itself_is_a_lead() {
        let now = Instant::now();
        let mut watch = watch(now);
        let frame = json!({ "frame": { "id": "main", "loaderId": "1", "url": "http://a.example/" } });
        let picture = json!({
            "requestId": "1", "frameId": "main", "resourceType": "Document", "responseStatusCode": 200,
            "responseHeaders": [{ "name": "Content-Type", "value": "image/png" }],
            "request": { "url": "http://a.example/b.png", "method": "GET" },
        });
        let observe = |watch: &mut Watch, method: &str, params: &Value| {
            watch.observe(&event(method, params.clone()), now).map(|reaction| reaction.method)
        };
        watch.expect(None);
        assert_eq!(observe(&mut watch, "Fetch.requestPaused", &picture), Some("Fetch.continueRequest"));
        let html = Html { bytes: b"<p>".to_vec(), charset: None };
        watch.expect(Some(html));
        assert_eq!(observe(&mut watch, "Fetch.requestPaused", &picture), Some("Fetch.fulfillRequest"));
        assert!(watch.lead.is_none());
        observe(&mut watch, "Page.frameNavigated", &frame);
        assert_eq!(observe(&mut watch, "Fetch.requestPaused", &picture), None, "it waits");
        assert_eq!(watch.lead.unwrap().as_str(), "http://a.example/b.png");
    }

    #[test]
    fn the_password_is_for_the_proxy_only() {
        let now = Instant::now();
        for (source, given) in [("Proxy", true), ("Server", false)] {
            let asked = json!({ "requestId": "1", "authChallenge": { "source": source } });
            let reaction = watch(now).observe(&event("Fetch.authRequired", asked), now).unwrap();
            assert_eq!(reaction.params.to_string().contains("secret"), given, "{source}");
        }
    }
}
