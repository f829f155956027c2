//! The addresses of files that are sent in parts, `/v1/uploads/…`: R2's own multipart uploads, of which the Worker keeps
//! nothing. Such an address has the file's key and R2's id of the upload, a long random text: a client that was not told
//! it cannot guess it, and it can only be written to.

use std::fmt;
use std::str::FromStr;

use edgezoom_content::UploadKey;

use crate::response::ApiError;
use crate::response::negotiation::Variant;

/// The folder of the addresses.
pub const FOLDER: &str = "/v1/uploads";
/// The bytes of each part but the last: R2 wants 5 MiB at least, 10,000 parts at most, and all of one size.
pub const PART_BYTES: u64 = 8 << 20;
/// R2's ids have some 200 characters.
const MOST_ID_BYTES: usize = 1024;

/// A step of a file that is sent in parts.
#[derive(Clone, Debug, PartialEq)]
pub enum UploadStep {
    /// `POST /v1/uploads/`: a new file.
    Begin,
    /// `PUT /v1/uploads/<file>/<number>`: one part, from 1 on.
    Part(PartedFile, u16),
    /// `POST /v1/uploads/<file>`: all parts were sent.
    Finish {
        /// The file.
        file: PartedFile,
        /// Its name, if the query has one.
        name: Result<Option<String>, ApiError>,
        /// In which variant the content is answered.
        variant: Variant,
    },
}

/// A file that is being sent in parts, as its address names it: the digits of its key, a dot, R2's id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartedFile {
    /// Where the file will lie.
    pub key: UploadKey,
    /// R2's id of the upload, percent-encoded.
    pub id: String,
}

impl fmt::Display for PartedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.key.digits(), self.id)
    }
}

impl FromStr for PartedFile {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (digits, id) = text.split_once('.').ok_or(())?;
        let is_encoded = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%!*'()".contains(&byte);
        let is_id = (1..=MOST_ID_BYTES).contains(&id.len()) && id.bytes().all(is_encoded);
        let key = UploadKey::from_digits(digits).filter(|_| is_id).ok_or(())?;
        Ok(Self { key, id: id.to_owned() })
    }
}

/// A file and the number of a part, from `<file>/<number>`.
#[must_use]
pub fn part(path: &str) -> Option<(PartedFile, u16)> {
    let (file, number) = path.split_once('/')?;
    let number = number.parse().ok().filter(|number| (1..=10_000).contains(number))?;
    Some((file.parse().ok()?, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "00112233445566778899aabbccddeeff.AB-c_9%2B";

    #[test]
    fn a_file_is_named_by_its_key_and_the_id_of_its_upload() {
        let file: PartedFile = FILE.parse().unwrap();
        assert_eq!(file.key.to_string(), "uploads/00112233445566778899aabbccddeeff");
        assert_eq!((file.id.as_str(), file.to_string()), ("AB-c_9%2B", FILE.to_owned()));
        assert_eq!(part(&format!("{FILE}/17")), Some((file, 17)));
        for number in ["", "0", "-1", "10001", "1/", "x"] {
            assert_eq!(part(&format!("{FILE}/{number}")), None, "{number}");
        }
        let long = format!("{}.{}", &FILE[..32], "a".repeat(1025));
        for text in ["", "x", &FILE[..32], &FILE[..33], &FILE[1..], &format!("{FILE} "), &long] {
            assert_eq!(text.parse::<PartedFile>(), Err(()), "{text}");
        }
    }
}
