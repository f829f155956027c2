//! Flags and environment variables that `tiler convert` and `tiler serve` share: the settings of a conversion.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, value_parser};
use edgezoom_codecs::DrawingOptions;
use edgezoom_content::AddressPolicy;
use edgezoom_content::address::{HostPattern, Network};
use edgezoom_tiler::bot::{BadContact, BotSettings, Contact, UserAgent};
use edgezoom_tiler::browser::PageLimits;
use edgezoom_tiler::credentials::Access;
use edgezoom_tiler::limits::{Limits, milliseconds};
use edgezoom_tiler::pipeline::{PipelineSettings, StitchSettings};
use edgezoom_tiler::{local_networks, nat64};
use url::Url;

/// Connections of web pages to one host, per permitted download from it.
const CONNECTIONS_PER_DOWNLOAD: NonZeroUsize = const { NonZeroUsize::new(3).unwrap() };

/// The settings of a conversion.
#[derive(clap::Args)]
pub struct ConversionArgs {
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    stitching: StitchArgs,
    #[command(flatten)]
    bot: BotArgs,
    #[command(flatten)]
    drawing: DrawingArgs,
    #[command(flatten)]
    pages: PageLimits,
    /// Path of Chromium, for web pages [default: the first common one that is installed]
    #[arg(long, env = "EDGEZOOM_CHROMIUM", help_heading = "Web pages")]
    chromium: Option<PathBuf>,
    #[command(flatten)]
    limits: Limits,
}

impl ConversionArgs {
    /// Returns the settings for a tiler that works for the service at `edge`, or for its user. `temporary` is the
    /// directory for temporary files.
    pub fn settings(&self, edge: Option<&Url>, temporary: PathBuf) -> anyhow::Result<PipelineSettings> {
        let per_host = self.limits.downloads_per_host.saturating_mul(CONNECTIONS_PER_DOWNLOAD);
        Ok(PipelineSettings {
            policy: self.policy.policy(edge.and_then(|_| nat64::prefix()))?,
            browser: self.chromium.clone(),
            page_limits: PageLimits { connections_per_host: per_host, ..self.pages.clone() },
            limits: Limits { renderer_folder: temporary.clone(), ..self.limits.clone() },
            temporary,
            bot: self.bot.settings(edge),
            stitching: self.stitching.settings()?,
            access: Access::default(),
        })
    }

    /// Returns the options for one page of a document, or for all its pages, with their vectors unless a flag turns them
    /// off; with `text` for their words, too.
    pub fn drawing(&self, page: Option<NonZeroU32>, text: bool) -> DrawingOptions {
        let DrawingArgs { pdf_dpi, pdf_width, svg_side, no_vectors, halve_pdf } = self.drawing;
        let (defaults, vectors) = (DrawingOptions::default(), !no_vectors);
        DrawingOptions {
            page,
            dpi: pdf_dpi,
            page_width: pdf_width,
            svg_side,
            text,
            vectors,
            halved: halve_pdf,
            ..defaults
        }
    }
}

/// The addresses that may be connected to.
#[derive(clap::Args)]
#[command(next_help_heading = "Allowed sources")]
pub struct PolicyArgs {
    /// Networks to allow besides the public internet, such as 127.0.0.0/8,fd00::/8; this machine's own networks are not
    /// part of it, even if they are public
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
    /// Returns the policy. `translated` is the prefix with which this network translates to IPv4, if any.
    pub fn policy(&self, translated: Option<Network>) -> anyhow::Result<AddressPolicy> {
        let local = local_networks::follow(translated.into_iter().collect()).context(
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
#[command(next_help_heading = "Pictures of tiles")]
struct StitchArgs {
    /// Hosts with their subdomains, such as example.com, whose tiles may be put together where they offer no whole picture
    /// (Deep Zoom's .dzi, IIIF level 0). Ask their owners
    #[arg(long, env = "EDGEZOOM_STITCH_HOSTS", default_value = "")]
    stitch_hosts: String,
    /// Minimum time between two requests for such tiles, in milliseconds; a Crawl-delay in robots.txt may be longer
    #[arg(long = "stitch-interval-ms", value_name = "MS", env = "EDGEZOOM_STITCH_INTERVAL_MS", default_value = "1000", value_parser = milliseconds)]
    stitch_interval: Duration,
}

impl StitchArgs {
    fn settings(&self) -> anyhow::Result<StitchSettings> {
        let hosts = HostPattern::list(&self.stitch_hosts).context("EDGEZOOM_STITCH_HOSTS")?;
        Ok(StitchSettings { hosts, pause: self.stitch_interval })
    }
}

#[derive(clap::Args)]
#[command(next_help_heading = "Publishers")]
struct BotArgs {
    /// E-mail or web address at which publishers can reach you, for the User-Agent
    #[arg(long, env = "EDGEZOOM_CONTACT", default_value = "", hide_default_value = true, value_parser = contact)]
    contact: MaybeContact,
    /// Handling of robots.txt for web pages
    #[arg(long, env = "EDGEZOOM_ROBOTS", default_value = "respect", action = ArgAction::Set, value_parser = one_of([
        (PossibleValue::new("respect").help("Open only web pages that it allows"), true),
        (PossibleValue::new("ignore").help("Open all web pages"), false),
    ]))]
    robots: bool,
}

/// Returns a parser of one of these names.
pub(super) fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    values: [(PossibleValue, T); N],
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(values.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
    names.try_map(move |chosen| {
        let known = values.iter().find(|(name, _)| name.matches(&chosen, false));
        known.map(|(_, value)| *value).ok_or("there is no such value")
    })
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
            respects_robots: self.robots,
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
    /// Leave out the vectors of a PDF's pages and of SVGs, which viewers show where the pixels end
    #[arg(long, env = "EDGEZOOM_NO_VECTORS")]
    no_vectors: bool,
    /// Store a PDF with half its resolution if all its pages have vectors: a third of the bytes, but other viewers, previews
    /// and downloads have no more than these pixels
    #[arg(long, env = "EDGEZOOM_HALVE_PDF")]
    halve_pdf: bool,
}
