//! A takedown under load, killed half-way and repeated: no endpoint serves the contents, requests for them are
//! rejected, and the audit log names each once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context, Result, ensure};
use edgezoom_tests::client::Answer;
use edgezoom_tests::{Client, HoldingProxy, Source, SourceServer, System, eventually, patience, picture};
use reqwest::StatusCode;
use serde_json::Value;
use tokio::time::timeout;

const REASON: &str = "Its owner asked for it.";
/// Number of concurrent visitors.
const VISITORS: usize = 6;

#[tokio::test(flavor = "multi_thread")]
async fn a_takedown_under_load_that_is_killed_and_repeated_is_complete_and_logged_once() -> Result<()> {
    let system = System::shared()?;
    let client = Client::new(system.url())?;
    let sources = SourceServer::start()?;
    let mut contents = vec![];
    for number in 0..4 {
        let file = picture::jpeg(&picture::photograph(900, 700, 900 + number))?;
        let url = sources.serve(&format!("taken-{number}.jpg"), Source::file("image/jpeg", file));
        contents.push(client.convert(&url).await?.ready()?.clone());
    }
    // And one in progress.
    let file = picture::jpeg(&picture::photograph(900, 700, 909))?;
    let (held, _gate) = Source::file("image/jpeg", file).held(1);
    contents.push(client.ask(&sources.serve("under-way.jpg", held)).await?.json()?);
    let ids: Vec<&str> = contents.iter().filter_map(|content| content["id"].as_str()).collect();

    let addresses: Arc<Vec<String>> = Arc::new(contents.iter().flat_map(addresses_of).collect());
    // Every address of a ready content works now; one in progress has no files yet.
    for address in addresses_of(&contents[0]) {
        let status = client.get(&address).await?.status;
        ensure!(status.is_success() || status.is_redirection(), "{address} is answered with {status}");
    }
    let events = (client.clone(), format!("/v1/content/{}/events", ids[4]));
    let subscriber = tokio::spawn(async move { events.0.get(&events.1).await });
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
                    let is_refused = told(&answer) == StatusCode::GONE.as_u16();
                    ensure!(is_refused || !was_whole, "{address} is answered with {}", answer.text());
                    refused.fetch_add(usize::from(was_whole), Ordering::SeqCst);
                }
                anyhow::Ok(())
            })
        })
        .collect();

    let takedown = |rate| [&["takedown", "--reason", REASON, "--rate", rate][..], &ids[..]].concat();
    let proxy = HoldingProxy::start(system.url(), 1).await?;
    let mut killed = system.admin(&takedown("20"))?.env("EDGEZOOM_EDGE_URL", &proxy.url).spawn()?;
    proxy.holds().await?;
    killed.kill()?;
    let first = String::from_utf8(killed.wait_with_output()?.stdout)?;
    assert!(first.lines().count() == 1 && first.contains("taken-down"), "{first}");
    assert_ne!(client.get(&format!("/v1/content/{}", ids[1])).await?.status, StatusCode::GONE, "half-way");

    let output = system.admin(&takedown("20"))?.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    is_whole.store(true, Ordering::SeqCst);
    eventually("responses to visitors", async || {
        let is_seen = refused.load(Ordering::SeqCst) >= 2 * addresses.len();
        Ok((is_seen || visitors.iter().any(|one| one.is_finished())).then_some(()))
    })
    .await?;
    is_over.store(true, Ordering::SeqCst);
    for visitor in visitors {
        visitor.await??;
    }
    let seen = timeout(patience(), subscriber).await.context("the event stream stays open")???;
    assert!(seen.text().starts_with("data: {") && !seen.text().contains("finished"), "{}", seen.text());

    for address in addresses.iter() {
        let answer = client.get(address).await?;
        assert_eq!(told(&answer), StatusCode::GONE.as_u16(), "{address}: {}", answer.text());
        assert!(answer.text().contains(REASON), "{address}: {}", answer.text());
    }
    for content in &contents {
        let id = content["id"].as_str().context("no id")?;
        let log = system.admin(&["audit", "--json", "--target", id])?.output()?.stdout;
        let log: Vec<Value> = log.split(|byte| *byte == b'\n').flat_map(serde_json::from_slice).collect();
        let done: Vec<_> =
            log.iter().map(|entry| ["what", "by", "reason"].map(|field| entry[field].as_str())).collect();
        assert_eq!(done, [["takedown", "operator", REASON].map(Some)]);
        system.keeps_nothing(&format!("{id}/")).await?; // a tiler learns with its next report that its attempt has ended
    }

    // After lifting, the content is converted again under new addresses.
    let (id, url) = (ids[0], contents[0]["url"].as_str().context("no URL")?);
    let output = system.admin(&["lift", id])?.output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let course = client.convert(url).await?;
    let address = |content: &Value| content["dzi"]["url"].as_str().map(str::to_owned);
    assert_ne!(address(course.ready()?), address(&contents[0]));
    Ok(())
}

/// Returns the addresses of a content: every endpoint in every form.
fn addresses_of(content: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (id, url) = (text(&content["id"]), escaped(&text(&content["url"])));
    let share = escaped(&text(&content["shareUrl"]));
    let mut addresses = vec![
        format!("/v1/content/?url={url}"),
        format!("/v1/content/?url={url}&format=xml"),
        format!("/v1/content/?url={share}"),
        format!("/v1/dzi/?url={url}"),
        format!("/oembed?url={share}"),
        format!("/?url={url}"),
        format!("/v1/dzi/{id}"),
    ];
    let forms = ["", "?format=json", "?format=xml", "?callback=shown"];
    addresses.extend(forms.map(|form| format!("/v1/content/{id}{form}")));
    addresses.extend(["", "/embed"].map(|page| format!("/{id}{page}")));
    let Some(descriptor) = content["dzi"]["url"].as_str() else { return addresses };
    addresses.extend(["events", "dzi.js"].map(|name| format!("/v1/content/{id}/{name}")));
    addresses.extend(
        ["preview.jpg", "thumbnail.jpg", "at/9,9,3.jpg", "download"].map(|name| format!("/{id}/{name}")),
    );
    let iiif = ["info.json", "manifest.json", "0,0,512,512/512,512/0/default.jpg", "full/9,/90/gray.png"];
    addresses.extend(iiif.map(|name| format!("/iiif/{id}/{name}")));
    let pyramid = descriptor.trim_end_matches(".dzi");
    addresses
        .extend([".dzi", "_files/10/0_0.jpg", "_files/0/0_0.jpg"].map(|name| format!("{pyramid}{name}")));
    addresses
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Returns the response's status, which wrapped forms have in the body.
fn told(answer: &Answer) -> u16 {
    let text = answer.text();
    let in_body = ["\"status\":", "<status>"].iter().find_map(|mark| {
        let digits = text.split_once(mark)?.1.chars().take_while(char::is_ascii_digit);
        digits.collect::<String>().parse().ok()
    });
    in_body.filter(|_| answer.status == StatusCode::OK).unwrap_or(answer.status.as_u16())
}
