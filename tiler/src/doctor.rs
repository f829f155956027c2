//! Checks for `tiler doctor`: what protects this machine from sources, and what is installed to convert them. A failed
//! check says what is missing and what to do about it.
//!
//! The sandbox is tested, not looked up: a process enters it and tries operations that it must deny.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use edgezoom_content::FailureCode;
use reqwest::StatusCode;
use rustix::io::{FdFlags, fcntl_setfd};
use url::Url;

use crate::limits::Limits;
use crate::renderer::{Output, RenderError, RenderOptions, Renderer};
use crate::sandbox::{Landlock, probe::Findings};
use crate::{OWN_PROGRAM, browser, http_client};

/// The subject of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The renderer's resource limits and system call filter.
    Sandbox,
    /// Landlock, which denies files to the renderer in addition to the filter.
    Landlock,
    /// A user other than root.
    User,
    /// The browser for web pages.
    Browser,
    /// Namespaces for the browser.
    Namespaces,
    /// The PDF library.
    Pdf,
    /// Fonts for documents and pages without their own.
    Fonts,
    /// The directory for temporary files.
    Temporary,
    /// The Worker.
    Edge,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Subject of the check.
    pub subject: Subject,
    /// What was found, or what is missing.
    pub found: Found,
}

/// What was found, in words for the operator, or what is missing.
pub type Found = Result<String, Missing>;

/// A missing subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub remedy: &'static str,
}

/// Where to look.
#[derive(Clone, Debug)]
pub struct Places {
    /// Browser executable; `None` looks in the usual places.
    pub browser: Option<PathBuf>,
    /// Directory for temporary files.
    pub temporary: PathBuf,
    /// The Worker's URL, if the tiler has one.
    pub edge: Option<Url>,
}

/// Time for the Worker to respond.
const EDGE_TIMEOUT: Duration = Duration::from_secs(10);

impl Subject {
    /// Returns the name to print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sandbox => "renderer: sandbox",
            Self::Landlock => "renderer: Landlock",
            Self::User => "user",
            Self::Browser => "web pages: browser",
            Self::Namespaces => "web pages: namespaces",
            Self::Pdf => "PDF: library",
            Self::Fonts => "fonts",
            Self::Temporary => "temporary files",
            Self::Edge => "edge",
        }
    }
}

/// Runs all checks.
pub async fn examine(places: &Places) -> Vec<Check> {
    let (sandbox, landlock) = sandbox();
    let mut found = vec![
        (Subject::Sandbox, sandbox),
        (Subject::Landlock, landlock),
        (Subject::User, user()),
        (Subject::Browser, find_browser(places.browser.as_deref())),
        (Subject::Namespaces, namespaces()),
        (Subject::Pdf, pdf().await),
        (Subject::Fonts, fonts()),
        (Subject::Temporary, temporary(&places.temporary)),
    ];
    if let Some(address) = &places.edge {
        found.push((Subject::Edge, edge(address).await));
    }
    found.into_iter().map(|(subject, found)| Check { subject, found }).collect()
}

fn missing<T>(what: impl ToString, remedy: &'static str) -> Result<T, Missing> {
    Err(Missing { what: what.to_string(), remedy })
}

fn sandbox() -> (Found, Found) {
    const LANDLOCK: &str = "boot Linux 5.13 or newer with Landlock among its security modules (lsm=landlock,…); without \
        it, only the system call filter denies files";
    const SANDBOX: &str = "run on Linux with seccomp (CONFIG_SECCOMP_FILTER); in a container, use a profile that allows \
        prctl, seccomp and setrlimit";
    match probe() {
        Err(error) => (
            missing(format!("a process cannot enter it: {error}"), SANDBOX),
            missing("not tested, because the sandbox does not work", LANDLOCK),
        ),
        Ok(Findings { landlock, allowed }) => {
            let landlock = match landlock {
                Landlock::Full => Ok("works".to_owned()),
                Landlock::Partial => Ok("works for files; this kernel supports no more".to_owned()),
                Landlock::Missing => missing("the kernel does not support it", LANDLOCK),
            };
            let sandbox = match allowed.as_slice() {
                [] => Ok("works: no files, network, processes or capabilities; memory is limited".to_owned()),
                allowed => missing(allowed.join("; "), SANDBOX),
            };
            (sandbox, landlock)
        }
    }
}

