//! A takedown under load that is killed half-way and repeated: nothing of the contents is served by any endpoint, asks for them
//! are refused, and the log has each of them once.

use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use edgezoom_tests::{Client, Source, SourceServer, System, bucket, picture};
use reqwest::StatusCode;
use serde_json::Value;

const REASON: &str = "Its owner asked for it.";
/// How many ask at once, all the time.
const VISITORS: usize = 6;
/// How long objects may take to go, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_takedown_under_load_that_is_killed_and_repeated_takes_all_of_it_down_once() -> Result<()> {
    let system = System::shared()?;
    let client = Client::new(system.url())?;
    let sources = SourceServer::start()?;
    let mut contents = vec![];
    for number in 0..4 {
        let file = picture::jpeg(&picture::photograph(900, 700, 900 + number))?;
        let url = sources.serve(&format!("taken-{number}.jpg"), Source::file("image/jpeg", file));
        contents.push(client.convert(&url).await?.ready()?.clone());
    }
    // And one that a tiler is at work on.
    let file = picture::jpeg(&picture::photograph(900, 700, 909))?;
    let slow = Source::file("image/jpeg", file).over(PATIENCE, 60);
    contents.push(client.ask(&sources.serve("under-way.jpg", slow)).await?.json()?);
    let ids: Vec<&str> = contents.iter().filter_map(|content| content["id"].as_str()).collect();

    let addresses: Arc<Vec<String>> = Arc::new(contents.iter().flat_map(addresses_of).collect());
    let (is_over, is_whole) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let refused = Arc::new(AtomicUsize::new(0));
    let visitors: Vec<_> = (0..VISITORS)
        .map(|first| {
            let (client, addresses) = (client.clone(), Arc::clone(&addresses));
            let (is_over, is_whole) = (Arc::clone(&is_over), Arc::clone(&is_whole));
            let refused = Arc::clone(&refused);
            tokio::spawn(async move {
                for address in addresses.iter().cycle().skip(first * addresses.len() / VISITORS) {
                    if is_over.load(Ordering::SeqCst) {
                        break;
                    }
                    let was_whole = is_whole.load(Ordering::SeqCst);
                    let answer = client.get(address).await?;
                    let is_refused = answer.status == StatusCode::GONE;
                    ensure!(is_refused || !was_whole, "{address} is answered with {}", answer.status);
                    refused.fetch_add(usize::from(was_whole), Ordering::SeqCst);
                }
                anyhow::Ok(())
            })
        })
        .collect();

    let takedown = |rate| [&["takedown", "--reason", REASON, "--rate", rate][..], &ids[..]].concat();
    let mut killed = system.admin(&takedown("1"))?.spawn()?;
    let mut lines = BufReader::new(killed.stdout.take().context("no output")?).lines();
    let first = lines.next().context("nothing is taken down")??;
    killed.kill()?;
    assert!(!killed.wait()?.success() && first.contains("taken-down"), "{first}");
    assert_ne!(client.get(&format!("/v1/content/{}", ids[3])).await?.status, StatusCode::GONE, "half-way");

    let output = system.admin(&takedown("20"))?.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    is_whole.store(true, Ordering::SeqCst);
    let deadline = Instant::now() + PATIENCE;
    while refused.load(Ordering::SeqCst) < 2 * addresses.len()
        && visitors.iter().all(|one| !one.is_finished())
    {
        ensure!(Instant::now() < deadline, "the visitors have no answers");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    is_over.store(true, Ordering::SeqCst);
    for visitor in visitors {
        visitor.await??;
    }

    for content in &contents {
        let (id, url) =
            (content["id"].as_str().context("no id")?, content["url"].as_str().context("no URL")?);
        let asked = client.ask(url).await?;
        assert_eq!(
            (asked.status, asked.text().contains(REASON)),
            (StatusCode::GONE, true),
            "{}",
            asked.text()
        );
        let log = system.admin(&["audit", "--json", "--target", id])?.output()?.stdout;
        let log: Vec<Value> = log.split(|byte| *byte == b'\n').flat_map(serde_json::from_slice).collect();
        let done: Vec<_> =
            log.iter().map(|entry| ["what", "by", "reason"].map(|field| entry[field].as_str())).collect();
        assert_eq!(done, [["takedown", "operator", REASON].map(Some)]);
        nothing_is_kept(&system, id).await?;
    }

    // Lifted, a content comes back under new addresses.
    let (id, url) = (ids[0], contents[0]["url"].as_str().context("no URL")?);
    let output = system.admin(&["lift", id])?.output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let course = client.convert(url).await?;
    let address = |content: &Value| content["dzi"]["url"].as_str().map(str::to_owned);
    assert_ne!(address(course.ready()?), address(&contents[0]));
    Ok(())
}

/// Where clients get something of a content.
fn addresses_of(content: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let id = text(&content["id"]);
    let mut addresses = vec![format!("/v1/content/{id}"), format!("/{id}"), format!("/{id}/embed")];
    addresses.extend(["preview.jpg", "download"].map(|name| format!("/{id}/{name}")));
    addresses.push(format!("/iiif/{id}/info.json"));
    let descriptor = text(&content["dzi"]["url"]);
    if let Some(pyramid) = descriptor.strip_suffix(".dzi") {
        addresses.extend([
            descriptor.clone(),
            format!("{pyramid}_files/10/0_0.jpg"),
            format!("{pyramid}_files/0/0_0.jpg"),
        ]);
    }
    addresses
}

/// Waits until the store has no object of a content: a tiler learns that its attempt is over with its next report.
async fn nothing_is_kept(system: &System, id: &str) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let kept = bucket::keys(system, &format!("{id}/")).await?;
        if kept.is_empty() {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "these are kept: {kept:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
