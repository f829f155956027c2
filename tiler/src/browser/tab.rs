//! The tab of a browser: sends commands and waits for their responses, and meanwhile updates the [`PageState`] from the
//! browser's events. Every wait has a deadline. It ends early if the page crashes or navigates to another source.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::cdp::{Connection, ConnectionClosed, Message};
use super::error::PageError;
use super::fair_clock::{FairClock, FairInstant};
use super::limits::PageLimits;
use super::page_state::PageState;
use super::proxy;
use crate::bot::UserAgent;
use crate::credentials::Credentials;

/// An attached tab.
pub(super) struct Tab {
    connection: Connection,
    session: String,
    main_frame: String,
    fair_clock: FairClock,
    /// Time for the response to a command.
    patience: Duration,
    /// End of the time for the page.
    end: FairInstant,
    pub limits: PageLimits,
    pub state: PageState,
}

/// Interval at which a condition is checked while no event arrives.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

impl Tab {
    /// Opens an empty tab with the window and scale of `limits`, and logs it in to the proxy, whose password is
    /// `password`.
    pub(super) async fn open(
        socket: UnixStream,
        fair_clock: FairClock,
        limits: &PageLimits,
        service: &UserAgent,
        password: &str,
    ) -> Result<Self, PageError> {
        let mut tab = Self::attach(socket, fair_clock, limits, password).await?;
        let version = tab.browser_command("Browser.getVersion", json!({})).await?;
        tab.browser_command("Browser.setDownloadBehavior", json!({ "behavior": "deny" })).await?;

        let domains = ["Page", "Network", "Inspector", "Performance"];
        for domain in domains.map(|domain| format!("{domain}.enable")) {
            tab.command(&domain, json!({})).await?;
        }
        tab.set_window(limits, limits.window).await?;
        // Many sites refuse a browser whose user agent contains "Headless".
        let browser = version["userAgent"].as_str().unwrap_or_default().replace("HeadlessChrome", "Chrome");
        let is_phone = limits.capture.is_phone();
        let browser = if is_phone { of_phone(&browser) } else { browser };
        let user_agent = json!({ "userAgent": format!("{browser} {service}") });
        tab.command("Emulation.setUserAgentOverride", user_agent).await?;
        tab.command("Emulation.setTouchEmulationEnabled", json!({ "enabled": is_phone })).await?;
        let mut features = vec![json!({ "name": "prefers-reduced-motion", "value": "reduce" })];
        let scheme = limits.capture.scheme();
        features.extend(scheme.map(|scheme| json!({ "name": "prefers-color-scheme", "value": scheme })));
        let media = json!({ "media": limits.capture.media().unwrap_or_default(), "features": features });
        tab.command("Emulation.setEmulatedMedia", media).await?;

        // Reports when something is painted, as pictures of a few pixels that nobody looks at.
        let tiny = json!({ "format": "jpeg", "quality": 1, "maxWidth": 64, "maxHeight": 64 });
        tab.command("Page.startScreencast", tiny).await?;
        // Reports workers, see `PageState::has_helpers`.
        let attach = json!({ "autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true });
        tab.command("Target.setAutoAttach", attach).await?;

        tab.log_in().await?;
        // From now on, responses for frames are paused until `PageState` has examined them.
        tab.intercept(&["Response"]).await?;
        tab.patience = limits.command;
        Ok(tab)
    }

    /// Keeps the page at its document: it can no longer navigate.
    pub(super) async fn stay(&mut self) -> Result<(), PageError> {
        self.state.is_final = true;
        self.intercept(&["Request", "Response"]).await
    }

    /// Pauses documents at these stages, and requests that may have credentials.
    async fn intercept(&mut self, stages: &[&str]) -> Result<(), PageError> {
        let documents =
            stages.iter().map(|stage| json!({ "resourceType": "Document", "requestStage": stage }));
        let own = self.limits.credentials.as_ref().map(Credentials::pattern);
        let own = own.map(|pattern| json!({ "urlPattern": pattern, "requestStage": "Request" }));
        let patterns: Vec<Value> = documents.chain(own).collect();
        self.command("Fetch.enable", json!({ "patterns": patterns })).await.map(drop)
    }

    async fn attach(
        socket: UnixStream,
        fair_clock: FairClock,
        limits: &PageLimits,
        password: &str,
    ) -> Result<Self, PageError> {
        let mut tab = Self {
            connection: Connection::new(socket),
            session: String::new(),
            main_frame: String::new(),
            fair_clock,
            patience: limits.start,
            end: FairInstant::default() + limits.page,
            limits: limits.clone(),
            state: PageState::new(String::new(), String::new(), limits.requests, FairInstant::default()),
        };
        tab.browser_command("Target.setDiscoverTargets", json!({ "discover": true })).await?;
        let target = tab.browser_command("Target.createTarget", json!({ "url": "about:blank" })).await?;
        let target = &target["targetId"];
        let attach = json!({ "targetId": target, "flatten": true });
        let attached = tab.browser_command("Target.attachToTarget", attach).await?;
        tab.session = string(&attached["sessionId"])?;
        tab.main_frame = string(target)?; // the id of a page's target is also that of its main frame
        tab.state = PageState::new(tab.main_frame.clone(), password.to_owned(), limits.requests, tab.now());
        Ok(tab)
    }

    /// Navigates to the proxy's login page, so that the browser knows the password before the page's first request.
    async fn log_in(&mut self) -> Result<(), PageError> {
        self.command("Fetch.enable", json!({ "handleAuthRequests": true })).await?;
        self.command("Page.navigate", json!({ "url": format!("http://{}/", proxy::LOGIN_HOST) })).await?;
        self.command("Fetch.disable", json!({})).await?;
        let deadline = self.now() + self.patience;
        self.wait_until(deadline, |state, _| state.document.loaded).await
    }

    /// Returns the time on the clock for limits.
    pub(super) fn now(&mut self) -> FairInstant {
        self.fair_clock.now()
    }

    /// Sends a command to the page. The response must arrive within the limit for commands.
    pub(super) async fn command(&mut self, method: &str, params: Value) -> Result<Value, PageError> {
        let deadline = self.now() + self.patience;
        self.command_until(method, params, deadline).await
    }

    /// Sends a command to the page. The response must arrive before `deadline`.
    pub(super) async fn command_until(
        &mut self,
        method: &str,
        params: Value,
        deadline: FairInstant,
    ) -> Result<Value, PageError> {
        let response = self.command_within(method, params, deadline).await?;
        response.ok_or(PageError::NeverLoaded(self.limits.settle))
    }

    /// Sends a command to the page. Returns `None` if the response does not arrive before `deadline`.
    async fn command_within(
        &mut self,
        method: &str,
        params: Value,
        deadline: FairInstant,
    ) -> Result<Option<Value>, PageError> {
        let session = Some(self.session.clone());
        self.send_and_receive(session, method, params, deadline).await
    }

    /// Sends a command to the browser itself.
    async fn browser_command(&mut self, method: &str, params: Value) -> Result<Value, PageError> {
        let deadline = self.now() + self.patience;
        self.send_and_receive(None, method, params, deadline).await?.ok_or(PageError::BrowserGone)
    }

    /// Sends a command to the page, whose response nobody waits for.
    pub(super) async fn post(&mut self, method: &str, params: Value) -> Result<(), PageError> {
        let session = self.session.clone();
        self.send(Some(&session), method, params).await.map(drop)
    }

    /// Calls a JavaScript function that has to return within the limit for commands.
    pub(super) async fn call(&mut self, function: &str, argument: Value) -> Result<Value, PageError> {
        let deadline = self.now() + self.patience;
        self.call_function(function, argument, deadline).await
    }

    /// Returns the id of the page's main frame.
    pub(super) fn main_frame(&self) -> &str {
        &self.main_frame
    }

    /// Sets the height of the window.
    pub(super) async fn set_window(&mut self, limits: &PageLimits, height: u32) -> Result<(), PageError> {
        let metrics = json!({
            "width": limits.width, "height": height, "deviceScaleFactor": limits.scale,
            "mobile": limits.capture.is_phone(),
        });
        self.command("Emulation.setDeviceMetricsOverride", metrics).await.map(drop)
    }

    /// Calls a JavaScript function in the main frame, as [`Tab::call_function_in`] does.
    pub(super) async fn call_function(
        &mut self,
        function: &str,
        argument: Value,
        deadline: FairInstant,
    ) -> Result<Value, PageError> {
        self.call_function_in(&self.main_frame.clone(), function, argument, deadline).await
    }

    /// Calls a JavaScript function in the main frame. Returns `None` if it does not return before `deadline`.
    pub(super) async fn call_within(
        &mut self,
        function: &str,
        argument: Value,
        deadline: FairInstant,
    ) -> Result<Option<Value>, PageError> {
        self.call_in_within(&self.main_frame.clone(), function, argument, deadline).await
    }

    /// Calls a JavaScript function in the isolated world of a frame, and returns the value that it resolves to.
    pub(super) async fn call_function_in(
        &mut self,
        frame: &str,
        function: &str,
        argument: Value,
        deadline: FairInstant,
    ) -> Result<Value, PageError> {
        let returned = self.call_in_within(frame, function, argument, deadline).await?;
        returned.ok_or(PageError::NeverLoaded(self.limits.settle))
    }

    async fn call_in_within(
        &mut self,
        frame: &str,
        function: &str,
        argument: Value,
        deadline: FairInstant,
    ) -> Result<Option<Value>, PageError> {
        let Some(world) = self.world_within(frame, deadline).await? else { return Ok(None) };
        let call = json!({
            "functionDeclaration": function,
            "executionContextId": world,
            "arguments": [{ "value": argument }],
            "awaitPromise": true,
            "returnByValue": true,
        });
        let returned = self.command_within("Runtime.callFunctionOn", call, deadline).await?;
        let Some(mut returned) = returned else { return Ok(None) };
        if returned["exceptionDetails"].is_object() {
            return Err(PageError::Command("Runtime.callFunctionOn: exception".to_owned()));
        }
        Ok(Some(returned["result"]["value"].take()))
    }

    /// Returns the id of a frame's isolated world, in which the page cannot replace built-in objects.
    pub(super) async fn isolated_world(
        &mut self,
        frame: &str,
        deadline: FairInstant,
    ) -> Result<Value, PageError> {
        let world = self.world_within(frame, deadline).await?;
        world.ok_or(PageError::NeverLoaded(self.limits.settle))
    }

    async fn world_within(&mut self, frame: &str, deadline: FairInstant) -> Result<Option<Value>, PageError> {
        let world = json!({ "frameId": frame, "worldName": "edgezoom" });
        let world = self.command_within("Page.createIsolatedWorld", world, deadline).await?;
        Ok(world.map(|mut world| world["executionContextId"].take()))
    }

    /// Waits until the document has loaded, all but requests that may never end, until it is truncated, or until
    /// `deadline`. Keeps a virtual clock at real time: a document that begins while the clock stands still is not even
    /// parsed.
    pub(super) async fn wait_until_loaded(&mut self, deadline: FairInstant) -> Result<(), PageError> {
        let (quiet, timeout) = (self.limits.quiet, self.limits.request);
        let mut is_loaded = false;
        loop {
            self.wait_until(deadline, |PageState { document, network, clock, .. }, now| {
                let is_idle = document.parsed && network.is_idle(quiet, timeout, now);
                is_loaded = document.truncated || document.loaded || is_idle;
                is_loaded || clock.needs_time(Instant::now())
            })
            .await?;
            if is_loaded || self.now() >= deadline {
                return Ok(());
            }
            self.catch_up().await?;
        }
    }

    /// Waits until the main frame has shown more than `count` documents, or until `deadline`.
    pub(super) async fn wait_for_document(
        &mut self,
        count: u32,
        deadline: FairInstant,
    ) -> Result<(), PageError> {
        self.wait_until(deadline, |state, _| state.document_count > count).await
    }

    /// Waits until `condition` holds, or until `deadline`.
    pub(super) async fn wait_until(
        &mut self,
        deadline: FairInstant,
        mut condition: impl FnMut(&mut PageState, FairInstant) -> bool,
    ) -> Result<(), PageError> {
        loop {
            let now = self.now();
            if now >= deadline || condition(&mut self.state, now) {
                return Ok(());
            }
            if let Some(message) = self.receive(CHECK_INTERVAL.min(deadline.since(now))).await? {
                self.handle(message).await?;
            }
        }
    }

    /// Waits for a message, at most for `interval`, until the page has used up its time. Stops the page from leaving for
    /// a document whose server does not respond.
    async fn receive(&mut self, interval: Duration) -> Result<Option<Message>, PageError> {
        let now = self.now();
        if self.state.gives_up_leaving(self.limits.settle / 2, now) {
            self.post("Page.stopLoading", json!({})).await?;
        }
        if now >= self.end {
            return Err(PageError::TookTooLong(self.limits.page));
        }
        match timeout(interval, self.connection.next()).await {
            Ok(message) => message.map(Some).map_err(|ConnectionClosed| PageError::BrowserGone),
            Err(_) => Ok(None),
        }
    }

    async fn send_and_receive(
        &mut self,
        session: Option<String>,
        method: &str,
        params: Value,
        deadline: FairInstant,
    ) -> Result<Option<Value>, PageError> {
        let sent = self.send(session.as_deref(), method, params).await?;
        loop {
            let now = self.now();
            if now >= deadline {
                return Ok(None);
            }
            match self.receive(CHECK_INTERVAL.min(deadline.since(now))).await? {
                Some(Message::Response(id, result)) if id == sent => {
                    let error = |error| PageError::Command(format!("{method}: {error}"));
                    return result.map(Some).map_err(error);
                }
                Some(message) => self.handle(message).await?,
                None => {}
            }
        }
    }

    /// Handles an event. Ignores a response that no command waits for.
    async fn handle(&mut self, message: Message) -> Result<(), PageError> {
        let Message::Event(event) = message else { return Ok(()) };
        let (now, documents) = (self.now(), self.state.document_count);
        let command = self.state.observe(&event, now);
        if self.state.document_count != documents {
            self.state.clock.restart(Instant::now());
        }
        if let Some(command) = command {
            let session = command.to_page.then(|| self.session.clone());
            self.send(session.as_deref(), command.method, command.params).await?;
        }
        match &self.state.leads_to {
            _ if self.state.crashed => Err(PageError::Crashed),
            Some(source) => Err(PageError::LeadsTo(source.clone())),
            None => Ok(()),
        }
    }

    async fn send(&mut self, session: Option<&str>, method: &str, params: Value) -> Result<u64, PageError> {
        self.connection.send(session, method, params).await.map_err(|ConnectionClosed| PageError::BrowserGone)
    }
}

/// Returns the user agent that the same browser has on a phone.
fn of_phone(user_agent: &str) -> String {
    let (before, rest) = user_agent.split_once('(').unwrap_or((user_agent, ""));
    let after = rest.split_once(')').map_or("", |(_, after)| after);
    format!("{before}(Linux; Android 10; K){}", after.replace(" Safari/", " Mobile Safari/"))
}

/// Returns the string that a response must contain.
fn string(value: &Value) -> Result<String, PageError> {
    value.as_str().map(str::to_owned).ok_or_else(|| PageError::Command("an identifier is missing".to_owned()))
}

#[cfg(test)]
mod tests {
    use edgezoom_test_support::patience;
    use futures::{SinkExt, StreamExt};
    use tokio_util::codec::{AnyDelimiterCodec, Framed};

    use super::*;
    use crate::browser::clock::Clock;

    #[test]
    fn a_phone_has_the_user_agent_of_chrome_for_android() {
        let desktop = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
        let phone = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36";
        assert_eq!(of_phone(desktop), phone);
    }

    #[tokio::test]
    async fn a_document_that_begins_while_the_clock_stands_still_is_given_time() {
        let (ours, browsers) = UnixStream::pair().unwrap();
        let now = Instant::now();
        let mut state = PageState::new("main".to_owned(), String::new(), 9, FairInstant::default());
        state.clock = Clock { began: Some(now), ..Clock::default() };
        let mut tab = Tab {
            connection: Connection::new(ours),
            session: String::new(),
            main_frame: "main".to_owned(),
            fair_clock: FairClock::new(std::process::id()),
            patience: patience(),
            end: FairInstant::default() + patience(),
            limits: PageLimits::default(),
            state,
        };
        let browser = async {
            let mut frames = Framed::new(browsers, AnyDelimiterCodec::new(vec![0], vec![0]));
            let command: Value = serde_json::from_slice(&frames.next().await.unwrap().unwrap()).unwrap();
            assert_eq!(command["method"], "Emulation.setVirtualTimePolicy");
            let loaded = json!({ "method": "Page.loadEventFired", "params": {} });
            frames.send(loaded.to_string()).await.unwrap();
        };
        let (loaded, ()) = tokio::join!(tab.wait_until_loaded(FairInstant::default() + patience()), browser);
        loaded.unwrap();
        assert!(tab.state.document.loaded);
    }
}
