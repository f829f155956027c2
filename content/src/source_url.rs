//! The URL of a source in canonical form, so that all spellings are one content. Which addresses may be connected to is
//! decided by [`AddressPolicy`](crate::AddressPolicy).

use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::capture::{self, Capture, CaptureError};
use crate::upload;

/// The URL of a source in canonical form: the WHATWG serialisation without the fragment, with two exceptions. A
/// fragment that starts with `/` or `!` stays, because it is the route of a page. Of one that selects a page of a
/// document (RFC 8118, section 3) the page stays: `#page=5&zoom=200` becomes `#page=5`.
///
/// The scheme is `http` or `https`, there is no user name or password, and the host is an IP address, `localhost`, or a
/// name with a dot.
///
/// The options of a web page's [`Capture`] are part of it: they stand before the URL, with a `>` between, which no URL
/// contains. So tilers and records that do not know options refuse it.
///
/// ```text
/// web-width=390&web-scheme=dark>https://example.com/
/// ```
///
/// A box of sealed headers among them (`web-sealed`) is for tilers: [`SourceUrl::as_str`] and serde have it, and what
/// people and logs see ([`SourceUrl::options`], `Display`, `Debug`) has `web-sealed=` in its place.
///
/// The source may also be an uploaded file. Then the URL is a URI of [`upload`], which has no host and which clients
/// cannot request.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SourceUrl(String);

/// Why a text is not the URL of a source. Clients see the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceUrlError {
    /// The scheme is neither `http` nor `https`.
    #[error("The URL must begin with http:// or https://.")]
    Scheme,
    /// More than [`SourceUrl::MAX_LENGTH`] characters, as given or in canonical form.
    #[error("The URL is longer than {} characters.", SourceUrl::MAX_LENGTH)]
    TooLong,
    /// The text does not parse as a URL.
    #[error("The URL is malformed. Copy it from a browser's address bar.")]
    Malformed,
    /// There is a user name or password, which would be published with the content.
    #[error("The URL must not contain a user name or password.")]
    Credentials,
    /// The host name has no dot.
    #[error("The URL has no domain. Enter a whole URL, such as https://example.com/picture.jpg.")]
    NoDomain,
    /// The host name is one of a private network.
    #[error("The URL's host exists only in private networks. Use one that is public.")]
    PrivateName,
    /// The options of a web page's capture are wrong.
    #[error(transparent)]
    Options(#[from] CaptureError),
}

/// Separator between the options of a web page's capture and its URL.
const OPTIONS_END: char = '>';
/// The option with sealed headers, without its value.
const SEALED_IS: &str = "web-sealed=";

/// Domains that resolve only on private networks or nowhere (RFC 6761, RFC 6762, RFC 7686, RFC 8375, RFC 9476). The
/// [`AddressPolicy`](crate::AddressPolicy) decides about `localhost`.
const PRIVATE_DOMAINS: [&str; 7] = ["local", "internal", "invalid", "test", "onion", "alt", "home.arpa"];

impl SourceUrl {
    /// Maximum number of characters. Proxies and old browsers refuse longer URLs too.
    pub const MAX_LENGTH: usize = 2048;

