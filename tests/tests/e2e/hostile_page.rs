//! A hostile page, from its server to a visitor's browser: its bytes determine its type, not its server, and its title
//! is text everywhere.

use anyhow::Result;
use edgezoom_tests::{Client, Source, SourceServer, System, programs};
use serde_json::json;

/// Ends every context that a title is written into, and contains a placeholder of our templates.
const TITLE: &str = r#"</title></script><script>window.hostile=1</script><marquee>"'><img src=x onerror=window.hostile=1>{home}]]>--><!--&amp;"#;

fn page(title: &str) -> String {
    let escaped = title.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<!doctype html><meta charset=utf-8><title>\u{202e}{escaped}\u{2028}</title><script>window.hostile=1;alert(1)</script>
         <p style='height:1000px'>A visitor's browser never sees this HTML."
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_title_of_a_hostile_page_is_text_for_every_visitor() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    // A wrong media type.
    let hostile = sources.serve("hostile.jpg", Source::file("image/jpeg", page(TITLE)));
    let course = client.convert(&hostile).await?;
    let ready = course.ready()?;
    assert_eq!(ready["title"], TITLE, "only invisible characters are removed");
    let id = course.id()?;
    for (path, media_type) in [("", "text/html"), ("/embed", "text/html"), ("/preview.jpg", "image/jpeg")] {
        let answer = client.get(&format!("/{id}{path}")).await?;
        let header =
            |name| answer.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        assert!(header("content-type").starts_with(media_type), "{path}: {}", header("content-type"));
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
    }
    let pages = ["", "/embed"].map(|path| format!("{}/{id}{path}", system.url()));
    let seen = programs::run_in_browser("hostile.mjs", json!({ "pages": pages })).await?;
    for of_page in 0..pages.len() {
        let seen = &seen[of_page];
        assert_eq!(seen["title"].as_str().map(|title| title.contains(TITLE)), Some(true), "{seen}");
        let done = (&seen["ran"], &seen["elements"], &seen["dialogs"], &seen["complaints"]);
        assert_eq!(done, (&json!(false), &json!(0), &json!(0), &json!([])), "{seen}");
    }
    assert_eq!(seen[0]["texts"].as_str().map(|texts| texts.contains(TITLE)), Some(true), "{seen}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drawing_declared_as_html_is_a_drawing() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let drawing = "<!-- <html><script>window.hostile=1</script> --><svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 4'>\
        <title>A drawing</title><script>window.hostile=1</script><rect width='8' height='4'/></svg>";
    let source = sources.serve("page.html", Source::file("text/html", drawing));
    let course = client.convert(&source).await?;
    assert_eq!(course.ready()?["dzi"]["width"], 8192);
    Ok(())
}
