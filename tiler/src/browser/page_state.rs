//! The state of a page, updated from the events of the DevTools protocol: the document in its main frame, its network
//! activity and its clock, what it paints, and whether it has crashed. Some events require a command, which [`PageState::observe`] returns. This
//! module reads no clock and sends nothing.

use std::collections::HashSet;
use std::time::Duration;

use edgezoom_content::SourceUrl;
use serde_json::{Value, json};

use super::cdp::Event;
use super::clock::Clock;
use super::document::{Document, DocumentRequests};
use super::fair_clock::FairInstant;
use super::html::Html;
use super::interception::PausedResponse;
use super::network_idle::NetworkActivity;
use super::proxy;
use super::stillness::Usual;
use crate::credentials::Credentials;

/// The state of a page.
#[derive(Debug)]
pub(super) struct PageState {
    main_frame: String,
    /// Password of the proxy.
    password: String,
    /// The navigation that the next response for the main frame belongs to.
    navigation: Navigation,
    /// The picture or document that the page navigates to by itself.
    pub leads_to: Option<SourceUrl>,
    /// Number of documents that the main frame has shown.
    pub document_count: u32,
    /// The document in the main frame.
    pub document: Document,
    /// True if the tab has crashed.
    pub crashed: bool,
    pub network: NetworkActivity,
    /// Number of times that something in the window was painted.
    pub paintings: u64,
    /// The page's actions in a frame while its window is at rest.
    pub usual: Usual,
    pub clock: Clock,
    /// True if the document has started a worker or opened a WebSocket.
    pub has_helpers: bool,
    /// True once the page has had its time to navigate: it stays at its document.
    pub is_final: bool,
    /// Number of navigations of the page to the URL that it has already.
    reloads: u32,
    /// The navigation of the main frame that the page has begun by itself: the id of its request, and when it was sent.
    leaving: Option<(String, FairInstant)>,
    requests: DocumentRequests,
    /// Headers and cookies for the page's origin, until its tab shows another one.
    pub credentials: Option<Credentials>,
    /// Ids of the requests that had them.
    with_credentials: HashSet<String>,
}

/// A navigation of the main frame.
#[derive(Debug)]
enum Navigation {
    /// To the proxy's login page.
    Login,
    /// To the source, with its HTML if that was downloaded before.
    Source(Option<Html>),
    /// By the page itself.
    ByPage,
}

/// A command that an event requires.
#[derive(Debug, PartialEq)]
pub(super) struct Command {
    /// True for a command to the page's session, false for one to the browser itself.
    pub to_page: bool,
    pub method: &'static str,
    pub params: Value,
}

impl PageState {
    /// `requests` is the number of requests and redirects that the page gets.
    pub(super) fn new(main_frame: String, password: String, requests: u32, now: FairInstant) -> Self {
        Self {
            main_frame,
            password,
            navigation: Navigation::Login,
            leads_to: None,
            document_count: 0,
            document: Document::default(),
            crashed: false,
            network: NetworkActivity::new(requests, now),
            paintings: 0,
            usual: Usual::default(),
            clock: Clock::default(),
            has_helpers: false,
            is_final: false,
            reloads: 0,
            leaving: None,
            requests: DocumentRequests::default(),
            credentials: None,
            with_credentials: HashSet::new(),
        }
    }

    /// Expects the next navigation to be to the source. `html` is the source's HTML if it was downloaded before.
    pub(super) fn expect_source(&mut self, html: Option<Html>) {
        self.navigation = Navigation::Source(html);
    }

