//! The files that clients may upload, and the pages that may send them.

use url::Url;

use super::{Addresses, ConfigError};

/// The limits on uploads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uploads {
    /// Maximum size of a file in bytes.
    pub max_bytes: u64,
    origins: Origins,
}

/// The origins whose pages may upload files, besides the service's own. Requests of programs have no origin and are
/// always admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origins {
    Any,
    Listed(Vec<String>),
}

impl Uploads {
    /// Reads `UPLOAD_BYTES`, where 0 disables uploads, and `UPLOAD_ORIGINS`.
    pub(super) fn read(bytes: Option<String>, origins: Option<String>) -> Result<Option<Self>, ConfigError> {
        let max_bytes = match bytes {
            Some(bytes) => bytes.parse().map_err(|_| ConfigError::Number("UPLOAD_BYTES", bytes))?,
            None => 0,
        };
        let origins = match origins.as_deref() {
            Some("*") => Origins::Any,
            listed => {
                let listed = listed.unwrap_or_default().split(',').map(str::trim);
                let listed = listed.filter(|text| !text.is_empty()).map(|text| match origin(text) {
                    Some(origin) => Ok(origin),
                    None => Err(ConfigError::UploadOrigins(text.to_owned())),
                });
                Origins::Listed(listed.collect::<Result<_, _>>()?)
            }
        };
        Ok((max_bytes > 0).then_some(Self { max_bytes, origins }))
    }

    /// Returns true if a request with this `Origin` header (Fetch standard, section 3.2) may upload a file. Pages of
    /// other sites could make their visitors upload files without knowing.
    pub fn admit(&self, requested: Option<&str>, addresses: &Addresses) -> bool {
        let Some(requested) = requested else { return true };
        let is_own = [&addresses.base, &addresses.share]
            .into_iter()
            .any(|own| origin(own).as_deref() == Some(requested));
        is_own
            || match &self.origins {
                Origins::Any => true,
                Origins::Listed(listed) => listed.iter().any(|listed| listed == requested),
            }
    }
}

fn origin(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &str, origins: &str) -> Result<Option<Uploads>, ConfigError> {
        Uploads::read(Some(bytes.to_owned()), Some(origins.to_owned()))
    }

    #[test]
    fn uploads_are_disabled_unless_a_size_is_given() {
        assert_eq!(Uploads::read(None, None), Ok(None));
        assert_eq!(read("0", "*"), Ok(None));
        assert_eq!(read("100", "").unwrap().unwrap().max_bytes, 100);
        let error = |bytes, origins| read(bytes, origins).unwrap_err().to_string();
        assert_eq!(error("many", ""), "UPLOAD_BYTES: `many` is not a whole number");
        assert!(error("1", "example.com").contains("`example.com` is not an origin"));
    }

    #[test]
    fn pages_of_other_sites_upload_files_only_if_they_are_listed() {
        let addresses = Addresses {
            base: "https://api.example/x".into(),
            share: "https://zoom.example".into(),
            cache: String::new(),
        };
        let listed = read("1", "https://friend.example, http://localhost:3000/").unwrap().unwrap();
        for (origin, is_admitted) in [
            (None, true),
            (Some("https://api.example"), true),
            (Some("https://zoom.example"), true),
            (Some("https://friend.example"), true),
            (Some("http://localhost:3000"), true),
            (Some("http://zoom.example"), false),
            (Some("https://zoom.example.evil"), false),
            (Some("https://other.example"), false),
            (Some("null"), false),
            (Some(""), false),
        ] {
            assert_eq!(listed.admit(origin, &addresses), is_admitted, "{origin:?}");
        }
        assert!(read("1", "*").unwrap().unwrap().admit(Some("https://other.example"), &addresses));
    }
}
