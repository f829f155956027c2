//! The Chromium that renders the reference pictures.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use edgezoom_test_support::Picture;
use edgezoom_test_support::files::decode;
use edgezoom_test_support::reference::Judge;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Returns the Chromium of `EDGEZOOM_CHROMIUM`, or the first in the usual places.
pub fn executable() -> &'static Path {
    static FOUND: LazyLock<PathBuf> = LazyLock::new(|| {
        let browsers =
            ["/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium/chromium", "/usr/bin/chromium"];
        let set = std::env::var_os("EDGEZOOM_CHROMIUM").map(PathBuf::from);
        set.or_else(|| browsers.into_iter().map(PathBuf::from).find(|browser| browser.exists())).unwrap()
    });
    &FOUND
}

/// Returns its name and version.
pub fn version() -> String {
    let output = Command::new(executable()).arg("--version").output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Chromium as a printer of PDFs. They are committed because each version prints in another way.
pub const PRINTED: Judge = Judge { set: "printed", version };

/// Returns a manual of several pages, with chapters, tables and links, as Chromium prints it.
pub fn manual() -> Vec<u8> {
    PRINTED.file("manual.pdf", || {
        let words = "the tide rises in most harbours twice a day and falls again while boats wait outside for high \
            water because its height differs by metres from spring to neap as tables of their ports have shown";
        let words: Vec<&str> = words.split_whitespace().collect();
        let prose = |from: usize, count: usize| -> String {
            let word = |place: usize| words[(from * 7 + place * (3 + from % 5) + place * place / 11) % words.len()];
            (0..count).map(|place| format!("{}{}", word(place), if place % 13 == 12 { ". " } else { " " })).collect()
        };
        let chapter = |number: usize| {
            format!(
                "<h1>Chapter {number}</h1><p style='text-align:justify'>{}</p><h2>Ports {number}</h2>\
                 <p style='font-family:sans-serif'>{} <b>{}</b> <i>{}</i></p><pre>let height = {number}.5;\n    height / 2</pre>\
                 <table border><tr><th>Port<th>High<tr><td>{}<td>{number}.25</table><ol><li>{}<li>{}</ol>",
                prose(number, 150),
                prose(number + 20, 80),
                prose(number + 40, 9),
                prose(number + 60, 9),
                prose(number + 80, 3),
                prose(number + 100, 20),
                prose(number + 120, 12),
            )
        };
        let links = "<p><a href='https://example.com/a'>one link</a> and <a href='https://example.com/b'>another</a></p>";
        print(&format!("<html lang=en>{links}{}", (1..=12).map(chapter).collect::<String>()))
    })
}

/// Prints HTML as a PDF, which Chromium tags.
pub fn print(html: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (page, file) = (folder.path().join("page.html"), folder.path().join("page.pdf"));
    std::fs::write(&page, format!("<!doctype html><meta charset=\"utf-8\">{html}")).unwrap();
    let mut command = Command::new(executable());
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-pdf-header-footer",
        "--generate-pdf-document-outline",
    ]);
    command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
    command.arg(format!("--print-to-pdf={}", file.display()));
    assert!(command.arg(format!("file://{}", page.display())).output().unwrap().status.success());
    std::fs::read(file).unwrap()
}

/// Flags for screenshots.
const FLAGS: [&str; 7] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-lcd-text",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
];

/// Takes a screenshot with Chromium's command line.
pub fn screenshot(url: &str, width: u32, height: u32) -> Picture {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.png");
    let mut command = Command::new(executable());
    command.args(FLAGS).arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
    command.arg(format!("--screenshot={}", file.display())).arg(format!("--window-size={width},{height}"));
    assert!(command.arg(url).output().unwrap().status.success());
    opaque(&std::fs::read(file).unwrap())
}

fn opaque(png: &[u8]) -> Picture {
    let whole = decode(png).unwrap();
    Picture::without_opacity(whole.width, whole.height, whole.layout.channels(), &whole.pixels)
}

/// A Chromium that is driven over the pipe of the DevTools protocol, without any of the tiler's code.
pub struct Driven {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
    _profile: TempDir,
}

/// A window, in CSS pixels.
#[derive(Clone, Copy)]
pub struct Window {
    pub width: u32,
    pub height: u32,
    /// Device pixels per CSS pixel.
    pub scale: u32,
    /// True for the browser of a phone.
    pub mobile: bool,
}

impl Driven {
    pub fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        // The protocol has the descriptors 3 and 4.
        command.args(["-c", r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#, "sh"]).arg(executable());
        command.args(FLAGS).arg("--remote-debugging-pipe");
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, last: 0, _profile: profile }
    }

    /// Opens a page and takes a screenshot of the part that a script returns as a clip, in CSS pixels.
    pub fn screenshot(&mut self, url: &str, window: Window, script: &str) -> Picture {
        self.shown(url, window, script).0
    }

    /// Returns also all that the script returns: `x`, `y`, `width` and `height` of the clip, and more.
    pub fn shown(&mut self, url: &str, window: Window, script: &str) -> (Picture, Value) {
        let target = self.command(None, "Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.command(None, "Target.attachToTarget", attach)["sessionId"].clone();
        let mut tab = |method: &str, params| self.command(Some(&session), method, params);
        let Window { width, height, scale, mobile } = window;
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": scale, "mobile": mobile });
        tab("Emulation.setDeviceMetricsOverride", metrics);
        tab("Emulation.setTouchEmulationEnabled", json!({ "enabled": mobile }));
        tab("Page.navigate", json!({ "url": url }));
        let call = json!({ "expression": script, "awaitPromise": true, "returnByValue": true });
        let shown = tab("Runtime.evaluate", call)["result"]["value"].take();
        assert!(shown.is_object(), "{url}");
        let (x, y, width, height) = (&shown["x"], &shown["y"], &shown["width"], &shown["height"]);
        let clip = json!({ "x": x, "y": y, "width": width, "height": height, "scale": 1 });
        let asked = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let png = tab("Page.captureScreenshot", asked)["data"].take();
        self.command(None, "Target.closeTarget", target);
        (opaque(&BASE64_STANDARD.decode(png.as_str().unwrap()).unwrap()), shown)
    }

    fn command(&mut self, session: Option<&Value>, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut sent = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = session {
            sent["sessionId"] = session.clone();
        }
        self.input.write_all(format!("{sent}\0").as_bytes()).unwrap();
        loop {
            let mut message = Vec::new();
            self.output.read_until(0, &mut message).unwrap();
            assert_eq!(message.pop(), Some(0), "Chromium has ended");
            let mut message: Value = serde_json::from_slice(&message).unwrap();
            if message["id"] == self.last {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].take();
            }
        }
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
