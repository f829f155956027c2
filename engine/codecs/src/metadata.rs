//! Descriptive metadata: title, credits and alternative text. The texts are the file's: a caller that shows them cleans them.

/// Maximum number of characters of a text.
const MAX_TEXT: usize = 1000;

/// Descriptive metadata of a file: of SVG and PDF in their own ways, of others by XMP, IPTC or EXIF. The texts may have any
/// characters, but at most a thousand each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Metadata {
    /// Title.
    pub title: Option<String>,
    /// Names of those who made the picture.
    pub creator: Option<String>,
    /// Line to show beside the picture.
    pub credit: Option<String>,
    /// Copyright notice.
    pub copyright: Option<String>,
    /// Licence or rights statement: mostly an address.
    pub rights: Option<String>,
    /// Alternative text, for people who do not see the picture.
    pub alternative: Option<String>,
}

/// The metadata of a file, which is read late: it may be behind the pixels of a file that still arrives.
#[derive(Default)]
pub struct LateMetadata(Option<Box<dyn FnOnce() -> Metadata>>);

impl Metadata {
    /// Returns a text without white space around it, cut off; `None` if nothing is left.
    pub(crate) fn text(text: &str) -> Option<String> {
        let text: String =
            text.trim_matches(|c: char| c.is_whitespace() || c == '\0').chars().take(MAX_TEXT).collect();
        (!text.is_empty()).then_some(text)
    }

    /// Returns this metadata, with that of another kind where it says nothing.
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            title: self.title.or(other.title),
            creator: self.creator.or(other.creator),
            credit: self.credit.or(other.credit),
            copyright: self.copyright.or(other.copyright),
            rights: self.rights.or(other.rights),
            alternative: self.alternative.or(other.alternative),
        }
    }
}

impl LateMetadata {
    pub(crate) fn new(read: impl FnOnce() -> Metadata + 'static) -> Self {
        Self(Some(Box::new(read)))
    }

    /// Reads the metadata. Waits for the end of a file that still arrives if some may be there.
    #[must_use]
    pub fn read(self) -> Metadata {
        self.0.map(|read| read()).unwrap_or_default()
    }
}
