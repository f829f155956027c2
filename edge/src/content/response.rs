//! The answers of the interface proper: a content object or the reason why there is none, standard or wrapped.

use http::StatusCode;

use crate::config::Addresses;
use crate::content::lookup::Known;
use crate::response::element::Element::{self, Count, Object, Printed, Text};
use crate::response::escape;
use crate::response::negotiation::{Format, Variant};
use crate::response::{Answer, Keep, Refusal};

/// What is answered, whatever the variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentAnswer {
    /// Asked for by its URL: it is there, and has a better address (301).
    Moved(Known),
    /// Asked for by its id: here it is (200).
    Found(Known),
    /// There is none to be had.
    Refused(Refusal),
}

impl ContentAnswer {
    /// Writes the answer in a variant.
    #[must_use]
    pub fn write(&self, variant: &Variant, addresses: &Addresses) -> Answer {
        let wrapped = |format| print(format, "response", response(self, format, addresses));
        match variant {
            Variant::Standard(format) => self.standard(*format, addresses),
            Variant::Wrapped(format) => {
                Answer::new(StatusCode::OK, format.media_type(), self.keep(), wrapped(*format))
            }
            Variant::Jsonp(callback) => {
                // The comment keeps what follows from being taken for anything but a script: the body's first bytes are ours.
                let json = escape::script(&wrapped(Format::Json));
                let script = format!("/**/ typeof {callback} === \"function\" && {callback}({json});");
                Answer::new(StatusCode::OK, "text/javascript; charset=utf-8", self.keep(), script)
            }
        }
    }

    fn standard(&self, format: Format, addresses: &Addresses) -> Answer {
        let known = match self {
            Self::Moved(known) | Self::Found(known) => known,
            Self::Refused(refusal) => return refusal.answer(),
        };
        let body = print(format, "content", Printed(known.printed(format, addresses)));
        let answer = Answer::new(self.status(), format.media_type(), self.keep(), body)
            .tagged()
            .with("Vary", "Accept");
        match self {
            Self::Moved(known) => answer.with("Location", addresses.content(known.id())),
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
            Self::Moved(known) | Self::Found(known) if known.is_finished() => Keep::AnHour,
            _ => Keep::Never,
        }
    }
}

fn print(format: Format, root: &str, element: Element) -> String {
    match format {
        Format::Json => element.json(),
        Format::Xml => element.xml(root),
    }
}

/// The response object of `service-interface.md`. Exactly one of `content` and `error` is there.
fn response(answer: &ContentAnswer, format: Format, addresses: &Addresses) -> Element {
    let status = answer.status();
    let mut fields = vec![
        ("status", Count(status.as_u16().into())),
        ("statusText", Text(status.canonical_reason().unwrap_or_default().to_owned())),
    ];
    if let ContentAnswer::Moved(known) = answer {
        fields.push(("redirectLocation", Text(addresses.content(known.id()))));
    }
    match answer {
        ContentAnswer::Moved(known) | ContentAnswer::Found(known) => {
            fields.push(("content", Printed(known.printed(format, addresses))))
        }
        ContentAnswer::Refused(refusal) => {
            fields.extend(refusal.retry_after().map(|time| ("retryAfter", Count(time.as_secs()))));
            fields.push(("error", Text(refusal.to_string())));
        }
    }
    Object(fields)
}
