//! Headers and cookies for the origin of one source, such as a page behind a login. Clients of the service seal them
//! ([`SealKey::seal`]): what is requested, stored and listed is a box that only tilers can open. This module knows which
//! URLs may have them, and nothing of how they are sent. Neither `Debug` nor an error shows a value.

mod fields;
mod seal;

use std::sync::Arc;

use edgezoom_content::SourceUrl;
use reqwest::header::COOKIE;
use url::{Origin, Url};

pub use fields::{FieldError, Fields};
pub use seal::{SealError, SealKey};

/// Headers and cookies for one origin. A clone shares them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials(Arc<Held>);

#[derive(Debug, PartialEq, Eq)]
struct Held {
    origin: Origin,
    fields: Fields,
}

/// Headers and cookies that a tiler may send to the origin of a source.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Key of the boxes of a service's clients.
    pub key: Option<SealKey>,
    /// Headers and cookies for the origin of each source, from the tiler's own user.
    pub fields: Fields,
}

impl Credentials {
    fn new(url: &Url, fields: Fields) -> Self {
        Self(Arc::new(Held { origin: url.origin(), fields }))
    }

    /// Returns true if a request for a URL may have them: scheme, host and port are those of the source.
    #[must_use]
    pub fn cover(&self, url: &str) -> bool {
        Url::parse(url).is_ok_and(|url| url.origin() == self.0.origin)
    }

    /// Returns the pattern of the URLs of their origin for the DevTools protocol.
    #[must_use]
    pub fn pattern(&self) -> String {
        format!("{}/*", self.0.origin.ascii_serialization())
    }

    /// Returns the headers of a request, names in lower case, where `others` is the `Cookie` that it has already. A cookie
    /// that the server has set replaces the one of the same name.
    #[must_use]
    pub fn headers(&self, others: Option<&str>) -> Vec<(String, String)> {
        let set = || others.into_iter().flat_map(|pairs| pairs.split("; "));
        let is_set = |name: &str| set().any(|pair| pair.split('=').next() == Some(name));
        let own = self.0.fields.cookies.iter().filter(|(name, _)| !is_set(name));
        let pairs: Vec<String> =
            own.map(|(name, value)| format!("{name}={value}")).chain(set().map(str::to_owned)).collect();
        let cookie = (!pairs.is_empty()).then(|| (COOKIE.to_string(), pairs.join("; ")));
        self.0.fields.headers.iter().cloned().chain(cookie).collect()
    }
}

impl Access {
    /// Returns the headers and cookies for a source's origin, if there are any.
    ///
    /// # Errors
    /// The source's box cannot be opened.
    pub fn to(&self, source: &SourceUrl) -> Result<Option<Credentials>, SealError> {
        let url = Url::parse(source.address()).map_err(|_| SealError::Unopened)?;
        match source.capture().sealed() {
            Some(text) => {
                let fields = self.key.as_ref().ok_or(SealError::NoKey)?.open(text, &url)?;
                Ok(Some(Credentials::new(&url, fields)))
            }
            None if self.fields.is_empty() => Ok(None),
            None => Ok(Some(Credentials::new(&url, self.fields.clone()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use edgezoom_content::capture::BOX_PREFIX;

    use super::*;

    fn key(text: &str) -> SealKey {
        SealKey::of(&text.parse().unwrap()).unwrap()
    }

    fn fields() -> Fields {
        let mut fields = Fields::default();
        fields.add_header("Authorization:  Basic c2VjcmV0 ").unwrap();
        fields.add_header("cookie: a=1; b=\"2\"").unwrap();
        fields.add_cookie("c=x=y,z").unwrap();
        fields
    }

    #[test]
    fn a_box_opens_with_its_key_for_its_origin_alone() {
        let (own, other) = (key(&"k".repeat(32)), key(&"K".repeat(32)));
        let sealed = own.seal(&fields(), &Url::parse("https://a.example/b").unwrap()).unwrap();
        assert!(
            !sealed.contains("secret")
                && sealed != own.seal(&fields(), &Url::parse("https://a.example/").unwrap()).unwrap()
        );
        let open = |url: &str, text: &str, key: Option<&SealKey>| {
            let options = format!("web-width=390&web-sealed={text}");
            let source = SourceUrl::parse(url).unwrap().with_options(&options).unwrap();
            Access { key: key.cloned(), fields: Fields::default() }.to(&source)
        };
        let credentials = open("https://A.example:443/c?d", &sealed, Some(&own)).unwrap().unwrap();
        let expected = [("authorization", "Basic c2VjcmV0"), ("cookie", "a=1; b=\"2\"; c=x=y,z")];
        assert_eq!(
            credentials.headers(None),
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        for url in
            ["http://a.example/", "https://b.example/", "https://a.example:8443/", "https://www.a.example/"]
        {
            assert_eq!(open(url, &sealed, Some(&own)), Err(SealError::Unopened), "{url}");
            assert!(!credentials.cover(url), "{url}");
        }
        assert!(credentials.cover("https://a.example/") && !credentials.cover("data:text/html,"));
        assert_eq!(open("https://a.example/", &sealed, Some(&other)), Err(SealError::Unopened));
        assert_eq!(open("https://a.example/", &sealed, None), Err(SealError::NoKey));
        for at in BOX_PREFIX.len()..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(open("https://a.example/", &changed, Some(&own)), Err(SealError::Unopened), "{at}");
        }
        assert!(!format!("{credentials:?}{own:?}").contains("c2VjcmV0"));
        let plain = SourceUrl::parse("https://a.example/").unwrap();
        assert_eq!(Access::default().to(&plain), Ok(None));
    }

    #[test]
    fn a_cookie_of_the_server_replaces_one_of_its_name() {
        let credentials = Credentials::new(&Url::parse("https://a.example/").unwrap(), fields());
        let cookie = |others| credentials.headers(Some(others)).pop().unwrap().1;
        assert_eq!(cookie("b=3; d=4"), "a=1; c=x=y,z; b=3; d=4");
    }
}
