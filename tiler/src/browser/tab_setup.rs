//! Prepares a new tab: window size, user agent, refusal of downloads, the login to the proxy, and the interception of
//! responses.

use std::time::Instant;

use serde_json::json;
use tokio::net::UnixStream;

use super::error::PageError;
use super::limits::PageLimits;
use super::proxy;
use super::tab::Tab;
use crate::bot::UserAgent;

/// Opens a tab whose window and scale are those of `limits`, and which is logged in to the proxy.
pub(super) async fn open(
    socket: UnixStream,
    limits: &PageLimits,
    service: &UserAgent,
    password: &str,
) -> Result<Tab, PageError> {
    let mut tab = Tab::attach(socket, limits, password).await?;
    let version = tab.browser_command("Browser.getVersion", json!({})).await?;
    tab.browser_command("Browser.setDownloadBehavior", json!({ "behavior": "deny" })).await?;

    for domain in ["Page.enable", "Network.enable", "Inspector.enable"] {
        tab.command(domain, json!({})).await?;
    }
    let metrics = json!({
        "width": limits.width, "height": limits.window, "deviceScaleFactor": limits.scale, "mobile": false,
    });
    tab.command("Emulation.setDeviceMetricsOverride", metrics).await?;
    let user_agent = user_agent(version["userAgent"].as_str().unwrap_or_default(), service);
    tab.command("Emulation.setUserAgentOverride", json!({ "userAgent": user_agent })).await?;
    let media = json!({ "features": [{ "name": "prefers-reduced-motion", "value": "reduce" }] });
    tab.command("Emulation.setEmulatedMedia", media).await?;

    log_in(&mut tab, limits).await?;
    // From now on, responses for frames are paused until `PageState` has looked at them.
    let documents = json!({ "patterns": [{ "resourceType": "Document", "requestStage": "Response" }] });
    tab.command("Fetch.enable", documents).await?;
    Ok(tab)
}

/// Navigates to the proxy's login page, so the browser learns the password before the page makes its first request.
async fn log_in(tab: &mut Tab, limits: &PageLimits) -> Result<(), PageError> {
    tab.command("Fetch.enable", json!({ "handleAuthRequests": true })).await?;
    tab.command("Page.navigate", json!({ "url": format!("http://{}/", proxy::LOGIN_HOST) })).await?;
    tab.command("Fetch.disable", json!({})).await?;
    tab.wait_until(Instant::now() + limits.command, |state, _| state.document.loaded).await
}

/// The browser's user agent without "Headless", which many sites refuse, and with the name of this service.
fn user_agent(browser: &str, service: &UserAgent) -> String {
    format!("{} {service}", browser.replace("HeadlessChrome", "Chrome"))
}
