//! Uploaded files become contents, and are stored only until their conversion ends.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use edgezoom_tests::picture;
use edgezoom_tests::pyramid::Pyramid;
use edgezoom_tests::{Client, Course, System};
use image::DynamicImage;

/// Time limit for the Worker to delete a file on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

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
    nothing_is_kept(&system).await?;

    let again = client.send("another name.jpg", file).await?.json()?;
    assert_eq!(
        (&again["id"], &again["ready"]),
        (&content.last()?["id"], &true.into()),
        "the same file has the same id"
    );
    nothing_is_kept(&system).await?;
    let page = client.get(again["shareUrl"].as_str().unwrap_or_default()).await?.text();
    assert!(page.contains("<h1>old town.jpg</h1>"), "{page}");
    Ok(())
}

#[tokio::test]
async fn an_uploaded_file_that_is_no_picture_fails_and_is_deleted() -> Result<()> {
    let system = System::shared()?;
    let client = Client::new(system.url())?;
    let content = sent(&client, "letter.txt", "Dear Sir or Madam".repeat(9)).await?;
    assert_eq!(content.failure_code()?, "unsupported-format");
    nothing_is_kept(&system).await
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

/// Waits until no uploaded file is stored: it is deleted after clients learn of the end.
async fn nothing_is_kept(system: &System) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    loop {
        let kept = system.stored("uploads/").await?;
        if kept.is_empty() {
            return Ok(());
        }
        ensure!(Instant::now() < end, "these files are left: {kept:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
