//! The one tab of a browser: commands and their answers, with the [`Watch`] kept up to date and its reactions sent on the
//! way. Every wait has an end; a crash of the page ends any of them, and so does a page that leads to something else.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::time::{timeout, timeout_at};

use super::cdp::{Cdp, Gone, Message};
use super::error::PageError;
use super::limits::PageLimits;
use super::page_state::Watch;
use super::proxy;

/// A tab that is attached to.
pub(super) struct Tab {
    cdp: Cdp,
    session: String,
    main_frame: String,
    limits: PageLimits,
    pub watch: Watch,
}

/// How often a page at work is looked at while nothing is heard of it.
const GLANCE: Duration = Duration::from_millis(50);

impl Tab {
    /// Opens a tab that is as wide and sharp as `limits` say, refuses downloads, and is logged in to the proxy.
    pub(super) async fn open(
        protocol: UnixStream,
        limits: &PageLimits,
        password: &str,
        user_agent: impl FnOnce(&str) -> String,
    ) -> Result<Self, PageError> {
        let mut tab = Self {
            cdp: Cdp::new(protocol),
            session: String::new(),
            main_frame: String::new(),
            limits: limits.clone(),
            watch: Watch::new(String::new(), String::new(), Instant::now()),
        };
        let version = tab.ask_browser("Browser.getVersion", json!({})).await?;
        tab.ask_browser("Browser.setDownloadBehavior", json!({ "behavior": "deny" })).await?;
        tab.ask_browser("Target.setDiscoverTargets", json!({ "discover": true })).await?;
        let target = tab.ask_browser("Target.createTarget", json!({ "url": "about:blank" })).await?;
        let target = &target["targetId"];
        let attach = json!({ "targetId": target, "flatten": true });
        let attached = tab.ask_browser("Target.attachToTarget", attach).await?;
        tab.session = text(&attached["sessionId"])?;
        tab.main_frame = text(target)?; // a page's target and its main frame have one name
        tab.watch = Watch::new(tab.main_frame.clone(), password.to_owned(), Instant::now());

        for domain in ["Page.enable", "Network.enable", "Inspector.enable"] {
            tab.ask(domain, json!({})).await?;
        }
        let window = json!({
            "width": limits.width, "height": limits.window, "deviceScaleFactor": limits.scale, "mobile": false,
        });
        tab.ask("Emulation.setDeviceMetricsOverride", window).await?;
        let user_agent = user_agent(version["userAgent"].as_str().unwrap_or_default());
        tab.ask("Emulation.setUserAgentOverride", json!({ "userAgent": user_agent })).await?;
        let still = json!({ "features": [{ "name": "prefers-reduced-motion", "value": "reduce" }] });
        tab.ask("Emulation.setEmulatedMedia", still).await?;

        tab.ask("Fetch.enable", json!({ "handleAuthRequests": true })).await?;
        tab.ask("Page.navigate", json!({ "url": format!("http://{}/", proxy::DOOR) })).await?;
        tab.ask("Fetch.disable", json!({})).await?;
        tab.until(Instant::now() + limits.answer, |watch, _| watch.document.loaded).await?;
        // From now on, answers to frames wait until we have seen what they are.
        let answers = json!({ "patterns": [{ "resourceType": "Document", "requestStage": "Response" }] });
        tab.ask("Fetch.enable", answers).await?;
        Ok(tab)
    }

    /// A command to the page, which it must answer in the time that answers may take.
    pub(super) async fn ask(&mut self, method: &str, params: Value) -> Result<Value, PageError> {
        self.ask_until(method, params, Instant::now() + self.limits.answer).await
    }

    /// A command to the page, which it must answer before `end`.
    pub(super) async fn ask_until(
        &mut self,
        method: &str,
        params: Value,
        end: Instant,
    ) -> Result<Value, PageError> {
        let session = Some(self.session.clone());
        timeout_at(end.into(), self.exchange(session, method, params))
            .await
            .unwrap_or(Err(PageError::NeverLoaded(self.limits.settle)))
    }

