//! Requests that upload files: what their headers decide before the body is read, and the addresses of uploads in
//! parts.

use std::fmt;
use std::str::FromStr;

use edgezoom_content::UploadKey;

use crate::config::{Addresses, Uploads};
use crate::response::negotiation::Variant;
use crate::response::{ApiError, UploadError};

/// Base of the addresses of uploads in parts.
pub const UPLOADS: &str = "/v1/uploads";
/// Size in bytes of each part but the last. R2 accepts 10,000 parts of one size from 5 MiB.
pub const PART_BYTES: u64 = 8 << 20;
/// Maximum length of R2's id of an upload. Ids have some 200 characters.
const MAX_ID_BYTES: usize = 1024;
/// Media type of `curl -d` and plain HTML forms, which have no files.
const PLAIN_FORM: &str = "application/x-www-form-urlencoded";
const FORM: &str = "multipart/form-data";

/// The headers of a request with a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct UploadHeaders<'a> {
    pub content_type: Option<&'a str>,
    pub content_length: Option<&'a str>,
    pub origin: Option<&'a str>,
}

impl UploadHeaders<'_> {
    /// Checks the headers of a file that is sent at once.
    ///
    /// # Errors
    /// Returns the first reason to reject the upload.
    pub fn check(&self, uploads: &Uploads, addresses: &Addresses) -> Result<(), UploadError> {
        self.check_origin(uploads, addresses)?;
        let media_type = self.content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if media_type.eq_ignore_ascii_case(PLAIN_FORM) {
            return Err(UploadError::NotAFile);
        }
        match self.length() {
            Some(0) => Err(UploadError::NoFile),
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
        uploads.admit(self.origin, addresses).then_some(()).ok_or(UploadError::ForeignOrigin)
    }

    /// Returns the length of the body, if it is known.
    pub fn length(&self) -> Option<u64> {
        self.content_length.and_then(|length| length.trim().parse().ok())
    }
}

/// A step of an upload in parts. The Worker keeps no state: these are R2's own multipart uploads.
#[derive(Clone, Debug, PartialEq)]
pub enum UploadStep {
    /// `POST /v1/uploads/`: start an upload.
    Begin,
    /// `PUT /v1/uploads/<upload>/<number>`: send a part. Numbers begin at 1.
    Part(PartedUpload, u16),
    /// `POST /v1/uploads/<upload>`: complete the upload.
    Finish { upload: PartedUpload, name: Result<Option<String>, ApiError>, variant: Variant },
}

/// An upload in parts, as its address names it: the digits of the file's key, a dot, R2's id of the upload. The id is a
/// long random text, so other clients cannot guess the address; the file can only be written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartedUpload {
    pub key: UploadKey,
    /// R2's id of the upload, percent-encoded.
    pub id: String,
}

impl fmt::Display for PartedUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.key.digits(), self.id)
    }
}

impl FromStr for PartedUpload {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (digits, id) = text.split_once('.').ok_or(())?;
        let is_encoded = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%!*'()".contains(&byte);
        let is_id = (1..=MAX_ID_BYTES).contains(&id.len()) && id.bytes().all(is_encoded);
        let key = UploadKey::from_digits(digits).filter(|_| is_id).ok_or(())?;
        Ok(Self { key, id: id.to_owned() })
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

    const UPLOAD: &str = "00112233445566778899aabbccddeeff.AB-c_9%2B";

    #[test]
    fn headers_decide_before_the_body_is_read() {
        let variables = [("UPLOAD_BYTES", "100"), ("BASE_URL", "https://zoom.example")];
        let value = |name: &str| variables.iter().find(|of| of.0 == name).map(|of| of.1.to_owned());
        let config = Config::read(value).unwrap();
        let (uploads, addresses) = (config.uploads.clone().unwrap(), config.addresses("").unwrap());
        let check = |content_type, content_length, origin| {
            UploadHeaders { content_type, content_length, origin }.check(&uploads, &addresses)
        };
        assert_eq!(check(None, None, None), Ok(()));
        assert_eq!(check(Some("image/jpeg"), Some("100"), Some("https://zoom.example")), Ok(()));
        assert_eq!(check(Some("image/jpeg"), Some("101"), None), Err(UploadError::TooLarge(100)));
        assert_eq!(check(Some("multipart/form-data; boundary=x"), Some("300"), None), Ok(()));
        assert_eq!(check(Some("image/jpeg"), Some("0"), None), Err(UploadError::NoFile));
        let form = Some("Application/x-www-form-urlencoded; charset=utf-8");
        assert_eq!(check(form, Some("9"), None), Err(UploadError::NotAFile));
        assert_eq!(check(None, None, Some("https://other.example")), Err(UploadError::ForeignOrigin));
    }

    #[test]
    fn an_upload_in_parts_is_named_by_its_key_and_its_id() {
        let upload: PartedUpload = UPLOAD.parse().unwrap();
        assert_eq!(upload.key.to_string(), "uploads/00112233445566778899aabbccddeeff");
        assert_eq!((upload.id.as_str(), upload.to_string()), ("AB-c_9%2B", UPLOAD.to_owned()));
        assert_eq!(part(&format!("{UPLOAD}/17")), Some((upload, 17)));
        for number in ["", "0", "-1", "10001", "1/", "x"] {
            assert_eq!(part(&format!("{UPLOAD}/{number}")), None, "{number}");
        }
        let long = format!("{}.{}", &UPLOAD[..32], "a".repeat(1025));
        for text in ["", "x", &UPLOAD[..32], &UPLOAD[..33], &UPLOAD[1..], &format!("{UPLOAD} "), &long] {
            assert_eq!(text.parse::<PartedUpload>(), Err(()), "{text}");
        }
    }
}
