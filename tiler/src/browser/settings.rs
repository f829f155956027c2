//! The settings of [`Pages`](super::Pages).

use std::path::PathBuf;
use std::sync::Arc;

use edgezoom_content::AddressPolicy;

use super::limits::PageLimits;
use crate::bot::BotSettings;
use crate::fetch::resolver::{Resolver, SystemResolver};

/// How pages are captured.
pub struct PageSettings {
    /// The browser's executable; `None` looks in the usual places.
    pub browser: Option<PathBuf>,
    /// The executable with the subcommand `browser-supervisor`; `None` is the running one.
    pub supervisor: Option<PathBuf>,
    /// Whether to run the browser in namespaces of its own, where the system allows it.
    pub namespaces: bool,
    /// The addresses that pages may connect to.
    pub policy: AddressPolicy,
    /// Resolves the names of hosts.
    pub resolver: Arc<dyn Resolver>,
    /// Where profiles and captured pages are stored temporarily.
    pub folder: PathBuf,
    /// What the browser adds to its name, and the reservations that pages are asked for.
    pub bot: BotSettings,
    /// The limits for a page.
    pub limits: PageLimits,
}

impl PageSettings {
    /// The default settings, with `policy` for connections and temporary files in `folder`.
    #[must_use]
    pub fn new(policy: AddressPolicy, folder: PathBuf) -> Self {
        Self {
            browser: None,
            supervisor: None,
            namespaces: true,
            policy,
            resolver: Arc::new(SystemResolver),
            folder,
            bot: BotSettings::default(),
            limits: PageLimits::default(),
        }
    }
}
