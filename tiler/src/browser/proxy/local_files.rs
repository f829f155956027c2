//! Serves the folder of a page that is a local file, or a drawing, under the name of a host that does not exist. With
//! `file:` URLs instead, the browser could read the whole disk.
//!
//! The page is served with a sandbox policy, which gives it an opaque origin (HTML standard, 7.1.1): it can embed the
//! files beside it, but its scripts cannot read them and send them away. A browser treats `file:` URLs the same way.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
};
use hyper::{Response, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// The host in the folder's URLs. The name is reserved (RFC 2606, 2).
pub(in crate::browser) const HOST: &str = "local-files.invalid";

/// Maximum size of a served file, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// Characters of a file name that are not percent-encoded: the unreserved ones (RFC 3986, 2.3), except `~`.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// The files that the proxy serves.
#[derive(Clone, Debug)]
pub(in crate::browser) enum LocalFiles {
    /// The folder of a page, without its hidden files.
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The page in it.
        page: PathBuf,
    },
    /// An SVG. Its browser has nothing else: no network, no scripts.
    Drawing(Bytes),
}

/// The policy of a drawing: embedded pictures, fonts and style sheets.
const DRAWING_POLICY: &str =
    "sandbox; default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline' data:";

impl LocalFiles {
    /// Returns the folder of a page, and the URL under which the proxy serves the page.
    pub(in crate::browser) fn beside(page: &Path) -> std::io::Result<(Self, String)> {
        let page = page.canonicalize()?;
        let (Some(folder), Some(name)) = (page.parent(), page.file_name()) else {
            return Err(std::io::ErrorKind::IsADirectory.into());
        };
        let name = percent_encode(name.as_encoded_bytes(), UNRESERVED);
        let url = format!("http://{HOST}/{name}");
        Ok((Self::Folder { folder: folder.to_owned(), page }, url))
    }

    /// Returns a drawing, and the URL under which the proxy serves it.
    pub(in crate::browser) fn drawing(svg: Vec<u8>) -> (Self, String) {
        (Self::Drawing(svg.into()), format!("http://{HOST}/drawing.svg"))
    }

    /// Returns true if the browser may have nothing else.
    pub(super) fn are_all(&self) -> bool {
        matches!(self, Self::Drawing(_))
    }

    /// Responds to a request for a path.
    pub(super) async fn response(&self, path: &str) -> Response<Body> {
        if let Self::Drawing(svg) = self {
            return drawing_response(svg.clone());
        }
        match self.read(path).await {
            Some((media_type, bytes)) => file_response(media_type, bytes),
            None => empty(StatusCode::NOT_FOUND),
        }
    }

    async fn read(&self, path: &str) -> Option<(Option<&'static str>, Vec<u8>)> {
        let file = self.find(path)?;
        let media_type = media_type(&file);
        Some((media_type, tokio::fs::read(file).await.ok()?))
    }

    /// Returns the file to serve for a path.
    pub(in crate::browser) fn find(&self, path: &str) -> Option<PathBuf> {
        let Self::Folder { folder, page } = self else { return None };
        let path = percent_decode_str(path).decode_utf8().ok()?;
        // `..` and symbolic links may lead out of the folder, so the canonical path is compared.
        let file = folder.join(path.trim_start_matches('/')).canonicalize().ok()?;
        let within = file.strip_prefix(folder).ok()?;
        // Keys, passwords and histories are in files and folders whose names begin with a dot.
        let is_hidden = file != *page && within.iter().any(|name| name.as_encoded_bytes().starts_with(b"."));
        let is_served = !is_hidden && file.is_file() && file.metadata().ok()?.len() <= MAX_BYTES;
        is_served.then_some(file)
    }
}

fn drawing_response(svg: Bytes) -> Response<Body> {
    let mut response = Response::new(Full::new(svg).map_err(|never| match never {}).boxed());
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(DRAWING_POLICY));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("image/svg+xml"));
    response
}

fn file_response(media_type: Option<&'static str>, bytes: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(body(bytes));
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value| headers.insert(name, HeaderValue::from_static(value));
    set(CONTENT_SECURITY_POLICY, "sandbox allow-scripts allow-forms");
    if let Some(media_type) = media_type {
        set(CONTENT_TYPE, media_type);
        if media_type.starts_with("font/") || media_type == "text/javascript" {
            // Fonts and module scripts are fetched with CORS, which fails for an opaque origin without this header.
            set(ACCESS_CONTROL_ALLOW_ORIGIN, "*");
        }
    }
    response
}

/// Returns the media types that browsers require, by file name extension. Browsers sniff the others from the bytes.
fn media_type(file: &Path) -> Option<&'static str> {
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

/// The body of a response: streamed from a server, or the proxy's own.
pub(super) type Body = BoxBody<Bytes, hyper::Error>;

/// Returns a response without a body.
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(body(Vec::new()));
    *response.status_mut() = status;
    response
}

/// Returns a body held in memory.
pub(super) fn body(bytes: Vec<u8>) -> Body {
    Full::new(Bytes::from(bytes)).map_err(|never| match never {}).boxed()
}
