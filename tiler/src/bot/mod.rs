//! How the tiler behaves towards the servers of sources: what it calls itself, whether it asks robots.txt before it opens a
//! web page, and which reservations of publishers it honours. The edge explains it to them at `/bot`.

mod opt_outs;
mod user_agent;

pub use opt_outs::{OptOuts, Reservation, UnknownOptOut};
pub use user_agent::{BadContact, Contact, PRODUCT, UserAgent};

/// How the tiler behaves towards the servers of sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotSettings {
    /// What it calls itself.
    pub user_agent: UserAgent,
    /// Whether a web page is opened only if its server's robots.txt allows it (RFC 9309). A picture or a document that a
    /// client names is not asked about: a robot follows links, and this one follows none.
    pub respects_robots: bool,
    /// Which reservations are honoured.
    pub opt_outs: OptOuts,
}

impl Default for BotSettings {
    fn default() -> Self {
        Self { user_agent: UserAgent::default(), respects_robots: true, opt_outs: OptOuts::default() }
    }
}
