//! How captured strips travel to the renderer process: a magic number, the picture's size, then each strip from top to
//! bottom as a PNG with its length before it. All numbers are 32 bits, little-endian. The pictures are written as the
//! browser gives them; only the renderer process looks into them.

use edgezoom_content::Size;
use tokio::io::{self, AsyncWrite, AsyncWriteExt};

/// What such a file begins with. The first byte is no letter and no other format's.
pub const MAGIC: [u8; 8] = *b"\x9dEZPAGE\n";

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
