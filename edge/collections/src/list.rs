//! The entries that a request lists, by its query.

use edgezoom_content::EntryState;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use serde::{Deserialize, Serialize};
use url::form_urlencoded;

/// Maximum number of entries of a list.
const MOST: u64 = 1000;
/// Maximum length of the words. The rest is not searched for.
const MAX_CHARACTERS: usize = 200;

/// A column by which entries are in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// In the order in which they were added.
    Number,
    /// In the order of their latest changes.
    Seq,
}

/// A part of the entries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EntryList {
    pub place: Place,
    /// Place behind which the list begins.
    pub after: u64,
    /// State of all entries of the list, if it has only one.
    pub state: Option<EntryState>,
    pub limit: u64,
    /// Words in the titles of all entries of the list.
    pub words: Option<String>,
}

impl EntryList {
    /// Returns the list that a query names; `None` if a parameter is malformed.
    pub fn parse(query: &str) -> Option<Self> {
        let value = |wanted: &str| {
            form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == wanted).map(|(_, value)| value)
        };
        let number = |name, default| value(name).map_or(Some(default), |text| decimal(&text));
        let words = value("q").map(|words| words.trim().chars().take(MAX_CHARACTERS).collect::<String>());
        let words = words.filter(|words| !words.is_empty());
        let place = match value("order").as_deref() {
            None if words.is_none() => Place::Seq,
            None => Place::Number,
            Some("added") => Place::Number,
            Some(_) => return None,
        };
        let named = |text: &str| {
            let text: StrDeserializer<'_, Error> = text.into_deserializer();
            EntryState::deserialize(text)
        };
        let state = value("state").map(|text| named(&text)).transpose().ok()?;
        let limit = number("limit", MOST).filter(|limit| (1..=MOST).contains(limit))?;
        Some(Self { place, after: number("after", 0)?, state, limit, words })
    }
}

/// Returns a number below 2⁵³, which JavaScript represents.
fn decimal(text: &str) -> Option<u64> {
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_decimal && *number < 1 << 53)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_a_list() {
        let all = EntryList { place: Place::Seq, after: 0, state: None, limit: 1000, words: None };
        assert_eq!(EntryList::parse(""), Some(all.clone()));
        assert_eq!(EntryList::parse("q=+"), Some(all.clone()));
        let found = EntryList { place: Place::Number, words: Some("a bridge".to_owned()), ..all };
        assert_eq!(EntryList::parse("q=+a+bridge"), Some(found.clone()));
        assert_eq!(EntryList::parse("q=a%20bridge&order=added"), Some(found));
        let one = EntryList {
            place: Place::Number,
            after: (1 << 53) - 1,
            state: Some(EntryState::TakenDown),
            limit: 1,
            words: None,
        };
        let query = "order=added&after=9007199254740991&state=taken-down&limit=1";
        assert_eq!(EntryList::parse(query), Some(one));
        for query in [
            "after=9007199254740992",
            "after=+1",
            "after=",
            "limit=0",
            "limit=1001",
            "limit=1e3",
            "state=",
            "state=odd",
            "order=seq",
        ] {
            assert_eq!(EntryList::parse(query), None, "{query}");
        }
    }
}
