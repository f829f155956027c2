//! Static files: other methods than GET and HEAD are refused with `Allow` and a reason, as everywhere.

use anyhow::Result;
use edgezoom_tests::{Client, System};

#[tokio::test]
async fn static_files_refuse_other_methods_with_a_reason() -> Result<()> {
    let system = System::shared()?; // it ends with its last user
    let client = Client::new(system.url())?;
    for path in
        ["/docs", "/docs/", "/bot", "/openapi.json", "/favicon.ico", "/assets/share.js", "/assets/nothing.js"]
    {
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
