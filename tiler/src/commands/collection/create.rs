//! Begins a collection with a key that is stored before the service learns of it, so that a lost answer loses no key.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use edgezoom_tiler::secret::Secret;
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use serde_json::Value;
use sha2::Sha256;

use super::service::Service;

/// Settings of a collection.
#[derive(clap::Args, Serialize)]
pub(super) struct Settings {
    /// Title of the collection
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Credit line of entries that have none
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    credit: Option<String>,
    /// Licence of entries that have none: a URI of Creative Commons, RightsStatements or IIIF
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    rights: Option<String>,
    /// Address that is told of changes by Standard Webhooks, which begins with https://
    #[arg(long, value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    notify: Option<String>,
}

/// Time for which the request to begin a collection holds.
const VALID: Duration = Duration::from_secs(3600);

/// Begins a collection, or replaces the settings of one.
pub(super) async fn run(
    service: &Service,
    settings: &Settings,
    signer: Option<&Secret>,
) -> anyhow::Result<ExitCode> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let signature =
        signer.map(|signer| signature(&service.name, signer.reveal(), now + VALID)).transpose()?;
    let answer: Value = service.put(&signature.unwrap_or_default(), settings).await?;
    // The answer to a beginning has nothing to count.
    let what = if answer.get("counts").is_some() { "settings replaced" } else { "begun" };
    println!("{}: {what}", service.name);
    if settings.notify.is_some() {
        let notices = service.get().await?.notices.context("the service sends no notices")?;
        println!("the secret that signs notices: {}", notices.secret);
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the query of a signed request: `signer` is a name and a key with a colon between, as in SIGNING_KEYS.
fn signature(collection: &str, signer: &str, until: Duration) -> anyhow::Result<Vec<(&'static str, String)>> {
    let (name, key) = signer.split_once(':').context("EDGEZOOM_SIGNING_KEY is not <name>:<key>")?;
    let expires = until.as_secs().to_string();
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes())?;
    mac.update(format!("{expires}\ncollection:{collection}").as_bytes());
    let signature: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(vec![("key", name.to_owned()), ("expires", expires), ("signature", signature)])
}

/// Writes a new key to a file that only its owner can read, unless the file exists.
pub(super) fn write_key(file: &Path) -> anyhow::Result<()> {
    if fs::exists(file)? {
        return Ok(());
    }
    let mut bits = [0; 32];
    getrandom::fill(&mut bits)?;
    let mut created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .with_context(|| format!("cannot create {}", file.display()))?;
    writeln!(created, "{}", BASE64_URL_SAFE_NO_PAD.encode(bits))?;
    if created.sync_all().is_err() {
        bail!("cannot store {}", file.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `printf '1796000000\ncollection:drawings' | openssl dgst -sha256 -hmac a-key-of-the-shop` computes it.
    #[test]
    fn a_signature_is_that_of_the_guide() {
        let query =
            signature("drawings", "shop:a-key-of-the-shop", Duration::from_secs(1_796_000_000)).unwrap();
        let of_openssl = "5f680164193174db1a88b2865212c9b526ec7efc38f2ac49b158663e272c399f";
        let expected = [("key", "shop"), ("expires", "1796000000"), ("signature", of_openssl)];
        assert_eq!(query, expected.map(|(name, value)| (name, value.to_owned())));
        assert!(signature("drawings", "shop", Duration::ZERO).is_err());
    }
}
