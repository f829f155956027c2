//! A page that is a file of the user's own, with what lies beside it: the proxy answers for a host that does not exist, out of
//! the file's folder. So it needs no way to the disk through the browser, which could reach all of it.
//!
//! The page is shown in a sandbox of the browser's, as one that belongs to nobody: it shows what lies beside it, but its
//! scripts cannot read that and send it away, no more than those of a file that a browser opens.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
};
use hyper::{Response, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use super::{Body, empty};

/// The host that the proxy answers for.
pub(in crate::browser) const HOST: &str = "folder.invalid";

/// What a file may have that is sent to a page.
const MOST_BYTES: u64 = 256 << 20;

/// What stays as it is in the URL of a file.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// The folder of a page.
#[derive(Clone, Debug)]
pub(in crate::browser) struct Folder(PathBuf);

impl Folder {
    /// The folder that a page lies in, and the URL under which the proxy has the page.
    pub(in crate::browser) fn of(page: &Path) -> std::io::Result<(Self, String)> {
        let page = page.canonicalize()?;
        let (Some(folder), Some(name)) = (page.parent(), page.file_name()) else {
            return Err(std::io::ErrorKind::IsADirectory.into());
        };
        let name = percent_encode(name.as_encoded_bytes(), PLAIN);
        Ok((Self(folder.to_owned()), format!("http://{HOST}/{name}")))
    }

    /// The answer to a request for a path.
    pub(super) async fn answer(&self, path: &str) -> Response<Body> {
        match self.find(path).await {
            Some((kind, bytes)) => file(kind, bytes),
            None => empty(StatusCode::NOT_FOUND),
        }
    }

    async fn find(&self, path: &str) -> Option<(Option<&'static str>, Vec<u8>)> {
        let path = percent_decode_str(path).decode_utf8().ok()?;
        // A link may lead out of the folder as well as dots do, so what counts is where the file really is.
        let file = self.0.join(path.trim_start_matches('/')).canonicalize().ok()?;
        if !file.starts_with(&self.0) || !file.is_file() || file.metadata().ok()?.len() > MOST_BYTES {
            return None;
        }
        let kind = kind(&file);
        Some((kind, tokio::fs::read(file).await.ok()?))
    }
}

fn file(kind: Option<&'static str>, bytes: Vec<u8>) -> Response<Body> {
    let body = Full::new(Bytes::from(bytes)).map_err(|never| match never {});
    let mut response = Response::new(body.boxed());
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value| headers.insert(name, HeaderValue::from_static(value));
    set(CONTENT_SECURITY_POLICY, "sandbox allow-scripts allow-forms");
    if let Some(kind) = kind {
        set(CONTENT_TYPE, kind);
        if kind.starts_with("font/") || kind == "text/javascript" {
            set(ACCESS_CONTROL_ALLOW_ORIGIN, "*"); // pages that belong to nobody may have them only so
        }
    }
    response
}

/// The media types that browsers insist on, by the names that files have. All else they tell by its bytes.
fn kind(file: &Path) -> Option<&'static str> {
    let extension = file.extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "html" | "htm" => "text/html",
        "xhtml" | "xht" => "application/xhtml+xml",
        "css" => "text/css",
        "js" | "mjs" => "text/javascript",
        "svg" => "image/svg+xml",
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "ttf" => "font/ttf",
        "otf" => "font/otf",
        _ => return None,
    })
}
