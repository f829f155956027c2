//! One conversion is one message, and what is queued stays queued.

use std::collections::BTreeSet;

use anyhow::Result;
use edgezoom_tests::{Client, Course, Options, Source, SourceServer, System, picture};
use futures::future::try_join_all;
use serde_json::Value;

async fn queue(system: &System) -> Result<Value> {
    let path = "/accounts/local/queues/edgezoom-jobs/metrics";
    Ok(Client::new(system.url())?.get_as(path, &system.token()?).await?.json()?["result"].take())
}

fn picture() -> Result<Source> {
    Ok(Source::file("image/jpeg", picture::jpeg(&picture::photograph(700, 500, 6))?))
}

#[tokio::test]
async fn many_who_ask_at_once_are_one_message_and_what_is_queued_is_done_after_a_restart() -> Result<()> {
    let (mut system, sources) =
        (System::start(Options { tilers: 0, ..Options::default() })?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let source = sources.serve("wanted.jpg", picture()?);
    let answers = try_join_all((0..20).map(|_| client.ask(&source))).await?;
    let mut ids =
        answers.iter().map(|answer| Ok(answer.json()?["id"].to_string())).collect::<Result<BTreeSet<_>>>()?;
    assert_eq!(ids.len(), 1, "{ids:?}");
    assert_eq!(queued(&system, 1).await?["sent_count"], 1);

    for count in [2, 3] {
        let answer = client.ask(&sources.serve("other.jpg", picture()?)).await?;
        ids.insert(answer.json()?["id"].to_string());
        assert_eq!(queued(&system, count).await?["sent_count"], count, "the count counts");
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

/// The queue's metrics, once `count` messages are in it: the local queue hands them over a moment after they are sent.
async fn queued(system: &System, count: u64) -> Result<Value> {
    for _ in 0..200 {
        let metrics = queue(system).await?;
        if metrics["backlog_count"].as_u64() >= Some(count) {
            tokio::time::sleep(std::time::Duration::from_millis(300)).await; // another one would be there by then
            return queue(system).await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    anyhow::bail!("the queue has {}", queue(system).await?)
}