    /// Updates the state with an event, and returns the command that the event requires.
    pub(super) fn observe(&mut self, event: &Event, now: FairInstant) -> Option<Command> {
        let params = &event.params;
        let text = |key: &str| params[key].as_str().unwrap_or_default();
        match event.method.as_str() {
            "Page.frameNavigated" => self.navigated(&params["frame"]),
            "Page.domContentEventFired" => self.document.parsed = true,
            "Page.loadEventFired" => self.document.loaded = true,
            "Page.frameStoppedLoading" if text("frameId") == self.main_frame && self.document_count > 0 => {
                self.stopped();
            }
            "Network.requestWillBeSent" => {
                if text("type") == "Document" && text("frameId") == self.main_frame {
                    self.leaving = Some((text("requestId").to_owned(), now));
                }
                if self.network.sent(text("requestId"), text("type"), now) {
                    let params = json!({ "offline": true, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
                    return Some(Command::to_page("Network.emulateNetworkConditions", params));
                }
            }
            "Network.webSocketCreated" => self.has_helpers = true,
            "Target.attachedToTarget" => self.has_helpers |= params["targetInfo"]["type"] == "worker",
            "Network.responseReceived" if text("type") == "Document" => {
                self.requests.received(text("requestId"), &params["response"]);
            }
            "Network.loadingFinished" => self.network.ended(text("requestId"), now),
            "Network.loadingFailed" => {
                if text("type") == "Document" {
                    self.document_failed(text("requestId"), text("errorText"), params["canceled"] == true);
                }
                self.network.ended(text("requestId"), now);
                self.leaving.take_if(|(request, _)| *request == text("requestId"));
            }
            "Inspector.targetCrashed" => self.crashed = true,
            "Emulation.virtualTimeBudgetExpired" => self.clock.expired(),
            "Page.screencastFrame" => {
                self.paintings += 1;
                let params = json!({ "sessionId": params["sessionId"] });
                return Some(Command::to_page("Page.screencastFrameAck", params));
            }
            "Page.javascriptDialogOpening" => {
                return Some(Command::to_page("Page.handleJavaScriptDialog", json!({ "accept": false })));
            }
            "Fetch.requestPaused" => return self.paused(params),
            "Fetch.authRequired" => return Some(self.authenticate(params)),
            "Target.targetCreated" => return self.close_popup(&params["targetInfo"]),
            _ => {}
        }
        None
    }

    fn navigated(&mut self, frame: &Value) {
        if frame["id"] != self.main_frame {
            return;
        }
        let unreachable = frame["unreachableUrl"].as_str();
        let loader = frame["loaderId"].as_str().unwrap_or_default();
        let mut result = self.requests.take(loader);
        result.error = unreachable.map(|_| result.error.unwrap_or_default());
        self.document_count += 1;
        self.leaving.take_if(|(request, _)| request == loader);
        (self.usual, self.has_helpers) = (Usual::default(), false);
        if matches!(self.navigation, Navigation::Source(_)) {
            self.navigation = Navigation::ByPage;
        }
        self.document = Document {
            url: unreachable.or(frame["url"].as_str()).unwrap_or_default().to_owned(),
            result,
            loader: loader.to_owned(),
            ..Document::default()
        };
    }

    /// Records that the main frame has stopped loading. A page that navigates to a download or to another program's
    /// scheme while it is parsed is never parsed to its end: the browser shows what was there by then.
    fn stopped(&mut self) {
        if !self.document.truncated && !self.is_final {
            (self.document.parsed, self.document.loaded) = (true, true);
        }
    }

    /// Returns true while the page is leaving for another document, whose server has not responded. Such a page
    /// answers no command.
    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    /// Returns true once if the page has been leaving for `timeout`.
    pub(super) fn gives_up_leaving(&mut self, timeout: Duration, now: FairInstant) -> bool {
        let is_page = matches!(self.navigation, Navigation::ByPage);
        let overdue = |(_, sent): &mut (String, FairInstant)| is_page && now.since(*sent) >= timeout;
        self.leaving.take_if(overdue).is_some()
    }

    /// Returns true for a navigation of the page that is not followed: any after it has had its time to navigate, and
    /// a second one to the URL that it has already, because pages that refresh themselves never end.
    fn stays(&mut self, params: &Value) -> bool {
        let is_main = params["frameId"] == self.main_frame && params["resourceType"] == "Document";
        if !is_main || !matches!(self.navigation, Navigation::ByPage) {
            return false;
        }
        self.reloads += u32::from(!is_request(params) && params["request"]["url"] == self.document.url);
        self.is_final || self.reloads > 1
    }

    /// Returns the headers of a paused request with the credentials, if it may have them: it is for their origin, by the
    /// document in the main frame, and no other origin has led to it. They are forgotten as soon as the main frame leaves
    /// that origin: no other site may choose what is requested with them.
    fn headers_with_credentials(&mut self, params: &Value) -> Option<Value> {
        let (id, url) = (params["requestId"].as_str()?, params["request"]["url"].as_str()?);
        let is_main = params["frameId"] == self.main_frame;
        let is_own = self.credentials.as_ref()?.cover(url);
        if !is_own && is_main && params["resourceType"] == "Document" {
            self.credentials = None;
        }
        let before = params["redirectedRequestId"].as_str();
        let is_led = before.is_some_and(|before| !self.with_credentials.contains(before));
        let credentials =
            self.credentials.as_ref().filter(|_| is_own && is_main && !is_led && is_request(params))?;
        self.with_credentials.insert(id.to_owned());
        let sent = params["request"]["headers"].as_object()?;
        let cookie = sent.iter().find(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        let added = credentials.headers(cookie.and_then(|(_, value)| value.as_str()));
        let is_added = |name: &str| added.iter().any(|(added, _)| added.eq_ignore_ascii_case(name));
        let kept = sent.iter().filter(|(name, _)| !is_added(name));
        let kept = kept.map(|(name, value)| json!({ "name": name, "value": value }));
        let added = added.iter().map(|(name, value)| json!({ "name": name, "value": value }));
        Some(kept.chain(added).collect())
    }

    /// Handles a paused request or response. It continues, unless the page navigates to a picture or document: that
    /// response stays paused until the browser is closed.
    fn paused(&mut self, params: &Value) -> Option<Command> {
        let headers = self.headers_with_credentials(params);
        if self.stays(params) {
            let params = json!({ "requestId": params["requestId"], "errorReason": "Aborted" });
            return Some(Command::to_page("Fetch.failRequest", params));
        }
        let response =
            PausedResponse::new(params).filter(|response| response.is_document_of(&self.main_frame));
        match (response, &self.navigation) {
            (Some(response), Navigation::Source(Some(html))) if replaces(html, &response) => {
                return Some(Command::to_page("Fetch.fulfillRequest", response.fulfill_with(html)));
            }
            (Some(response), Navigation::ByPage) => self.leads_to = response.source_url(),
            _ => {}
        }
        let mut params = json!({ "requestId": params["requestId"] });
        if let Some(headers) = headers {
            params["headers"] = headers;
        }
        self.leads_to.is_none().then(|| Command::to_page("Fetch.continueRequest", params))
    }

    /// Handles the failure of a request for a document. If the main frame already shows the document, it is truncated,
    /// unless the next navigation cancelled the request.
    fn document_failed(&mut self, request: &str, error: &str, canceled: bool) {
        if request == self.document.loader {
            self.document.truncated |= !canceled;
        } else {
            self.requests.failed(request, error);
        }
    }

    /// Sends the password to the proxy only, never to a server.
    fn authenticate(&self, params: &Value) -> Command {
        let response = if params["authChallenge"]["source"] == "Proxy" {
            json!({ "response": "ProvideCredentials", "username": proxy::USERNAME, "password": self.password })
        } else {
            json!({ "response": "CancelAuth" })
        };
        let params = json!({ "requestId": params["requestId"], "authChallengeResponse": response });
        Command::to_page("Fetch.continueWithAuth", params)
    }

    /// Closes a page that the page has opened.
    fn close_popup(&self, target: &Value) -> Option<Command> {
        let has_opener = target["type"] == "page" && target["openerId"].is_string();
        let target = &target["targetId"];
        (has_opener && *target != self.main_frame).then(|| Command {
            to_page: false,
            method: "Target.closeTarget",
            params: json!({ "targetId": target }),
        })
    }
}

/// Returns true if the downloaded HTML replaces a response, because the browser would not show it as a page.
fn replaces(html: &Html, response: &PausedResponse<'_>) -> bool {
    let is_shown = response.is_declared_page() && html.is_as_declared;
    !is_shown && !html.bytes.is_empty()
}

/// Returns true for a request that is paused before it is sent.
fn is_request(params: &Value) -> bool {
    params["responseStatusCode"].is_null() && params["responseErrorReason"].is_null()
}

impl Command {
    fn to_page(method: &'static str, params: Value) -> Self {
        Self { to_page: true, method, params }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::{Access, Fields};

    fn event(method: &str, params: Value) -> Event {
        Event { method: method.to_owned(), params }
    }

    fn page(now: FairInstant) -> PageState {
        PageState::new("main".to_owned(), "secret".to_owned(), 9, now)
    }

    #[test]
    fn only_the_main_frames_document_counts() {
        let now = FairInstant::default();
        let mut page = page(now);
        let frame =
            |id: &str, loader: &str| json!({ "frame": { "id": id, "loaderId": loader, "url": "http://a/" } });
        page.observe(&event("Page.frameNavigated", frame("child", "1")), now);
        assert_eq!(page.document_count, 0);
        page.observe(&event("Page.frameNavigated", frame("main", "2")), now);
        assert_eq!((page.document_count, page.document.url.as_str()), (1, "http://a/"));
        let failed =
            |loader: &str, canceled| json!({ "requestId": loader, "type": "Document", "canceled": canceled });
        for (loader, canceled, truncated) in [("1", false, false), ("2", true, false), ("2", false, true)] {
            page.observe(&event("Network.loadingFailed", failed(loader, canceled)), now);
            assert_eq!(page.document.truncated, truncated, "{loader} {canceled}");
        }
    }

    #[test]
    fn a_page_leads_to_a_picture_only_by_its_own_navigation() {
        let now = FairInstant::default();
        let mut page = page(now);
        let frame = json!({ "frame": { "id": "main", "loaderId": "1", "url": "http://a.example/" } });
        let picture = json!({
            "requestId": "1", "frameId": "main", "resourceType": "Document", "responseStatusCode": 200,
            "responseHeaders": [{ "name": "Content-Type", "value": "image/png" }],
            "request": { "url": "http://a.example/b.png", "method": "GET" },
        });
        let observe = |page: &mut PageState, method: &str, params: &Value| {
            page.observe(&event(method, params.clone()), now).map(|command| command.method)
        };
        page.expect_source(None);
        assert_eq!(observe(&mut page, "Fetch.requestPaused", &picture), Some("Fetch.continueRequest"));
        let html = Html { bytes: b"<p>".to_vec(), charset: None, is_as_declared: true };
        page.expect_source(Some(html.clone()));
        assert_eq!(observe(&mut page, "Fetch.requestPaused", &picture), Some("Fetch.fulfillRequest"));
        let mut declared = picture.clone();
        declared["responseHeaders"][0]["value"] = json!("text/html");
        assert_eq!(observe(&mut page, "Fetch.requestPaused", &declared), Some("Fetch.continueRequest"));
        page.expect_source(Some(Html { is_as_declared: false, ..html }));
        assert_eq!(observe(&mut page, "Fetch.requestPaused", &declared), Some("Fetch.fulfillRequest"));
        assert!(page.leads_to.is_none());
        observe(&mut page, "Page.frameNavigated", &frame);
        assert_eq!(observe(&mut page, "Fetch.requestPaused", &picture), None, "it stays paused");
        assert_eq!(page.leads_to.unwrap().as_str(), "http://a.example/b.png");
    }

    /// Returns a page at `http://a/`, whose next navigations are its own.
    fn shown(now: FairInstant) -> PageState {
        let mut page = page(now);
        page.expect_source(None);
        let frame = json!({ "frame": { "id": "main", "loaderId": "1", "url": "http://a/" } });
        page.observe(&event("Page.frameNavigated", frame), now);
        page
    }

    fn request(id: &str) -> Event {
        event("Network.requestWillBeSent", json!({ "requestId": id, "type": "Document", "frameId": "main" }))
    }

    #[test]
    fn a_page_that_leads_to_a_download_has_loaded() {
        let now = FairInstant::default();
        let stopped = event("Page.frameStoppedLoading", json!({ "frameId": "main" }));
        let mut page = page(now);
        page.observe(&stopped, now);
        assert!(!page.document.loaded, "the empty tab is no document");
        let mut page = shown(now);
        page.observe(&request("2"), now);
        assert!(page.is_leaving());
        let failed = json!({ "requestId": "2", "type": "Document", "errorText": "net::ERR_ABORTED", "canceled": true });
        page.observe(&event("Network.loadingFailed", failed), now);
        page.observe(&stopped, now);
        assert!(!page.is_leaving() && page.document.parsed && page.document.loaded);
        let mut page = shown(now);
        page.document.truncated = true;
        page.observe(&stopped, now);
        assert!(!page.document.parsed);
    }

    #[test]
    fn a_page_gives_up_a_navigation_without_a_response_once() {
        let (now, timeout) = (FairInstant::default(), Duration::from_secs(9));
        let mut page = shown(now);
        page.observe(&request("2"), now);
        let later = now + timeout;
        assert!(!page.gives_up_leaving(timeout, now + (timeout - Duration::from_millis(1))));
        assert!(page.gives_up_leaving(timeout, later) && !page.gives_up_leaving(timeout, later));
        page.observe(&request("3"), now);
        let frame = json!({ "frame": { "id": "main", "loaderId": "3", "url": "http://b/" } });
        page.observe(&event("Page.frameNavigated", frame), now);
        assert!(!page.gives_up_leaving(timeout, later), "it has arrived");
        page.expect_source(None);
        page.observe(&request("4"), now);
        assert!(!page.gives_up_leaving(timeout, later), "the source itself");
    }

    #[test]
    fn a_page_reloads_once_and_navigates_only_while_it_has_time() {
        let now = FairInstant::default();
        let paused = |url: &str| {
            let request = json!({ "url": url, "method": "GET" });
            let frame = json!({
                "requestId": "1", "frameId": "main", "resourceType": "Document", "request": request, "responseStatusCode": 200,
            });
            event("Fetch.requestPaused", frame)
        };
        let method = |page: &mut PageState, url: &str| page.observe(&paused(url), now).unwrap().method;
        let mut page = shown(now);
        for expected in ["Fetch.continueRequest", "Fetch.failRequest"] {
            assert_eq!(method(&mut page, "http://a/"), expected);
        }
        let mut page = shown(now);
        assert_eq!(method(&mut page, "http://b/"), "Fetch.continueRequest");
        page.is_final = true;
        assert_eq!(method(&mut page, "http://b/"), "Fetch.failRequest");
    }

    #[test]
    fn credentials_go_to_their_origin_until_the_page_leaves_it() {
        let (now, mut fields) = (FairInstant::default(), Fields::default());
        fields.add_header("X-Key: secret").unwrap();
        fields.add_cookie("a=1").unwrap();
        let access = Access { key: None, fields };
        let mut page = page(now);
        page.credentials = access.to(&SourceUrl::parse("http://a.example/").unwrap()).unwrap();
        page.expect_source(None);
        let mut ask = |id: &str, frame: &str, kind: &str, url: &str, before: Option<&str>| {
            let request =
                json!({ "url": url, "method": "GET", "headers": { "Accept": "b", "Cookie": "c=2" } });
            let mut paused =
                json!({ "requestId": id, "frameId": frame, "resourceType": kind, "request": request });
            if let Some(before) = before {
                paused["redirectedRequestId"] = json!(before);
            }
            let command = page.observe(&event("Fetch.requestPaused", paused), now).unwrap();
            assert_eq!((command.method, &command.params["requestId"]), ("Fetch.continueRequest", &json!(id)));
            command.params["headers"].as_array().map(|headers| json!(headers).to_string())
        };
        let sent = ask("1", "main", "Document", "http://a.example/", None).unwrap();
        assert!(["secret", r#""a=1; c=2""#, "Accept"].iter().all(|part| sent.contains(part)), "{sent}");
        assert!(ask("2", "main", "Image", "http://a.example/b.png", None).is_some());
        assert!(ask("3", "main", "Image", "http://a.example/c.png", Some("2")).is_some(), "its own redirect");
        for (frame, kind, url, before) in [
            ("main", "Image", "http://a.example/d.png", Some("9")),
            ("main", "Image", "http://a.example:81/", None),
            ("main", "Script", "http://b.example/", None),
            ("child", "Document", "http://a.example/", None),
            ("child", "Image", "http://a.example/", None),
        ] {
            assert_eq!(ask("4", frame, kind, url, before), None, "{frame} {kind} {url}");
        }
        assert!(ask("5", "main", "Image", "http://a.example/b.png", None).is_some());
        assert_eq!(ask("6", "main", "Document", "http://b.example/", None), None);
        assert_eq!(
            ask("7", "main", "Document", "http://a.example/", None),
            None,
            "another site has led to it"
        );
        assert_eq!(ask("8", "main", "Image", "http://a.example/b.png", None), None);
    }

    #[test]
    fn only_the_proxy_gets_the_password() {
        let now = FairInstant::default();
        for (source, sent) in [("Proxy", true), ("Server", false)] {
            let challenge = json!({ "requestId": "1", "authChallenge": { "source": source } });
            let command = page(now).observe(&event("Fetch.authRequired", challenge), now).unwrap();
            assert_eq!(command.params.to_string().contains("secret"), sent, "{source}");
        }
    }
}
