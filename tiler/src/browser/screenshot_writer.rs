//! Writes captured strips for the renderer process, as [`page_strips`](edgezoom_codecs::formats::screenshot) reads them. The pictures
//! are written as the browser gives them; only the renderer process looks into them.

use edgezoom_content::Size;
use tokio::io::{self, AsyncWrite, AsyncWriteExt};

use edgezoom_codecs::formats::screenshot::MAGIC;

/// Writes what comes before the first strip.
pub(super) async fn begin(out: &mut (impl AsyncWrite + Unpin), size: Size) -> io::Result<()> {
    out.write_all(&MAGIC).await?;
    out.write_u32_le(size.width).await?;
    out.write_u32_le(size.height).await
}

/// Writes a strip.
pub(super) async fn push(out: &mut (impl AsyncWrite + Unpin), png: &[u8]) -> io::Result<()> {
    let length = u32::try_from(png.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
    out.write_u32_le(length).await?;
    out.write_all(png).await
}
