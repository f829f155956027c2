//! The credits of a source, which clients see: who made the picture, and on what terms it may be used. Files, descriptions
//! and stored records may state anything, so all of them are cleaned in the same way.

use edgezoom_text::rights_uri;
use serde::{Deserialize, Serialize};

use crate::{Alternative, OneLine, Title};

/// Who made a picture, and on what terms it may be used, as its file or its description states it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stated")]
pub struct Credits {
    /// Names of those who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creator: Option<CreditLine>,
    /// Line to show beside the picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credit: Option<CreditLine>,
    /// Copyright notice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copyright: Option<CreditLine>,
    /// Licence or rights statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rights: Option<RightsUri>,
    /// Alternative text that the file states.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternative: Option<Alternative>,
}

/// A line of credits, of the length of a title.
pub type CreditLine = OneLine<{ Title::MAX_LENGTH }>;

/// A URI of Creative Commons, RightsStatements or IIIF's registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct RightsUri(String);

/// Credits as something states them: any texts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Stated {
    /// Names of those who made the picture.
    pub creator: Option<String>,
    /// Line to show beside the picture.
    pub credit: Option<String>,
    /// Copyright notice.
    pub copyright: Option<String>,
    /// Licence or rights statement, as a URI or in words.
    pub rights: Option<String>,
    /// Alternative text.
    pub alternative: Option<String>,
}

impl RightsUri {
    /// Returns the URI in a text; `None` for other words and addresses.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        rights_uri(text).map(Self)
    }

    /// Returns the URI.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Stated> for Credits {
    /// Cleans and bounds the texts. Rights that are no known URI become the credit if there is none.
    fn from(Stated { creator, credit, copyright, rights, alternative }: Stated) -> Self {
        let line = |text: Option<String>| CreditLine::of(&text?);
        let uri = rights.as_deref().and_then(RightsUri::parse);
        let words = if uri.is_none() { rights } else { None };
        Self {
            creator: line(creator),
            credit: line(credit).or_else(|| line(words)),
            copyright: line(copyright),
            rights: uri,
            alternative: alternative.and_then(|text| Alternative::of(&text)),
        }
    }
}

impl Credits {
    /// Returns these credits, with those of another statement where they say nothing.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            creator: self.creator.or(other.creator),
            credit: self.credit.or(other.credit),
            copyright: self.copyright.or(other.copyright),
            rights: self.rights.or(other.rights),
            alternative: self.alternative.or(other.alternative),
        }
    }

    /// Returns the credits, or `None` if they say nothing.
    #[must_use]
    pub fn some(self) -> Option<Self> {
        Some(self).filter(|credits| *credits != Self::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BY: &str = "http://creativecommons.org/licenses/by/4.0/";

    fn of(json: &str) -> Credits {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn credits_are_cleaned_and_bounded() {
        let hostile = serde_json::json!({
            "creator": "Ann\u{0}\n\u{202e}Bee\u{feff}",
            "credit": "x".repeat(1 << 20),
            "copyright": "<b>©</b>\u{2028}2024",
            "rights": "https://creativecommons.org/licenses/by/4.0/deed.de",
            "alternative": "é".repeat(5000),
            "other": [],
        });
        let credits = of(&hostile.to_string());
        let line = |line: &Option<CreditLine>| line.as_ref().unwrap().as_str().to_owned();
        assert_eq!((line(&credits.creator).as_str(), line(&credits.credit).len()), ("Ann Bee", 300));
        assert_eq!(line(&credits.copyright), "<b>©</b>2024", "it is text, and pages escape it");
        assert_eq!(credits.rights.as_ref().map(RightsUri::as_str), Some(BY));
        assert_eq!(credits.alternative.as_ref().unwrap().as_str().chars().count(), 1000);
        let json = serde_json::to_string(&credits).unwrap();
        assert_eq!((of(&json), serde_json::to_string(&of(&json)).unwrap()), (credits, json));
    }

    #[test]
    fn rights_in_words_are_the_credit_if_there_is_none() {
        let words = of(r#"{"rights": "All rights reserved"}"#);
        assert_eq!(words, of(r#"{"credit": "All rights reserved"}"#));
        let both = of(r#"{"rights": "javascript:alert(1)", "credit": "Museum"}"#);
        assert_eq!(serde_json::to_string(&both).unwrap(), r#"{"credit":"Museum"}"#);
        assert_eq!((of(r#"{"rights": " ", "creator": null}"#).some(), of("{}").some()), (None, None));
    }

    #[test]
    fn each_member_comes_from_the_first_that_states_it() {
        let first = of(r#"{"credit": "Museum", "rights": "http://creativecommons.org/licenses/by/4.0/"}"#);
        let second = of(r#"{"credit": "Camera", "creator": "Ann"}"#);
        let both = serde_json::to_string(&first.or(second)).unwrap();
        assert_eq!(both, format!(r#"{{"creator":"Ann","credit":"Museum","rights":"{BY}"}}"#));
    }
}
