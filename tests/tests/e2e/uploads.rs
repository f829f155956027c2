//! Uploaded files become contents, and are stored only until their conversion ends.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use edgezoom_tests::picture;
use edgezoom_tests::pyramid::Pyramid;
use edgezoom_tests::{Client, Course, System};
use image::DynamicImage;

/// Time after which a deletion is effective everywhere.
const EVERYWHERE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn an_uploaded_file_becomes_a_pyramid_and_is_deleted() -> Result<()> {
    let system = System::shared()?;
    let client = Client::new(system.url())?;
    let photograph = picture::photograph(1700, 1300, 14);
    let file = picture::jpeg(&photograph)?;
    let content = sent(&client, "old town.jpg", file.clone()).await?;
    let url = content.last()?["url"].as_str().unwrap_or_default();
    assert!(url.starts_with("ni:///sha-256;") && url.ends_with("?name=old%20town.jpg"), "{url}");
    let pyramid = Pyramid::fetch(&client, content.ready()?).await?;
    pyramid.equals(&DynamicImage::from(photograph).into_rgba8(), 32.0)?;
    system.keeps_nothing("uploads/").await?;

    let again = client.send("another name.jpg", file).await?.json()?;
    assert_eq!(
        (&again["id"], &again["ready"]),
        (&content.last()?["id"], &true.into()),
        "the same file has the same id"
    );
    system.keeps_nothing("uploads/").await?;
    let page = client.get(again["shareUrl"].as_str().unwrap_or_default()).await?.text();
    assert!(page.contains("<h1>Uploaded file</h1>"), "a file with two names has none: {page}");
    Ok(())
}

#[tokio::test]
async fn a_deleted_upload_is_gone_from_every_address_within_20_seconds() -> Result<()> {
    let system = System::shared()?;
    let client = Client::new(system.url())?;
    let file = picture::jpeg(&picture::photograph(1300, 1100, 77))?;
    let answer = client.send("my house.jpg", file.clone()).await?.json()?;
    let key = answer["deletionKey"].as_str().context("no key")?.to_owned();
    let mut course = Course::default();
    course.see(answer)?;
    client.follow(&mut course).await?;
    let content = course.ready()?;
    let id = content["id"].as_str().context("no id")?;
    let descriptor = content["dzi"]["url"].as_str().context("no pyramid")?;
    let addresses = addresses_of(id, descriptor, content["shareUrl"].as_str().context("no link")?);
    for address in &addresses {
        let status = client.get(address).await?.status;
        ensure!(status.is_success() || status.is_redirection(), "{address} is answered with {status}");
    }

    assert_eq!(client.delete(id, "another key").await?.status, 403);
    let start = Instant::now();
    assert_eq!(client.delete(id, &key).await?.status, 204);
    for address in &addresses {
        loop {
            let asked = start.elapsed();
            let answer = client.get(address).await?;
            if answer.status == 410 || answer.text().contains("\"status\":410") {
                break;
            }
            ensure!(asked < EVERYWHERE, "{address} is answered with {}", answer.status);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    system.keeps_nothing("uploads/").await?;
    system.keeps_nothing(&format!("{id}/")).await?;

    let again = sent(&client, "my house.jpg", file).await?;
    assert_ne!(again.ready()?["id"], id, "the same bytes are a new content");
    Ok(())
}

/// Returns the addresses of a ready content: every endpoint.
fn addresses_of(id: &str, descriptor: &str, share: &str) -> Vec<String> {
    let content = ["", "?format=json", "/dzi.js", "/events"].map(|name| format!("/v1/content/{id}{name}"));
    let pages = ["", "?at=9,9,3", "/embed", "/preview.jpg", "/thumbnail.jpg", "/at/9,9,3.jpg", "/download"];
    let image = ["full/max/0/default.jpg", "0,0,512,512/512,512/0/default.jpg", "full/9,/90/gray.png"];
    let iiif = ["info.json", "manifest.json"].into_iter().chain(image);
    let pyramid = descriptor.trim_end_matches(".dzi");
    let mut addresses = vec![format!("/v1/dzi/{id}"), format!("/oembed?url={share}")];
    addresses.extend(content);
    addresses.extend(pages.map(|name| format!("/{id}{name}")));
    addresses.extend(iiif.map(|name| format!("/iiif/{id}/{name}")));
    addresses
        .extend([".dzi", "_files/11/0_0.jpg", "_files/0/0_0.jpg"].map(|name| format!("{pyramid}{name}")));
    addresses
}

#[tokio::test]
async fn an_uploaded_file_that_is_no_picture_fails_and_is_deleted() -> Result<()> {
    let system = System::shared()?;
    let client = Client::new(system.url())?;
    let content = sent(&client, "letter.txt", "Dear Sir or Madam".repeat(9)).await?;
    assert_eq!(content.failure_code()?, "unsupported-format");
    system.keeps_nothing("uploads/").await
}

/// Uploads a file and waits until its content is ready or has failed.
async fn sent(client: &Client, name: &str, file: impl Into<bytes::Bytes>) -> Result<Course> {
    let answer = client.send(name, file).await?;
    ensure!(answer.status == 301, "{}: {}", answer.status, answer.text());
    let mut course = Course::default();
    course.see(answer.json()?)?;
    client.follow(&mut course).await?;
    Ok(course)
}