    /// Parses a URL as a client wrote it. White space around it is ignored.
    ///
    /// # Errors
    /// Returns the first reason why the URL cannot be a source.
    pub fn parse(text: &str) -> Result<Self, SourceUrlError> {
        let text = text.trim_matches(|c: char| c.is_ascii_whitespace());
        if text.chars().nth(Self::MAX_LENGTH).is_some() {
            return Err(SourceUrlError::TooLong);
        }
        if !begins_with(text, "http://") && !begins_with(text, "https://") {
            return Err(SourceUrlError::Scheme);
        }
        let mut url = Url::parse(text).map_err(|_| SourceUrlError::Malformed)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(SourceUrlError::Credentials);
        }
        match url.host() {
            Some(Host::Domain(name)) => check_name(name)?,
            Some(_) => {}
            None => return Err(SourceUrlError::Malformed),
        }
        if !url.fragment().is_some_and(is_route) {
            let page = url.fragment().and_then(page_in).map(|page| format!("page={page}"));
            url.set_fragment(page.as_deref());
        }
        if url.as_str().len() > Self::MAX_LENGTH {
            return Err(SourceUrlError::TooLong);
        }
        Ok(Self(url.into()))
    }

    /// Returns the URL of an uploaded file with a SHA-256, in base64url without padding, and a name, which may be
    /// empty. `None`: `digest` is not such a hash.
    #[must_use]
    pub fn of_file(digest: &str, name: &str) -> Option<Self> {
        upload::uri(digest, name).map(Self)
    }

    /// Returns the URL of the same uploaded file without vectors, which is another content.
    #[must_use]
    pub fn without_vectors(&self) -> Self {
        if self.is_file() && self.has_vectors() {
            Self(upload::without_vectors(&self.0))
        } else {
            self.clone()
        }
    }

    /// Returns false for a file that its uploader does not want as vectors.
    #[must_use]
    pub fn has_vectors(&self) -> bool {
        !self.is_file() || upload::has_vectors(&self.0)
    }

    /// Returns true if the source is an uploaded file.
    #[must_use]
    pub fn is_file(&self) -> bool {
        upload::is_uri(&self.0)
    }

    /// Returns the name of an uploaded file.
    #[must_use]
    pub fn file_name(&self) -> Option<String> {
        self.is_file().then(|| upload::name(&self.0))?
    }

    /// Returns the URL without the name of an uploaded file.
    #[must_use]
    pub fn without_name(&self) -> Self {
        Self(self.identity().to_owned())
    }

    /// Returns the source with the options of its capture in a query, in place of those that it has.
    ///
    /// # Errors
    /// An option is unknown or wrong.
    pub fn with_options(self, query: &str) -> Result<Self, SourceUrlError> {
        Ok(self.captured(&Capture::parse(query)?))
    }

    /// Returns the source with options of its capture, in place of those that it has.
    #[must_use]
    pub fn captured(self, capture: &Capture) -> Self {
        let url = self.without_options();
        if capture.is_default() || url.is_file() { url } else { Self(format!("{capture}{OPTIONS_END}{url}")) }
    }

    /// Returns the source without the options of its capture.
    #[must_use]
    pub fn without_options(&self) -> Self {
        Self(self.address().to_owned())
    }

    /// Returns the options of its capture.
    #[must_use]
    pub fn capture(&self) -> Capture {
        Capture::parse(self.parts().0).unwrap_or_default() // they were parsed before
    }

    /// Returns the options of its capture as a query, which is empty if there are none. Sealed headers have no value.
    #[must_use]
    pub fn options(&self) -> &str {
        let options = self.parts().0;
        // They are the last option, and values have no unescaped `=`.
        let names = options.rfind('=').and_then(|at| options.get(..=at));
        names.filter(|names| names.ends_with(SEALED_IS)).unwrap_or(options)
    }

    /// Returns true if it has sealed headers.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.options().ends_with(SEALED_IS)
    }

    /// Returns the URL alone, which is requested.
    #[must_use]
    pub fn address(&self) -> &str {
        self.parts().1
    }

    fn parts(&self) -> (&str, &str) {
        self.0.split_once(OPTIONS_END).filter(|_| !self.is_file()).unwrap_or(("", &self.0))
    }

    /// Returns what identifies the source: options and URL, without the name of an uploaded file.
    #[must_use]
    pub fn identity(&self) -> &str {
        if self.is_file() { upload::without_name(&self.0) } else { &self.0 }
    }

    /// Returns the canonical form: ASCII, at most [`SourceUrl::MAX_LENGTH`] characters, and the options before them.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the host as written in the URL: a name in lower case, or an address, IPv6 in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        let authority = self.address().split('/').nth(2).unwrap_or_default();
        let end = match authority.find(']') {
            Some(bracket) => bracket + 1,
            None => authority.find(':').unwrap_or(authority.len()),
        };
        &authority[..end]
    }

    /// Returns the page of a document that the URL selects, counted from 1.
    #[must_use]
    pub fn page(&self) -> Option<NonZeroU32> {
        self.address().split_once('#').and_then(|(_, fragment)| page_in(fragment))
    }
}

fn is_route(fragment: &str) -> bool {
    fragment.starts_with(['/', '!'])
}

fn page_in(fragment: &str) -> Option<NonZeroU32> {
    if is_route(fragment) {
        return None;
    }
    let number = fragment.split('&').find_map(|parameter| parameter.strip_prefix("page="))?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|_| digits)
}

fn begins_with(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

fn check_name(name: &str) -> Result<(), SourceUrlError> {
    if PRIVATE_DOMAINS.into_iter().any(|domain| is_within(name, domain)) {
        return Err(SourceUrlError::PrivateName);
    }
    let has_domain = name.strip_suffix('.').unwrap_or(name).contains('.') || is_within(name, "localhost");
    if has_domain { Ok(()) } else { Err(SourceUrlError::NoDomain) }
}

/// Returns true if a host name is `domain` or below it. A trailing dot makes no difference (RFC 1034, 3.1).
pub(crate) fn is_within(name: &str, domain: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

impl fmt::Display for SourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.options())?;
        f.write_str(self.0.get(self.parts().0.len()..).unwrap_or_default())
    }
}

