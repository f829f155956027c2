//! Sources that cannot be converted, or only in part: the content has the documented code or warning.

use std::time::Duration;

use anyhow::Result;
use edgezoom_tests::client::timeless;
use edgezoom_tests::programs::free_address;
use edgezoom_tests::{Client, Source, SourceServer, System, picture};

/// Converts a source and returns the code of its failure.
async fn failure_of(source: impl FnOnce(&SourceServer) -> String) -> Result<String> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let source = source(&sources);
    let course = client.convert(&source).await?;
    let content = course.last()?;
    assert_eq!((&content["failed"], &content["ready"]), (&true.into(), &false.into()), "{content}");
    let message = content["failure"]["message"].as_str().unwrap_or_default();
    assert!(!message.is_empty() && !message.contains("/tmp") && !message.contains("target/"), "{message}");
    let again = client.ask(&source).await?;
    let remembered = (again.status.as_u16(), timeless(&again.json()?));
    assert_eq!(remembered, (301, timeless(content)), "a failure is remembered");
    Ok(course.failure_code()?.to_owned())
}

fn photograph() -> Result<Vec<u8>> {
    picture::jpeg(&picture::photograph(1600, 1200, 5))
}

#[tokio::test]
async fn a_missing_source_is_not_found() -> Result<()> {
    assert_eq!(failure_of(|sources| sources.url("nothing.jpg")).await?, "source-not-found");
    Ok(())
}

#[tokio::test]
async fn a_text_file_is_an_unsupported_format() -> Result<()> {
    let text = Source::file("image/jpeg", "This is no picture, whatever its media type says.\n".repeat(20));
    assert_eq!(failure_of(|sources| sources.serve("text.jpg", text)).await?, "unsupported-format");
    Ok(())
}

#[tokio::test]
async fn an_empty_file_is_corrupt() -> Result<()> {
    let empty = Source::file("image/jpeg", "");
    assert_eq!(failure_of(|sources| sources.serve("empty.jpg", empty)).await?, "corrupt-source");
    Ok(())
}

#[tokio::test]
async fn a_truncated_jpeg_becomes_ready_with_a_warning() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let mut bytes = photograph()?;
    bytes.truncate(bytes.len() / 2);
    let source = sources.serve("truncated.jpg", Source::file("image/jpeg", bytes));
    let course = Client::new(system.url())?.convert(&source).await?;
    let warning = course.ready()?["warning"].as_str().unwrap_or_default().to_owned();
    let row = warning.strip_prefix("The file is damaged: from row ").and_then(|rest| rest.split(' ').next());
    assert!(row.is_some_and(|row| matches!(row.parse(), Ok(300..900))), "{warning}");
    Ok(())
}

#[tokio::test]
async fn a_host_that_closes_the_connection_early_is_unreachable() -> Result<()> {
    let bytes = photograph()?;
    let half = bytes.len() / 2;
    let broken =
        Source::file("image/jpeg", bytes).over(Duration::from_millis(100), 10).broken_off_after(half);
    assert_eq!(failure_of(|sources| sources.serve("broken.jpg", broken)).await?, "source-unreachable");
    Ok(())
}

#[tokio::test]
async fn a_host_that_does_not_listen_is_unreachable() -> Result<()> {
    let address = free_address()?;
    assert_eq!(failure_of(|_| format!("http://{address}/a.jpg")).await?, "source-unreachable");
    Ok(())
}
