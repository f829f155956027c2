//! A line that an owner sends: one JSON object, which adds, edits, retries or removes an entry.

use edgezoom_content::address::RefusedAddress;
use edgezoom_content::source_url::SourceUrlError;
use edgezoom_content::{AddressPolicy, ContentId, OneLine, SourceUrl, UploadKey};
use serde::{Deserialize, Deserializer, Serialize};

/// Maximum number of bytes of a line.
pub const MAX_BYTES: usize = 16 << 10;

/// Code of a line that names a file which the service does not have.
pub const FILE: &str = "file";

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub name: Name,
    pub words: Given,
    /// True if a failed entry is to be converted again.
    pub retry: bool,
    pub remove: bool,
    /// Key of the file in the store, if the line came with one.
    pub upload: Option<UploadKey>,
}

/// The way a line names its entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Name {
    Url(SourceUrl),
    Id(ContentId),
}

/// The words of a line: `None` leaves them as they are, and an empty text clears them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    pub title: Option<String>,
    pub alt: Option<String>,
    pub credit: Option<String>,
    pub rights: Option<String>,
}

/// Why a line is refused. Owners see the messages.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    #[error("The line is not one JSON object as described: {0}")]
    Json(String),
    #[error("The line has an {0}")]
    Member(String),
    #[error("The line is longer than {} bytes.", MAX_BYTES)]
    TooLong,
    #[error(transparent)]
    Url(#[from] SourceUrlError),
    #[error(transparent)]
    Address(#[from] RefusedAddress),
    #[error("web-sealed is not for collections.")]
    Sealed,
    #[error("The id is malformed.")]
    Id,
    #[error("Name the entry by its url or by its id, not by both.")]
    Name,
    #[error("The collection has no entry with this id.")]
    Unknown,
    #[error("The operator has taken this picture down.")]
    TakenDown,
    #[error("The collection has as many entries as it may have.")]
    Full,
    #[error("The service does not have this file. Send it: tiler collection add <name> <folder> --retry.")]
    File,
}

/// A refused line as JSON.
#[derive(Serialize)]
pub struct RefusedLine {
    /// Number, from 1.
    pub line: usize,
    pub code: &'static str,
    message: String,
}

/// A line as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    url: Option<String>,
    options: Option<String>,
    id: Option<String>,
    #[serde(default, deserialize_with = "given")]
    title: Option<String>,
    #[serde(default, deserialize_with = "given")]
    alt: Option<String>,
    #[serde(default, deserialize_with = "given")]
    credit: Option<String>,
    #[serde(default, deserialize_with = "given")]
    rights: Option<String>,
    #[serde(default)]
    retry: bool,
    #[serde(default)]
    remove: bool,
}

/// Reads a member that is present. `null` is the empty text.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Option::<String>::deserialize(deserializer).map(|text| Some(text.unwrap_or_default()))
}

impl Line {
    /// Parses a line. `policy` decides about literal addresses and blocked hosts.
    ///
    /// # Errors
    /// Returns the reason to refuse it.
    pub fn parse(text: &str, policy: &AddressPolicy) -> Result<Self, Refusal> {
        if text.len() > MAX_BYTES {
            return Err(Refusal::TooLong);
        }
        let Written { url, options, id, title, alt, credit, rights, retry, remove } =
            serde_json::from_str(text).map_err(|error| Refusal::of_json(&error))?;
        let name = match (url, id) {
            (Some(url), None) => {
                let options = options.unwrap_or_default();
                match SourceUrl::try_from(url.clone()) {
                    Ok(file) if file.is_file() => Name::Url(file.with_options(&options)?),
                    _ => {
                        let source = SourceUrl::parse(&url)?.with_options(&options)?;
                        policy.admit(&source)?;
                        if source.is_sealed() {
                            return Err(Refusal::Sealed);
                        }
                        Name::Url(source)
                    }
                }
            }
            (None, Some(id)) => Name::Id(id.parse().map_err(|_| Refusal::Id)?),
            _ => return Err(Refusal::Name),
        };
        Ok(Self { name, words: Given { title, alt, credit, rights }, retry, remove, upload: None })
    }
}

impl Refusal {
    fn of_json(error: &serde_json::Error) -> Self {
        let words = error.to_string();
        // It quotes the line.
        let words = OneLine::<200>::of(&words).map(|line| line.as_str().to_owned()).unwrap_or_default();
        if words.starts_with("unknown field") { Self::Member(words) } else { Self::Json(words) }
    }

    /// Returns the name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Json(_) => "json",
            Self::Member(_) => "member",
            Self::TooLong => "too-long",
            Self::Url(_) | Self::Address(_) | Self::Sealed => "url",
            Self::Id => "id",
            Self::Name => "name",
            Self::Unknown => "unknown",
            Self::TakenDown => "taken-down",
            Self::Full => "full",
            Self::File => FILE,
        }
    }

    /// Returns the refusal of the line with this number.
    pub fn of_line(&self, line: usize) -> RefusedLine {
        RefusedLine { line, code: self.code(), message: self.to_string() }
    }
}