impl fmt::Debug for SourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SourceUrl").field(&self.to_string()).finish()
    }
}

impl TryFrom<String> for SourceUrl {
    type Error = SourceUrlError;

    fn try_from(text: String) -> Result<Self, SourceUrlError> {
        match text.split_once(OPTIONS_END) {
            _ if upload::is_uri(&text) => Ok(Self(text)),
            Some((options, url)) if options.starts_with(capture::PREFIX) => {
                Self::parse(url)?.with_options(options)
            }
            _ => Self::parse(&text),
        }
    }
}

impl From<SourceUrl> for String {
    fn from(url: SourceUrl) -> Self {
        url.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        SourceUrl::parse(text).unwrap().into()
    }

    #[test]
    fn a_url_is_printed_and_stored_as_it_is() {
        let url = SourceUrl::parse("http://example.com/a").unwrap();
        assert_eq!(
            (url.to_string().as_str(), url.as_str()),
            ("http://example.com/a", "http://example.com/a")
        );
        assert_eq!(String::from(url), "http://example.com/a");
    }

    #[test]
    fn the_host_is_the_one_of_the_url_standard() {
        for text in [
            "http://Example.COM",
            "https://example.com:8443/a/b?c=http://d.example/",
            "http://[2606:4700::1111]:8080/",
            "http://[2606:4700::1111]",
            "http://0x08080808/#/route",
            "https://bücher.example/",
        ] {
            assert_eq!(SourceUrl::parse(text).unwrap().host(), Url::parse(text).unwrap().host_str().unwrap());
        }
    }

    #[test]
    fn spellings_of_one_url_are_one_content() {
        assert_eq!(canonical("HTTP://Example.com:80/a"), "http://example.com/a");
        assert_eq!(canonical("http://example.com"), "http://example.com/");
        assert_eq!(canonical("https://example.com:443/a/../b"), "https://example.com/b");
        assert_eq!(canonical(" http://bücher.example/ä b\n"), "http://xn--bcher-kva.example/%C3%A4%20b");
        assert_ne!(canonical("http://example.com/a"), canonical("http://example.com/A"));
    }

    #[test]
    fn options_of_a_capture_are_part_of_the_source_and_not_of_its_url() {
        let url = SourceUrl::parse("http://a.example:81/b?c>d#page=2").unwrap();
        let stored = "web-width=390&web-hide=a%3Eb>http://a.example:81/b?c%3Ed#page=2";
        let source = url.clone().with_options("web-hide=a>b&d=e&web-width=390").unwrap();
        assert_eq!((source.as_str(), SourceUrl::try_from(stored.to_owned())), (stored, Ok(source.clone())));
        assert_eq!((source.address(), source.options()), (url.as_str(), "web-width=390&web-hide=a%3Eb"));
        assert_eq!(
            (source.host(), source.page(), source.without_options()),
            (url.host(), url.page(), url.clone())
        );
        assert_eq!(source.capture().width(), Some(390));
        assert_eq!(source.with_options("web-width=").unwrap(), url, "in place of those that it has");
        assert_eq!(SourceUrl::parse(stored), Err(SourceUrlError::Scheme), "as in versions without options");
        let wrong = SourceUrl::try_from("web-width=1>http://a.example/".to_owned());
        assert!(matches!(wrong, Err(SourceUrlError::Options(_))));
    }

    #[test]
    fn sealed_headers_are_shown_to_nobody() {
        let sealed = format!("web-sealed={}{}", capture::BOX_PREFIX, "s".repeat(40));
        let url = SourceUrl::parse("http://a.example/web-sealed=?b").unwrap();
        let source = url.clone().with_options(&format!("{sealed}&web-hide=web-sealed%3D")).unwrap();
        let shown = "web-hide=web-sealed%3D&web-sealed=>http://a.example/web-sealed=?b";
        assert!(source.is_sealed() && !url.is_sealed());
        assert_eq!(
            (source.options(), source.to_string().as_str()),
            (shown.split('>').next().unwrap(), shown)
        );
        assert!(format!("{source:?}").contains(shown));
        let stored = serde_json::to_string(&source).unwrap();
        assert!(stored.contains(&sealed) && source.as_str().contains(&sealed));
        assert_eq!(serde_json::from_str::<SourceUrl>(&stored).unwrap(), source);
        assert_eq!(source.capture().sealed(), sealed.split('=').nth(1));
        let unsealed = SourceUrl::try_from(shown.to_owned()).unwrap();
        assert_eq!(unsealed, url.with_options("web-hide=web-sealed%3D").unwrap());
    }

