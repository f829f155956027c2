//! The settings of a collection, and who may change them.

use edgezoom_content::{
    AddressPolicy, CollectionName, CreditLine, Credits, DeletionKeyHash, OneLine, SourceUrl, Stated, Title,
};
use serde::{Deserialize, Serialize};

/// The settings as they are stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub name: CollectionName,
    /// Random text, from which the contents' ids follow: nobody else can compute them, and a collection that takes the
    /// name of a deleted one has others.
    pub secret: String,
    /// Hash of the owner's key.
    pub owner: DeletionKeyHash,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Title>,
    /// Credit and rights of entries that state none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credit: Option<CreditLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rights: Option<String>,
    /// Address for notices of changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<SourceUrl>,
    /// True while the entries are removed because the owner has deleted the collection.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaves: bool,
}

/// Settings as they are written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: Option<String>,
    credit: Option<String>,
    rights: Option<String>,
    notify: Option<String>,
}

/// A request to begin a collection or to change its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Put {
    /// The settings, with the secret and the owner that the collection gets if it begins.
    pub settings: Settings,
    /// True if the sender may begin a collection.
    pub may_begin: bool,
    /// True if the request has a key.
    pub has_key: bool,
}

/// Why a request about a collection is refused. The Worker's `CollectionError` has the same names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CollectionError {
    NoKey,
    WrongKey,
    /// The collection is being deleted.
    Leaves,
    /// The settings are malformed.
    Settings(String),
}

impl CollectionError {
    /// Returns the refusal as the Worker reads it: a mark, the name, and for malformed settings the reason.
    pub fn reply(&self) -> String {
        match self {
            Self::NoKey => "!no-key".to_owned(),
            Self::WrongKey => "!wrong-key".to_owned(),
            Self::Leaves => "!leaves".to_owned(),
            Self::Settings(reason) => format!("!settings {reason}"),
        }
    }
}

impl Settings {
    /// Parses the settings that an owner sends for a collection that would have this secret and this key.
    ///
    /// # Errors
    /// They are not JSON of the described form.
    pub fn parse(
        text: &str,
        name: CollectionName,
        secret: String,
        owner: DeletionKeyHash,
        policy: &AddressPolicy,
    ) -> Result<Self, CollectionError> {
        let Written { title, credit, rights, notify } = serde_json::from_str(text).map_err(|error| {
            let words = OneLine::<200>::of(&error.to_string());
            CollectionError::Settings(words.map(|line| line.as_str().to_owned()).unwrap_or_default())
        })?;
        let Credits { credit, rights, .. } = Stated { credit, rights, ..Stated::default() }.into();
        let rights = rights.map(|uri| uri.as_str().to_owned());
        let title = title.and_then(|text| Title::of_document(&text));
        let notify = notify.map(|url| {
            let url = SourceUrl::parse(&url).map_err(|error| error.to_string())?;
            policy.admit(&url).map_err(|error| error.to_string())?;
            // An address in a network that the operator has allowed may have no certificate.
            let is_safe = url.as_str().starts_with("https:") || AddressPolicy::default().admit(&url).is_err();
            is_safe
                .then_some(url)
                .ok_or_else(|| "The address for notices must begin with https://.".to_owned())
        });
        let notify = notify.transpose().map_err(CollectionError::Settings)?;
        Ok(Self { name, secret, owner, title, credit, rights, notify, leaves: false })
    }

    /// Returns the credits of entries that state none.
    pub fn credits(&self) -> Credits {
        let credit = self.credit.as_ref().map(|line| line.as_str().to_owned());
        Stated { credit, rights: self.rights.clone(), ..Stated::default() }.into()
    }

    /// Decides about a request to begin the collection or to change its settings. `stored` are the known ones. Returns
    /// the settings to store.
    ///
    /// # Errors
    /// The sender may not do that.
    pub fn put(stored: Option<Self>, put: Put) -> Result<Self, CollectionError> {
        match stored {
            None if put.may_begin => Ok(put.settings),
            None | Some(_) if !put.has_key => Err(CollectionError::NoKey),
            None => Err(CollectionError::WrongKey),
            Some(known) => {
                known.admit(put.settings.owner)?;
                let Self { title, credit, rights, notify, .. } = put.settings;
                Ok(Self { title, credit, rights, notify, ..known })
            }
        }
    }

    /// Admits the holder of a key with this hash.
    ///
    /// # Errors
    /// The key is wrong, or the collection is being deleted.
    pub fn admit(&self, key: DeletionKeyHash) -> Result<(), CollectionError> {
        match (self.owner == key, self.leaves) {
            (false, _) => Err(CollectionError::WrongKey),
            (true, true) => Err(CollectionError::Leaves),
            (true, false) => Ok(()),
        }
    }
}
