//! How the tiler behaves towards the servers of sources, as flags and environment variables.

use clap::ValueEnum;
use edgezoom_tiler::bot::{BadContact, BotSettings, Contact, OptOuts, UserAgent};
use url::Url;

/// What the tiler calls itself, and what it lets publishers decide.
#[derive(clap::Args)]
#[command(next_help_heading = "Towards the servers of sources")]
#[group(id = "bot")]
pub struct Args {
    /// How they reach you: an e-mail address or a web address, for the User-Agent
    #[arg(long, env = "EDGEZOOM_CONTACT", default_value = "", hide_default_value = true, value_parser = contact)]
    contact: MaybeContact,
    /// Whether a web page is opened only if its server's robots.txt allows it
    #[arg(long, env = "EDGEZOOM_ROBOTS", default_value = "respect")]
    robots: Robots,
    /// The reservations of publishers that are honoured: of noai, noimageai and tdm, with commas between them
    #[arg(long, env = "EDGEZOOM_OPT_OUT", default_value = "", hide_default_value = true)]
    opt_out: OptOuts,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Robots {
    /// Opens what it allows
    Respect,
    /// Does not ask
    Ignore,
}

#[derive(Clone)]
struct MaybeContact(Option<Contact>);

/// An empty variable is none.
fn contact(text: &str) -> Result<MaybeContact, BadContact> {
    if text.is_empty() {
        Ok(MaybeContact(None))
    } else {
        text.parse().map(|contact| MaybeContact(Some(contact)))
    }
}

impl Args {
    /// The settings, of a tiler that works for the service at `edge`, or for its user.
    pub fn settings(&self, edge: Option<&Url>) -> BotSettings {
        let contact = self.contact.0.as_ref();
        BotSettings {
            user_agent: edge.map_or_else(UserAgent::default, |edge| UserAgent::of_service(edge, contact)),
            respects_robots: self.robots == Robots::Respect,
            opt_outs: self.opt_out,
        }
    }
}
