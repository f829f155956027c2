//! Looks a content up for the interface.

use edgezoom_content::{Content, ContentId};

use crate::admission::check::Gate;
use crate::config::Addresses;
use crate::content::cached_content::Record;
use crate::content::lookup::Known;
use crate::content::repository::{Contents, ContentsError};
use crate::content::response::ContentAnswer;
use crate::request::route::{Route, Wish};
use crate::response::{Answer, Refusal};

/// The answer for a finished content whose record is of what is wanted: an id may belong to another URL.
pub fn from_record(route: &Route, record: Record, addresses: &Addresses) -> Result<Answer, Record> {
    match route {
        Route::Content { wish: Ok(Wish::Id(_)), variant } => {
            Ok(ContentAnswer::Found(Known::Kept(record)).write(variant, addresses))
        }
        Route::Content { wish: Ok(Wish::Source(url)), variant } if record.is_of(url) => {
            Ok(ContentAnswer::Moved(Known::Kept(record)).write(variant, addresses))
        }
        _ => Err(record),
    }
}

/// The content that is wanted, created if need be, or why there is none.
pub async fn find(wish: &Result<Wish, Refusal>, gate: &Gate<'_>, contents: &Contents<'_>) -> ContentAnswer {
    let found = match wish {
        Ok(Wish::Source(url)) => contents.of_source(url, gate).await.map(ContentAnswer::Moved),
        Ok(Wish::Id(id)) => contents.by_id(*id).await.map(|known| match known {
            Some(known) => ContentAnswer::Found(known),
            None => ContentAnswer::Refused(Refusal::NoSuchContent),
        }),
        Err(refusal) => Ok(ContentAnswer::Refused(*refusal)),
    };
    found.unwrap_or_else(|error| ContentAnswer::Refused(error.refusal()))
}

/// All that is known of a content.
pub async fn by_id(id: ContentId, contents: &Contents<'_>) -> Result<Content, Refusal> {
    let known = contents.by_id(id).await.map_err(ContentsError::refusal)?;
    let known = known.ok_or(Refusal::NoSuchContent)?;
    known.content().map_err(|unread| ContentsError::from(unread).refusal())
}
