//! What a picture is made of: a file, a download, or a web page in a browser, whichever `tiler convert` was told of.

use std::fs::File;
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use edgezoom_content::{AddressPolicy, SourceUrl};
use edgezoom_tiler::browser::{Capturing, Html, OpenPage, PageError, PageLimits, PageSettings, Pages};
use edgezoom_tiler::fetch::{FetchError, Fetched, Fetcher};
use edgezoom_tiler::limits::Limits;
use indicatif::{ProgressBar, ProgressStyle};

use super::Args;

/// A source, ready for a renderer.
pub struct Source {
    pub file: File,
    /// The page whose picture comes out of the file while it is taken.
    pub capturing: Option<Capturing>,
    /// The page of a document that the source's URL chooses.
    pub page: Option<NonZeroU32>,
}

/// Gets the source, and says how far that has come.
pub async fn get(args: &Args, limits: &Limits) -> anyhow::Result<Source> {
    let mut url = web_address(&args.source)
        .map(|address| SourceUrl::parse(address).with_context(|| address.to_owned()))
        .transpose()?;
    let mut redirects = 0;
    loop {
        let (mut file, content_type) = match &url {
            Some(asked) => {
                let fetched = download(asked, redirects, args, limits).await?;
                redirects = fetched.redirects;
                (fetched.file, fetched.content_type)
            }
            None => (open(&args.source)?, None),
        };
        let html = Html::recognise(&mut file, content_type.as_deref())
            .with_context(|| format!("cannot read {}", args.source.display()))?;
        let Some(html) = html else {
            return Ok(Source { file, capturing: None, page: url.as_ref().and_then(SourceUrl::page) });
        };
        match open_page(url.as_ref(), html, args).await? {
            Err(PageError::LeadsTo(lead)) => {
                url = Some(lead);
                redirects += 1;
            }
            opened => {
                let page = opened.map_err(|error| explain(&args.source, &error))?;
                let (file, capturing) = page.stream()?;
                return Ok(Source { file, capturing: Some(capturing), page: None });
            }
        }
    }
}

/// The source's URL, if it is one.
fn web_address(source: &Path) -> Option<&str> {
    source.to_str().filter(|name| name.starts_with("http://") || name.starts_with("https://"))
}

/// What is at a URL that so many redirects led to, in a file without a name, and what its server calls it.
async fn download(url: &SourceUrl, redirects: u32, args: &Args, limits: &Limits) -> anyhow::Result<Fetched> {
    let fetcher = Fetcher::new(policy(args)?, limits.clone(), std::env::temp_dir())?;
    let bar = ProgressBar::no_length()
        .with_style(ProgressStyle::with_template("downloading {bytes} of {total_bytes} {eta}")?);
    let fetched = fetcher.fetch_after(redirects, url, |received| {
        if let Some(announced) = received.announced {
            bar.set_length(announced);
        }
        bar.set_position(received.bytes);
    });
    let fetched = fetched.await;
    bar.finish_and_clear();
    let hint = match fetched {
        Err(FetchError::Refused) => " Allow it with --allow-networks.",
        _ => "",
    };
    fetched.map_err(|error| anyhow!("{}: {error}{hint}", args.source.display()))
}

fn policy(args: &Args) -> anyhow::Result<AddressPolicy> {
    AddressPolicy::allowing(&args.allow_networks).context("--allow-networks")
}

/// Opens the page at a URL, or else the one that is the source's file, in a browser.
async fn open_page(
    url: Option<&SourceUrl>,
    html: Html,
    args: &Args,
) -> anyhow::Result<Result<OpenPage, PageError>> {
    let pages = Pages::new(PageSettings {
        browser: args.pages.chromium.clone(),
        limits: PageLimits::from(&args.pages),
        ..PageSettings::new(policy(args)?, std::env::temp_dir())
    })?;
    let bar =
        ProgressBar::new_spinner().with_style(ProgressStyle::with_template("{spinner} loading the page")?);
    bar.enable_steady_tick(Duration::from_millis(100));
    let page = match url {
        Some(url) => pages.open_fetched(url, html).await,
        None => pages.open_file(&args.source, html).await,
    };
    bar.finish_and_clear();
    Ok(page)
}

/// The file that a source names.
fn open(source: &Path) -> anyhow::Result<File> {
    let named = || format!("cannot read {}", source.display());
    let file = File::open(source).with_context(named)?;
    if file.metadata().with_context(named)?.is_dir() {
        bail!("{} is a folder: name a picture in it", source.display());
    }
    Ok(file)
}

/// Why a page cannot be seen, as one line.
fn explain(source: &Path, error: &PageError) -> anyhow::Error {
    let hint = match error {
        PageError::NoBrowser => " Install Chromium, or say where it is with --chromium.",
        PageError::Refused => " Allow it with --allow-networks.",
        _ => "",
    };
    anyhow!("{}: {error}{hint}", source.display())
}
