//! What is no picture by itself and becomes one all the same: documents, drawings and web pages, from ask to pyramid.

use anyhow::Result;
use edgezoom_tests::pyramid::Pyramid;
use edgezoom_tests::{Client, Course, Source, SourceServer, System};
use image::{Rgba, RgbaImage};

/// Converts a source and compares its pyramid with a picture.
async fn becomes(
    media_type: &'static str,
    bytes: Vec<u8>,
    fragment: &str,
    picture: &RgbaImage,
) -> Result<Course> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let source = sources.serve("source", Source::file(media_type, bytes)) + fragment;
    let course = client.convert(&source).await?;
    Pyramid::fetch(&client, course.ready()?).await?.equals(picture, 30.0)?;
    let figures = course.progress();
    assert!(figures.len() >= 3, "progress was not live: {figures:?}");
    Ok(course)
}

/// A picture of two colours, one above the other.
fn halves(width: u32, height: u32, [above, below]: [[u8; 3]; 2]) -> RgbaImage {
    RgbaImage::from_fn(width, height, |_, y| {
        let [red, green, blue] = if y < height / 2 { above } else { below };
        Rgba([red, green, blue, 255])
    })
}

#[tokio::test]
async fn a_drawing() -> Result<()> {
    let drawing = r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 2">
        <rect width="1" height="1" fill="red"/><rect y="1" width="1" height="1" fill="blue"/></svg>"#;
    let picture = halves(4096, 8192, [[255, 0, 0], [0, 0, 255]]);
    becomes("image/svg+xml", drawing.into(), "", &picture).await?;
    Ok(())
}

#[tokio::test]
async fn a_page_of_a_document() -> Result<()> {
    let document = document(&["0 g 0 0 144 144 re f", "1 0 0 rg 0 72 144 72 re f 0 0 1 rg 0 0 144 72 re f"]);
    let picture = halves(4000, 4000, [[255, 0, 0], [0, 0, 255]]);
    becomes("application/pdf", document, "#page=2", &picture).await?;
    Ok(())
}

/// A PDF with pages of two inches.
fn document(pages: &[&str]) -> Vec<u8> {
    let kids: String = (0..pages.len()).map(|page| format!("{} 0 R ", 3 + 2 * page)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Count {} /Kids [{kids}] >>", pages.len()),
    ];
    for (page, content) in pages.iter().enumerate() {
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 144 144] /Contents {} 0 R >>",
            4 + 2 * page
        ));
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    let mut file = "%PDF-1.4\n".to_owned();
    let mut table = "0000000000 65535 f \n".to_owned();
    for (number, object) in objects.iter().enumerate() {
        table += &format!("{:010} 00000 n \n", file.len());
        file += &format!("{} 0 obj\n{object}\nendobj\n", number + 1);
    }
    let (start, count) = (file.len(), objects.len() + 1);
    file += &format!(
        "xref\n0 {count}\n{table}trailer << /Size {count} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    );
    file.into_bytes()
}

#[tokio::test]
async fn a_web_page_without_what_lies_in_private_networks() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let picture = r#"<svg xmlns="http://www.w3.org/2000/svg"/>"#;
    let allowed = sources.serve("allowed.svg", Source::file("image/svg+xml", picture));
    let secret = sources.serve("secret.svg", Source::file("image/svg+xml", picture));
    let page = format!(
        "<!doctype html><title>Two colours</title><style>body{{margin:0}} div{{height:1000px}} img{{display:none}}</style>
         <div style='background:red'></div><div style='background:blue'></div><img src='{allowed}'><img src='{}'>",
        sources.forbidden(&secret)
    );
    let source = sources.serve("page", Source::file("text/html", page));
    let course = client.convert(&source).await?;
    let halves = halves(2560, 4000, [[255, 0, 0], [0, 0, 255]]);
    Pyramid::fetch(&client, course.ready()?).await?.equals(&halves, 30.0)?;
    assert_eq!(course.ready()?["title"], "Two colours");
    let share = client.get(&format!("/{}", course.id()?)).await?.text();
    assert!(share.contains("<title>Two colours – Edgezoom</title>"), "{share}");
    assert_eq!((sources.hits(&allowed), sources.hits(&secret)), (1, 0));
    let figures = course.progress();
    assert!(figures.len() >= 3, "progress was not live: {figures:?}");
    Ok(())
}
