//! The service does not reach private networks, neither by URL nor by redirect.

use anyhow::Result;
use edgezoom_tests::{Client, Options, Source, SourceServer, System, picture};

#[tokio::test]
async fn private_addresses_are_rejected_unless_the_operator_allows_them() -> Result<()> {
    let system = System::start(Options { tilers: 0, allow_networks: "", ..Options::default() })?;
    let client = Client::new(system.url())?;
    let sources = SourceServer::start()?;
    let picture = Source::file("image/jpeg", picture::jpeg(&picture::plain(8, 8, [1, 2, 3]))?);
    let local = sources.serve("a.jpg", picture);
    for refused in
        [&local, "http://10.0.0.1/a.jpg", "http://169.254.169.254/", "http://[::1]/", "http://localhost/"]
    {
        let answer = client.ask(refused).await?;
        assert_eq!(answer.status, 400, "{refused}: {}", answer.text());
        assert!(answer.header("content-type").starts_with("text/plain"), "{refused}: {:?}", answer.headers);
    }
    assert_eq!(sources.hits(&local), 0);
    Ok(())
}

#[tokio::test]
async fn localhost_is_a_source_where_its_address_is_allowed() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let picture = Source::file("image/jpeg", picture::jpeg(&picture::plain(8, 8, [1, 2, 3]))?);
    let source = sources.serve("named.jpg", picture);
    let named = source.replace("//127.0.0.1:", "//localhost:");
    Client::new(system.url())?.convert(&named).await?.ready()?;
    assert_eq!(sources.hits(&source), 1);
    Ok(())
}

#[tokio::test]
async fn a_redirect_into_a_private_network_fails() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let picture = Source::file("image/jpeg", picture::jpeg(&picture::plain(8, 8, [1, 2, 3]))?);
    let inner = sources.serve("inner.jpg", picture);
    let refused = sources.serve("refused", Source::redirect(&sources.forbidden(&inner)));
    assert_eq!(client.convert(&refused).await?.failure_code()?, "source-forbidden");
    assert_eq!(sources.hits(&inner), 0, "the tiler connected to it");

    let allowed = sources.serve("allowed", Source::redirect(&inner));
    client.convert(&allowed).await?.ready()?;
    assert_eq!(sources.hits(&inner), 1);
    Ok(())
}
