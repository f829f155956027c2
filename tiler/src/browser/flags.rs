//! Chromium's command-line flags: no traffic past the proxy, no features for users, and the same rendering everywhere.
//!
//! Source: <https://peter.sh/experiments/chromium-command-line-switches/>, generated from Chromium's source.

/// The flags of every browser. The supervisor adds the address of the proxy, the profile and, for root, `--no-sandbox`.
pub(super) const FLAGS: [&str; 34] = [
    "--headless",
    "--remote-debugging-pipe",
    // All traffic goes through the proxy, that to loopback addresses too. The browser resolves no names and sends no
    // UDP.
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    // Chromium knows the first flag, the headless shell the second. Measured with version 156: either sends datagrams
    // with only the other's flag.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--dns-prefetch-disable",
    // No requests of the browser's own, no crash reports, no features for users.
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-features=AutofillServerCommunication,CertificateTransparencyComponentUpdater,DialMediaRouteProvider,InterestFeedContentSuggestions,MediaRouter,OptimizationHints,Translate",
    "--disable-field-trial-config",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--password-store=basic",
    // No windows that a page opens, no permissions, no sound.
    "--block-new-web-contents",
    "--deny-permission-prompts",
    "--mute-audio",
    // The same rendering on every machine. Subpixel anti-aliasing has coloured fringes that show when zoomed in.
    "--disable-gpu",
    "--disable-lcd-text",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--lang=en-US",
];
