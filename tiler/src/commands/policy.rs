//! Where sources may be, as flags and environment variables.

use anyhow::Context;
use edgezoom_content::AddressPolicy;

/// The operator's lists of networks and hosts.
#[derive(clap::Args)]
#[command(next_help_heading = "Where sources may be")]
#[group(id = "policy")]
pub struct Args {
    /// Networks besides the public internet, such as 127.0.0.0/8,fd00::/8
    #[arg(long, env = "EDGEZOOM_ALLOW_NETWORKS", default_value = "")]
    allow_networks: String,
    /// Networks that are refused, even if they are allowed too
    #[arg(long, env = "EDGEZOOM_DENY_NETWORKS", default_value = "")]
    deny_networks: String,
    /// Hosts with all names below them, such as example.com; when there are any, no others are permitted
    #[arg(long, env = "EDGEZOOM_ALLOW_HOSTS", default_value = "")]
    allow_hosts: String,
    /// Hosts that are refused with all names below them, even if they are allowed too
    #[arg(long, env = "EDGEZOOM_DENY_HOSTS", default_value = "")]
    deny_hosts: String,
}

impl Args {
    /// The policy that the lists make.
    pub fn policy(&self) -> anyhow::Result<AddressPolicy> {
        AddressPolicy::allowing(&self.allow_networks)
            .context("EDGEZOOM_ALLOW_NETWORKS")?
            .denying(&self.deny_networks)
            .context("EDGEZOOM_DENY_NETWORKS")?
            .allowing_hosts(&self.allow_hosts)
            .context("EDGEZOOM_ALLOW_HOSTS")?
            .denying_hosts(&self.deny_hosts)
            .context("EDGEZOOM_DENY_HOSTS")
    }
}
