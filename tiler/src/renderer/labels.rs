//! The words that name a source and those who made it, as clients see them.

use edgezoom_codecs::Metadata;
use edgezoom_content::{Credits, Stated, Title};

/// The title of a source, and its credits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// Title of a web page, or the one that a file states.
    pub title: Option<Title>,
    /// Credits that a file or its description states.
    pub credits: Option<Box<Credits>>,
}

impl From<Metadata> for Labels {
    /// Cleans what a file states.
    fn from(Metadata { title, creator, credit, copyright, rights, alternative }: Metadata) -> Self {
        let credits = Credits::from(Stated { creator, credit, copyright, rights, alternative });
        Self { title: title.as_deref().and_then(Title::of_document), credits: credits.some().map(Box::new) }
    }
}

impl From<&Labels> for Metadata {
    fn from(Labels { title, credits }: &Labels) -> Self {
        let Credits { creator, credit, copyright, rights, alternative } =
            credits.as_deref().cloned().unwrap_or_default();
        let text = |text: &str| text.to_owned();
        Self {
            title: title.as_ref().map(|title| text(title.as_str())),
            creator: creator.map(|line| text(line.as_str())),
            credit: credit.map(|line| text(line.as_str())),
            copyright: copyright.map(|line| text(line.as_str())),
            rights: rights.map(|uri| text(uri.as_str())),
            alternative: alternative.map(|line| text(line.as_str())),
        }
    }
}
