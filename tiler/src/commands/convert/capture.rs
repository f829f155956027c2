//! Flags for how web pages are captured. They have the names and values of the API's parameters.

use edgezoom_content::Capture;
use edgezoom_content::capture::CaptureError;

/// Flags for the capture of web pages. `--web-width` and `--web-scale` are settings of the tiler.
#[derive(clap::Args)]
#[command(next_help_heading = "Web pages")]
pub struct CaptureArgs {
    /// Show a web page as on a phone: a window of 390 CSS pixels with 3 pixels each, and touch
    #[arg(long, value_name = "DEVICE", value_parser = ["phone"])]
    web_device: Option<String>,
    /// Ask a web page for its dark or light colours
    #[arg(long, value_name = "SCHEME", value_parser = ["dark", "light"])]
    web_scheme: Option<String>,
    /// Show a web page with its styles for paper
    #[arg(long, value_name = "MEDIUM", value_parser = ["print"])]
    web_media: Option<String>,
    /// Show only the first element of a web page that matches a CSS selector
    #[arg(long, value_name = "SELECTOR")]
    web_selector: Option<String>,
    /// Show a web page from the first element that matches a CSS selector to its end
    #[arg(long, value_name = "SELECTOR", conflicts_with = "web_selector")]
    web_from: Option<String>,
    /// Wait until an element matches a CSS selector, or for milliseconds of the page's clock after the usual five seconds
    #[arg(long, value_name = "SELECTOR|MS")]
    web_wait: Option<String>,
    /// Leave out the elements of a web page that match a CSS selector
    #[arg(long, value_name = "SELECTOR")]
    web_hide: Option<String>,
}

impl CaptureArgs {
    pub fn capture(&self) -> Result<Capture, CaptureError> {
        let Self { web_device, web_scheme, web_media, web_selector, web_from, web_wait, web_hide } = self;
        let mut capture = Capture::default();
        for (name, value) in [
            ("web-device", web_device),
            ("web-scheme", web_scheme),
            ("web-media", web_media),
            ("web-selector", web_selector),
            ("web-from", web_from),
            ("web-wait", web_wait),
            ("web-hide", web_hide),
        ] {
            capture.set(name, value.as_deref().unwrap_or_default())?;
        }
        Ok(capture)
    }
}
