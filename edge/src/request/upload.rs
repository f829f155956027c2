//! Requests that upload files: what their headers decide before the body is read, and the addresses of uploads in
//! parts.

use std::fmt;
use std::str::FromStr;

use edgezoom_content::SourceUrl;
use percent_encoding::percent_decode_str;
use serde::Deserialize;

use super::url::parameter;
use crate::config::{Addresses, Uploads};
use crate::response::negotiation::Variant;
use crate::response::{ApiError, UploadError};

/// Base of the addresses of uploads in parts.
pub const UPLOADS: &str = "/v1/uploads";
/// Size in bytes of each part but the last. R2 accepts 10,000 parts of one size from 5 MiB.
pub const PART_BYTES: u64 = 8 << 20;
/// Media types of requests without a file: of `curl -d` and plain HTML forms, and of clients that send the URL of a
/// file.
const WITHOUT_FILES: [&str; 2] = ["application/x-www-form-urlencoded", "application/json"];
const FORM: &str = "multipart/form-data";

/// The headers of a request with a file.
#[derive(Clone, Debug, Default)]
pub struct UploadHeaders {
    pub content_type: Option<String>,
    pub content_length: Option<String>,
    pub content_disposition: Option<String>,
    pub origin: Option<String>,
}

impl UploadHeaders {
    /// Checks the headers of a file that is sent at once.
    ///
    /// # Errors
    /// Returns the first reason to reject the upload.
    pub fn check(&self, uploads: &Uploads, addresses: &Addresses) -> Result<(), UploadError> {
        self.check_origin(uploads, addresses)?;
        let content_type = self.content_type.as_deref().unwrap_or_default();
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        if WITHOUT_FILES.iter().any(|of| media_type.eq_ignore_ascii_case(of)) {
            return Err(UploadError::NotAFile);
        }
        match self.length() {
            Some(0) if media_type.is_empty() => Err(UploadError::NoFile),
            Some(0) => Err(UploadError::EmptyFile),
            // A form is longer than its file, which is counted while it arrives.
            Some(length) if length > uploads.max_bytes && !media_type.eq_ignore_ascii_case(FORM) => {
                Err(UploadError::TooLarge(uploads.max_bytes))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the page which sends the request may upload.
    ///
    /// # Errors
    /// The page belongs to another site.
    pub fn check_origin(&self, uploads: &Uploads, addresses: &Addresses) -> Result<(), UploadError> {
        uploads.admit(self.origin.as_deref(), addresses).then_some(()).ok_or(UploadError::ForeignOrigin)
    }

    /// Returns the file's name in `Content-Disposition` (RFC 6266): that of `filename*` (RFC 8187) in UTF-8, or else
    /// that of `filename`.
    pub fn file_name(&self) -> Option<String> {
        let parameters = self.content_disposition.as_deref()?.split_once(';')?.1;
        let extended = value_of("filename*", parameters).and_then(|value| {
            let (charset, rest) = value.split_once('\'')?;
            let (_language, encoded) = rest.split_once('\'')?;
            let decoded = percent_decode_str(encoded).decode_utf8().ok()?;
            charset.eq_ignore_ascii_case("utf-8").then(|| decoded.into_owned())
        });
        extended.or_else(|| value_of("filename", parameters))
    }

    /// Returns the length of the body, if it is known.
    pub fn length(&self) -> Option<u64> {
        self.content_length.as_deref().and_then(|length| length.trim().parse().ok())
    }
}

/// Returns the value of a header's parameter: a token, or a quoted string without its backslashes (RFC 9110, section
/// 5.6.6).
fn value_of(name: &str, parameters: &str) -> Option<String> {
    let mut rest = parameters;
    loop {
        let (found, after) = rest.split_once('=')?;
        let (value, next) = match after.trim_start().strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => {
                let end = after.find(';').unwrap_or(after.len());
                let (value, next) = after.split_at(end);
                (value.trim().to_owned(), next)
            }
        };
        if found.trim().eq_ignore_ascii_case(name) {
            return Some(value);
        }
        rest = next.trim_start().strip_prefix(';')?;
    }
}

/// Returns a quoted string whose first quote is removed, and the text after its last one.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    loop {
        match chars.next()? {
            (at, '"') => return Some((value, text.get(at + 1..)?)),
            (_, '\\') => value.push(chars.next()?.1),
            (_, c) => value.push(c),
        }
    }
}

/// A step of an upload in parts.
#[derive(Clone, Debug, PartialEq)]
pub enum UploadStep {
    /// `POST /v1/uploads/`: start an upload.
    Begin(Result<UploadQuery, ApiError>),
    /// `PUT /v1/uploads/<upload>/<number>`: send a part. Numbers begin at 1.
    Part(PartedUpload, u16),
    /// `POST /v1/uploads/<upload>`: complete the upload.
    Finish { upload: PartedUpload, query: Result<UploadQuery, ApiError>, variant: Variant },
}

/// An upload in parts, as its address names it: the name of the client's object, a dot, and a random token. Other
/// clients cannot guess the token, and the file's key is not part of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PartedUpload {
    /// Name of the Durable Object with the client's uploads.
    pub object: String,
    pub token: String,
}

impl fmt::Display for PartedUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.object, self.token)
    }
}

impl FromStr for PartedUpload {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (object, token) = text.split_once('.').ok_or(())?;
        let is_digits = |text: &str| {
            text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_address = is_digits(object) && is_digits(token);
        is_address.then(|| Self { object: object.to_owned(), token: token.to_owned() }).ok_or(())
    }
}

