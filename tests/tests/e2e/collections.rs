//! A collection in the real service: every entry has its end in the journal, though lines are sent twice and a tiler dies;
//! files of a folder are entries.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use edgezoom_tests::{Client, Options, Source, SourceServer, System, eventually, picture, processes, system};
use rustix::process::Signal;
use serde_json::{Value, json};

const KEY: &str = "a key that the test has made: 0123456789";
const DRAWINGS: &str = "/v1/collections/drawings";

/// Sends lines, twice. Returns the first answer.
async fn add(client: &Client, lines: &[Value]) -> Result<Value> {
    let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let target = format!("{DRAWINGS}/entries");
    let answer = client.post_as(&target, KEY, body.clone()).await?;
    ensure!(answer.status == 202, "{}: {}", answer.status, answer.text());
    let again = client.post_as(&target, KEY, body).await?.json()?;
    assert_eq!((&again["changed"], &again["refused"]), (&json!(0), &json!([])));
    answer.json()
}

/// Returns the journal from behind a change on, by pages of seven.
async fn journal(client: &Client, mut after: u64) -> Result<Vec<Value>> {
    let mut entries = vec![];
    loop {
        let page = client.get_as(&format!("{DRAWINGS}/entries?limit=7&after={after}"), KEY).await?.text();
        let page: Vec<Value> = page.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let Some(last) = page.last() else { return Ok(entries) };
        after = last["seq"].as_u64().context("no number")?;
        entries.extend(page);
    }
}

async fn counts(client: &Client) -> Result<Value> {
    Ok(client.get(DRAWINGS).await?.json()?["counts"].take())
}

