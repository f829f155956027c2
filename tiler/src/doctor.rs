//! What protects this machine from sources, and what is installed to convert them. Each check says what it found and, where
//! something is missing, what to do about it. `tiler doctor` prints them.
//!
//! The sandbox is tried out, not looked up: a process enters it and tries what it must deny.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use edgezoom_content::FailureCode;
use reqwest::StatusCode;
use rustix::io::{FdFlags, fcntl_setfd};
use url::Url;

use crate::browser;
use crate::http_client;
use crate::limits::Limits;
use crate::renderer::{Output, RenderError, RenderOptions, Renderer};
use crate::sandbox::{Landlock, probe::Findings};

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The renderer's limits and filter of system calls.
    Sandbox,
    /// Landlock, which denies the renderer files a second time.
    Landlock,
    /// A user other than root.
    User,
    /// The browser for web pages.
    Browser,
    /// Namespaces for the browser.
    Namespaces,
    /// The library for PDF.
    Pdf,
    /// Fonts for what does not bring its own.
    Fonts,
    /// The folder for sources.
    Temporary,
    /// The Worker.
    Edge,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was checked.
    pub subject: Subject,
    /// What was found. `Err`: it is missing, and this is the remedy.
    pub found: Result<String, Missing>,
}

/// What is missing, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub remedy: &'static str,
}

/// What is looked for, and where.
#[derive(Clone, Debug)]
pub struct Places {
    /// The program that enters the sandbox: the tiler.
    pub tiler: PathBuf,
    /// The browser. `None`: the first of the usual ones.
    pub browser: Option<PathBuf>,
    /// The folder for sources.
    pub temporary: PathBuf,
    /// The Worker's address, if the tiler has one.
    pub edge: Option<Url>,
}

/// How long the Worker may take to answer.
const EDGE_TIME: Duration = Duration::from_secs(10);

impl Subject {
    /// Its name, for people.
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

/// Checks everything.
pub async fn examine(places: &Places) -> Vec<Check> {
    let (sandbox, landlock) = sandbox(&places.tiler);
    let mut checks = vec![
        Check { subject: Subject::Sandbox, found: sandbox },
        Check { subject: Subject::Landlock, found: landlock },
        Check { subject: Subject::User, found: user() },
        Check { subject: Subject::Browser, found: find_browser(places.browser.as_deref()) },
        Check { subject: Subject::Namespaces, found: namespaces(&places.tiler) },
        Check { subject: Subject::Pdf, found: pdf(&places.tiler).await },
        Check { subject: Subject::Fonts, found: fonts() },
        Check { subject: Subject::Temporary, found: temporary(&places.temporary) },
    ];
    if let Some(address) = &places.edge {
        checks.push(Check { subject: Subject::Edge, found: edge(address).await });
    }
    checks
}

fn missing<T>(what: impl ToString, remedy: &'static str) -> Result<T, Missing> {
    Err(Missing { what: what.to_string(), remedy })
}

type Found = Result<String, Missing>;

fn sandbox(tiler: &Path) -> (Found, Found) {
    const LANDLOCK: &str = "boot Linux 5.13 or newer with Landlock among its security modules (lsm=landlock,…); without \
        it the filter of system calls alone denies files";
    const SANDBOX: &str = "run on Linux with seccomp (CONFIG_SECCOMP_FILTER), and in a container whose profile allows \
        prctl, seccomp and setrlimit";
    match probe(tiler) {
        Err(error) => {
            (missing(format!("it cannot be entered: {error}"), SANDBOX), missing("not tried", LANDLOCK))
        }
        Ok(Findings { landlock, allowed }) => {
            let landlock = match landlock {
                Landlock::Full => Ok("holds".to_owned()),
                Landlock::Partial => Ok("holds for files; this kernel knows no more of it".to_owned()),
                Landlock::Missing => missing("the kernel does not have it", LANDLOCK),
            };
            let sandbox = match allowed.as_slice() {
                [] => Ok("holds: no files, network, processes, capabilities; memory is limited".to_owned()),
                allowed => missing(allowed.join("; "), SANDBOX),
            };
            (sandbox, landlock)
        }
    }
}

/// Lets a process enter the sandbox with a file left open in it.
fn probe(tiler: &Path) -> io::Result<Findings> {
    let left_open = File::open("/")?;
    fcntl_setfd(&left_open, FdFlags::empty())?;
    let output = Command::new(tiler).arg("sandbox-probe").env_clear().stdin(Stdio::null()).output()?;
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
        let remedy =
            "run the tiler as a user of its own, which owns nothing but the folder for temporary files";
        return missing("the tiler runs as root", remedy);
    }
    Ok(format!("not root ({})", rustix::process::geteuid().as_raw()))
}

