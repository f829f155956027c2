//! Writes a screenshot stream, the format that [`edgezoom_codecs::formats::screenshot`] describes and the renderer
//! process reads. The PNG files of the strips are written as the browser encoded them: only the renderer process
//! decodes them.

use edgezoom_codecs::formats::screenshot;
use edgezoom_content::Size;
use tokio::io::{self, AsyncWrite, AsyncWriteExt};

/// Writes the header of a screenshot.
pub(super) async fn write_header(out: &mut (impl AsyncWrite + Unpin), size: Size) -> io::Result<()> {
    out.write_all(&screenshot::header(size)).await
}

/// Writes a strip.
pub(super) async fn write_strip(out: &mut (impl AsyncWrite + Unpin), png: &[u8]) -> io::Result<()> {
    let header = screenshot::strip_header(png).ok_or(io::ErrorKind::FileTooLarge)?;
    out.write_all(&header).await?;
    out.write_all(png).await
}
