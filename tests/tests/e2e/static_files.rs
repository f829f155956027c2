//! Static files: other methods than GET and HEAD are refused with `Allow` and a reason, as everywhere.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use edgezoom_tests::{Client, System};

#[tokio::test]
async fn static_files_refuse_other_methods_with_a_reason() -> Result<()> {
    let system = System::shared()?; // it ends with its last user
    let client = Client::new(system.url())?;
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../edge/build/assets");
    let mut paths: Vec<String> =
        ["/docs/", "/assets/share.js", "/assets/nothing.js"].map(String::from).into();
    for file in fs::read_dir(built)? {
        let name = file?.file_name().into_string().unwrap_or_default();
        if name != "_headers" && name != "assets" {
            paths.push(format!("/{}", name.trim_end_matches(".html")));
        }
    }
    ensure!(paths.len() >= 8, "{paths:?}");
    for path in &paths {
        let refused = client.post_as(path, "no token", "").await?;
        assert_eq!((refused.status.as_u16(), refused.header("Allow")), (405, "GET, HEAD, OPTIONS"), "{path}");
        assert_eq!(refused.text(), "Use GET, HEAD, OPTIONS.", "{path}");
    }
    for (path, media_type) in [
        ("/docs", "text/html"),
        ("/openapi.json", "application/json"),
        ("/assets/share.js", "text/javascript"),
    ] {
        let file = client.get(path).await?;
        let sent = file.header("Content-Type");
        assert!(file.status == 200 && sent.starts_with(media_type), "{path}: {} {sent}", file.status);
        assert_eq!(file.header("X-Content-Type-Options"), "nosniff", "{path}");
    }
    assert_eq!(client.get("/assets/nothing.js").await?.status, 404);
    Ok(())
}