    #[test]
    fn a_fragment_is_removed_unless_it_is_a_route() {
        assert_eq!(canonical("http://example.com/a#top"), "http://example.com/a");
        assert_eq!(canonical("http://example.com/a#"), "http://example.com/a");
        assert_eq!(canonical("http://example.com/#/map"), "http://example.com/#/map");
        assert_eq!(canonical("http://example.com/#!map"), "http://example.com/#!map");
    }

    #[test]
    fn a_fragment_that_selects_a_page_of_a_document_stays() {
        assert_eq!(canonical("http://example.com/a.pdf#page=5"), "http://example.com/a.pdf#page=5");
        assert_eq!(
            canonical("http://example.com/a.pdf#zoom=200&page=005"),
            "http://example.com/a.pdf#page=5"
        );
        for no_page in ["page=", "page=0", "page=+5", "page=-5", "page=5x", "page=99999999999", "pages=5"] {
            let text = format!("http://example.com/a.pdf#{no_page}");
            assert_eq!(canonical(&text), "http://example.com/a.pdf", "{no_page}");
        }
        let page = |text| SourceUrl::parse(text).unwrap().page().map(NonZeroU32::get);
        assert_eq!(page("http://example.com/a.pdf#page=12"), Some(12));
        assert_eq!(page("http://example.com/a.pdf?page=12"), None);
        assert_eq!(page("http://example.com/#/a&page=12"), None);
        assert_eq!(canonical("http://example.com/#/a&page=12"), "http://example.com/#/a&page=12");
    }

    #[test]
    fn only_public_http_urls_are_accepted() {
        use SourceUrlError::*;
        let long = format!("http://example.com/{}", "a".repeat(2048));
        let grows = format!("http://example.com/{}", "ä".repeat(1000));
        for (text, reason) in [
            ("", Scheme),
            ("example.com/a.jpg", Scheme),
            ("ftp://example.com/a.jpg", Scheme),
            ("http:/example.com", Scheme),
            ("javascript:alert(1)", Scheme),
            ("http://", Malformed),
            ("http://exa mple.com/", Malformed),
            ("http://example.com:99999/", Malformed),
            ("http://[::1/", Malformed),
            ("http://me@example.com/", Credentials),
            ("http://me:secret@example.com/", Credentials),
            ("http://intranet/a.jpg", NoDomain),
            ("http://intranet./a.jpg", NoDomain),
            ("http://mylocalhost/", NoDomain),
            ("http://local./", PrivateName),
            ("http://printer.local/", PrivateName),
            ("http://metadata.google.internal/", PrivateName),
            (&long, TooLong),
            (&grows, TooLong),
        ] {
            assert_eq!(SourceUrl::parse(text), Err(reason), "{text}");
        }
        assert!(SourceUrl::parse("http://mylocal/").is_err());
        for url in ["http://my.notlocal.com/", "http://localhost:8080/", "http://a.localhost./"] {
            assert!(SourceUrl::parse(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn a_file_has_a_url_that_clients_cannot_request() {
        let digest = "f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk";
        let [one, other] = ["a b.jpg", ""].map(|name| SourceUrl::of_file(digest, name).unwrap());
        assert_eq!((one.file_name(), other.file_name()), (Some("a b.jpg".to_owned()), None));
        assert!(one != other && one.identity() == other.identity());
        assert_eq!((one.without_name(), other.without_name()), (other.clone(), other));
        assert_eq!(SourceUrl::parse(one.as_str()), Err(SourceUrlError::Scheme));
        let json = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<SourceUrl>(&json).unwrap(), one);
        let address = SourceUrl::parse("http://example.com/?name=a").unwrap();
        assert_eq!((address.is_file(), address.file_name()), (false, None));
        assert_eq!(address.identity(), address.as_str());
    }

    #[test]
    fn the_longest_url_is_accepted() {
        let longest = format!("http://example.com/{}", "a".repeat(2048 - 19));
        assert_eq!(canonical(&longest), longest);
        assert_eq!(SourceUrl::parse(&format!("{longest}a")), Err(SourceUrlError::TooLong));
    }
}