#[tokio::test]
async fn forty_entries_end_in_the_journal_though_a_tiler_dies() -> Result<()> {
    let system = System::start(Options { lease: Duration::from_secs(10), ..Options::default() })?;
    let (client, sources) = (Client::new(system.url())?, SourceServer::start()?);
    let begun = client.put_as(DRAWINGS, KEY, r#"{"title":"Drawings","credit":"Museum"}"#).await?;
    assert_eq!(begun.status, 201, "{}", begun.text());
    let mut urls = vec![];
    for number in 0..39 {
        let file = picture::jpeg(&picture::photograph(400, 300, number))?;
        urls.push(sources.serve(&format!("{number}.jpg"), Source::file("image/jpeg", file)));
    }
    let nobody = xtask::dev::free_port(0)?;
    urls.push(format!("http://127.0.0.1:{nobody}/39.jpg"));
    let lines: Vec<_> = urls.iter().map(|url| json!({ "url": url, "title": "Draft" })).collect();
    assert_eq!(add(&client, &lines).await?["changed"], 40);

    let has_begun = async || Ok((counts(&client).await?["ready"].as_u64() > Some(0)).then_some(()));
    eventually("an entry is ready", has_begun).await?;
    processes::signal(system.tiler()?.process, Signal::KILL)?;
    // An entry that changes between two pages is in both.
    let seen = journal(&client, 0).await?;
    assert!(seen.len() >= 40);
    add(&client, &[json!({ "url": urls[5], "title": "Final" }), json!({ "url": urls[6], "remove": true })])
        .await?;

    let is_done = async || {
        let counts = counts(&client).await?;
        Ok((counts["waiting"] == 0 && counts["converting"] == 0).then_some(counts))
    };
    let counts = eventually("every entry has its end", is_done).await?;
    assert_eq!((&counts["ready"], &counts["failed"], &counts["removed"]), (&json!(38), &json!(1), &json!(1)));
    let entries = journal(&client, 0).await?;
    let numbers: Vec<_> = entries.iter().filter_map(|entry| entry["seq"].as_u64()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    let ids: BTreeSet<_> = entries.iter().filter_map(|entry| entry["id"].as_str()).collect();
    assert_eq!((entries.len(), ids.len()), (40, 40));
    // A reader who goes on from what it has seen knows the same.
    let after = seen.last().and_then(|entry| entry["seq"].as_u64()).context("nothing was seen")?;
    let later = journal(&client, after).await?;
    assert_eq!(entries.iter().filter(|entry| entry["seq"].as_u64() > Some(after)).count(), later.len());
    assert_eq!(entries[entries.len() - later.len()..], later);

    let of = |number: usize| entries.iter().find(|entry| entry["url"] == urls[number]).context("no entry");
    assert_eq!(
        (&of(39)?["state"], &of(39)?["failure"]["code"]),
        (&json!("failed"), &json!("source-unreachable"))
    );
    assert_eq!(of(6)?["state"], "removed");
    let id = |number| Ok::<_, anyhow::Error>(of(number)?["id"].as_str().context("no id")?.to_owned());
    assert_eq!(client.get(&format!("/v1/content/{}", id(6)?)).await?.status, 410);
    let titled = async || Ok((client.content(&id(5)?).await?["title"] == "Final").then_some(()));
    eventually("the edited title is shown", titled).await?;
    assert_eq!(client.content(&id(5)?).await?["credits"]["credit"], "Museum");
    // The public sees the collection.
    let shown = client.get("/iiif/collection/drawings").await?.json()?;
    assert_eq!(shown["items"].as_array().map(Vec::len), Some(38));
    assert_eq!(client.get("/iiif/activity/drawings").await?.json()?["totalItems"], 39);
    let page = client.get("/c/drawings").await?;
    assert!(page.status == 200 && page.text().contains("38 pictures"), "{}: {}", page.status, page.text());
    assert_eq!(client.get("/c/unknown").await?.status, 404);
    let embed = client.get(&format!("/oembed?url={}/c/drawings", system.url())).await?.json()?;
    assert_eq!((&embed["thumbnail_width"], &embed["thumbnail_height"]), (&json!(400), &json!(300)));
    let found = client.get(&format!("{DRAWINGS}/entries?q=fin")).await?.text();
    assert!(found.lines().count() == 1 && found.contains("Final"), "{found}");
    // The same URL of nobody's is another content, without the owner's words.
    let open = client.convert(&urls[5]).await?;
    assert_ne!(open.id()?, id(5)?);
    assert_eq!(open.ready()?["title"], Value::Null);
    Ok(())
}

#[tokio::test]
async fn the_files_of_a_folder_become_entries_and_leave_the_store() -> Result<()> {
    let system = System::start(Options::default())?;
    let client = Client::new(system.url())?;
    let begun = client.put_as(DRAWINGS, KEY, "{}").await?;
    assert_eq!(begun.status, 201, "{}", begun.text());
    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("1937"))?;
    for (number, name) in ["1937/Old bridge.jpg", "Neue Brücke.jpg"].into_iter().enumerate() {
        std::fs::write(
            folder.path().join(name),
            picture::jpeg(&picture::photograph(400, 300, number as u32))?,
        )?;
    }
    let program = system::built("tiler")?;
    let add = || {
        let mut tiler = Command::new(&program);
        tiler.args(["collection", "add", "drawings", "--watch"]).arg(folder.path());
        tiler.env("EDGEZOOM_EDGE_URL", system.url()).env("EDGEZOOM_COLLECTION_KEY", KEY);
        tokio::task::spawn_blocking(move || tiler.output())
    };
    let output = add().await??;
    let text = String::from_utf8(output.stdout)?;
    let added = "drawings: 2 lines accepted, 2 changed, 0 refused\n";
    assert_eq!(
        text,
        format!("{added}drawings: 2 ready, 0 failed\n"),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    system.keeps_nothing("uploads/").await?;
    let entries = journal(&client, 0).await?;
    let mut titles = vec![];
    for entry in &entries {
        let content = client.content(entry["id"].as_str().context("no id")?).await?;
        assert_eq!((&content["ready"], &content["dzi"]["width"]), (&json!(true), &json!(400)));
        titles.push(content["title"].as_str().context("no title")?.to_owned());
    }
    titles.sort_unstable();
    assert_eq!(titles, ["Neue Brücke", "Old bridge"]);
    let page = client.get("/c/drawings").await?.text();
    assert!(titles.iter().all(|title| page.contains(&format!("<b>{title}</b>"))), "{page}");
    let again = String::from_utf8(add().await??.stdout)?;
    assert!(again.starts_with("drawings: 2 lines accepted, 0 changed, 0 refused\n"), "{again}");
    Ok(())
}
