//! The queue: one message for each conversion, which survives a restart; and no new contents above the backlog limit or
//! in maintenance.

use std::collections::BTreeSet;

use anyhow::Result;
use edgezoom_tests::{Client, Course, Options, Source, SourceServer, System, eventually, picture};
use futures::future::try_join_all;
use serde_json::Value;

/// Returns the queue's metrics.
async fn queue(system: &System) -> Result<Value> {
    let path = "/accounts/local/queues/edgezoom-jobs/metrics";
    Ok(Client::new(system.url())?.get_as(path, &system.token()?).await?.json()?["result"].take())
}

fn picture() -> Result<Source> {
    Ok(Source::file("image/jpeg", picture::jpeg(&picture::photograph(700, 500, 6))?))
}

#[tokio::test]
async fn concurrent_requests_for_a_url_are_one_message_which_survives_a_restart() -> Result<()> {
    let (mut system, sources) =
        (System::start(Options { tilers: 0, ..Options::default() })?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let source = sources.serve("wanted.jpg", picture()?);
    let answers = try_join_all((0..20).map(|_| client.ask(&source))).await?;
    let mut ids =
        answers.iter().map(|answer| Ok(answer.json()?["id"].to_string())).collect::<Result<BTreeSet<_>>>()?;
    assert_eq!(ids.len(), 1, "{ids:?}");
    queued(&system, 1).await?;
    // Once later messages are queued, so would be a second message for the first URL.
    for count in [2, 3] {
        let answer = client.ask(&sources.serve("other.jpg", picture()?)).await?;
        ids.insert(answer.json()?["id"].to_string());
        assert_eq!(queued(&system, count).await?["sent_count"], count);
    }
    let state = system.state();
    assert!(system.end(rustix::process::Signal::TERM)?.success(), "{}", system.log());
    drop(system);

    let system = System::start_with(Options::default(), state)?;
    let client = Client::new(system.url())?;
    for id in ids {
        let mut course = Course::default();
        course.see(client.content(id.trim_matches('"')).await?)?;
        client.follow(&mut course).await?;
        course.ready()?;
    }
    Ok(())
}

/// Waits until the queue has `count` messages and returns its metrics. The local queue delivers shortly after sending.
async fn queued(system: &System, count: u64) -> Result<Value> {
    eventually("the message", async || {
        let metrics = queue(system).await?;
        Ok(Some(metrics).filter(|metrics| metrics["backlog_count"].as_u64() >= Some(count)))
    })
    .await
}

#[tokio::test]
async fn above_the_backlog_limit_new_contents_get_503_until_the_queue_empties() -> Result<()> {
    let sources = SourceServer::start()?;
    let system = System::start(Options { backlog_limit: 0, ..Options::default() })?;
    let client = Client::new(system.url())?;
    let known = sources.serve("known.jpg", picture()?);
    let course = client.convert(&known).await?;
    course.ready()?;

    // The tiler's two slots are taken until the gate opens, so the other messages wait.
    let (held, gate) = picture()?.held(1);
    let refused = eventually("a report of the backlog", async || {
        let answer = client.ask(&sources.serve("held.jpg", held.clone())).await?;
        assert!(answer.status == 301 || answer.status == 503, "{}", answer.text());
        Ok(Some(answer).filter(|answer| answer.status == 503))
    })
    .await?;
    assert_eq!(refused.header("retry-after"), "60");
    assert_eq!(client.ask(&known).await?.status, 301, "known contents are answered");

    gate.open();
    eventually("a report that the queue is empty", async || {
        let answer = client.ask(&sources.serve("later.jpg", picture()?)).await?;
        Ok((answer.status == 301).then_some(()))
    })
    .await
}
