//! Documents, drawings and web pages become pyramids.

use anyhow::{Context as _, Result};
use edgezoom_tests::pyramid::Pyramid;
use edgezoom_tests::{Client, Source, SourceServer, System, picture};
use image::{DynamicImage, RgbaImage};
use serde_json::Value;

/// Converts a source and compares its pyramid with a picture.
async fn becomes(
    media_type: &'static str,
    bytes: Vec<u8>,
    fragment: &str,
    picture: &RgbaImage,
) -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let (file, gate) = Source::file(media_type, bytes).held(4);
    let mut course = client.begin(&(sources.serve("source", file) + fragment)).await?;
    client.follow_parts(&mut course, &gate).await?;
    Pyramid::fetch(&client, course.ready()?).await?.equals(picture, 30.0)
}

/// Returns a square's shade of grey, different from its neighbours, so that a misplaced tile does not match.
fn shade(column: u32, row: u32) -> u8 {
    96 + (column * 29 + row * 43 + column * row * 7) as u8 % 64
}

/// Returns a picture of squares.
fn squares(width: u32, height: u32, side: u32) -> RgbaImage {
    let grey = picture::cells(width, height, (side, side), |column, row| [shade(column, row); 3]);
    DynamicImage::from(grey).into_rgba8()
}

/// Concatenates the commands that draw the squares.
fn drawn(columns: u32, rows: u32, draw: impl Fn(u32, u32, u8) -> String) -> String {
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (column, row)));
    places.map(|(column, row)| draw(column, row, shade(column, row))).collect()
}

