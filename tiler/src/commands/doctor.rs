//! `tiler doctor`: checks what protects this machine from sources, and what is installed to convert them. A failed
//! check says what is missing and what to do about it.
//!
//! The sandbox is tested, not looked up: a process enters it and tries operations that it must deny.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, SystemTime};

use clap::ValueEnum;
use edgezoom_content::AddressPolicy;
use edgezoom_content::FailureCode;
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::{Output, RenderError, RenderOptions, Renderer};
use edgezoom_tiler::sandbox::{Landlock, probe::Findings};
use edgezoom_tiler::{OWN_PROGRAM, browser, http_client, local_networks, proc};
use reqwest::StatusCode;
use rustix::io::{FdFlags, fcntl_setfd};
use url::Url;

use super::machine::Machine;

/// Checks this machine: what protects it from sources, and what is installed to convert them. Fails if a requirement is
/// missing.
#[derive(clap::Args)]
pub struct Args {
    /// Requirements besides the renderer's sandbox, temporary files and, if a browser is installed, its namespaces
    #[arg(long, value_delimiter = ',')]
    pub(super) require: Vec<Requirement>,
    /// The Chromium for web pages [default: the first of the usual ones that is installed]
    #[arg(long, env = "EDGEZOOM_CHROMIUM")]
    pub(super) chromium: Option<PathBuf>,
    /// Directory for temporary files [default: the system's]
    #[arg(long, env = "EDGEZOOM_TMP")]
    pub(super) tmp: Option<PathBuf>,
    /// Number of concurrent conversions that `tiler serve` will run [default: its own]
    #[arg(long, env = "EDGEZOOM_JOBS")]
    pub(super) jobs: Option<NonZeroUsize>,
    /// URL of the Worker, to check that it is set up
    #[arg(long, env = "EDGEZOOM_EDGE_URL")]
    pub(super) edge_url: Option<Url>,
}

/// A requirement that depends on what the tiler is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Requirement {
    /// Landlock, which denies files to the renderer in addition to its system call filter
    Landlock,
    /// A user other than root
    User,
    /// A browser, in namespaces
    Pages,
    /// The PDF library
    Pdf,
    /// Installed fonts
    Fonts,
}

/// The finding in words for the operator, or the missing part.
type Found = Result<String, Missing>;

/// A problem and its remedy.
struct Missing {
    /// Word for it if it is not required, in seven letters.
    mark: &'static str,
    what: String,
    remedy: &'static str,
}

