//! Flags and environment variables that `tiler convert` and `tiler serve` share: the settings of a conversion. [`Limits`] and
//! [`PageLimits`] give the reasons for the defaults.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::{ValueEnum, value_parser};
use edgezoom_codecs::DrawingOptions;
use edgezoom_content::AddressPolicy;
use edgezoom_tiler::bot::{BadContact, BotSettings, Contact, UserAgent};
use edgezoom_tiler::browser::PageLimits;
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::local_networks;
use edgezoom_tiler::pipeline::PipelineSettings;
use url::Url;

const MIB: u64 = 1 << 20;
const MEGAPIXEL: u64 = 1_000_000;

/// Connections of web pages to one host, per permitted download from it.
const CONNECTIONS_PER_DOWNLOAD: NonZeroUsize = const { NonZeroUsize::new(3).unwrap() };

/// The settings of a conversion.
#[derive(clap::Args)]
pub struct ConversionArgs {
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    bot: BotArgs,
    #[command(flatten)]
    drawing: DrawingArgs,
    #[command(flatten)]
    pages: PageArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

impl ConversionArgs {
    /// Returns the settings for a tiler that works for the service at `edge`, or for its user. `temporary` is the directory
    /// for temporary files.
    pub fn settings(&self, edge: Option<&Url>, temporary: PathBuf) -> anyhow::Result<PipelineSettings> {
        let limits = Limits { renderer_folder: temporary.clone(), ..Limits::from(&self.limits) };
        Ok(PipelineSettings {
            policy: self.policy.policy()?,
            browser: self.pages.chromium.clone(),
            page_limits: self.pages.limits(&limits),
            temporary,
            limits,
            bot: self.bot.settings(edge),
        })
    }