/// Query parameters of an upload that describe the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UploadQuery {
    pub name: Option<String>,
    /// SHA-256 that the file must have, in base64url.
    pub digest: Option<String>,
    /// True if the file shall have no vectors.
    pub no_vectors: bool,
}

impl UploadQuery {
    /// Parses a query.
    ///
    /// # Errors
    /// The digest is not a SHA-256.
    pub fn parse(query: &str) -> Result<Self, UploadError> {
        let [name, digest, vectors] = ["name", "digest", "vectors"].map(|of| parameter(query, of));
        let no_vectors = vectors.is_some_and(|vectors| vectors != "on");
        // The URI of a file checks its digest.
        match &digest {
            Some(digest) if SourceUrl::of_file(digest, "").is_none() => Err(UploadError::MalformedDigest),
            _ => Ok(Self { name, digest, no_vectors }),
        }
    }
}

/// Parses `<upload>/<number>`.
pub fn part(path: &str) -> Option<(PartedUpload, u16)> {
    let (upload, number) = path.split_once('/')?;
    let number = number.parse().ok().filter(|number| (1..=10_000).contains(number))?;
    Some((upload.parse().ok()?, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const UPLOAD: &str = "00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100";

    #[test]
    fn headers_decide_before_the_body_is_read() {
        let variables = [("UPLOAD_BYTES", "100"), ("BASE_URL", "https://zoom.example")];
        let value = |name: &str| variables.iter().find(|of| of.0 == name).map(|of| of.1.to_owned());
        let config = Config::read(value).unwrap();
        let (uploads, addresses) = (config.uploads.clone().unwrap(), config.addresses("").unwrap());
        let check = |content_type: Option<&str>, content_length: Option<&str>, origin: Option<&str>| {
            let [content_type, content_length, origin] =
                [content_type, content_length, origin].map(|header| header.map(str::to_owned));
            UploadHeaders { content_type, content_length, origin, ..UploadHeaders::default() }
                .check(&uploads, &addresses)
        };
        assert_eq!(check(None, None, None), Ok(()));
        assert_eq!(check(Some("image/jpeg"), Some("100"), Some("https://zoom.example")), Ok(()));
        assert_eq!(check(Some("image/jpeg"), Some("101"), None), Err(UploadError::TooLarge(100)));
        assert_eq!(check(Some("multipart/form-data; boundary=x"), Some("300"), None), Ok(()));
        assert_eq!(check(Some("image/jpeg"), Some("0"), None), Err(UploadError::EmptyFile));
        assert_eq!(check(None, Some("0"), None), Err(UploadError::NoFile));
        let form = Some("Application/x-www-form-urlencoded; charset=utf-8");
        assert_eq!(check(form, Some("9"), None), Err(UploadError::NotAFile));
        assert_eq!(check(Some("application/json"), Some("9"), None), Err(UploadError::NotAFile));
        assert_eq!(check(None, None, Some("https://other.example")), Err(UploadError::ForeignOrigin));
    }

    #[test]
    fn a_file_s_name_may_be_in_the_content_disposition() {
        let name = |header: &str| {
            let content_disposition = Some(header.to_owned());
            UploadHeaders { content_disposition, ..UploadHeaders::default() }.file_name()
        };
        for (header, expected) in [
            ("attachment; filename=\"old town.jpg\"", "old town.jpg"),
            ("attachment; FileName=town.jpg ; size=5", "town.jpg"),
            ("inline; name=\"a; filename=b\"; filename=\"c \\\"d\\\\.jpg\"", "c \"d\\.jpg"),
            ("attachment; filename=\"EURO.txt\"; filename*=utf-8''%e2%82%ac%20rates.txt", "€ rates.txt"),
            ("attachment; filename*=UTF-8'de'a%2Fb.jpg", "a/b.jpg"),
            ("attachment; filename*=iso-8859-1''%a3.txt; filename=pound.txt", "pound.txt"),
            ("attachment; filename*=utf-8''%ff; filename=x", "x"),
            ("attachment; filename=", ""),
        ] {
            assert_eq!(name(header).as_deref(), Some(expected), "{header}");
        }
        for header in [
            "",
            "attachment",
            "attachment; filename",
            "attachment; filename=\"open",
            "a; xfilename=b",
            "a; b=\"c\" d=e",
        ] {
            assert_eq!(name(header), None, "{header}");
        }
    }

    #[test]
    fn an_upload_in_parts_is_named_by_its_object_and_its_token() {
        let upload: PartedUpload = UPLOAD.parse().unwrap();
        assert_eq!((upload.object.as_str(), upload.token.as_str()), UPLOAD.split_once('.').unwrap());
        assert_eq!(upload.to_string(), UPLOAD);
        assert_eq!(part(&format!("{UPLOAD}/17")), Some((upload, 17)));
        for number in ["", "0", "-1", "10001", "1/", "x"] {
            assert_eq!(part(&format!("{UPLOAD}/{number}")), None, "{number}");
        }
        let long = format!("{UPLOAD}0");
        for text in ["", "x", &UPLOAD[..32], &UPLOAD[..33], &UPLOAD[1..], &format!("{UPLOAD} "), &long] {
            assert_eq!(text.parse::<PartedUpload>(), Err(()), "{text}");
        }
    }
}
