//! `tiler seal`: seals headers and cookies for the origin of a source, to be sent as `web-sealed`.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, bail};
use edgezoom_content::SourceUrl;
use edgezoom_tiler::credentials::{Fields, SealKey};
use edgezoom_tiler::secret::Secret;
use url::Url;

/// Seals headers and cookies for a source behind a login
///
/// Prints a text that a signed request sends as web-sealed. It is valid for all sources of one scheme, host and port, and
/// only the tilers of the service can open it.
#[derive(clap::Args)]
pub struct Args {
    /// URL of the source, or of its site
    #[arg(long = "for", value_name = "URL")]
    url: String,
    /// Key that the service's tilers have, too: at least 32 characters
    #[arg(long, env = "EDGEZOOM_SEAL_KEY", hide_env_values = true)]
    seal_key: Option<Secret>,
    #[command(flatten)]
    fields: FieldArgs,
}

/// Headers and cookies for the origin of a source.
#[derive(clap::Args)]
#[command(next_help_heading = "Sources behind a login")]
pub struct FieldArgs {
    /// Send a header to the source's own scheme, host and port; @FILE reads headers from a file, one a line
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// Send a cookie there
    #[arg(long = "cookie", value_name = "NAME=VALUE")]
    cookies: Vec<String>,
}

impl FieldArgs {
    pub fn fields(&self) -> anyhow::Result<Fields> {
        let mut fields = Fields::default();
        for header in &self.headers {
            match header.strip_prefix('@') {
                Some(path) => {
                    let lines = fs::read_to_string(path).with_context(|| path.to_owned())?;
                    let mut lines = lines.lines().filter(|line| !line.trim().is_empty());
                    lines.try_for_each(|line| fields.add_header(line)).with_context(|| path.to_owned())?;
                }
                None => fields.add_header(header)?,
            }
        }
        self.cookies.iter().try_for_each(|pair| fields.add_cookie(pair))?;
        Ok(fields)
    }
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let key = args.seal_key.as_ref().context("EDGEZOOM_SEAL_KEY is not set")?;
    let source = SourceUrl::parse(&args.url)?;
    let fields = args.fields.fields()?;
    if fields.is_empty() {
        bail!("give at least one --header or --cookie");
    }
    println!("{}", SealKey::of(key)?.seal(&fields, &Url::parse(source.address())?)?);
    Ok(ExitCode::SUCCESS)
}