/// Age from which a browser counts as old. Chromium has a new version every four weeks, and security updates between
/// them (<https://chromium.googlesource.com/chromium/src/+/HEAD/docs/process/release_cycle.md>).
const BROWSER_AGE: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// Time for the Worker to respond.
const EDGE_TIMEOUT: Duration = Duration::from_secs(10);

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let has_passed = runtime.block_on(examine(args));
    Ok(if has_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the result of each check. Returns true if all requirements are met.
pub(super) async fn examine(args: &Args) -> bool {
    let is_required = |requirement| args.require.contains(&requirement);
    let (sandbox, landlock) = sandbox();
    let browser = find_browser(args.chromium.as_deref());
    let needs_namespaces = is_required(Requirement::Pages) || browser.is_ok();
    let folder = args.tmp.clone().unwrap_or_else(std::env::temp_dir);
    let jobs = args.jobs.unwrap_or_else(|| Machine::this().jobs(Limits::default().renderer_memory));
    let mut checks = vec![
        ("renderer: sandbox", true, sandbox),
        ("renderer: Landlock", is_required(Requirement::Landlock), landlock),
        ("user", is_required(Requirement::User), user()),
        ("addresses", true, addresses()),
        ("web pages: browser", is_required(Requirement::Pages), browser),
        ("web pages: namespaces", needs_namespaces, namespaces()),
        ("PDF: library", is_required(Requirement::Pdf), pdf().await),
        ("fonts", is_required(Requirement::Fonts), fonts()),
        ("fonts: Chinese, Japanese, Korean", false, cjk_fonts(edgezoom_codecs::installed_cjk_font())),
        ("temporary files", true, temporary(&folder)),
        ("temporary files: room", false, room(&folder, jobs)),
    ];
    if let Some(browser) = browser::find_browser(args.chromium.as_deref()) {
        checks.push(("web pages: browser's age", false, browser_age(&browser, SystemTime::now())));
    }
    if let Some(address) = &args.edge_url {
        checks.push(("edge", true, edge(address).await));
    }
    for (name, is_required, found) in &checks {
        match found {
            Ok(found) => println!("ok       {name}: {found}"),
            Err(Missing { mark, what, remedy }) => {
                let mark = if *is_required { "MISSING" } else { mark };
                println!("{mark}  {name}: {what}\n         → {remedy}");
            }
        }
    }
    checks.iter().all(|(_, is_required, found)| !is_required || found.is_ok())
}

fn missing<T>(what: impl ToString, remedy: &'static str) -> Result<T, Missing> {
    Err(Missing { mark: "missing", what: what.to_string(), remedy })
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

/// Lists the public ones of this machine's networks.
fn addresses() -> Found {
    const REMEDY: &str = "allow netlink sockets (systemd: RestrictAddressFamilies=AF_NETLINK); without them the tiler does not \
        start, because sources could be at this machine's own addresses";
    let networks = match local_networks::read() {
        Ok(networks) => networks,
        Err(error) => return missing(format!("cannot read this machine's addresses: {error}"), REMEDY),
    };
    let policy = AddressPolicy::default();
    let public = networks.iter().filter(|network| policy.permits(network.base()));
    let public: BTreeSet<String> = public.map(ToString::to_string).collect();
    if public.is_empty() {
        return Ok("no interface has a public one".to_owned());
    }
    let public = Vec::from_iter(public).join(", ");
    Ok(format!(
        "sources in this machine's networks {public} are refused unless EDGEZOOM_ALLOW_NETWORKS names them"
    ))
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

/// Warns of a browser without the latest security updates. Packages keep the time at which a file was built.
fn browser_age(browser: &Path, now: SystemTime) -> Found {
    let built = match browser.metadata().and_then(|metadata| metadata.modified()) {
        Ok(built) => built,
        Err(error) => {
            return missing(format!("cannot read {}: {error}", browser.display()), "repair its permissions");
        }
    };
    let age = now.duration_since(built).unwrap_or_default();
    let days = age.as_secs() / (24 * 60 * 60);
    if age <= BROWSER_AGE {
        return Ok(format!("built {days} days ago"));
    }
    Err(Missing {
        mark: "old    ",
        what: format!(
            "built {days} days ago; attacks on known faults of Chromium get as far as its namespaces"
        ),
        remedy: "update it (Debian: apt-get update && apt-get upgrade); rebuild a container's image without its cache",
    })
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
         seccomp=deploy/docker/seccomp.json, --security-opt systempaths=unconfined, with AppArmor also --security-opt \
         apparmor=unconfined)",
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

fn cjk_fonts(installed: Option<String>) -> Found {
    match installed {
        Some(name) => Ok(name),
        None => missing(
            "none is installed: text in a document that does not include its fonts is not visible",
            "install one (Debian: apt-get install fonts-noto-cjk, or the smaller fonts-wqy-microhei)",
        ),
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

/// Compares what is free for temporary files with what concurrent conversions may use.
fn room(folder: &Path, jobs: NonZeroUsize) -> Found {
    let limits: Limits = Limits::default();
    let wanted = limits.disk(jobs);
    let free = proc::free_bytes(folder).map_err(|error| Missing {
        mark: "missing",
        what: error.to_string(),
        remedy: "set EDGEZOOM_TMP to an existing directory",
    })?;
    let [free_mib, wanted_mib] = [free, wanted].map(|bytes| bytes >> 20);
    if free >= wanted {
        return Ok(format!("{free_mib} MiB, of which {jobs} conversions use at most {wanted_mib}"));
    }
    let source = limits.within_disk(free, jobs).source_bytes >> 20;
    Err(Missing {
        mark: "limited",
        what: format!(
            "{free_mib} MiB are free, {jobs} conversions may use {wanted_mib}: sources are limited to {source} MiB"
        ),
        remedy: "set EDGEZOOM_TMP to a directory on a larger disk, or EDGEZOOM_JOBS to fewer conversions",
    })
}

/// Asks the Worker whether it is set up. Until it knows its own URL it refuses all requests, because it would have to
/// trust their `Host` header.
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
            format!("{address} does not respond: {:#}", anyhow::Error::from(error.without_url())),
            "compare EDGEZOOM_EDGE_URL with the URL that `cargo xtask deploy` has written to .edgezoom/",
        ),
    }
}