#[tokio::test]
async fn a_drawing_becomes_a_pyramid() -> Result<()> {
    let squares_of_one = drawn(32, 64, |column, row, grey| {
        format!(r#"<rect x="{column}" y="{row}" width="1" height="1" fill="rgb({grey},{grey},{grey})"/>"#)
    });
    let drawing =
        format!(r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 64">{squares_of_one}</svg>"#);
    becomes("image/svg+xml", drawing.into(), "", &squares(4096, 8192, 128)).await
}

#[tokio::test]
async fn the_page_of_a_document_that_the_fragment_names_becomes_a_pyramid() -> Result<()> {
    // 4,000 pixels for 200 points; the origin of a page is its lower left corner.
    let page = drawn(40, 40, |column, row, grey| {
        let grey = f64::from(grey) / 255.0;
        format!("{grey:.4} g {} {} 5 5 re f ", column * 5, 195 - row * 5)
    });
    let document = document(&["0 g 0 0 200 200 re f", &page]);
    becomes("application/pdf", document, "#page=2", &squares(4000, 4000, 100)).await
}

/// Returns a PDF with square pages of 200 points. `/F1` is Helvetica.
pub fn document(pages: &[&str]) -> Vec<u8> {
    let kids: String = (0..pages.len()).map(|page| format!("{} 0 R ", 3 + 2 * page)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Count {} /Kids [{kids}] >>", pages.len()),
    ];
    for (page, content) in pages.iter().enumerate() {
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents {} 0 R \
             /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
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
async fn the_words_of_a_drawing_and_of_a_web_page_are_served() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let drawing = r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 100"><text x="9" y="50">words of it</text></svg>"#;
    let page = "<!doctype html><h1>words of it</h1><iframe srcdoc='<p>and more'></iframe>";
    for (name, media_type, source) in [("a.svg", "image/svg+xml", drawing), ("a.html", "text/html", page)] {
        let course = client.convert(&sources.serve(name, Source::file(media_type, source))).await?;
        let address = course.ready()?["text"].as_str().unwrap_or_default().to_owned();
        let words = client.get(&address).await?.text();
        assert!(words.contains("words of it"), "{name}: {words}");
        assert_eq!(words.contains("and more"), name == "a.html", "{words}");
    }
    Ok(())
}

#[tokio::test]
async fn the_pages_of_a_document_are_served_as_vectors() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let contents =
        ["1 0 0 rg 20 20 100 100 re f", "0 0 1 rg 50 50 9 9 re f BT /F1 12 Tf 20 100 Td (words) Tj ET"];
    let file = Source::file("application/pdf", document(&contents));
    let course = client.convert(&sources.serve("vectors.pdf", file)).await?;
    let table = course.ready()?["vector"].as_str().context("it has no vectors")?.to_owned();
    let places: Value = client.get(&table).await?.json()?;
    let names: Vec<_> = (0..2).filter_map(|page| places["pages"][page]["url"].as_str()).collect();
    assert_eq!(names, ["0.svg", "1.svg"], "{places}");
    for (name, colour) in names.iter().zip(["#f00", "#00f"]) {
        let page = client.get(&table.replace("pages.json", name)).await?;
        assert_eq!(page.header("Content-Type"), "image/svg+xml");
        assert!(page.text().starts_with("<svg ") && page.text().contains(colour), "{}", page.text());
    }
    Ok(())
}

#[tokio::test]
async fn a_drawing_is_served_as_vectors() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let drawing = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 60"><script>a()</script><style>.a{fill:#06c}</style>
        <g transform="scale(2)"><circle class="a" cx="20" cy="15" r="9"/></g><text x="5" y="50">words</text></svg>"##;
    let course =
        client.convert(&sources.serve("vectors.svg", Source::file("image/svg+xml", drawing))).await?;
    let content = course.ready()?;
    let table = content["vector"].as_str().context("it has no vectors")?.to_owned();
    let places: Value = client.get(&table).await?.json()?;
    let [page] = places["pages"].as_array().context("no list")?.as_slice() else { panic!("{places}") };
    for (side, of_picture) in [("x", 0.into()), ("width", content["dzi"]["width"].clone())] {
        assert_eq!(page[side], of_picture, "{places}");
    }
    let page = client.get(&table.replace("pages.json", "0.svg")).await?;
    assert_eq!(page.header("Content-Type"), "image/svg+xml");
    let svg = page.text();
    assert!(svg.starts_with("<svg ") && svg.contains("#06c"), "{svg}");
    assert!(!["script", "style", "text", "words"].iter().any(|part| svg.contains(part)), "{svg}");
    Ok(())
}

#[tokio::test]
async fn a_web_page_becomes_a_pyramid_without_resources_from_private_networks() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let picture = r#"<svg xmlns="http://www.w3.org/2000/svg"/>"#;
    let (file, gate) = Source::file("image/svg+xml", picture).held(1);
    let allowed = sources.serve("allowed.svg", file);
    let secret = sources.serve("secret.svg", Source::file("image/svg+xml", picture));
    let squares_of_fifty = drawn(26, 40, |column, row, grey| {
        let (left, top) = (column * 50, row * 50);
        format!("<i style='left:{left}px;top:{top}px;background:rgb({grey},{grey},{grey})'></i>")
    });
    let page = format!(
        "<!doctype html><title>Many shades</title>
         <style>body{{margin:0;height:2000px;position:relative;overflow:hidden}} i{{position:absolute;width:50px;height:50px}}</style>
         {squares_of_fifty}<img src='{allowed}'><img src='{}'>",
        sources.forbidden(&secret)
    );
    let source = sources.serve("page", Source::file("text/html", page));
    let mut course = client.begin(&source).await?;
    // The progress of a page that loads is the time that it takes.
    for _ in 0..3 {
        let shown = course.last()?["progress"].clone();
        client.follow_until(&mut course, |content| content["progress"] != shown).await?;
    }
    gate.open();
    client.follow(&mut course).await?;
    Pyramid::fetch(&client, course.ready()?).await?.equals(&squares(2560, 4000, 100), 30.0)?;
    assert_eq!(course.ready()?["title"], "Many shades");
    let share = client.get(&format!("/{}", course.id()?)).await?.text();
    assert!(share.contains("<title>Many shades – Edgezoom</title>"), "{share}");
    assert_eq!((sources.hits(&allowed), sources.hits(&secret)), (1, 0));
    Ok(())
}
