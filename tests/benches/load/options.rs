//! The words of the command line.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

pub struct Options {
    /// Asks a second, one after the other.
    pub rates: Vec<f64>,
    /// How long each.
    pub time: Duration,
    pub soak: Option<Duration>,
    /// Asks a second of the soak.
    pub rate: f64,
    pub tilers: usize,
    /// Where to write what a burst of conversions measured.
    pub burst: Option<PathBuf>,
    /// Whether the tilers are built for speed.
    pub release: bool,
}

const HELP: &str =
    "--rates 25,50,100  --seconds 20  --tilers 1  |  --soak 30m  --rate 20  |  --burst FILE  |  --dev";

impl Options {
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            rates: vec![25.0, 50.0, 100.0, 200.0, 400.0, 800.0],
            time: Duration::from_secs(20),
            soak: None,
            rate: 20.0,
            tilers: 1,
            burst: None,
            release: true,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} what?\n{HELP}"));
            match word.as_str() {
                "--bench" => {} // Cargo's
                "--dev" => options.release = false,
                "--rates" => {
                    options.rates = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?;
                }
                "--seconds" => options.time = Duration::from_secs(value()?.parse()?),
                "--soak" => {
                    let minutes = value()?.trim_end_matches('m').parse::<u64>()?;
                    options.soak = Some(Duration::from_secs(60 * minutes));
                }
                "--rate" => options.rate = value()?.parse()?,
                "--tilers" => options.tilers = value()?.parse()?,
                "--burst" => options.burst = Some(value()?.into()),
                _ => bail!("{word} is not known: {HELP}"),
            }
        }
        Ok(options)
    }
}
