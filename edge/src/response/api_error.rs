//! Why an ask is not answered with a content: the only place where a reason becomes a status. The messages are shown to
//! clients; their wording is no contract.

use std::time::Duration;

use edgezoom_content::address::RefusedAddress;
use edgezoom_content::source_url::SourceUrlError;
use http::StatusCode;

use super::Answer;
use crate::response::negotiation::FormError;

/// Why an ask is not answered with a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing says which content.
    #[error("Say which content: /v1/content/?url=<url of the source>, or /v1/content/<id>.")]
    NeitherIdNorUrl,
    /// The URL can be no source.
    #[error(transparent)]
    Url(#[from] SourceUrlError),
    /// The URL's host is an address that may not be connected to.
    #[error(transparent)]
    Address(#[from] RefusedAddress),
    /// The answer cannot be given in the form that is asked for.
    #[error(transparent)]
    Form(#[from] FormError),
    /// There is no content with the id.
    #[error("There is no content with this id.")]
    NoSuchContent,
    /// The operator takes nothing new for now.
    #[error("The service is down for maintenance and takes no new content. Please try again later.")]
    Maintenance,
    /// Too much waits already.
    #[error("The service is overloaded and takes no new content. Please try again later.")]
    Overloaded,
    /// The client created more contents than one may in a while.
    #[error("You have asked for many new contents within a minute. Please try again in a minute.")]
    TooManyNew,
    /// Something that is needed does not answer.
    #[error("The service is unavailable for the moment. Please try again.")]
    Unavailable,
}

impl Refusal {
    /// The status.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::NeitherIdNorUrl | Self::Url(_) | Self::Address(_) | Self::Form(_) => {
                StatusCode::BAD_REQUEST
            }
            Self::NoSuchContent => StatusCode::NOT_FOUND,
            Self::Maintenance | Self::Overloaded | Self::TooManyNew | Self::Unavailable => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    /// When to try again, if that can help.
    #[must_use]
    pub fn retry_after(self) -> Option<Duration> {
        let seconds = match self {
            Self::Unavailable => 5,
            Self::Overloaded | Self::TooManyNew => 60,
            Self::Maintenance => 300,
            Self::NeitherIdNorUrl | Self::Url(_) | Self::Address(_) | Self::Form(_) | Self::NoSuchContent => {
                return None;
            }
        };
        Some(Duration::from_secs(seconds))
    }

    /// The refusal as it is said without wrapping: plain text.
    #[must_use]
    pub fn answer(self) -> Answer {
        self.say_when(Answer::text(self.status(), self.to_string()))
    }

    /// Adds to an answer when to try again.
    #[must_use]
    pub fn say_when(self, answer: Answer) -> Answer {
        match self.retry_after() {
            Some(time) => answer.with("Retry-After", time.as_secs().to_string()),
            None => answer,
        }
    }
}
