//! Whether a request may send a file, by its headers: what can be refused before its body is read.

use crate::config::{Addresses, Uploads};
use crate::response::UploadError;

/// The headers that a file comes with.
#[derive(Clone, Copy, Debug, Default)]
pub struct UploadHeaders<'a> {
    /// `Content-Type`.
    pub content_type: Option<&'a str>,
    /// `Content-Length`, if the length is known.
    pub content_length: Option<&'a str>,
    /// `Origin`.
    pub origin: Option<&'a str>,
}

/// What `curl -d` and plain HTML forms send, which have no files.
const PLAIN_FORM: &str = "application/x-www-form-urlencoded";
const FORM: &str = "multipart/form-data";

impl UploadHeaders<'_> {
    /// Checks the headers.
    ///
    /// # Errors
    /// The first reason for which the file is not taken.
    pub fn check(&self, uploads: &Uploads, addresses: &Addresses) -> Result<(), UploadError> {
        if !uploads.admit(self.origin, addresses) {
            return Err(UploadError::ForeignOrigin);
        }
        let media_type = self.content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if media_type.eq_ignore_ascii_case(PLAIN_FORM) {
            return Err(UploadError::NotAFile);
        }
        // A form has more bytes than its file: those are counted when they come.
        let length = self.content_length.and_then(|length| length.trim().parse::<u64>().ok());
        match length {
            Some(0) => Err(UploadError::NoFile),
            Some(length) if length > uploads.most_bytes && !media_type.eq_ignore_ascii_case(FORM) => {
                Err(UploadError::TooLarge(uploads.most_bytes))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn headers_say_what_is_refused_unread() {
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
}
