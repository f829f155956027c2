//! Finished contents are answered from KV, in maintenance mode too.

use anyhow::{Result, ensure};
use edgezoom_tests::client::timeless;
use edgezoom_tests::{Client, Options, Source, SourceServer, System, picture};
use rustix::process::Signal;

#[tokio::test]
async fn finished_contents_are_answered_from_kv_alone_and_maintenance_rejects_new_ones() -> Result<()> {
    let sources = SourceServer::start()?;
    let mut system = System::start(Options::default())?;
    let client = Client::new(system.url())?;
    let picture = picture::jpeg(&picture::photograph(300, 200, 7))?;
    let good = sources.serve("good.jpg", Source::file("image/jpeg", picture.clone()));
    let bad = sources.url("bad.jpg");
    let ready = client.convert(&good).await?;
    let failed = client.convert(&bad).await?;
    ready.ready()?;
    assert_eq!(failed.failure_code()?, "source-not-found");
    let state = system.state();
    assert!(system.end(Signal::TERM)?.success(), "{}", system.log());
    let port = system.url().rsplit(':').next().unwrap_or_default().to_owned();
    drop(system);
    forget_objects(state.path())?;

    let system = System::start_with(Options { maintenance: true, tilers: 0, ..Options::default() }, state)?;
    let client = Client::new(system.url())?;
    for course in [ready, failed] {
        let before = timeless(course.last()?).to_string();
        let now = timeless(&client.content(&course.id()?).await?).to_string();
        assert_eq!(now.replace(system.url(), ""), before.replace(&format!("http://127.0.0.1:{port}"), ""));
    }
    assert_eq!(client.ask(&good).await?.status, 301);
    let refused = client.ask(&sources.serve("new.jpg", Source::file("image/jpeg", picture))).await?;
    assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (503, "300"));
    assert!(refused.text().contains("maintenance"), "{}", refused.text());
    Ok(())
}

/// Deletes the conversions' Durable Objects in miniflare's storage, `v3/do/<worker>-<class>`, so that only KV has the
/// contents.
fn forget_objects(state: &std::path::Path) -> Result<()> {
    let objects = state.join("wrangler/v3/do/edgezoom-ConversionObject");
    ensure!(objects.is_dir(), "{} has no objects", objects.display());
    Ok(std::fs::remove_dir_all(objects)?)
}
