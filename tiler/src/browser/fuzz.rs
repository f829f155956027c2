//! Fuzz targets for what a hostile server or page can send: downloads and their media types, messages from the browser,
//! and requests to the proxy. Each function takes any bytes, and panics if an invariant is broken. The tests below run
//! them briefly on mutated inputs; the programs in `tests/fuzz/` run them under libFuzzer.

use std::fs::File;
use std::io::Write;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, Request};
use rustix::fs::{MemfdFlags, memfd_create};

use super::cdp::{self, Message};
use super::fair_clock::FairInstant;
use super::html::{Html, charset};
use super::page_state::PageState;
use super::proxy::local_files::LocalFiles;
use super::proxy::target;

const PASSWORD: &str = "the proxy's";

/// Takes a media type in the first line, then a download that may be a page. Takes both again as the name and content
/// of a tag.
///
/// # Panics
/// The name of an encoding would end its header.
pub fn html(bytes: &[u8]) {
    let (content_type, page) = bytes.split_at(bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0));
    let content_type = String::from_utf8_lossy(content_type);
    let name = charset(&content_type).unwrap_or_default();
    assert!(!name.contains(|c: char| c.is_control() || c.is_whitespace() || c == '"'), "{name:?}");
    let Ok(mut file) = memfd_create("page", MemfdFlags::CLOEXEC).map(File::from) else { return };
    if file.write_all(page).is_ok() {
        let _ = Html::recognise(&mut file, Some(&content_type));
    }
}

/// Takes the browser's messages, with NUL bytes between them.
///
/// # Panics
/// The proxy's password is sent to a server.
pub fn devtools(bytes: &[u8]) {
    let now = FairInstant::default();
    let mut state = PageState::new("main".to_owned(), PASSWORD.to_owned(), u32::MAX, now);
    for (number, frame) in bytes.split(|byte| *byte == 0).take(50).enumerate() {
        if number == 1 {
            state.expect_source(None);
        }
        let Ok(Message::Event(event)) = cdp::parse(&Bytes::copy_from_slice(frame)) else { continue };
        let command = state.observe(&event, now);
        if command.is_some_and(|command| command.params.to_string().contains(PASSWORD)) {
            assert_eq!(event.params["authChallenge"]["source"], "Proxy");
        }
        let _ = state.network.is_idle(Duration::from_millis(500), Duration::from_secs(8), now);
    }
}

/// Takes a request of the browser to the proxy: method and target in the first line, then a path in a served folder.
///
/// # Panics
/// A hidden file is served, or one outside the folder.
pub fn proxy_request(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (line, path) = text.split_once('\n').unwrap_or((&text, ""));
    let (method, uri) = line.split_once(' ').unwrap_or(("GET", line));
    let method = method.parse().unwrap_or(Method::CONNECT);
    if let Ok(request) = Request::builder().method(method).uri(uri).body(()) {
        assert!(target(&request).is_none_or(|(host, _)| !host.contains(['/', '@', ' '])), "{request:?}");
    }
    if let Some((outside, files)) = folder()
        && let Some(file) = files.find(path)
    {
        let within = file.strip_prefix(outside.path().join("site"));
        let within = within.map(|path| path.to_string_lossy().into_owned());
        assert!(
            within.as_ref().is_ok_and(|path| !path.starts_with('.') && !path.contains("/.")),
            "{within:?}"
        );
    }
}

/// Returns a served folder, with hidden files inside and a secret file outside.
fn folder() -> Option<&'static (tempfile::TempDir, LocalFiles)> {
    static FOLDER: OnceLock<Option<(tempfile::TempDir, LocalFiles)>> = OnceLock::new();
    let make = || {
        let outside = tempfile::tempdir().ok()?;
        let site = outside.path().canonicalize().ok()?.join("site");
        std::fs::create_dir_all(site.join(".git")).ok()?;
        for name in ["page.html", "a.css", ".env", ".git/config", "../secret"] {
            std::fs::write(site.join(name), name).ok()?;
        }
        let (files, _) = LocalFiles::beside(&site.join("page.html")).ok()?;
        Some((outside, files))
    };
    FOLDER.get_or_init(make).as_ref()
}

#[cfg(test)]
mod tests {
    use edgezoom_fuzzing::{Target, hunt};

    use super::*;

    #[test]
    fn hostile_input_is_read_or_refused() {
        hunt(&[
            Target {
                name: "html",
                run: html,
                seeds: &[
                    b"text/html; charset=\"utf-8\"\n<!-- a --><?xml?><!DOCTYPE html><html>",
                    b"image/jpeg;;charset=a=b\n\xff\xfe<\0b\0o\0d\0y\0>\0",
                    b"robots\nindex, noai",
                    b"text/plain\n<!-- never ends",
                ],
            },
            Target {
                name: "devtools",
                run: devtools,
                seeds: &[
                    b"{\"method\":\"Page.frameNavigated\",\"params\":{\"frame\":{\"id\":\"main\",\"loaderI\
                        d\":\"1\",\"url\":\"http://a.example/#/b\",\"urlFragment\":\"#/b\",\"mimeType\":\"\
                        text/html\"}}}\0{\"id\":1,\"result\":{}}",
                    b"{}\0{\"method\":\"Fetch.requestPaused\",\"params\":{\"requestId\":\"1\",\"frameId\":\
                        \"main\",\"resourceType\":\"Document\",\"responseStatusCode\":200,\"responseHeader\
                        s\":[{\"name\":\"Content-Disposition\",\"value\":\"attachment; filename=\\\"a.tif\
                        \\\"; size=7\"},{\"name\":\"content-type\",\"value\":\"image/png; q=1\"}],\"reques\
                        t\":{\"url\":\"http://a.example/b\",\"urlFragment\":\"#page=2\",\"method\":\"GET\"\
                        }}}",
                    b"{\"method\":\"Fetch.authRequired\",\"params\":{\"requestId\":\"1\",\"authChallenge\"\
                        :{\"source\":\"Proxy\",\"origin\":\"http://127.0.0.1:1\"}}}",
                    b"{\"method\":\"Network.requestWillBeSent\",\"params\":{\"requestId\":\"1\",\"type\":\
                        \"Document\"}}\0{\"method\":\"Network.responseReceived\",\"params\":{\"requestId\"\
                        :\"1\",\"type\":\"Document\",\"response\":{\"status\":4294967295,\"mimeType\":\"Te\
                        xt/HTML\"}}}\0{\"method\":\"Network.loadingFailed\",\"params\":{\"requestId\":\"1\
                        \",\"type\":\"Document\",\"errorText\":\"net::ERR_ABORTED\",\"canceled\":true}}",
                    b"{\"id\":7,\"error\":{\"code\":-1,\"message\":\"a\"}}",
                ],
            },
            Target {
                name: "proxy_request",
                run: proxy_request,
                seeds: &[
                    b"CONNECT a.example:443\n/../secret",
                    b"GET http://user@[::1]:8080/a?b#c\n/.git/config",
                    b"POST http://a.example\n//etc/passwd",
                    b"GET /a\n/%2e%2e/secret",
                    b"GET *\n/page.html/../.env",
                ],
            },
        ]);
    }
}
