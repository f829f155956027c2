//! When there is too much to do, or the operator wants quiet: nothing new is taken, and all that is known is answered.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use edgezoom_tests::{Client, Options, Source, SourceServer, System, picture};

fn picture() -> Result<Source> {
    Ok(Source::file("image/jpeg", picture::jpeg(&picture::photograph(300, 200, 6))?))
}

#[tokio::test]
async fn past_the_backlog_that_tilers_report_nothing_new_is_taken() -> Result<()> {
    let sources = SourceServer::start()?;
    let system = System::start(Options { backlog_limit: 0, ..Options::default() })?;
    let client = Client::new(system.url())?;
    let known = sources.serve("known.jpg", picture()?);
    let course = client.convert(&known).await?;
    course.ready()?;

    // The tiler has two places: one of three waits, as long as the first two are being downloaded. Where the machine is slow,
    // the tiler may report the first one before it takes it.
    let mut asked = 0;
    let begun = Instant::now();
    let refused = loop {
        asked += 1;
        let source = if asked <= 3 {
            sources.serve("slow.jpg", picture()?.over(Duration::from_secs(30), 30))
        } else {
            sources.serve("new.jpg", picture()?)
        };
        let answer = client.ask(&source).await?;
        if answer.status == 503 {
            break answer;
        }
        assert_eq!(answer.status, 301);
        ensure!(begun.elapsed() < Duration::from_secs(40), "the tiler's report never came");
        if asked >= 3 {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    };
    assert_eq!(refused.header("retry-after"), "60");
    assert_eq!(client.ask(&known).await?.status, 301, "what is known is answered");

    // The queue empties, and the tiler says so.
    let begun = Instant::now();
    while client.ask(&sources.serve("later.jpg", picture()?)).await?.status == 503 {
        ensure!(begun.elapsed() < Duration::from_secs(90), "nothing is taken ever again");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    Ok(())
}
