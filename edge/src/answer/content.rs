//! The answers of the interface proper: a content object or the reason why there is none, standard or wrapped.

mod element;
mod object;

use edgezoom_content::Content;
use http::StatusCode;

use self::element::Element;
use super::{Answer, Keep, Refusal};
use crate::config::Addresses;
use crate::negotiate::{Format, Variant};

pub use object::embed_html;

/// What is answered, whatever the variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentAnswer {
    /// Asked for by its URL: it is there, and has a better address (301).
    Moved(Content),
    /// Asked for by its id: here it is (200).
    Found(Content),
    /// There is none to be had.
    Refused(Refusal),
}

impl ContentAnswer {
    /// Writes the answer in a variant.
    #[must_use]
    pub fn write(&self, variant: Variant, addresses: &Addresses) -> Answer {
        match variant {
            Variant::Standard(format) => self.standard(format, addresses),
            Variant::Wrapped(format) => {
                let body = print(format, "response", &object::response(self, addresses));
                Answer::new(StatusCode::OK, format.media_type(), self.keep(), body)
            }
        }
    }

    fn standard(&self, format: Format, addresses: &Addresses) -> Answer {
        let content = match self {
            Self::Moved(content) | Self::Found(content) => content,
            Self::Refused(refusal) => return refusal.answer(),
        };
        let body = print(format, "content", &object::content(content, addresses));
        let answer = Answer::new(self.status(), format.media_type(), self.keep(), body)
            .tagged()
            .with("Vary", "Accept");
        match self {
            Self::Moved(content) => answer.with("Location", addresses.content(content.id)),
            _ => answer,
        }
    }

    /// The status, as the standard variant sends it and the wrapped one tells it.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Moved(_) => StatusCode::MOVED_PERMANENTLY,
            Self::Found(_) => StatusCode::OK,
            Self::Refused(refusal) => refusal.status(),
        }
    }

    fn keep(&self) -> Keep {
        match self {
            Self::Moved(content) | Self::Found(content) if content.is_finished() => Keep::AnHour,
            _ => Keep::Never,
        }
    }
}

fn print(format: Format, root: &str, element: &Element) -> String {
    match format {
        Format::Json => element.json(),
        Format::Xml => element.xml(root),
    }
}

/// The content object as JSON, for our own pages.
#[must_use]
pub fn content_json(content: &Content, addresses: &Addresses) -> String {
    object::content(content, addresses).json()
}

#[cfg(test)]
mod tests;