    /// Returns the options for one page of a document, or for all its pages.
    pub fn drawing(&self, page: Option<NonZeroU32>) -> DrawingOptions {
        let DrawingArgs { pdf_dpi, pdf_width, svg_side } = self.drawing;
        DrawingOptions { page, dpi: pdf_dpi, page_width: pdf_width, svg_side }
    }
}

#[derive(clap::Args)]
#[command(next_help_heading = "Allowed sources")]
struct PolicyArgs {
    /// Networks to allow besides the public internet, such as 127.0.0.0/8,fd00::/8; this machine's own networks are not part
    /// of it, even if they are public
    #[arg(long, env = "EDGEZOOM_ALLOW_NETWORKS", default_value = "")]
    allow_networks: String,
    /// Networks to refuse, even if they are also allowed
    #[arg(long, env = "EDGEZOOM_DENY_NETWORKS", default_value = "")]
    deny_networks: String,
    /// Hosts to allow with their subdomains, such as example.com; if any are given, all others are refused
    #[arg(long, env = "EDGEZOOM_ALLOW_HOSTS", default_value = "")]
    allow_hosts: String,
    /// Hosts to refuse with their subdomains, even if they are also allowed
    #[arg(long, env = "EDGEZOOM_DENY_HOSTS", default_value = "")]
    deny_hosts: String,
}

impl PolicyArgs {
    fn policy(&self) -> anyhow::Result<AddressPolicy> {
        let local = local_networks::follow().context(
            "cannot read this machine's addresses, which sources must not be at; allow netlink sockets (systemd: \
             RestrictAddressFamilies=AF_NETLINK)",
        )?;
        AddressPolicy::allowing(&self.allow_networks)
            .context("EDGEZOOM_ALLOW_NETWORKS")?
            .denying(&self.deny_networks)
            .context("EDGEZOOM_DENY_NETWORKS")?
            .allowing_hosts(&self.allow_hosts)
            .context("EDGEZOOM_ALLOW_HOSTS")?
            .denying_hosts(&self.deny_hosts)
            .context("EDGEZOOM_DENY_HOSTS")
            .map(|policy| policy.refusing_local(local))
    }
}

#[derive(clap::Args)]
#[command(next_help_heading = "Publishers")]
struct BotArgs {
    /// E-mail or web address at which publishers can reach you, for the User-Agent
    #[arg(long, env = "EDGEZOOM_CONTACT", default_value = "", hide_default_value = true, value_parser = contact)]
    contact: MaybeContact,
    /// Handling of robots.txt for web pages
    #[arg(long, env = "EDGEZOOM_ROBOTS", default_value = "respect")]
    robots: Robots,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Robots {
    /// Open only web pages that it allows
    Respect,
    /// Open all web pages
    Ignore,
}

#[derive(Clone)]
struct MaybeContact(Option<Contact>);

/// Parses a contact. An empty variable means that there is none.
fn contact(text: &str) -> Result<MaybeContact, BadContact> {
    if text.is_empty() {
        Ok(MaybeContact(None))
    } else {
        text.parse().map(|contact| MaybeContact(Some(contact)))
    }
}

impl BotArgs {
    fn settings(&self, edge: Option<&Url>) -> BotSettings {
        let contact = self.contact.0.as_ref();
        BotSettings {
            user_agent: edge.map_or_else(UserAgent::default, |edge| UserAgent::of_service(edge, contact)),
            respects_robots: self.robots == Robots::Respect,
        }
    }
}

/// Sizes of PDF and SVG, which have no pixels of their own.
#[derive(Clone, Copy, clap::Args)]
#[command(next_help_heading = "Documents")]
struct DrawingArgs {
    /// Resolution of PDF pages, in dots per inch
    #[arg(long, env = "EDGEZOOM_PDF_DPI", default_value_t = DrawingOptions::default().dpi, value_parser = value_parser!(u32).range(1..=10_000))]
    pdf_dpi: u32,
    /// Minimum width of the widest PDF page, in pixels
    #[arg(long, env = "EDGEZOOM_PDF_WIDTH", default_value_t = DrawingOptions::default().page_width)]
    pdf_width: u32,
    /// Minimum length of an SVG's longer side, in pixels
    #[arg(long, env = "EDGEZOOM_SVG_SIDE", default_value_t = DrawingOptions::default().svg_side)]
    svg_side: u32,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Web pages")]
struct PageArgs {
    /// Path of Chromium, for web pages [default: the first common one that is installed]
    #[arg(long, env = "EDGEZOOM_CHROMIUM")]
    chromium: Option<PathBuf>,
    /// Width of a web page, in CSS pixels
    #[arg(long, env = "EDGEZOOM_WEB_WIDTH", default_value_t = PageLimits::default().width, value_parser = value_parser!(u32).range(100..=8_000))]
    web_width: u32,
    /// Device pixels per CSS pixel
    #[arg(long, env = "EDGEZOOM_WEB_SCALE", default_value_t = PageLimits::default().scale, value_parser = value_parser!(u32).range(1..=8))]
    web_scale: u32,
    /// Maximum height of a web page, in CSS pixels; the rest is cut off
    #[arg(long, env = "EDGEZOOM_MAX_WEB_HEIGHT", default_value_t = PageLimits::default().height, value_parser = value_parser!(u32).range(1..=100_000))]
    max_web_height: u32,
    /// Maximum time until a web page has loaded and stopped changing, in seconds
    #[arg(long, env = "EDGEZOOM_WEB_SETTLE_SECONDS", default_value_t = PageLimits::default().settle.as_secs(), value_parser = value_parser!(u64).range(1..))]
    web_settle_seconds: u64,
    /// Maximum time for capturing a web page, in seconds
    #[arg(long, env = "EDGEZOOM_WEB_SECONDS", default_value_t = PageLimits::default().page.as_secs(), value_parser = value_parser!(u64).range(1..))]
    web_seconds: u64,
    /// Maximum network traffic of a web page, in MiB
    #[arg(long, env = "EDGEZOOM_MAX_WEB_MIB", default_value_t = PageLimits::default().traffic / MIB)]
    max_web_mib: u64,
    /// Maximum memory of a web page's browser, in MiB
    #[arg(long, env = "EDGEZOOM_WEB_MEMORY_MIB", default_value_t = PageLimits::default().memory / MIB)]
    web_memory_mib: u64,
    /// Open web pages even as root without namespaces, in a Chromium without its sandbox: a page that escapes the browser
    /// controls the whole machine
    #[arg(long, env = "EDGEZOOM_WEB_PAGES_WITHOUT_SANDBOX")]
    web_pages_without_sandbox: bool,
}

impl PageArgs {
    /// Returns the limits of web pages. The connections to one host follow from the limit of downloads.
    fn limits(&self, limits: &Limits) -> PageLimits {
        PageLimits {
            width: self.web_width,
            scale: self.web_scale,
            height: self.max_web_height,
            settle: Duration::from_secs(self.web_settle_seconds),
            page: Duration::from_secs(self.web_seconds),
            traffic: self.max_web_mib.saturating_mul(MIB),
            connections_per_host: limits.downloads_per_host.saturating_mul(CONNECTIONS_PER_DOWNLOAD),
            memory: self.web_memory_mib.saturating_mul(MIB),
            without_sandbox: self.web_pages_without_sandbox,
            ..PageLimits::default()
        }
    }
}

/// A flag for each field of [`Limits`], in everyday units.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// Maximum size of a source, in MiB
    #[arg(long, env = "EDGEZOOM_MAX_SOURCE_MIB", default_value_t = Limits::default().source_bytes / MIB)]
    max_source_mib: u64,
    /// Maximum size of a picture, in millions of pixels
    #[arg(long, env = "EDGEZOOM_MAX_MEGAPIXELS", default_value_t = Limits::default().pixels / MEGAPIXEL)]
    max_megapixels: u64,
    /// Pixels that a picture may have regardless of its file's size, in millions
    #[arg(long, env = "EDGEZOOM_FREE_MEGAPIXELS", default_value_t = Limits::default().pixels_free / MEGAPIXEL)]
    free_megapixels: u64,
    /// Additional pixels that a picture may have per byte of its file
    #[arg(long, env = "EDGEZOOM_PIXELS_PER_BYTE", default_value_t = Limits::default().pixels_per_byte)]
    pixels_per_byte: u64,
    /// Maximum size of a drawn document, in millions of pixels; a larger one is drawn smaller
    #[arg(long, env = "EDGEZOOM_MAX_DRAWN_MEGAPIXELS", default_value_t = Limits::default().drawn_pixels / MEGAPIXEL)]
    max_drawn_megapixels: u64,
    /// Maximum size of a drawn page of a document, in millions of pixels
    #[arg(long, env = "EDGEZOOM_MAX_PAGE_MEGAPIXELS", default_value_t = Limits::default().page_pixels / MEGAPIXEL)]
    max_page_megapixels: u64,
    /// Maximum width and height of a picture, in pixels
    #[arg(long, env = "EDGEZOOM_MAX_SIDE", default_value_t = Limits::default().side)]
    max_side: u32,
    /// Maximum number of PDF pages to draw; the others are left out
    #[arg(long, env = "EDGEZOOM_MAX_PDF_PAGES", default_value_t = Limits::default().pdf_pages)]
    max_pdf_pages: NonZeroUsize,
    /// Maximum size of an uncompressed SVG, in MiB
    #[arg(long, env = "EDGEZOOM_MAX_SVG_MIB", default_value_t = Limits::default().svg_bytes / MIB)]
    max_svg_mib: u64,
    /// Maximum number of redirects
    #[arg(long, env = "EDGEZOOM_MAX_REDIRECTS", default_value_t = Limits::default().redirects)]
    max_redirects: u32,
    /// Maximum number of concurrent downloads from one host; web pages may open three times as many connections
    #[arg(long, env = "EDGEZOOM_DOWNLOADS_PER_HOST", default_value_t = Limits::default().downloads_per_host)]
    downloads_per_host: NonZeroUsize,
    /// Minimum time between the starts of two downloads from one host, in milliseconds
    #[arg(long, env = "EDGEZOOM_HOST_INTERVAL_MS", default_value_t = Limits::default().host_interval.as_millis() as u64)]
    host_interval_ms: u64,
    /// Maximum time to connect to a source's server, in seconds
    #[arg(long, env = "EDGEZOOM_CONNECT_SECONDS", default_value_t = Limits::default().connect.as_secs())]
    connect_seconds: u64,
    /// Maximum time without data during a download, in seconds
    #[arg(long, env = "EDGEZOOM_STALL_SECONDS", default_value_t = Limits::default().stall.as_secs())]
    stall_seconds: u64,
    /// Maximum time of a download, in seconds
    #[arg(long, env = "EDGEZOOM_DOWNLOAD_SECONDS", default_value_t = Limits::default().download.as_secs())]
    download_seconds: u64,
    /// Maximum memory of a renderer process, in MiB
    #[arg(long, env = "EDGEZOOM_MEMORY_MIB", default_value_t = Limits::default().renderer_memory / MIB, value_parser = value_parser!(u64).range(64..=1 << 20))]
    memory: u64,
    /// Maximum size of a renderer process's temporary file, in MiB
    #[arg(long, env = "EDGEZOOM_RENDERER_FILE_MIB", default_value_t = Limits::default().renderer_file / MIB)]
    renderer_file_mib: u64,
    /// Maximum time of a rendering, in seconds
    #[arg(long, env = "EDGEZOOM_RENDER_SECONDS", default_value_t = Limits::default().renderer_time.as_secs())]
    render_seconds: u64,
    /// Processor time of a rendering, in seconds; grows with the source's bytes and pixels
    #[arg(long, env = "EDGEZOOM_CPU_SECONDS", default_value_t = Limits::default().renderer_cpu.as_secs())]
    cpu_seconds: u64,
    /// Additional processor time per MiB of the source, in milliseconds
    #[arg(long, env = "EDGEZOOM_CPU_MS_PER_MIB", default_value_t = Limits::default().renderer_cpu_per_mib.as_millis() as u64)]
    cpu_ms_per_mib: u64,
    /// Additional processor time per million pixels read, in milliseconds
    #[arg(long, env = "EDGEZOOM_CPU_MS_PER_MEGAPIXEL", default_value_t = Limits::default().renderer_cpu_per_megapixel.as_millis() as u64)]
    cpu_ms_per_megapixel: u64,
    /// Maximum time of a rendering without progress, in seconds
    #[arg(long, env = "EDGEZOOM_IDLE_SECONDS", default_value_t = Limits::default().renderer_idle.as_secs())]
    idle_seconds: u64,
}

impl From<&LimitArgs> for Limits {
    fn from(args: &LimitArgs) -> Self {
        Self {
            source_bytes: args.max_source_mib.saturating_mul(MIB),
            pixels: args.max_megapixels.saturating_mul(MEGAPIXEL),
            pixels_free: args.free_megapixels.saturating_mul(MEGAPIXEL),
            pixels_per_byte: args.pixels_per_byte,
            drawn_pixels: args.max_drawn_megapixels.saturating_mul(MEGAPIXEL),
            page_pixels: args.max_page_megapixels.saturating_mul(MEGAPIXEL),
            side: args.max_side,
            pdf_pages: args.max_pdf_pages,
            svg_bytes: args.max_svg_mib.saturating_mul(MIB),
            redirects: args.max_redirects,
            downloads_per_host: args.downloads_per_host,
            host_interval: Duration::from_millis(args.host_interval_ms),
            connect: Duration::from_secs(args.connect_seconds),
            stall: Duration::from_secs(args.stall_seconds),
            download: Duration::from_secs(args.download_seconds),
            renderer_memory: args.memory.saturating_mul(MIB),
            renderer_file: args.renderer_file_mib.saturating_mul(MIB),
            renderer_time: Duration::from_secs(args.render_seconds),
            renderer_cpu: Duration::from_secs(args.cpu_seconds),
            renderer_cpu_per_mib: Duration::from_millis(args.cpu_ms_per_mib),
            renderer_cpu_per_megapixel: Duration::from_millis(args.cpu_ms_per_megapixel),
            renderer_idle: Duration::from_secs(args.idle_seconds),
            ..Self::default()
        }
    }
}