fn find_browser(chosen: Option<&Path>) -> Found {
    match browser::find_browser(chosen) {
        Some(browser) => Ok(browser.display().to_string()),
        None => missing(
            "no Chromium is installed",
            "install one (Debian: apt-get install chromium-headless-shell), or name it in EDGEZOOM_CHROMIUM",
        ),
    }
}

fn namespaces(tiler: &Path) -> Found {
    let Err(reason) = browser::try_namespaces(tiler) else {
        let user = if is_root() { "the user nobody" } else { "this user" };
        return Ok(format!(
            "hold: pages have no network but the proxy, see no other process and no files but programs and fonts, as {user}"
        ));
    };
    let then = if is_root() {
        "web pages are refused"
    } else {
        "only Chromium's own sandbox and the proxy contain web pages"
    };
    missing(
        format!("{reason}; {then}"),
        "allow them: sysctl -w kernel.unprivileged_userns_clone=1 (Debian), \
         sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), sysctl -w user.max_user_namespaces=10000, or a \
         container whose profile allows unshare and mount and whose /proc is not covered (Docker: --security-opt \
         seccomp=…, --security-opt systempaths=unconfined)",
    )
}

/// A page of a PDF, drawn as a source would be.
async fn pdf(tiler: &Path) -> Found {
    const REMEDY: &str = "copy libpdfium.so beside the program (`cargo xtask setup` brings it to target/pdfium/), or name \
        it in EDGEZOOM_PDFIUM";
    let place = edgezoom_codecs::locate_pdfium();
    match (draw_pdf(tiler).await, place) {
        (Ok(()), Some(place)) => Ok(place.display().to_string()),
        (Err(RenderError::Reported(failure)), _) if failure.code == FailureCode::UnsupportedFormat => {
            missing("the library is not installed, or cannot be loaded", REMEDY)
        }
        (Err(error), _) => missing(format!("a page cannot be drawn: {error}"), REMEDY),
        (Ok(()), None) => missing("the library is not installed", REMEDY),
    }
}

async fn draw_pdf(tiler: &Path) -> Result<(), RenderError> {
    const PAGE: &[u8] = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n\
        2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n\
        3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>\n";
    let mut source = tempfile::tempfile().map_err(RenderError::NotStarted)?;
    io::Write::write_all(&mut source, PAGE).map_err(RenderError::NotStarted)?;
    let mut options = RenderOptions::default();
    options.drawing.page_width = 64;
    let mut renderer = Renderer::start(tiler, source, &options, &Limits::default())?;
    while !matches!(renderer.next().await?, Output::Finished { .. }) {}
    Ok(())
}

fn fonts() -> Found {
    match edgezoom_codecs::installed_fonts() {
        0 => missing(
            "the system has none: documents and pages show all text in one font, and some scripts as boxes",
            "install fonts (Debian: apt-get install fonts-noto-core fonts-noto-cjk fonts-liberation2)",
        ),
        count => Ok(format!("{count} of the system")),
    }
}

fn temporary(folder: &Path) -> Found {
    match tempfile::tempfile_in(folder) {
        Ok(_) => Ok(folder.display().to_string()),
        Err(error) => missing(
            format!("no files can be made in {}: {error}", folder.display()),
            "name a folder that the tiler's user may write to in EDGEZOOM_TMP",
        ),
    }
}

/// Asks the Worker whether it is set up. It answers nothing before it knows its own address: it would have to take that from
/// the `Host` of each request.
async fn edge(address: &Url) -> Found {
    const REMEDY: &str = "name the service's domain in edgezoom.toml, and deploy (cargo xtask deploy)";
    let health = format!("{}/health", address.as_str().trim_end_matches('/'));
    let asked = async {
        let client = http_client::builder().timeout(EDGE_TIME).build()?;
        let answer = client.get(health).send().await?;
        Ok::<_, reqwest::Error>((answer.status(), answer.text().await?))
    };
    match asked.await {
        Ok((StatusCode::OK, _)) => Ok(format!("{address} answers, and knows its address")),
        Ok((status, text)) if text.contains("BASE_URL") => missing(format!("{status}: {text}"), REMEDY),
        Ok((status, _)) => {
            missing(format!("{address} answers {status}"), "look into the Worker's log: npx wrangler tail")
        }
        Err(error) => missing(
            format!("{address} does not answer: {}", http_client::causes(&error.without_url())),
            "compare EDGEZOOM_EDGE_URL with what `cargo xtask deploy` has written into .edgezoom/",
        ),
    }
}