    /// Runs a function of ours in a world of its own in the page, where nothing is what the page made of it, and gives
    /// what it resolves to.
    pub(super) async fn run(
        &mut self,
        function: &str,
        argument: Value,
        end: Instant,
    ) -> Result<Value, PageError> {
        let world = json!({ "frameId": self.main_frame, "worldName": "edgezoom" });
        let world = self.ask_until("Page.createIsolatedWorld", world, end).await?;
        let call = json!({
            "functionDeclaration": function,
            "executionContextId": world["executionContextId"],
            "arguments": [{ "value": argument }],
            "awaitPromise": true,
            "returnByValue": true,
        });
        let mut returned = self.ask_until("Runtime.callFunctionOn", call, end).await?;
        if returned["exceptionDetails"].is_object() {
            return Err(PageError::Command("Runtime.callFunctionOn: exception".to_owned()));
        }
        Ok(returned["result"]["value"].take())
    }

    /// Waits until the page has loaded and nothing is on its way, or no more of it comes, or `end` has come.
    pub(super) async fn rest(&mut self, end: Instant) -> Result<(), PageError> {
        let (quiet, patience) = (self.limits.quiet, self.limits.patience);
        self.until(end, |watch, now| {
            let is_quiet = watch.is_quiet(quiet, patience, now);
            watch.document.broken || (watch.document.loaded && is_quiet)
        })
        .await
    }

    /// Waits until the main frame shows another document than the first `documents`, or `end` has come.
    pub(super) async fn arrival(&mut self, documents: u32, end: Instant) -> Result<(), PageError> {
        self.until(end, |watch, _| watch.documents > documents).await
    }

    async fn until(
        &mut self,
        end: Instant,
        mut reached: impl FnMut(&mut Watch, Instant) -> bool,
    ) -> Result<(), PageError> {
        loop {
            let now = Instant::now();
            if now >= end || reached(&mut self.watch, now) {
                return Ok(());
            }
            if let Ok(message) = timeout(GLANCE.min(end - now), self.cdp.next()).await {
                self.take(message.map_err(|Gone| PageError::BrowserGone)?).await?;
            }
        }
    }

    async fn ask_browser(&mut self, method: &str, params: Value) -> Result<Value, PageError> {
        timeout(self.limits.answer, self.exchange(None, method, params))
            .await
            .unwrap_or(Err(PageError::BrowserGone))
    }

    async fn exchange(
        &mut self,
        session: Option<String>,
        method: &str,
        params: Value,
    ) -> Result<Value, PageError> {
        let asked = self.send(session.as_deref(), method, params).await?;
        loop {
            match self.cdp.next().await.map_err(|Gone| PageError::BrowserGone)? {
                Message::Answer(to, answer) if to == asked => {
                    return answer.map_err(|problem| PageError::Command(format!("{method}: {problem}")));
                }
                message => self.take(message).await?,
            }
        }
    }

    /// Takes in what nobody waits for.
    async fn take(&mut self, message: Message) -> Result<(), PageError> {
        let Message::Event(event) = message else { return Ok(()) };
        if let Some(reaction) = self.watch.observe(&event, Instant::now()) {
            let session = reaction.to_page.then(|| self.session.clone());
            self.send(session.as_deref(), reaction.method, reaction.params).await?;
        }
        match &self.watch.lead {
            _ if self.watch.crashed => Err(PageError::Crashed),
            Some(lead) => Err(PageError::LeadsTo(lead.clone())),
            None => Ok(()),
        }
    }

    async fn send(&mut self, session: Option<&str>, method: &str, params: Value) -> Result<u64, PageError> {
        self.cdp.send(session, method, params).await.map_err(|Gone| PageError::BrowserGone)
    }
}

/// A text that the browser must have given.
fn text(value: &Value) -> Result<String, PageError> {
    value.as_str().map(str::to_owned).ok_or_else(|| PageError::Command("an identifier is missing".to_owned()))
}