/// Runs a process that enters the sandbox, and leaves a file open in it.
fn probe() -> io::Result<Findings> {
    let left_open = File::open("/")?;
    fcntl_setfd(&left_open, FdFlags::empty())?;
    let output = Command::new(OWN_PROGRAM).arg("sandbox-probe").env_clear().stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(io::Error::other(if reason.is_empty() { output.status.to_string() } else { reason }));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn user() -> Found {
    if is_root() {
        let remedy = "run the tiler as a user of its own that owns only the directory for temporary files";
        return missing("the tiler runs as root", remedy);
    }
    Ok(format!("not root (user id {})", rustix::process::geteuid().as_raw()))
}

fn find_browser(chosen: Option<&Path>) -> Found {
    match browser::find_browser(chosen) {
        Some(browser) => Ok(browser.display().to_string()),
        None => missing(
            "no Chromium is installed",
            "install one (Debian: apt-get install chromium-headless-shell), or set its path in EDGEZOOM_CHROMIUM",
        ),
    }
}

fn namespaces() -> Found {
    let Err(reason) = browser::try_namespaces(Path::new(OWN_PROGRAM)) else {
        let user = if is_root() { "the user nobody" } else { "this user" };
        return Ok(format!(
            "work: pages have no network except the proxy, and see no other processes and no files except programs and \
             fonts; they run as {user}"
        ));
    };
    let then = if is_root() {
        "web pages are refused"
    } else {
        "only Chromium's own sandbox and the proxy confine web pages"
    };
    missing(
        format!("{reason}; {then}"),
        "allow them: sysctl -w kernel.unprivileged_userns_clone=1 (Debian), \
         sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), sysctl -w user.max_user_namespaces=10000, or a \
         container whose profile allows unshare and mount and whose /proc is not covered (Docker: --security-opt \
         seccomp=…, --security-opt systempaths=unconfined)",
    )
}

/// Draws a PDF page as a source.
async fn pdf() -> Found {
    const REMEDY: &str = "copy libpdfium.so to the program's directory (`cargo xtask setup` downloads it to \
        target/pdfium/), or set its path in EDGEZOOM_PDFIUM";
    let place = edgezoom_codecs::locate_pdfium();
    match (draw_pdf().await, place) {
        (Ok(()), Some(place)) => Ok(place.display().to_string()),
        (Err(RenderError::Reported(failure)), _) if failure.code == FailureCode::UnsupportedFormat => {
            missing("the library is not installed, or cannot be loaded", REMEDY)
        }
        (Err(error), _) => missing(format!("cannot draw a page: {error}"), REMEDY),
        (Ok(()), None) => missing("the library is not installed", REMEDY),
    }
}

async fn draw_pdf() -> Result<(), RenderError> {
    const PAGE: &[u8] = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n\
        2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n\
        3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>\n";
    let mut source = tempfile::tempfile().map_err(RenderError::NotStarted)?;
    source.write_all(PAGE).map_err(RenderError::NotStarted)?;
    let mut options = RenderOptions::default();
    options.drawing.page_width = 64;
    let mut renderer = Renderer::start(Path::new(OWN_PROGRAM), source, &options, &Limits::default())?;
    while !matches!(renderer.next().await?, Output::Finished { .. }) {}
    Ok(())
}

fn fonts() -> Found {
    match edgezoom_codecs::installed_fonts() {
        0 => missing(
            "none are installed: documents and pages show all text in one font, and some scripts as boxes",
            "install fonts (Debian: apt-get install fonts-noto-core fonts-noto-cjk fonts-liberation2)",
        ),
        count => Ok(format!("{count} installed")),
    }
}

fn temporary(folder: &Path) -> Found {
    match tempfile::tempfile_in(folder) {
        Ok(_) => Ok(folder.display().to_string()),
        Err(error) => missing(
            format!("cannot create files in {}: {error}", folder.display()),
            "set EDGEZOOM_TMP to a directory that the tiler's user may write to",
        ),
    }
}

/// Asks the Worker whether it is set up. Until it knows its own URL it refuses all requests, because it would have to trust
/// their `Host` header.
async fn edge(address: &Url) -> Found {
    const REMEDY: &str = "set the service's domain in edgezoom.toml, and deploy (cargo xtask deploy)";
    let health = format!("{}/health", address.as_str().trim_end_matches('/'));
    let asked = async {
        let client = http_client::builder().timeout(EDGE_TIMEOUT).build()?;
        let answer = client.get(health).send().await?;
        Ok::<_, reqwest::Error>((answer.status(), answer.text().await?))
    };
    match asked.await {
        Ok((StatusCode::OK, _)) => Ok(format!("{address} responds, and knows its URL")),
        Ok((status, text)) if text.contains("BASE_URL") => missing(format!("{status}: {text}"), REMEDY),
        Ok((status, _)) => {
            missing(format!("{address} responds with {status}"), "read the Worker's log: npx wrangler tail")
        }
        Err(error) => missing(
            format!("{address} does not respond: {}", http_client::causes(&error.without_url())),
            "compare EDGEZOOM_EDGE_URL with the URL that `cargo xtask deploy` has written to .edgezoom/",
        ),
    }
}
